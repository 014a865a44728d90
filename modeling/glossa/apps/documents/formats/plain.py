"""Plain text in lines or paragraphs."""

import re
from collections.abc import Callable
from functools import partial

from ....translate.texts.tags import Part, Piece
from ..places import Document, Place, Writing, Written, as_string
from . import LINES
from .format import Format, LanguagePair
from .tokens import with_text

_ENDED = re.compile(r"[.!?…:;。！？][\"'”»’)\]*_`]*$")
_END = re.compile(r"(?<![ \t])[ \t]*+\r?\n[ \t]*+")
_LINE = re.compile(r"[^\s\ufeff](?:[^\r\n]*\S)?")
_PARAGRAPH = re.compile(r"[^\s](?:.*\S)?(?:[ \t]*\r?\n(?=[ \t]*\S).*\S)*")


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The paragraphs of a text, which are separated by blank lines."""
    return Document(text, [_place(text, *found.span()) for found in _PARAGRAPH.finditer(text)])


def read_lines(text: str, name: str, languages: LanguagePair) -> Document:
    """The lines of a text."""
    return Document(text, [_place(text, *found.span()) for found in _LINE.finditer(text)])


FORMATS = (Format("paragraphs", (), read), Format(LINES, (".txt",), read_lines))


def _place(text: str, start: int, end: int) -> Place:
    ends = (line_end(text, *found.span()) for found in _END.finditer(text, start, end))
    return Place(with_text(ends, text, start, end), filling(text))


def line_end(text: str, start: int, end: int) -> Part:
    """The end of a line: a break after the end of a sentence, else a space."""
    return (
        Part("break", start, end) if _ENDED.search(text, max(start - 4, 0), start) else Part("text", start, end, " ")
    )


def filling(text: str, escape: Callable[[str], str] = str) -> Writing:
    """Writes paragraphs in lines as wide as the lines of the source."""
    return Writing(escape, layout=partial(fill, text))


def fill(text: str, place: Place, pieces: list[Piece]) -> list[Written]:
    """Lay out pieces in lines as wide as the lines of the source. A place of one line stays one line."""
    ends = [part for part in place.parts if part.kind in ("text", "break") and "\n" in text[part.start : part.end]]
    if not ends:
        return place.escaped(pieces)
    lines = text[place.start : place.end].splitlines()
    column = place.start - text.rfind("\n", 0, place.start) - 1
    width = max(column + len(lines[0]), *map(len, lines))
    done: list[Written] = []
    section: list[Piece] = []
    for piece in [*pieces, None]:
        if (isinstance(piece, Part) and piece.kind == "break") or piece is None:
            done += _filled(place.escaped(section), column, width, text, ends[0])
            section = []
            if piece is not None:
                done.append((piece.start, piece.end))
                column = _width(text[piece.start : piece.end])
        else:
            section.append(piece)
    return done


def _width(text: str) -> int:
    return len(text) - text.rfind("\n") - 1


def _filled(written: list[Written], column: int, width: int, text: str, end: Part) -> list[Written]:
    raw = text[end.start : end.end]
    done: list[Written] = []
    for word in _words(written):
        length = sum(len(piece) if isinstance(piece, str) else piece[1] - piece[0] for piece in word)
        if done and column + 1 + length > width and _may_begin(word, text):
            done.append(raw)
            column = _width(raw)
        elif done:
            done.append(" ")
            column += 1
        done += word
        column += length
    return done


def _words(written: list[Written]) -> list[list[Written]]:
    """What is written, split at the spaces of its strings."""
    words: list[list[Written]] = [[]]
    for piece in written:
        if not isinstance(piece, str):
            words[-1].append(piece)
            continue
        first, *rest = piece.split(" ")
        words[-1].append(first)
        words += [[word] for word in rest]
    return [word for word in words if any(word)]


def _may_begin(word: list[Written], text: str) -> bool:
    """Whether a line may begin with a word, because it is no mark of Markdown."""
    return not re.match(r"(?:[-+*#>|=~:]|\d{1,9}[.)]|```)", as_string(word, text))
