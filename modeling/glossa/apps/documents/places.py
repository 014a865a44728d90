"""The places of texts in a document, and edits that write translations there. The rest of the document stays."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy

from ...model.facts_glossa import TextFacts
from ...translate.interface import UsedMatch
from ...translate.texts.tags import Part, Piece, Tagged, take_tags

CHUNK = 500  # texts of a document that are translated together
CHARACTERS = 100_000  # of these texts, unless one is longer
CDATA = "<![CDATA["  # begins a section of XML without markup; the name of its parts
Written = str | tuple[int, int]  # a string, or the start and end of characters that are copied from the document


class Edit(NamedTuple):
    """Replaces the characters from `start` to `end`; if `copied`, only where another edit copies them."""

    start: int
    end: int
    written: list[Written]
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of a text in a program.

    Attributes:
        label: Whether it is a label, whose translation ends as it does.
        marked: The text with the mark of its accelerator, such as `_Open`, if the mark was taken out of the parts.
        context: What distinguishes it from equal texts with other translations; None if nothing does.
    """

    label: bool = False
    marked: str = ""
    context: str | None = None


class Recalled(NamedTuple):
    """The matches of a translation memory for a place.

    Attributes:
        matches: The matches.
        copied: Whether the whole translation is copied from them.
        doubtful: Whether people should look at the translation.
        taken: The match whose translation this is, though its text differs; None if there is none.
    """

    matches: Sequence[UsedMatch]
    copied: bool
    doubtful: bool
    taken: UsedMatch | None = None


class Answer(NamedTuple):
    """The translation of a place.

    Attributes:
        pieces: Its words and tags.
        changed: Whether it differs from the text.
        approved: Whether people have approved all of it.
        recalled: The matches; None without a memory.
        doubtful: Whether people should look at it.
    """

    pieces: list[Piece]
    changed: bool
    approved: bool
    doubtful: bool
    recalled: Recalled | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """What a document says about a translation, for people. The edits replace others of the same characters.

    Attributes:
        doubt: Edits if people should look at the translation.
        before: Written before the translation in that case.
        matched: Returns the edits for the matches of a memory.
    """

    doubt: Sequence[Edit] = ()
    before: Sequence[Written] = ()
    matched: Callable[[Recalled], Sequence[Edit]] | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """The way in which a translation is written into a document.

    Attributes:
        escape: Escapes text.
        literal: Escapes text in CDATA sections of XML.
        prepare: Functions that change the pieces of a translation, in order, before they are laid out.
        layout: Returns what is written for a place and the pieces of its translation.
        check: Returns what is wrong with what is written, or "".
    """

    escape: Callable[[str], str] = str
    literal: Callable[[str], str] = str
    prepare: Sequence[Callable[[list[Piece]], list[Piece]]] = ()
    layout: "Callable[[Place, list[Piece]], list[Written]]" = lambda place, pieces: place.escaped(pieces)
    check: Callable[[list[Written]], str] = lambda written: ""


@dataclass(slots=True)
class Place:
    """A text of a document, which its translation replaces.

    Attributes:
        parts: Its parts, in order.
        writing: How its translation is written.
        start: The first character that the translation replaces; by default the first one of the parts.
        end: The character after the last one.
        usage: Its use in a program.
        review: What the document says about its translation, for people.
        copied: Whether the text stays, and its translation goes to where another edit copies it.
    """

    parts: list[Part]
    writing: Writing = Writing()
    start: int = -1
    end: int = -1
    usage: Usage = Usage()
    review: Review = Review()
    copied: bool = False

    def __post_init__(self):
        if self.start < 0:
            self.start, self.end = self.parts[0].start, self.parts[-1].end

    @property
    def length(self) -> int:
        """The number of characters of its text."""
        return sum(len(part.text) for part in self.parts)

    def edit(self, pieces: list[Piece], doubtful: bool = False) -> Edit:
        """The edit that writes the pieces of the translation."""
        for prepare in self.writing.prepare:
            pieces = prepare(pieces)
        before = self.review.before if doubtful else ()
        return Edit(self.start, self.end, [*before, *self.writing.layout(self, pieces)], self.copied)

    def escaped(self, pieces: list[Piece]) -> list[Written]:
        """Pieces with their texts escaped, also in CDATA sections."""
        written: list[Written] = []
        literal = next((part.kind != "open" for part in self.parts if part.name == CDATA), False)
        for piece in pieces:
            if isinstance(piece, Part):
                literal = piece.kind == "open" if piece.name == CDATA else literal
                written.append((piece.start, piece.end))
            elif literal:
                written.append(self.writing.literal(piece).replace("]]>", f"]]]]>{CDATA}>"))
            else:
                written.append(self.writing.escape(piece))
        return written


@dataclass
class Document:
    """A document's text and the places that are translated.

    Attributes:
        text: The text of the document.
        places: The places, ordered by their first character. A place may be inside a part of another place.
        edits: Edits that do not depend on translations, such as the state of a unit.
        notes: Notes for people about the file, one line each.
        language: The code of the target language, or "".
        for_review: Whether all new translations are to be reviewed.
        forms: The edits that add plural forms, by key, in formats that have translations by key.
    """

    text: str
    places: list[Place]
    edits: list[Edit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    language: str = ""
    for_review: bool = False
    forms: dict[str, Edit] = field(default_factory=dict)

    def add_form(self, key: str, edit: Edit) -> None:
        """Add a plural form that is missing, by its key."""
        self.forms[key] = edit
        self.edits.append(edit)

    def tagged(self, place: Place) -> Tagged:
        """The words and tags of a place."""
        usage = place.usage
        label = self.language if usage.label else None
        return replace(take_tags(place.parts), label=label, marked=usage.marked, context=usage.context)


class DocumentWriter:
    """Writes translations into a document."""

    def __init__(self, document: Document):
        self.document, self._edits = document, list(document.edits)
        self._doubts: list[Edit] = []  # each replaces the earlier ones and all other edits of the same characters

    def write(self, place: Place, answer: Answer) -> str:
        """Write the translation of a place. Returns what is wrong with it, or ""."""
        doubtful = answer.doubtful or (self.document.for_review and not answer.approved)
        self._doubts += place.review.doubt if doubtful else ()
        if answer.recalled and place.review.matched:
            self._doubts += place.review.matched(answer.recalled._replace(doubtful=doubtful))
        if not answer.changed and not doubtful:
            return ""
        self._edits.append(place.edit(answer.pieces, doubtful))
        problem = place.writing.check(self._edits[-1].written)
        self._doubts += place.review.doubt if problem else ()
        return problem

    def text(self) -> str:
        """The document with all translations."""
        last = {(edit.start, edit.end): edit for edit in self._doubts}
        edits = [edit for edit in self._edits if edit[:2] not in last]
        return compose(self.document.text, [*edits, *last.values()])


def has_words(parts: Iterable[Part]) -> bool:
    """Whether the texts among the parts have letters."""
    return TextFacts("".join(part.text for part in parts if part.kind == "text")).has_letters


def compose(text: str, edits: Iterable[Edit]) -> str:
    """The document `text` after `edits`. Text that an edit copies from the document is edited too."""
    ordered = sorted(edits, key=lambda edit: (edit.start, -edit.end))
    starts = [edit.start for edit in ordered]

    def part(start: int, end: int, first: int, copied: bool) -> str:
        done, position = [], start
        for index in range(max(first, bisect_left(starts, start)), len(ordered)):
            edit = ordered[index]
            if edit.start >= end and not (edit.start == edit.end == end == len(text)):
                break
            if edit.start < position or edit.end > end or (edit.copied and not copied):
                continue  # inside the previous edit, or around this part
            done.append(text[position : edit.start])
            for piece in edit.written:
                if isinstance(piece, str):
                    done.append(piece)
                else:
                    inside = edit.start <= piece[0] and piece[1] <= edit.end
                    done.append(part(*piece, index + 1 if inside else 0, copied or not inside))
            position = edit.end
        return "".join([*done, text[position:end]])

    return part(0, len(text), 0, False)


def spelled(place_parts: Sequence[Part], source: str, escape: Callable[[str], str]) -> Callable[[str], str]:
    """`escape`, but characters that the parts of a place always escape in another way are escaped like there."""
    own: dict[str, str] = {}
    plain: set[str] = set()
    for part in place_parts:
        raw = source[part.start : part.end]
        if part.kind != "text" or raw == part.text:
            plain.update(raw if part.kind == "text" else "")
        elif (len(part.text) == 1 and not part.text.isspace()) or part.text in "\u00a0\u202f":
            own.setdefault(part.text, raw)
    own = {character: raw for character, raw in own.items() if character and character not in plain}
    if not own:
        return escape
    apart = re.compile(f"([{re.escape(''.join(own))}])")
    return lambda text: "".join(own[run] if run in own else escape(run) for run in apart.split(text) if run)


def chunks(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Places that are translated together."""
    chunk: list[Place] = []
    length = 0
    for place in places:
        if chunk and (len(chunk) == CHUNK or length + place.length > CHARACTERS):
            yield chunk
            chunk, length = [], 0
        chunk.append(place)
        length += place.length
    if chunk:
        yield chunk


def character_offsets(text: str) -> Callable[[int], int]:
    """A function that maps a byte offset in UTF-8 to the character offset in `text`."""
    if text.isascii():
        return lambda offset: offset
    content = numpy.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=numpy.uint8)
    begun = numpy.concatenate([[0], ((content & 0xC0) != 0x80).cumsum(dtype=numpy.int32)])  # before each byte
    return lambda offset: int(begun[offset])


def line_numbers(text: str) -> Callable[[int], int]:
    """A function that maps a character of a text to the number of its line, from 1."""
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda position: bisect_left(ends, position) + 1


def as_string(pieces: Iterable[Written], text: str) -> str:
    """What is written into the document `text`, as one string."""
    return "".join(piece if isinstance(piece, str) else text[piece[0] : piece[1]] for piece in pieces)
