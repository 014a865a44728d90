"""Apple's .strings: the values of `"key" = "value";`."""

import re

from ....base.errors import GlossaError
from ..places import Document, line_numbers
from .encoding import UTF_16
from .format import Format, LanguagePair
from .printf import Printf
from .strings import string_places
from .tokens import cut

_SPACE = r"(?:\s|/\*.*?\*/|//[^\n]*)*+"
_STRING = r'"((?:[^"\\]|\\.)*+)"'
_ENTRY = re.compile(
    rf"{_SPACE}(?:{_STRING}|([\w.$/:-]++)){_SPACE}(?:={_SPACE}(?:{_STRING}|([\w.$/:-]++)){_SPACE})?;", re.S
)
_REST = re.compile(_SPACE, re.S)
_ESCAPE = re.compile(r"\\(?:[Uu][0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.S)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The values. Raises `GlossaError`, with the line, if the file is not in this format."""
    document = Document(text, [])
    for start, end in values(text, name).values():
        parts = cut(text, start, end, _ESCAPE, _decode, collapse=False)
        document.places += string_places(parts, text, _escape, named=False, printf=Printf())
    return document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each value, by its key. Raises as `read`."""
    spans: dict[str, tuple[int, int]] = {}
    position = int(text.startswith("\ufeff"))
    while found := _ENTRY.match(text, position):
        position = found.end()
        if found[3] is not None:
            key = found[1] or found[2] or ""
            spans[f"{key} {position}" if key in spans else key] = found.span(3)
    rest = _REST.match(text, position)
    if rest.end() < len(text):
        line = line_numbers(text)(rest.end())
        raise GlossaError(f'{name}, line {line}: not an entry such as "key" = "value"; of .strings files. Repair it.')
    return spans


FORMATS = (Format("strings", (".strings",), read, UTF_16, values=values),)


def _decode(escape: str) -> str:
    if escape[1] in "Uu":
        return chr(int(escape[2:], 16))
    return chr(int(escape[1:], 8)) if escape[1].isdigit() else _NAMED.get(escape[1], escape[1])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
