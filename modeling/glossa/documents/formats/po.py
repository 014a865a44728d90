"""PO catalogs of gettext: empty translations are filled in, others stay."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...inference.texts.tags import Part
from ..places import Document, Edit, Place
from .strings import string_places
from .tokens import cut

_FIELD = re.compile(
    r'^[ \t]*(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]*((?:"(?:[^"\\\n]|\\.)*"[ \t]*(?:\r?\n[ \t]*)?)+)',
    re.M,
)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.S)
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\\\": "\\"}


@dataclass
class _Entry:
    singular: tuple[int, int] | None = None
    plural: tuple[int, int] | None = None
    start: int = 0


def read(text: str, name: str) -> Document:
    """The entries of a catalog that have no translation."""
    places: list[Place] = []
    entry, context = _Entry(), None
    line_end = "\r\n" if "\r\n" in text else "\n"
    for found in _FIELD.finditer(text):
        keyword, span = found[1], _value(found)
        if keyword == "msgctxt" or keyword == "msgid":
            entry = _Entry(span if keyword == "msgid" else None, start=found.start())
            if keyword == "msgid" and context is not None:
                entry.start = context
            context = found.start() if keyword == "msgctxt" else None
        elif keyword == "msgid_plural":
            entry.plural = span
        elif entry.singular and not any(_STRING.findall(text[slice(*span)])):
            last = keyword.endswith("[0]") and not text.startswith("msgstr[1]", found.end())
            other = entry.plural and (last or not keyword.endswith("[0]"))
            source = entry.plural if entry.plural and other else entry.singular
            for place in _places(text, source, span):
                place.doubt = [Edit(entry.start, entry.start, [f"#, fuzzy{line_end}"])]
                places.append(place)
    return Document(text, places)


def _value(found: re.Match) -> tuple[int, int]:
    return found.start(2), found.start(2) + len(found[2].rstrip())


def _places(text: str, source: tuple[int, int], target: tuple[int, int]) -> Iterator[Place]:
    parts: list[Part] = []
    for found in _STRING.finditer(text, *source):
        parts += cut(text, *found.span(1), _ESCAPE, lambda escape: _ESCAPES.get(escape, escape), collapse=False)
    for place in string_places(parts, text, _escape, target, ('"', '"')):
        place.before = [piece if isinstance(piece, str) else _unquoted(text, piece) for piece in place.before]
        place.after = [piece if isinstance(piece, str) else _unquoted(text, piece) for piece in place.after]
        yield place


def _unquoted(text: str, span: tuple[int, int]) -> str:
    """What stands between two characters of a value that may run over several lines."""
    return re.sub(r'"\s*\n\s*"', "", text[slice(*span)])


def _escape(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
