"""Paragraphs of Word, PowerPoint and Excel, whose text is in runs with a format each."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....translate.texts.tags import Part, Piece
from ..places import Place, Writing, Written, has_words, spelled
from .format import LanguagePair
from .language import translated_language
from .sheets import sheet_prefix, sheet_tokens
from .tokens import SPACE, Token, attributes, escape_xml, matching_tags, text_parts, trimmed
from .xml_positions import xml_tokens


@dataclass(frozen=True)
class Names:
    """The names of the elements of a document format.

    Attributes:
        paragraphs: Paragraphs.
        properties: Properties before the runs of a paragraph, or of an element around runs.
        run: A run.
        format: The format of a run.
        text: The text of a run.
        language: Matches a tag in a format up to its language, and the language.
        opened: The tag before a text that is written, without the first character.
        breaks: Breaks between words.
        dropped: Elements that the program restores itself.
        around: Elements around runs of a paragraph.
        characters: Elements that are characters.
        prefix: The prefix that the file puts before these names.
    """

    paragraphs: frozenset[str]
    properties: frozenset[str]
    run: str
    format: str
    text: str
    language: re.Pattern
    opened: str
    breaks: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    characters: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""


WORD = Names(
    paragraphs=frozenset({"w:p"}),
    properties=frozenset({"w:pPr", "w:sdtPr", "w:sdtEndPr", "w:customXmlPr", "w:smartTagPr", "w:fldData"}),
    run="w:r",
    format="w:rPr",
    text="w:t",
    language=re.compile(r"(<w:lang\b[^>]*?\bw:val=[\"'])([^\"']*)"),
    opened='w:t xml:space="preserve">',
    breaks=frozenset({"w:br", "w:tab", "w:ptab", "w:cr"}),
    dropped=frozenset({"w:proofErr", "w:lastRenderedPageBreak"}),
    around=frozenset(
        ["w:hyperlink", "w:ins", "w:smartTag", "w:moveTo", "w:sdt", "w:sdtContent", "w:customXml", "w:bdo", "w:dir",
         "w:fldSimple"]
    ),
    characters={"w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"},
)  # fmt: skip
DRAWING = Names(  # of slides, charts and shapes
    paragraphs=frozenset({"a:p"}),
    properties=frozenset({"a:pPr"}),
    run="a:r",
    format="a:rPr",
    text="a:t",
    language=re.compile(r"(<a:(?:rPr|endParaRPr|defRPr)\b[^>]*?\blang=[\"'])([^\"']*)"),
    opened="a:t>",
    breaks=frozenset({"a:br"}),
)
SHEET = Names(  # of cells and their comments
    paragraphs=frozenset({"si", "is", "text"}),
    properties=frozenset(),
    run="r",
    format="rPr",
    text="t",
    language=re.compile(r"(?!)()()"),
    opened='t xml:space="preserve">',
)


def run_places(text: str, name: str, names: Names, languages: LanguagePair) -> tuple[list[Place], list[Token]]:
    """The paragraphs of a document, and its tokens. Raises `GlossaError`, with the line, if it is not well-formed."""
    sheet = names is SHEET
    names = replace(names, prefix=sheet_prefix(text)) if sheet else names
    tokens = sheet_tokens(text, name) if sheet else xml_tokens(text, name)
    reader = _Reader(text, tokens, names, languages)
    found = [
        reader.paragraph(index)
        for index, token in enumerate(tokens)
        if token.name in names.paragraphs and token.kind == "open"
    ]
    return [place for place in found if place is not None], tokens


@dataclass
class _Paragraph:
    """A paragraph that is being read.

    Attributes:
        parts: Its parts. A run is a pair of tags without characters.
        formats: The format of each part of a run that is not text.
        letters: The number of characters in each format.
    """

    parts: list[Part] = field(default_factory=list)
    formats: dict[Part, str] = field(default_factory=dict)
    letters: Counter[str] = field(default_factory=Counter)

    def settle(self) -> str:
        """The most common format. Its runs lose their tags."""
        main = self.letters.most_common(1)[0][0]
        plain = {part for part, own in self.formats.items() if own == main and part.kind in ("open", "close")}
        self.parts = [part for part in self.parts if part not in plain]
        return main


class _Reader:
    def __init__(self, text: str, tokens: Sequence[Token], names: Names, languages: LanguagePair):
        self.text, self.tokens, self.ends = text, tokens, matching_tags(tokens)
        self.names, self.languages = names, languages

    def paragraph(self, index: int) -> Place | None:
        found = _Paragraph()
        first = index + 1
        while self.tokens[first].name in self.names.properties:
            first = self.ends[first] + 1
        if self.tokens[first].name == self.names.text:
            return self._plain(first)
        self._content(first, self.ends[index], found)
        if not has_words(found.parts):
            return None
        main = found.settle()
        kept = trimmed(found.parts)
        around = _around(found.parts, kept)
        span = (self.tokens[first].start, self.tokens[self.ends[index]].start)
        writer = _Writer(self.names, found.formats, main, *around)
        return Place(kept, Writing(escape_xml, layout=writer.write), *span)

    def _plain(self, index: int) -> Place | None:
        """A paragraph that is a text without runs."""
        own, end = self.tokens[index], self.tokens[self.ends[index]]
        kept = trimmed(text_parts(self.text, own.end, end.start, collapse=False)) if own.kind == "open" else []
        return Place(kept, Writing(spelled(kept, self.text, escape_xml))) if has_words(kept) else None

    def _content(self, first: int, last: int, paragraph: _Paragraph) -> None:
        """Add the parts between two tokens."""
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
            if token.name == self.names.run and token.kind == "open":
                self._run(index, end, paragraph)
            elif token.name in self.names.around and token.kind == "open":
                name = f"{token.name} {token.start}"
                inner = index + 1
                while self.tokens[inner].name in self.names.properties:
                    inner = self.ends[inner] + 1
                paragraph.parts.append(Part("open", token.start, self.tokens[inner - 1].end, "", name))
                self._content(inner, end, paragraph)
                paragraph.parts.append(Part("close", self.tokens[end].start, self.tokens[end].end, "", name))
            elif token.kind != "text" and token.name not in self.names.dropped:
                kind = "break" if token.name in self.names.breaks else "alone"
                paragraph.parts.append(Part(kind, token.start, self.tokens[end].end))
            index = end + 1

    def _fields(self, first: int, last: int) -> dict[int, Part]:
        """The parts of fields that begin and end here: tags around the result, or a part "alone" without a result."""
        found: dict[int, Part] = {}
        begins: list[tuple[int, int]] = []  # the runs where fields begin, and where their results do
        index = first
        while index < last:
            kind = self._field_mark(index) if self.tokens[index].name == self.names.run else ""
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
        """Add a run: its texts and other elements, in its format."""
        own, inner = "", []
        position = index + 1
        while position < end:
            token, last = self.tokens[position], self.ends[position]
            span = (token.start, self.tokens[last].end)
            if token.name == self.names.format:
                own = self.names.language.sub(self._translated, self.text[slice(*span)])
            elif token.name == self.names.text and token.kind == "open":
                inner += text_parts(self.text, token.end, self.tokens[last].start, collapse=False)
            elif token.name in self.names.characters:
                inner.append(Part("text", *span, self.names.characters[token.name]))
            elif token.kind != "text" and token.name not in {*self.names.dropped, self.names.text}:
                inner.append(Part("break" if token.name in self.names.breaks else "alone", *span))
            position = last + 1
        before = paragraph.parts[-1] if paragraph.parts else None
        if before and before.kind == "close" and paragraph.formats.get(before) == own:  # a run with the same format
            name, opened = paragraph.parts.pop().name, []
        else:
            name = f"run {self.tokens[index].start}"
            opened = [Part("open", self.tokens[index].start, self.tokens[index].start, "", name)]
        closed = Part("close", self.tokens[end].end, self.tokens[end].end, "", name)
        paragraph.parts += [*opened, *inner, closed]
        paragraph.letters[own] += sum(len(part.text) for part in inner)
        paragraph.formats |= {part: own for part in (*opened, closed, *inner) if part.kind != "text"}


def _around(parts: Sequence[Part], kept: Sequence[Part]) -> tuple[list[Piece], list[Piece]]:
    """The pieces that were trimmed from both ends of parts."""
    lead: list[Piece] = []
    trail: list[Piece] = []
    if len(kept) == len(parts) and (kept[0], kept[-1]) == (parts[0], parts[-1]):
        return lead, trail
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
        names: The elements of the document format.
        formats: The format of each part of a run that is not text.
        main: The format of text outside these runs.
        lead: The pieces before the translation.
        trail: The pieces after it.
    """

    names: Names
    formats: dict[Part, str]
    main: str
    lead: list[Piece]
    trail: list[Piece]

    def write(self, place: Place, pieces: list[Piece]) -> list[Written]:
        written: list[Written] = []
        formats, prefix = [self.main], self.names.prefix
        run, opened, closed = (prefix + each for each in (self.names.run, self.names.opened, self.names.text))
        for piece in [*self.lead, *pieces, *self.trail]:
            if isinstance(piece, str):
                if piece:
                    text = f"<{opened}{escape_xml(piece)}</{closed}>"
                    written.append(f"<{run}>{formats[-1]}{text}</{run}>")
            elif piece not in self.formats:
                written.append((piece.start, piece.end))
            elif piece.kind == "open":
                formats.append(self.formats[piece])
            elif piece.kind == "close":
                formats.pop()
            else:
                around = (f"<{opened}", f"</{closed}>") if piece.name == SPACE else ("", "")
                written += [f"<{run}>{self.formats[piece]}{around[0]}", (piece.start, piece.end)]
                written.append(f"{around[1]}</{run}>")
        return written
