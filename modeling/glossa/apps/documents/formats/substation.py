"""Subtitles of SubStation Alpha (.ass, .ssa): the texts of dialogues."""

import re
from collections.abc import Iterator

from ....base.errors import GlossaError
from ....translate.texts.tags import Part
from ..places import Document, Place, has_words
from .encoding import UTF_16
from .format import Format, LanguagePair
from .tokens import trimmed, with_text

_LINE = re.compile(r"[^\r\n]+")
_CODE = re.compile(r"\{[^{}\n]*\}|(?:(?<![ \t])[ \t]++)?\\[Nn][ \t]*|\\h")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9]")  # a shape instead of a text


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The dialogues of a file. Raises `GlossaError` if it has no events."""
    document = Document(text, [])
    section, columns = "", -1
    for number, line in enumerate(_LINE.finditer(text), 1):
        content = line[0].strip().removeprefix("\ufeff")
        if content.startswith("["):
            section = content.lower()
        elif section == "[events]" and content.lower().startswith("format:"):
            columns = content.count(",")
        elif section == "[events]" and content.lower().startswith("dialogue:"):
            if columns < 0 or content.count(",") < columns:
                raise GlossaError(f"{name}, line {number}: a dialogue with fewer fields than Format has. Repair it.")
            start = line.start()
            for _ in range(columns):
                start = text.index(",", start) + 1
            if not _DRAWING.search(text, start, line.end()):
                document.places += _places(text, start, line.end())
    if columns < 0:
        raise GlossaError(f"{name}, line 1: not subtitles of SubStation Alpha: it has no [Events] with a Format.")
    return document


FORMATS = (Format("ass", (".ass", ".ssa"), read, UTF_16),)


def _places(text: str, start: int, end: int) -> Iterator[Place]:
    codes = (_code(found) for found in _CODE.finditer(text, start, end))
    if has_words(kept := trimmed(with_text(codes, text, start, end))):
        yield Place(kept)


def _code(found: re.Match) -> Part:
    kind = {"{": "alone", "h": "text"}.get(found[0].strip()[0 if found[0][0] == "{" else -1], "break")
    return Part(kind, *found.span(), " " if kind == "text" else "")
