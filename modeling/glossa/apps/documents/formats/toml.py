"""TOML: the strings that are texts, without keys and comments."""

import json
import re
import tomllib
from collections.abc import Iterator

from ....base.errors import GlossaError
from ..places import Document
from .format import Format, LanguagePair
from .strings import string_places
from .tokens import cut

_TOKEN = re.compile(
    r'#[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}|\'\'\'(?:[^\']|\'(?!\'\'))*+\'{3,5}|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*\''
    r"|\n|[\[\]{}=,.]|[^\s\[\]{}=,.\"'#]+",
    re.S,
)
MOST_PARTS = 100  # of a key; the memory of the parser grows with their square
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w.-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}}")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[ \t]*\r?\n\s*|.)", re.S)
_NAMED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The strings. Raises `GlossaError`, with the line, if the file is not TOML."""
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise GlossaError(f"{name}, line {line}: a key has more than {MOST_PARTS} parts. Shorten it.")
    try:
        tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise GlossaError(f"{name}: not TOML: {error}. Repair it.") from error
    except RecursionError as error:
        raise GlossaError(f"{name}: not TOML that can be read: it is nested too deeply. Flatten it.") from error
    document = Document(text, [])
    for start, end in _values(text):
        mark = 3 if text[start : start + 3] in ('"""', "'''") else 1
        basic = text[start] == '"'
        parts = cut(text, start + mark, end - mark, _ESCAPE if basic else None, _decode, collapse=False)
        document.places += string_places(parts, text, _escape if basic else lambda new: new.replace("'", "’"))
    return document


FORMATS = (Format("toml", (".toml",), read),)


def _values(text: str) -> Iterator[tuple[int, int]]:
    """The characters of each string value, including quotes."""
    around: list[str] = []  # open brackets of values
    is_value = is_header = False
    for found in _TOKEN.finditer(text, text.startswith("\ufeff")):
        token = found[0]
        if token[0] == "#":
            continue
        if token == "\n":
            is_value, is_header = bool(around) and around[-1] == "[", False
        elif token == "=":
            is_value = True
        elif token in ("[", "{") and (is_value or around):
            around.append(token)
            is_value = token == "["
        elif token in ("]", "}") and around:
            around.pop()
            is_value = bool(around) and around[-1] == "["
        elif token == "[":
            is_header = True
        elif token == ",":
            is_value = bool(around) and around[-1] == "["
        elif token[0] in "\"'" and is_value and not is_header:
            yield found.span()


def _decode(escape: str) -> str:
    if escape[1] in "uU":
        return chr(int(escape[2:], 16))
    return "" if escape[1].isspace() else _NAMED.get(escape[1], escape[1])


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
