"""INI files: the values, without sections, keys and comments."""

import re
from collections import Counter

from ....base.errors import GlossaError
from ..places import Document
from .encoding import UTF_16
from .format import Format, LanguagePair
from .strings import string_places
from .tokens import cut

_LINE = re.compile(r"([^\n]*)(?:\n|\Z)")
_SECTION = re.compile(r"\s*\[[^\]]*\]\s*(?:[;#].*)?")
_ENTRY = re.compile(r"[^=:\[;#\s][^=:]*[=:][ \t]*")
_QUOTED = re.compile(r"""(["'])(.*)\1""")


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The values of a file. Raises `GlossaError`, with the line, for a line that is not an entry."""
    document = Document(text, [])
    for start, end in (span for spans in _entries(text, name).values() for span in spans):
        if quoted := _QUOTED.fullmatch(text, start, end):
            start, end = quoted.span(2)
        parts = cut(text, start, end, None, str, collapse=False)
        document.places += string_places(parts, text, lambda new: new.replace("\n", " "))
    return document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each value, by section and key."""
    return {key: (spans[0][0], spans[-1][1]) for key, spans in _entries(text, name).items()}


FORMATS = (Format("ini", (".ini",), read, UTF_16, values=values),)


def _entries(text: str, name: str) -> dict[str, list[tuple[int, int]]]:
    """The characters of each value, and of each line that continues it, by section and key."""
    section, times = "", Counter[str]()
    found: dict[str, list[tuple[int, int]]] = {}
    spans: list[tuple[int, int]] | None = None
    for number, match in enumerate(_LINE.finditer(text, text.startswith("\ufeff")), 1):
        line = match[1].rstrip()
        start, end = match.start(), match.start() + len(line)
        if not line.strip() or line.lstrip()[0] in ";#":
            continue
        if _SECTION.fullmatch(line):
            section, spans = line.strip(), None
        elif entry := _ENTRY.match(text, start, end):
            key = f"{section} {entry[0].strip()[:-1].strip()}".lstrip()
            times[key] += 1
            spans = found.setdefault(key if times[key] == 1 else f"{key} {times[key]}", [])
            spans.append((entry.end(), end))
        elif spans is not None and line[0].isspace():
            spans.append((start + len(line) - len(line.lstrip()), end))
        else:
            raise GlossaError(f"{name}, line {number}: not an entry of an INI file, such as key = value. Repair it.")
    return found
