"""Java properties: the values."""

import codecs
import re
from collections.abc import Callable, Iterator

from ..places import Document, Place
from .encoding import Encoding, is_decodable
from .format import Format, LanguagePair
from .strings import string_places
from .tokens import cut

_ENTRY = re.compile(
    r"^[ \t\f]*(?![#!])((?:[^\s\\:=]|\\.)+)[ \t\f]*(?:[:=][ \t\f]*)?((?:[^\\\r\n]|\\(?:\r\n|.|\n))*)", re.M
)
_LINE = re.compile(r"(?:[^\\\r\n]|\\(?:\r\n|.|\n))+")
_ESCAPE = r"\\(?:\r?\n[ \t\f]*|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
# A value with arguments is a text of java.text.MessageFormat, where an apostrophe is written twice, or quotes braces.
_ARGUMENT = re.compile(r"\{\d")
_APOSTROPHE = re.compile(r"(?<!['{}])'(?!['{}])")
_QUOTATION = r"'[{}][^']*'"
_NAMED = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\f": "\f"}


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The values of a file."""
    places: list[Place] = []
    for found in _entries(text):
        quoted = _ARGUMENT.search(found[2]) is not None and not _APOSTROPHE.search(found[2])
        pattern = re.compile(f"{_ESCAPE}|''" if quoted else _ESCAPE)
        parts = cut(text, found.start(2), found.end(2), pattern, _decode, collapse=False)
        places += string_places(parts, text, _escape_for(quoted), kept=_QUOTATION if quoted else "")
    return Document(text, places)


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each value, by its key."""
    return {found[1]: found.span(2) for found in _entries(text)}


def _entries(text: str) -> Iterator[re.Match[str]]:
    for line in _LINE.finditer(text):
        found = _ENTRY.match(text, line.start(), line.end())
        if found is not None and found[2]:
            yield found


def _undeclared(content: bytes, language: str | None) -> str:
    """ASCII if a file has no other characters, so that others are escaped; else UTF-8, or Latin-1 as in old Java."""
    return "ascii" if content.isascii() else "utf-8" if is_decodable(content, "utf-8") else "latin-1"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Escape characters that the encoding lacks. An error handler of `str.encode`."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[i : i + 2], 'big'):04x}" for i in range(0, len(units), 2)), error.end


codecs.register_error("glossa.properties", _escaped)
FORMATS = (
    Format(
        "properties",
        (".properties",),
        read,
        Encoding(undeclared=_undeclared, missing="glossa.properties"),
        values=values,
    ),
)


def _decode(escape: str) -> str:
    if escape == "''":
        return "'"
    if escape[1] in "\r\n":  # the value goes on in the next line
        return ""
    if escape[1] == "u" and len(escape) >= 6:
        units = b"".join(int(code, 16).to_bytes(2, "big") for code in re.findall(r"\\u(.{4})", escape))
        return units.decode("utf-16-be", "replace")
    return _NAMED.get(escape, escape[1:])


def _escape_for(quoted: bool) -> Callable[[str], str]:
    def escape(text: str) -> str:
        text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
        return text.replace("'", "''") if quoted else text

    return escape
