"""What a memory is given, and what it finds."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Unit:
    """An approved translation.

    Attributes:
        source: A text.
        target: Its translation; it may be the same text.
        date: When it was approved, in UTC as in "2026-11-29T08:00:00Z"; "" if it is not known, which is the oldest.
        file: Where it comes from.
        key: Who approved it: the name of a key of a server.
        context: What tells it from equal sources with other translations, such as the `msgctxt` of gettext; None if
            there is nothing of the kind.
    """

    source: str
    target: str
    date: str = ""
    file: str = ""
    key: str = ""
    context: str | None = None


@dataclass(frozen=True)
class Origin:
    """Where a unit of a memory comes from: file, date, key and context as in [`Unit`], and its id."""

    file: str
    date: str
    key: str
    id: int
    context: str | None = None


@dataclass(frozen=True)
class Match:
    """A unit whose source is similar to a text.

    Attributes:
        source: Its clean source.
        target: Its clean translation.
        score: From 0 to 100; 100 only if the clean texts are equal.
        origin: Where it comes from.
    """

    source: str
    target: str
    score: int
    origin: Origin

    def holds_in(self, context: str | None) -> bool:
        """Whether it is not known to be the translation for another context."""
        return self.origin.context is None or context is None or self.origin.context == context


@dataclass
class Counts:
    """What became of units that were added.

    Attributes:
        read: Rows of the files.
        units: New units.
        parts: Pairs of sentences that were read out of longer pairs, and pairs without their tags, among the units or
            duplicates.
        duplicates: Pairs that the memory had.
        conflicts: Pairs whose source the memory had with another translation.
        refused: Rows that are no pairs, by the reason.
    """

    read: int = 0
    units: int = 0
    parts: int = 0
    duplicates: int = 0
    conflicts: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: "Counts") -> "Counts":
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self
