"""Places of a document where text stands, and the document with other text there; the rest stays as it is."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..facts_glossa import TextFacts
from ..inference.texts.tags import Part, Piece, Tagged, take_tags

Written = str | tuple[int, int]  # what is written: a string, or the characters from one to another of the document


class Edit(NamedTuple):
    """Characters from `start` to `end` of a document are replaced."""

    start: int
    end: int
    written: list[Written]


@dataclass
class Place:
    """A text of a document, and where its translation goes.

    Attributes:
        parts: What stands there, in order.
        start: First character that the translation replaces; by default the first one of the parts.
        end: The one after the last.
        escape: How text is written in the document.
        lay: Writes the pieces of the translation, if they are more than escaped text.
        keep: Whether a place whose translation is its source stays as it is.
        check: What is wrong with what is written, or "".
        label: Whether it is a text of a program, which ends as its source does.
        before: What is written before the translation, if it goes to another place than its source's.
        after: What is written after it.
        doubt: What else is written if people should look at the translation; it replaces other edits of the same
            characters.
        doubtful_before: What is then written instead of `before`, if not the same.
    """

    parts: list[Part]
    escape: Callable[[str], str] = str
    start: int = -1
    end: int = -1
    lay: Callable[[list[Piece]], list[Written]] | None = None
    keep: bool = True
    check: Callable[[list[Written]], str] | None = None
    label: bool = False
    before: list[Written] = field(default_factory=list)
    after: list[Written] = field(default_factory=list)
    doubt: list[Edit] = field(default_factory=list)
    doubtful_before: list[Written] = field(default_factory=list)

    def __post_init__(self):
        if self.start < 0:
            self.start, self.end = self.parts[0].start, self.parts[-1].end

    def write(self, pieces: list[Piece], doubtful: bool = False) -> list[Written]:
        """The text and source ranges that replace the place."""
        written = self.plainly(pieces) if self.lay is None else self.lay(pieces)
        before = self.doubtful_before if doubtful and self.doubtful_before else self.before
        return [*before, *written, *self.after]

    def plainly(self, pieces: list[Piece]) -> list[Written]:
        """Pieces with their texts escaped."""
        return [(piece.start, piece.end) if isinstance(piece, Part) else self.escape(piece) for piece in pieces]


@dataclass
class Document:
    """A document's text and the places that are translated.

    Attributes:
        text: All of it.
        places: In the order of their first character; a place may be inside a part of another one.
        edits: What changes in any translation, such as the state of a unit.
        language: The code of the target language; "" if it is not known.
    """

    text: str
    places: list[Place]
    edits: list[Edit] = field(default_factory=list)
    language: str = ""

    def tagged(self, place: Place) -> Tagged:
        """The words and tags of a place."""
        return replace(take_tags(place.parts), label=self.language if place.label else None)


def has_words(parts: Iterable[Part]) -> bool:
    """Whether the texts among the parts have a letter."""
    return TextFacts("".join(part.text for part in parts if part.kind == "text")).has_letters


def compose(text: str, edits: Iterable[Edit]) -> str:
    """The document `text` after `edits`; what an edit copies from the document is edited too."""
    ordered = sorted(edits, key=lambda edit: (edit.start, -edit.end))
    starts = [edit.start for edit in ordered]

    def part(start: int, end: int, first: int) -> str:
        done, position = [], start
        for index in range(max(first, bisect_left(starts, start)), len(ordered)):
            edit = ordered[index]
            if edit.start >= end and not (edit.start == edit.end == end == len(text)):
                break
            if edit.start < position or edit.end > end:
                continue  # inside the edit before, or around this part
            done.append(text[position : edit.start])
            done += [piece if isinstance(piece, str) else part(*piece, index + 1) for piece in edit.written]
            position = edit.end
        return "".join([*done, text[position:end]])

    return part(0, len(text), 0)


def spelled(place_parts: Sequence[Part], source: str, escape: Callable[[str], str]) -> Callable[[str], str]:
    """`escape`, but characters that the parts of a place spell in their own way only are spelled like there."""
    own: dict[str, str] = {}
    plain: set[str] = set()
    for part in place_parts:
        raw = source[part.start : part.end]
        if part.kind != "text" or raw == part.text:
            plain.update(raw if part.kind == "text" else "")
        elif (len(part.text) == 1 and not part.text.isspace()) or part.text in "\u00a0\u202f":
            own.setdefault(part.text, raw)
    own = {character: raw for character, raw in own.items() if character not in plain}
    return lambda text: "".join(own[c] if c in own else escape(c) for c in text) if own else escape(text)


def character_offsets(text: str) -> Callable[[int], int]:
    """A function that maps a byte offset in UTF-8 to the character offset in `text`."""
    if text.isascii():
        return lambda offset: offset
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode("utf-8", "surrogatepass")))
    return lambda offset: bisect_left(starts, offset)


def line_of(text: str, position: int) -> int:
    """The number of a line, from 1."""
    return text.count("\n", 0, position) + 1
