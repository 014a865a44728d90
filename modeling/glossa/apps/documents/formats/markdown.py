"""Markdown."""

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ....base.errors import GlossaError, require
from ....model.facts_glossa import TextFacts
from ....translate.texts.tags import Part, Piece
from ..places import Document, Place, Usage, Writing, Written, character_offsets, spelled
from .format import Format, LanguagePair
from .html import RULES
from .html_positions import html_tokens
from .markdown_lines import hidden, templates_of
from .plain import fill, line_end
from .strings import BLOCKS
from .tagged import find_places, places_of
from .templates import template_parts
from .tokens import Token, trimmed, with_text

MOST_MARKS = 20_000  # of a paragraph: the time of the parser grows with their square
DEEPEST = 50  # levels of inline nodes; deeper nodes are text
EMPHASIS = ("emphasis", "strong_emphasis", "strikethrough")
LINKS = ("inline_link", "full_reference_link", "collapsed_reference_link", "shortcut_link")
ATTRIBUTED = (*LINKS, "image", "code_span", *EMPHASIS)  # may be followed by attributes
_ATTRIBUTES = re.compile(r"\{(?:[:.#][^{}\n]*|[\w-]+=[^{}\n]*)\}")
LONGEST = 1_000_000  # characters of a paragraph; nothing stops the parser in one
_READ = ("inline", "pipe_table_cell", "html_block", "link_title", "link_label")
_SPECIAL = re.compile(r"[\\`*_\[\]<|]")
_BLOCK_MARK = re.compile(r"(?:([-+*>]|#{1,6})|(\d{1,9})([.)]))(?=\s|$)")
_CLOSING = re.compile(r"(?:^|(?<![ \t])[ \t]++)#++[ \t]*+$")  # the marks at the end of a heading
_SOFT_BREAK = re.compile(r"(?<![ \t])[ \t]*+\r?\n[ \t]*+")
_NAMED = re.compile(r"(?=[^._:/]*[._:/])_*[^\W_]+(?:[._:/-]+[^\W_]+)+")
_HTML_NAME = re.compile(r"</?([A-Za-z][\w-]*)")


def read(text: str, name: str, languages: LanguagePair) -> Document:
    """The texts of a page: paragraphs, headings, cells and items, without code, keyboard input and front matter.

    Raises `GlossaError` for a paragraph with more than `MOST_MARKS` marks or `LONGEST` characters, or such a line.
    """
    if long := re.search(rf"[^\n]{{{LONGEST}}}", text):
        raise _too_long(name, text, long.start())
    return _Reader(text, name).document()


FORMATS = (Format("markdown", (".md", ".markdown", ".mdx"), read),)


def _too_long(name: str, text: str, start: int) -> GlossaError:
    line = text.count("\n", 0, start) + 1
    return GlossaError(f"{name}, line {line}: a paragraph may have at most {LONGEST:,} characters. Divide it.")


class _Reader:
    def __init__(self, text: str, name: str):
        tree_sitter = require("tree_sitter", "documents", "tree-sitter", name)
        grammar = require("tree_sitter_markdown", "documents", "tree-sitter-markdown", name)
        self.ranges: type = tree_sitter.Range
        self.blocks = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
        self.inlines = tree_sitter.Parser(tree_sitter.Language(grammar.inline_language()))
        self.text, self.name = text, name
        self.templates = templates_of(text)
        self.content, self.titles = hidden(f"{text}\n", self.templates)  # the parser needs the last line end
        self.at: Callable[[int], int] = character_offsets(f"{text}\n")
        self.places: list[Place] = []
        self.continuations: dict[int, int] = {}  # of the block that is read: the marks before its lines
        self.labels: set[str] = set()
        self.depth = 0  # of the inline node that is read

    def document(self) -> Document:
        root = self.blocks.parse(self.content).root_node
        nodes = [node for node in _walk(root) if node.type in _READ]
        self.labels = {self._label(node) for node in nodes if node.type == "link_label"}
        for node in nodes:
            if node.type in ("inline", "pipe_table_cell"):
                self._add_inline(node)
            elif node.type == "html_block":
                start, end = self._span(node)
                shift = [
                    Token(kind, first + start, last + start, tag)
                    for kind, first, last, tag in html_tokens(self.text[start:end])
                ]
                self.places += find_places(self.text, shift, RULES)
            elif node.type == "link_title":
                self._add_title(node)
        for title in self.titles:
            self._add_hidden_title(*title)
        return Document(self.text, sorted(self.places, key=lambda place: place.start))

    def _span(self, node: Any) -> tuple[int, int]:
        return self.at(node.start_byte), self.at(node.end_byte)

    def _label(self, node: Any) -> str:
        first, last = self._span(node)
        return self._label_of(first + 1, last - 1)

    def _label_of(self, start: int, end: int) -> str:
        """The label of a reference in these characters; capitals and white space make no difference."""
        return " ".join(self.text[start:end].casefold().split())

    def _add_inline(self, node: Any) -> None:
        start, end = self._span(node)
        if node.parent is not None and node.parent.type == "atx_heading":
            end = start + len(_CLOSING.sub("", self.text[start:end]))
        tree = self._parse_inline(node)
        run: list[Part] = []
        references: dict[Part, list[Written]] = {}
        self._parts(tree, start, end, run, references)
        for parts in _at_hard_breaks(run):
            for place in places_of(parts, self.text):
                if place.parts[0].kind == "text" or place.parts[-1].end <= end:
                    self._finish(place, references, "|" if node.type == "pipe_table_cell" else "")
                    self.places.append(place)

    def _add_hidden_title(self, start: int, end: int, mark: str) -> None:
        """Add the title in a line that is hidden from the parser of blocks."""
        content = self.text[start:end].encode("utf-8", "surrogatepass")
        whole, self.at = self.at, (lambda offset: start + len(content[:offset].decode("utf-8", "surrogatepass")))
        self.inlines.included_ranges = [self.ranges((0, 0), (0, len(content)), 0, len(content))]
        self.continuations = {}
        run: list[Part] = []
        self._parts(self.inlines.parse(content).root_node, start, end, run, {})
        self.at = whole
        for place in places_of(run, self.text):
            place.usage = Usage(label=True)
            self._finish(place, {}, "")
            place.writing = replace(place.writing, escape=partial(_titled, place.writing.escape, mark))
            self.places.append(place)

    def _parse_inline(self, node: Any) -> Any:
        """The inline tree of a block, without the marks at the start of its other lines."""
        start, end = self._span(node)
        if end - start >= LONGEST:
            raise _too_long(self.name, self.text, start)
        marks = len(_SPECIAL.findall(self.text, start, end))
        if marks > MOST_MARKS:
            line = self.text.count("\n", 0, start) + 1
            what = f"a paragraph has {marks:,} marks such as * and [; at most {MOST_MARKS:,} are allowed"
            raise GlossaError(f"{self.name}, line {line}: {what}. Divide it.")
        ranges, start, point = [], node.start_byte, node.start_point
        for child in node.children:
            if child.type == "block_continuation" and child.end_byte > child.start_byte:
                ranges.append(self.ranges(point, child.start_point, start, child.start_byte))
                start, point = child.end_byte, child.end_point
        ranges.append(self.ranges(point, node.end_point, start, node.end_byte))
        self.inlines.included_ranges = ranges
        self.continuations = dict(self._span(child) for child in node.children if child.type == "block_continuation")
        return self.inlines.parse(self.content).root_node

    def _parts(self, node: Any, start: int, end: int, run: list[Part], references: dict[Part, list[Written]]) -> None:
        """Add the parts between two characters of an inline node."""
        position = start
        self.depth += 1
        for child in node.children if self.depth <= DEEPEST else ():
            first, last = self._span(child)
            if first < position or last > end or child.type not in _HANDLERS:
                continue
            if child.type in ATTRIBUTED and (attributes := _ATTRIBUTES.match(self.text, last, end)):
                last = attributes.end()
            self._text(position, first, run)
            _HANDLERS[child.type](self, child, first, last, run, references)
            position = last
        self._text(position, end, run)
        self.depth -= 1

    def _text(self, start: int, end: int, run: list[Part]) -> None:
        """Add text, in which line ends and the marks that continue a block after them are spaces."""
        for template in self._templates(start, end):
            self._text(start, template.start, run)
            run.append(template)
            start = template.end
        breaks: list[Part] = []
        for found in _SOFT_BREAK.finditer(self.text, start, end):
            first, following = found.start(), self.text.find("\n", found.start()) + 1
            last = min(max(found.end(), self.continuations.get(following, 0)), end)
            if not breaks or first >= breaks[-1].end:
                breaks.append(line_end(self.text, first, last))
        run += with_text(breaks, self.text, start, end)

    def _templates(self, start: int, end: int) -> list[Part]:
        first, last = (bisect_left(self.templates, place, key=lambda each: each.start) for place in (start, end))
        return [part for part in template_parts(self.text, self.templates[first:last]) if part.end <= end]

    def _emphasis(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        inner = node
        while inner.type == "strikethrough" and any(child.type == "strikethrough" for child in inner.children):
            inner = next(child for child in inner.children if child.type == "strikethrough")
        marks = [child for child in inner.children if child.type == "emphasis_delimiter"]
        count = len(marks) // 2
        first, last = self.at(marks[count - 1].end_byte), self.at(marks[count].start_byte)
        run.append(Part("open", start, first, "", f"{node.type}{start}"))
        self._parts(inner, first, last, run, references)
        run.append(Part("close", last, end, "", f"{node.type}{start}"))

    def _link(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        words = next((child for child in node.children if child.type == "link_text"), None)
        if words is None:
            self._literal(node, start, end, run, references)
            return
        first, last = self._span(words)
        label = self._label_of(first, last)
        if node.type in ("shortcut_link", "collapsed_reference_link"):
            if self.text.startswith("^", first):  # a footnote
                self._literal(node, start, end, run, references)
                return
            if label not in self.labels and _NAMED.fullmatch(label):  # defined elsewhere, perhaps
                self._literal(node, start, end, run, references)
                return
            if label not in self.labels:
                self._text(start, first, run)
                self._parts(words, first, last, run, references)
                self._text(last, end, run)
                return
        name = f"link{start}"
        close = Part("close", last, end, "", name)
        run.append(Part("open", start, first, "", name))
        self._parts(words, first, last, run, references)
        run.append(close)
        if node.type in ("shortcut_link", "collapsed_reference_link"):  # its definition has the words of the source
            references[close] = ["][", (first, last), "]"]
        for child in node.children:
            if child.type == "link_title":
                self._add_title(child)

    def _literal(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        run.append(Part("alone", start, end))

    def _code(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        words = self.text[start:end].strip("`$<>")
        run.append(Part("alone", start, end, " ".join(words.split()) or "x"))

    def _image(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        run.append(Part("alone", start, end))
        for child in node.children:
            if child.type == "image_description":
                first, last = self._span(child)
                inner: list[Part] = []
                self._parts(child, first, last, inner, {})
                own: dict[Part, list[Written]] = {}
                if self.text[last:end] in ("]", "][]") and self._label_of(first, last) in self.labels:
                    own[Part("close", last, end, "", f"link{start}")] = ["][", (first, last), "]"]
                for place in places_of(inner, self.text):
                    self._finish(place, own, "")
                    self.places.append(place)
            elif child.type == "link_title":
                self._add_title(child)

    def _html(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        name = _HTML_NAME.match(self.text, start)
        raw = self.text[start:end]
        lower = name[1].lower() if name else ""
        if lower in BLOCKS:
            run.append(Part("end", start, end))
            return
        alone = name is None or raw.endswith("/>") or lower not in RULES.inline or lower in ("img", "input", "wbr")
        kind = "alone" if alone else "close" if raw.startswith("</") else "open"
        run.append(Part(kind, start, end, "", f"html {lower}"))

    def _escaped(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        raw = self.text[start:end]
        run.append(Part("text", start, end, raw[1:] if raw.startswith("\\") else html.unescape(raw)))

    def _break(self, node: Any, start: int, end: int, run: list[Part], references: dict) -> None:
        run.append(Part("end", start, end))

    def _add_title(self, node: Any) -> None:
        first, last = self._span(node)
        quote = self.text[last - 1]
        parts = trimmed([Part("text", first + 1, last - 1, self.text[first + 1 : last - 1])])
        simple = parts and TextFacts(parts[0].text).has_letters and not set(parts[0].text) & {"\\", "\n"}
        if simple and not any(place.start == parts[0].start for place in self.places):
            self.places.append(Place(parts, Writing(lambda new: new.replace(quote, f"\\{quote}"))))

    def _finish(self, place: Place, references: dict[Part, list[Written]], special: str) -> None:
        """Set how the translation of a place is written. A reference around the place becomes a part of it."""
        for close in references:
            if (
                close.start >= place.end
                and not self.text[place.end : close.start].strip()
                and close not in place.parts
            ):
                opened = self.text.rfind("[", 0, place.start)
                place.parts = [Part("open", opened, place.start, "", close.name), *place.parts, close]
                place.start, place.end = opened, close.end
        escape = spelled(place.parts, self.text, _escape(place, special))
        place.writing = Writing(escape, layout=partial(self._write, references))

    def _write(self, references: dict[Part, list[Written]], place: Place, pieces: list[Piece]) -> list[Written]:
        written: list[Written] = []
        by_span = {(part.start, part.end): new for part, new in references.items()}
        for piece in fill(self.text, place, pieces):
            written += by_span.get(piece, [piece]) if isinstance(piece, tuple) else [piece]
        if written and isinstance(written[0], str) and not _BLOCK_MARK.match(self.text, place.start):
            written[0] = (
                _BLOCK_MARK.sub(r"\2\\\1\3", written[0], count=1) if _BLOCK_MARK.match(written[0]) else written[0]
            )
        return written


_HANDLERS: dict[str, Callable] = {
    **dict.fromkeys(EMPHASIS, _Reader._emphasis),
    **dict.fromkeys(LINKS, _Reader._link),
    "code_span": _Reader._code,
    "latex_block": _Reader._code,
    "uri_autolink": _Reader._code,
    "email_autolink": _Reader._code,
    "image": _Reader._image,
    "html_tag": _Reader._html,
    "entity_reference": _Reader._escaped,
    "numeric_character_reference": _Reader._escaped,
    "backslash_escape": _Reader._escaped,
    "hard_line_break": _Reader._break,
}


def _titled(escape: Callable[[str], str], mark: str, text: str) -> str:
    """Escape the title of a hidden line: the mark that would end it is replaced."""
    escaped = escape(text)
    return escaped.replace(mark, "’" if mark == '"' else f"\\{mark}") if mark else escaped


def _walk(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)


def _at_hard_breaks(run: list[Part]) -> Iterator[list[Part]]:
    current: list[Part] = []
    for part in run:
        if part.kind == "end":
            yield current
            current = []
        else:
            current.append(part)
    yield current


def _escape(place: Place, special: str) -> Callable[[str], str]:
    """A function that escapes marks of Markdown, except characters that the source has unescaped."""
    plain = {
        c for part in place.parts if part.kind == "text" and len(part.text) == part.end - part.start for c in part.text
    }
    kept = "".join(plain - set(special))  # a string takes less memory than a set
    return lambda text: _SPECIAL.sub(
        lambda found: found[0] if found[0] in kept or (found[0] == "|" and not special) else f"\\{found[0]}", text
    )
