"""JSON: the values that say something; no keys."""

import json
import re
from collections.abc import Callable

from ...errors import GlossaError
from ..places import Document, Place
from .strings import string_places
from .tokens import cut

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.S)
_COLON = re.compile(r"\s*:")
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


def read(text: str, name: str, languages: object = None) -> Document:
    """The values of a file; of what stands under a key that begins with @, as in ARB files, none."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise GlossaError(f"{name}: not JSON: {error}. Repair it, or give --format lines.") from error
    except RecursionError as error:
        raise GlossaError(f"{name}: not JSON that can be read: it is nested too deeply.") from error
    return Document(text, _places(text))


def _places(text: str) -> list[Place]:
    places: list[Place] = []
    escape = escape_for(text)
    keys: list[str] = []  # of the objects and arrays that are open
    key = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "{[":
            keys.append(key)
            key = ""
        elif token in "}]":
            keys.pop()
        elif token[0] == '"' and _COLON.match(text, found.end()):
            key = token[1:-1]
        elif token[0] == '"' and not any(name.startswith("@") for name in [*keys, key]):
            parts = cut(text, found.start() + 1, found.end() - 1, _ESCAPE, decode, collapse=False)
            places += string_places(parts, text, escape)
    return places


def decode(escape: str) -> str:
    """The character that an escape stands for."""
    return json.loads(f'"{escape}"')


def escape_for(text: str) -> Callable[[str], str]:
    """The escaping of strings in a document: letters beyond ASCII are escaped if it escapes all of its own."""
    ascii_only = text.isascii() and "\\u" in text
    return lambda new: json.dumps(new, ensure_ascii=ascii_only)[1:-1]
