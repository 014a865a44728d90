"""The XML of Word documents: text stands in runs, each with its own format."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import GlossaError
from ...inference.texts.tags import Part, Piece
from ..places import Document, Edit, Place, Written, has_words
from .language import set_language, translated_language
from .tokens import Token, attributes, escape_xml, matching_tags, text_parts, trimmed
from .xml_positions import xml_tokens

if TYPE_CHECKING:
    from .opening import Languages

# Elements around runs of a paragraph, and what stands in some of these before the runs.
_AROUND = frozenset(
    ["w:hyperlink", "w:ins", "w:smartTag", "w:moveTo", "w:sdt", "w:sdtContent", "w:customXml", "w:bdo", "w:dir",
     "w:fldSimple"]
)  # fmt: skip
_PROPERTIES = frozenset(["w:sdtPr", "w:sdtEndPr", "w:customXmlPr", "w:smartTagPr", "w:fldData"])
_LANGUAGE = re.compile(r"(<w:lang\b[^>]*?\bw:val=[\"'])([^\"']*)")
_BREAKS = ("w:br", "w:tab", "w:cr")  # between words
_DROPPED = ("w:proofErr", "w:lastRenderedPageBreak")  # which Word writes again


def read_word(text: str, name: str, languages: "Languages", commented: bool = False) -> Document:
    """The paragraphs of a part of a document, whose language becomes the target.

    If it may have comments, paragraphs that people should look at get one.
    """
    tokens = xml_tokens(text, name)
    reader = _Reader(text, tokens, matching_tags(tokens), languages)
    found = (
        reader.paragraph(index) for index, token in enumerate(tokens) if token.name == "w:p" and token.kind == "open"
    )
    places = [place for place in found if place is not None]
    for place in places if commented else ():
        begin, end = around(place.start)
        place.doubtful_before = [begin]
        place.doubt = [Edit(place.end, place.end, [end])]
    document = Document(text, places)
    for token in tokens:
        if token.name == "w:lang":
            set_language(document, token, languages, ("w:val",))
    return document


@dataclass
class _Paragraph:
    """A paragraph that is read.

    Attributes:
        parts: Its parts. A run is a pair of tags without characters; one of the most common format is none.
        formats: The format of each run, and of what stands alone in one, by the number of its part.
        letters: How many characters have each format.
    """

    parts: list[Part] = field(default_factory=list)
    formats: dict[Part, str] = field(default_factory=dict)
    letters: Counter[str] = field(default_factory=Counter)

    def settle(self) -> str:
        """The most common format; its runs lose their tags."""
        main = self.letters.most_common(1)[0][0]
        plain = {part for part, own in self.formats.items() if own == main and part.kind in ("open", "close")}
        self.parts = [part for part in self.parts if part not in plain]
        return main


class _Reader:
    def __init__(self, text: str, tokens: Sequence[Token], ends: Sequence[int], languages: "Languages"):
        self.text, self.tokens, self.ends, self.languages = text, tokens, ends, languages

    def paragraph(self, index: int) -> Place | None:
        found = _Paragraph()
        first = index + 1
        if self.tokens[first].name == "w:pPr":
            first = self.ends[first] + 1
        self._content(first, self.ends[index], found)
        if not has_words(found.parts):
            return None
        main = found.settle()
        kept = trimmed(found.parts)
        around = _around(found.parts, kept)
        span = (self.tokens[first].start, self.tokens[self.ends[index]].start)
        writer = _Writer(found.formats, main, *around)
        return Place(kept, escape_xml, *span, lay=writer.write)

    def _content(self, first: int, last: int, paragraph: _Paragraph) -> None:
        """Add what is between two tokens."""
        fields = self._fields(first, last)
        index = first
        while index < last:
            token, end = self.tokens[index], self.ends[index]
            if index in fields:
                part = fields[index]
                paragraph.parts.append(part)
                while index < last and self.tokens[index].start < part.end:
                    index = self.ends[index] + 1
                continue
            if token.name == "w:r" and token.kind == "open":
                self._run(index, end, paragraph)
            elif token.name in _AROUND and token.kind == "open":
                name = f"{token.name} {token.start}"
                inner = index + 1
                while self.tokens[inner].name in _PROPERTIES:
                    inner = self.ends[inner] + 1
                paragraph.parts.append(Part("open", token.start, self.tokens[inner - 1].end, "", name))
                self._content(inner, end, paragraph)
                paragraph.parts.append(Part("close", self.tokens[end].start, self.tokens[end].end, "", name))
            elif token.kind != "text" and token.name not in _DROPPED:
                paragraph.parts.append(Part("alone", token.start, self.tokens[end].end))
            index = end + 1

    def _fields(self, first: int, last: int) -> dict[int, Part]:
        """The tags of fields whose begin and end are here: before their result, and after it; or all of a field."""
        found: dict[int, Part] = {}
        begins: list[tuple[int, int]] = []  # the runs where fields begin, and where their results do
        index = first
        while index < last:
            kind = self._field_mark(index) if self.tokens[index].name == "w:r" else ""
            if kind == "begin":
                begins.append((index, -1))
            elif kind == "separate" and begins:
                begins[-1] = (begins[-1][0], index)
            elif kind == "end" and begins:
                start, middle = begins.pop()
                name = f"field {self.tokens[start].start}"
                if middle < 0:
                    found[start] = Part("alone", self.tokens[start].start, self.tokens[self.ends[index]].end)
                else:
                    found[start] = Part("open", self.tokens[start].start, self.tokens[self.ends[middle]].end, "", name)
                    found[index] = Part("close", self.tokens[index].start, self.tokens[self.ends[index]].end, "", name)
            index = self.ends[index] + 1
        return found

    def _field_mark(self, index: int) -> str:
        for token in self.tokens[index : self.ends[index]]:
            if token.name == "w:fldChar":
                return attributes(self.text, token).get("w:fldchartype", "")
        return ""

    def _translated(self, found: re.Match) -> str:
        return found[1] + (translated_language(found[2], self.languages) or found[2])

    def _run(self, index: int, end: int, paragraph: _Paragraph) -> None:
        """Add a run: its texts, and what else it has, in its format."""
        own, inner = "", []
        position = index + 1
        while position < end:
            token, last = self.tokens[position], self.ends[position]
            span = (token.start, self.tokens[last].end)
            if token.name == "w:rPr":
                own = _LANGUAGE.sub(self._translated, self.text[slice(*span)])
            elif token.name == "w:t" and token.kind == "open":
                inner += text_parts(self.text, token.end, self.tokens[last].start, collapse=False)
            elif token.kind != "text" and token.name not in _DROPPED and token.name != "w:t":
                inner.append(Part("break" if token.name in _BREAKS else "alone", *span))
            position = last + 1
        name = f"run {self.tokens[index].start}"
        opened = Part("open", self.tokens[index].start, self.tokens[index].start, "", name)
        closed = Part("close", self.tokens[end].end, self.tokens[end].end, "", name)
        paragraph.parts += [opened, *inner, closed]
        paragraph.letters[own] += sum(len(part.text) for part in inner)
        paragraph.formats |= {part: own for part in (opened, closed, *inner) if part.kind != "text"}


def _around(parts: Sequence[Part], kept: Sequence[Part]) -> tuple[list[Piece], list[Piece]]:
    """What trimming has taken from both ends of parts."""
    lead: list[Piece] = []
    trail: list[Piece] = []
    inside = set(kept)
    for part in parts:
        if part in inside:
            continue
        if part.end <= kept[0].start:
            lead.append(part.text if part.kind == "text" else part)
        elif part.start >= kept[-1].end:
            trail.append(part.text if part.kind == "text" else part)
        else:  # white space was cut off
            if part.start < kept[0].start:
                lead.append(part.text[: kept[0].start - part.start])
            if part.end > kept[-1].end:
                trail.append(part.text[kept[-1].end - part.start :])
    return lead, trail


@dataclass
class _Writer:
    """Writes a paragraph.

    Attributes:
        formats: The format of each tag of a run, and of what stands alone in one.
        main: The format of other text.
        lead: What comes before the translation.
        trail: What comes after it.
    """

    formats: dict[Part, str]
    main: str
    lead: list[Piece]
    trail: list[Piece]

    def write(self, pieces: list[Piece]) -> list[Written]:
        written: list[Written] = []
        formats = [self.main]
        for piece in [*self.lead, *pieces, *self.trail]:
            if isinstance(piece, str):
                if piece:
                    text = f'<w:t xml:space="preserve">{escape_xml(piece)}</w:t>'
                    written.append(f"<w:r>{formats[-1]}{text}</w:r>")
            elif piece not in self.formats:
                written.append((piece.start, piece.end))
            elif piece.kind == "open":
                formats.append(self.formats[piece])
            elif piece.kind == "close":
                formats.pop()
            else:
                written += [f"<w:r>{self.formats[piece]}", (piece.start, piece.end), "</w:r>"]
        return written


FIRST = 1_000_000_000  # number of a comment at the first character; Word counts its own from 0
MEMBER, RELATIONS, TYPES = "word/comments.xml", "word/_rels/document.xml.rels", "[Content_Types].xml"
TEXT = "Glossa: this translation may need a correction."
_SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_EMPTY = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:comments {_SPACE}></w:comments>'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml"
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"


def around(position: int) -> tuple[str, str]:
    """The tags that begin and end a comment on the text at a character of a document."""
    number = f'w:id="{FIRST + position}"'
    reference = f"<w:r><w:commentReference {number}/></w:r>"
    return f"<w:commentRangeStart {number}/>", f"<w:commentRangeEnd {number}/>{reference}"


def with_comments(members: dict[str, str], read: Callable[[str], str]) -> dict[str, str]:
    """Changed members of a Word document, with the comments that its text refers to.

    Args:
        members: The changed members by name, with the text of the document.
        read: Reads another member; "" if there is none.

    Raises:
        GlossaError: if the document keeps its comments in another member than Word does.
    """
    found = re.findall(r'<w:commentReference w:id="(1\d{9})"/>', members.get("word/document.xml", ""))
    old = members.get(MEMBER, "") or read(MEMBER)
    numbers = [number for number in found if f'w:id="{number}"' not in old]
    if not numbers:
        return members
    content = f"<w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>"
    added = "".join(
        f'<w:comment w:id="{number}" w:author="Glossa" w:initials="G">{content}</w:comment>' for number in numbers
    )
    changed = members | {MEMBER: _before("</w:comments>", added, old or _EMPTY)}
    if not old:
        relations = read(RELATIONS)
        if _KIND in relations:
            raise GlossaError("The document has comments in an unusual member. Leave --min_confidence out.")
        relation = f'<Relationship Id="glossaComments" Type="{_KIND}" Target="comments.xml"/>'
        changed[RELATIONS] = _before("</Relationships>", relation, relations)
        kind = f'<Override PartName="/{MEMBER}" ContentType="{_TYPE}"/>'
        changed[TYPES] = _before("</Types>", kind, read(TYPES))
    return changed


def _before(tag: str, added: str, text: str) -> str:
    """A text with something before its last tag."""
    before, found, after = text.rpartition(tag)
    if not found:  # an element without content
        name = tag[2:-1]
        return re.sub(rf"(<{name}\b[^>]*?)\s*/>", lambda opened: f"{opened[1]}>{added}{tag}", text, count=1)
    return f"{before}{added}{found}{after}"
