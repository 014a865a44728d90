"""TOML: the strings that are texts, without keys and comments."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

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
    for _, (start, end) in _values(text):
        mark = 3 if text[start : start + 3] in ('"""', "'''") else 1
        basic = text[start] == '"'
        parts = cut(text, start + mark, end - mark, _ESCAPE if basic else None, _decode, collapse=False)
        document.places += string_places(parts, text, _escape if basic else lambda new: new.replace("'", "’"))
    return document


def values(text: str, name: str) -> dict[str, tuple[int, int]]:
    """The characters of each string, including quotes, by its dotted keys."""
    return dict(_values(text))


FORMATS = (Format("toml", (".toml",), read, values=values),)


@dataclass
class _Open:
    """A bracket of a value that is open: the keys that lead to its values, and in an array how many came before."""

    bracket: str
    path: list[str]
    number: int = 0


def _values(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The characters of each string value, including quotes, with its dotted keys."""
    around: list[_Open] = []
    tables: Counter[str] = Counter()  # of arrays of tables
    section: list[str] = []
    key: list[str] = []  # that is being read
    header = ""  # the brackets of a header that is being read
    is_value = False
    for found in _TOKEN.finditer(text, text.startswith("\ufeff")):
        token, inner = found[0], around[-1] if around else None
        in_array = inner is not None and inner.bracket == "["
        path = [*inner.path, *([str(inner.number)] if in_array else key)] if inner else [*section, *key]
        if token[0] == "#":
            continue
        if token == "\n" and not inner:
            if header:
                section = [*key, *([str(tables[".".join(key)])] if header == "[[" else [])]
                tables[".".join(key)] += 1
            key, header, is_value = [], "", False
        elif token in "[{" and (is_value or in_array):
            around.append(_Open(token, path))
            key, is_value = [], False
        elif token in "]}" and inner:
            around.pop()
            key, is_value = [], False
        elif token == "[":
            header += token
        elif token == "=":
            is_value = True
        elif token == "," and inner:
            inner.number += 1
            key, is_value = [], False
        elif is_value or in_array:
            if token[0] in "\"'":
                yield ".".join(path), found.span()
        elif token not in (".", "]", "\n"):
            key.append(token.strip("\"'"))


def _decode(escape: str) -> str:
    if escape[1] in "uU":
        return chr(int(escape[2:], 16))
    return "" if escape[1].isspace() else _NAMED.get(escape[1], escape[1])


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
