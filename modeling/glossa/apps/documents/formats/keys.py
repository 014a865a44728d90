"""Which values of JSON and YAML are translated: those whose keys a pattern names."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ....base.errors import GlossaError

SHOWN = 5  # keys that a refusal names


@dataclass
class Keys:
    """Patterns of dotted keys, such as `menu.*.title`; `*` stands for anything, with dots too.

    Attributes:
        patterns: As they are given.
        used: Those that a string of some file has.
        others: The first keys of strings that no pattern names.
    """

    patterns: list[str]
    used: set[str] = field(default_factory=set)
    others: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, given: str) -> "Keys":
        """The patterns of a list with commas. Raises `GlossaError` if one is empty."""
        patterns = [pattern.strip() for pattern in given.split(",")]
        if not all(patterns):
            raise GlossaError(f"--keys is {given!r}; it must be patterns with commas between: title,*.description.")
        return cls(patterns)

    def chosen(self, path: str) -> bool:
        """Whether a pattern names the keys of a string."""
        found = {pattern for pattern in self.patterns if fnmatchcase(path, pattern)}
        self.used |= found
        if not found and len(self.others) < SHOWN:
            self.others.append(path)
        return bool(found)

    def check(self) -> None:
        """Raise `GlossaError` if there is a pattern that no string has."""
        unused = [pattern for pattern in self.patterns if pattern not in self.used]
        if unused:
            known = f" Others are {', '.join(self.others)}." if self.others else " Only JSON and YAML have keys."
            raise GlossaError(f"--keys: no text has the keys {', '.join(unused)}.{known}")


def joined(path: str, key: object) -> str:
    """The keys of a value inside of one with the keys `path`; items of a list have their number."""
    return f"{path}.{key}" if path else str(key)
