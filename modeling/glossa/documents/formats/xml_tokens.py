"""HTML and XML as tags and the texts between them, with the characters where each stands."""

import html
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from typing import NamedTuple
from xml.parsers import expat

from ...errors import GlossaError
from ...inference.texts.tags import Part


class Token(NamedTuple):
    """A piece of a document.

    Attributes:
        kind: "text", "open", "close", "empty" (a tag without content), or "other", such as a comment.
        start: Its first character.
        end: The one after its last.
        name: Of a tag, in lower case in HTML.
    """

    kind: str
    start: int
    end: int
    name: str = ""


VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_XML = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>"
    r"|<(?P<close>/)?(?P<name>[^\s/>!?]+)(?:[^>\"']|\"[^\"]*\"|'[^']*')*?(?P<empty>/)?>",
    re.S,
)
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#\d+|#[xX][0-9a-fA-F]+);")


class _Html(HTMLParser):
    def __init__(self, text: str):
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[str, int, str]] = []
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.feed(text)
        self.close()

    def _add(self, kind: str, name: str = "") -> None:
        line, column = self.getpos()
        self.found.append((kind, self.lines[line - 1] + column, name))

    def handle_starttag(self, tag, attrs):
        self._add("empty" if tag in VOID else "open", tag)

    def handle_startendtag(self, tag, attrs):
        self._add("empty" if tag in VOID else "open", tag)  # only void elements are closed by a slash

    def handle_endtag(self, tag):
        self._add("close", tag)

    def handle_data(self, data):
        self._add("text")

    def handle_entityref(self, name):
        self._add("text")

    def handle_charref(self, name):
        self._add("text")

    def handle_comment(self, data):
        self._add("other")

    def handle_decl(self, decl):
        self._add("other")

    def handle_pi(self, data):
        self._add("other")

    def unknown_decl(self, data):
        self._add("other")


def html_tokens(text: str) -> list[Token]:
    """The tokens of a page, which need not be right: what is not understood is text."""
    found = _Html(text).found
    ends = [*(start for _, start, _ in found[1:]), len(text)]
    tokens: list[Token] = []
    position = 0
    for (kind, start, name), end in zip(found, ends, strict=False):  # an empty page has no token
        if end <= start:
            continue
        if kind == "text" and tokens and tokens[-1].kind == "text" and tokens[-1].end == start:
            tokens[-1] = tokens[-1]._replace(end=end)
        else:
            tokens.append(Token(kind, start, end, name))
        position = end
    if position < len(text):  # an unfinished tag
        tokens.append(Token("other", position, len(text)))
    return tokens


def xml_tokens(text: str, name: str) -> list[Token]:
    """The tokens of an XML document. Raises `GlossaError` with the line if it is not well-formed."""
    check_xml(text, name)
    tokens, position = [], 0
    for found in _XML.finditer(text):
        if found.start() > position:
            tokens.append(Token("text", position, found.start()))
        kind = "close" if found["close"] else "empty" if found["empty"] else "open" if found["name"] else "other"
        if found[0].startswith("<![CDATA["):
            kind = "text"
        tokens.append(Token(kind, *found.span(), found["name"] or ""))
        position = found.end()
    if position < len(text):
        tokens.append(Token("text", position, len(text)))
    return tokens


def matching_tags(tokens: Sequence[Token]) -> list[int]:
    """For each token of XML the position of the one that closes it; its own if it opens nothing."""
    ends = list(range(len(tokens)))
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "open":
            stack.append(index)
        elif token.kind == "close":
            ends[stack.pop()] = index
    return ends


def check_xml(text: str, name: str) -> None:
    """Raise `GlossaError` if `text` is not well-formed, or defines entities, which can be huge."""
    parser = expat.ParserCreate("utf-8")

    def refuse(entity, *_):
        raise GlossaError(
            f"{name}, line {parser.CurrentLineNumber}: the document defines the entity {entity}. Definitions of "
            "entities are refused. Write the text itself in their place."
        )

    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(re.sub(r"^\ufeff", "", text).encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        raise GlossaError(
            f"{name}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}). Repair it in the "
            "program that wrote it."
        ) from error


def attributes(text: str, token: Token) -> dict[str, str]:
    """The attributes of a tag, decoded; their names are in lower case."""
    inside = text[token.start + 1 + len(token.name) : token.end]
    return {
        name.lower(): html.unescape(next((value for value in values if value), ""))
        for name, *values in _ATTRIBUTE.findall(inside)
    }


def attribute_range(text: str, token: Token, name: str) -> tuple[int, int] | None:
    """The characters of the value of an attribute, if it is in quotes."""
    for found in _ATTRIBUTE.finditer(text, token.start + 1 + len(token.name), token.end):
        if found[1].lower() == name:
            quoted = 2 if found[2] is not None else 3
            return found.span(quoted) if found[quoted] is not None else None
    return None


def text_parts(text: str, start: int, end: int, collapse: bool = True) -> list[Part]:
    """The text between two characters of HTML or XML; each entity, and white space if `collapse`, is a part."""
    if text.startswith("<![CDATA[", start):
        body = (start + 9, end - 3)
        return [
            Part("open", start, body[0], "", "CDATA"),
            *cut(text, *body, None, str),
            Part("close", body[1], end, "", "CDATA"),
        ]
    return cut(text, start, end, _ENTITY, html.unescape, collapse)


def cut(
    text: str,
    start: int,
    end: int,
    escapes: re.Pattern | None,
    decode: Callable[[str], str],
    collapse: bool = True,
) -> list[Part]:
    """The text between two characters of a document; what is escaped is a part of its own."""
    parts: list[Part] = []
    patterns = [pattern.pattern for pattern in (escapes, _SPACE if collapse else None) if pattern]
    position = start
    for found in re.compile("|".join(patterns)).finditer(text, start, end) if patterns else ():
        if found[0] == " ":
            continue
        if found.start() > position:
            parts.append(Part("text", position, found.start(), text[position : found.start()]))
        parts.append(Part("text", *found.span(), " " if found[0].isspace() else decode(found[0])))
        position = found.end()
    if position < end:
        parts.append(Part("text", position, end, text[position:end]))
    return parts


def trimmed(parts: Sequence[Part]) -> list[Part]:
    """Parts without white space, and without marks that do not stand between words, at their ends."""
    rest = list(parts)
    while rest:
        first, last = rest[0], rest[-1]
        if first.kind == "text" and first.text[:1].isspace():
            rest[0] = _shortened(first, left=True)
            rest = rest if rest[0].text else rest[1:]
        elif last.kind == "text" and last.text[-1:].isspace():
            rest[-1] = _shortened(last, left=False)
            rest = rest if rest[-1].text else rest[:-1]
        elif first.kind == "alone" and not first.text:
            rest = rest[1:]
        elif last.kind == "alone" and not last.text:
            rest = rest[:-1]
        elif first.kind == "open" and (end := _closed_at(rest)) is not None:
            if end == len(rest) - 1:
                rest = rest[1:-1]
            elif not any(part.text.strip() for part in rest[:end]):
                rest = rest[end + 1 :]
            else:
                break
        elif not first.text and first.kind != "open":  # closed, or empty
            rest = rest[1:]
        else:
            break
    return rest


def _shortened(part: Part, left: bool) -> Part:
    """A text without white space at one end. Text of another length than its source is one character."""
    text = part.text.lstrip() if left else part.text.rstrip()
    cut_off = len(part.text) - len(text)
    start, end = (part.start + cut_off, part.end) if left else (part.start, part.end - cut_off)
    return part._replace(text=text, start=start, end=end)


def _closed_at(parts: Sequence[Part]) -> int | None:
    """The position of the tag that closes the first one."""
    depth = 0
    for index, part in enumerate(parts):
        if part.name == parts[0].name:
            depth += {"open": 1, "close": -1}.get(part.kind, 0)
            if not depth:
                return index
    return None


def escape_xml(text: str) -> str:
    """Text as XML has it between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
