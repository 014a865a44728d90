"""Lyrics with times (.lrc): the text of each line, without times and metadata."""

import re

from ....translate.texts.tags import Part
from ..places import Document, Place, Usage, has_words
from .encoding import UTF_16
from .format import Format, LanguagePair
from .tokens import trimmed, with_text

_TIMES = re.compile(r"\ufeff?(?:\[[^\]\n]*\][ \t]*)*")
_WORD = re.compile(r"<\d+:\d+(?:[.:]\d+)?>")  # the time of a word


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The lines of a file."""
    document = Document(text, [])
    for line in re.finditer(r"[^\r\n]+", text):
        start = _TIMES.match(text, line.start(), line.end()).end()
        times = (Part("alone", *found.span()) for found in _WORD.finditer(text, start, line.end()))
        if has_words(kept := trimmed(with_text(times, text, start, line.end()))):
            document.places.append(Place(kept, usage=Usage(label=True)))
    return document


FORMATS = (Format("lrc", (".lrc",), read, UTF_16),)
