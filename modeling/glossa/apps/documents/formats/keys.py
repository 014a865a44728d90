"""The keys of JSON and YAML whose values are translated, and the columns of tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ....base.errors import GlossaError

ROOT = "(language)"  # the key of the language at the root of a file, as Rails has it
SHOWN = 5  # keys in an error message
# The option of the command by which keys or columns are chosen, with an example and the formats that have some.
KEYS, COLUMNS = "keys", "columns"
_ADVICE = {
    KEYS: ("title,*.description", "Only JSON and YAML have keys; tables have --columns."),
    COLUMNS: ("text,title", "Only CSV, TSV and XLSX have columns."),
}


@dataclass
class Keys:
    """Patterns of dotted keys, such as `menu.*.title`, or of names of columns; `*` matches any characters.

    Attributes:
        patterns: The patterns.
        option: `KEYS` or `COLUMNS`.
        used: The patterns that matched a string.
        others: The first keys of strings that no pattern matched.
    """

    patterns: list[str]
    option: str = KEYS
    used: set[str] = field(default_factory=set)
    others: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, given: str, option: str = KEYS) -> "Keys":
        """The patterns in a comma-separated list. Raises `GlossaError` if a pattern is empty."""
        patterns = [pattern.strip() for pattern in given.split(",")]
        if not all(patterns):
            raise GlossaError(f"--{option} is {given!r}; give patterns separated by commas: {_ADVICE[option][0]}.")
        return cls(patterns, option)

    def chosen(self, path: str) -> bool:
        """Whether a pattern matches the keys of a string."""
        found = {pattern for pattern in self.patterns if fnmatchcase(path, pattern)}
        self.used |= found
        if not found and len(self.others) < SHOWN:
            self.others.append(path)
        return bool(found)

    def chosen_columns(self, titles: Sequence[str]) -> list[int]:
        """The columns, from 0, in the order of the patterns: by title, or by number, from 1."""
        found: dict[int, None] = {}
        for pattern in self.patterns:
            own = [column for column, title in enumerate(titles) if title and fnmatchcase(title, pattern)]
            if not own and pattern.isdecimal() and 0 < int(pattern) <= len(titles):
                own = [int(pattern) - 1]
            self.used |= {pattern} if own else set()
            found |= dict.fromkeys(own)
        others = [title for column, title in enumerate(titles) if title and column not in found]
        self.others += others[: SHOWN - len(self.others)] if len(self.others) < SHOWN else []
        return list(found)

    def check(self) -> None:
        """Raise `GlossaError` if a pattern matched no string."""
        unused = [pattern for pattern in self.patterns if pattern not in self.used]
        if unused:
            known = f"Others are {', '.join(self.others)}." if self.others else _ADVICE[self.option][1]
            names = ", ".join(unused)
            raise GlossaError(f"--{self.option}: no text has the {self.option} {names}. {known} Correct the pattern.")


def joined(path: str, key: object) -> str:
    """The dotted keys of a value inside the value `path`; the key of a list item is its number."""
    return f"{path}.{key}" if path else str(key)
