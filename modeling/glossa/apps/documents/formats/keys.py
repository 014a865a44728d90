"""The keys of JSON and YAML whose values are translated."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ....base.errors import GlossaError

SHOWN = 5  # keys in an error message


@dataclass
class Keys:
    """Patterns of dotted keys, such as `menu.*.title`; `*` matches any characters, including dots.

    Attributes:
        patterns: The patterns.
        used: The patterns that matched a string.
        others: The first keys of strings that no pattern matched.
    """

    patterns: list[str]
    used: set[str] = field(default_factory=set)
    others: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, given: str) -> "Keys":
        """The patterns in a comma-separated list. Raises `GlossaError` if a pattern is empty."""
        patterns = [pattern.strip() for pattern in given.split(",")]
        if not all(patterns):
            raise GlossaError(f"--keys is {given!r}; give patterns separated by commas: title,*.description.")
        return cls(patterns)

    def chosen(self, path: str) -> bool:
        """Whether a pattern matches the keys of a string."""
        found = {pattern for pattern in self.patterns if fnmatchcase(path, pattern)}
        self.used |= found
        if not found and len(self.others) < SHOWN:
            self.others.append(path)
        return bool(found)

    def check(self) -> None:
        """Raise `GlossaError` if a pattern matched no string."""
        unused = [pattern for pattern in self.patterns if pattern not in self.used]
        if unused:
            known = f" Others are {', '.join(self.others)}." if self.others else " Only JSON and YAML have keys."
            raise GlossaError(f"--keys: no text has the keys {', '.join(unused)}.{known} Correct the pattern.")


def joined(path: str, key: object) -> str:
    """The dotted keys of a value inside the value `path`; the key of a list item is its number."""
    return f"{path}.{key}" if path else str(key)
