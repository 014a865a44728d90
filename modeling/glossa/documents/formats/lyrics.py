"""Lyrics with times (.lrc): what is sung; no times and facts."""

import re

from ...inference.texts.tags import Part
from ..places import Document, Place, has_words
from .tokens import trimmed

_TIMES = re.compile(r"\ufeff?(?:\[[^\]\n]*\][ \t]*)*")
_WORD = re.compile(r"<\d+:\d+(?:[.:]\d+)?>")  # the time of a word


def read(text: str, name: str, languages: object = None) -> Document:
    """The lines of a file."""
    document = Document(text, [])
    for line in re.finditer(r"[^\r\n]+", text):
        position = _TIMES.match(text, line.start(), line.end()).end()
        parts: list[Part] = []
        for found in _WORD.finditer(text, position, line.end()):
            if found.start() > position:
                parts.append(Part("text", position, found.start(), text[position : found.start()]))
            parts.append(Part("alone", *found.span()))
            position = found.end()
        if position < line.end():
            parts.append(Part("text", position, line.end(), text[position : line.end()]))
        if has_words(kept := trimmed(parts)):
            document.places.append(Place(kept, label=True))
    return document
