"""INI files: the values, without sections, keys and comments."""

import re
from collections.abc import Iterator

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
    for start, end in _values(text, name):
        if quoted := _QUOTED.fullmatch(text, start, end):
            start, end = quoted.span(2)
        parts = cut(text, start, end, None, str, collapse=False)
        document.places += string_places(parts, text, lambda new: new.replace("\n", " "))
    return document


FORMATS = (Format("ini", (".ini",), read, UTF_16),)


def _values(text: str, name: str) -> Iterator[tuple[int, int]]:
    """The characters of each value, and of each line that continues a value."""
    continued = False
    for number, found in enumerate(_LINE.finditer(text, text.startswith("\ufeff")), 1):
        line = found[1].rstrip()
        start, end = found.start(), found.start() + len(line)
        if not line.strip() or line.lstrip()[0] in ";#":
            continue
        if _SECTION.fullmatch(line):
            continued = False
        elif entry := _ENTRY.match(text, start, end):
            continued = True
            yield entry.end(), end
        elif continued and line[0].isspace():
            yield start + len(line) - len(line.lstrip()), end
        else:
            raise GlossaError(f"{name}, line {number}: not an entry of an INI file, such as key = value. Repair it.")
