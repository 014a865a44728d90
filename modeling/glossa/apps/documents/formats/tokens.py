"""Tags and texts of HTML and XML, in positions of a document, and the parts of texts."""

import html
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ....translate.texts.tags import Part
from ..places import CDATA


class Token(NamedTuple):
    """A tag, a text or a comment of a document.

    Attributes:
        kind: "text", "open", "close", "empty" for a tag without content, "other", such as a comment, or "end" for a
            statement of a template, which ends a text.
        start: Its first character.
        end: The character after its last one.
        name: The name of a tag, in lower case in HTML.
    """

    kind: str
    start: int
    end: int
    name: str = ""


# An attribute with or without a value. Quantifiers are possessive, so that matching takes linear time.
ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/=>]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?)?+"""
_ATTRIBUTE = re.compile(
    r"""(?:(?<![\s/])[\s/]++)?([^\s/>][^\s/=>]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+))?)?+"""
)
# Characters that are trimmed from texts: white space, marks of direction, characters without a width.
_OUTER = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u200e\u200f\u2060\ufeff"
_SPACE = re.compile(r"[ \t\r\n\f]+")
SPACE = "white space"  # the name of breaks that are no tags
LINES = re.compile(r"(?<! )[ ]*+(?:[\t\r\n]|_x000[9ADad]_)(?:\s|_x000[9ADad]_)*+")  # with escapes of Excel
ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#\d+|#[xX][0-9a-fA-F]+);")


def matching_tags(tokens: Sequence[Token]) -> list[int]:
    """For each token, the index of the token that closes it, or its own index."""
    ends = list(range(len(tokens)))
    open_ones: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        if token.kind == "open":
            open_ones.setdefault(token.name, []).append(index)
        elif token.kind == "close" and open_ones.get(token.name):
            ends[open_ones[token.name].pop()] = index
    return ends


def _attributes(text: str, token: Token) -> Iterator[re.Match]:
    return _ATTRIBUTE.finditer(text, token.start + 1 + len(token.name), token.end - 1)


def attributes(text: str, token: Token) -> dict[str, str]:
    """The attributes of a tag, with decoded values and names in lower case."""
    found: dict[str, str] = {}
    if token.end - token.start < len(token.name) + 4:  # <p>, </p>, <br/>
        return found
    for name, *values in (match.groups() for match in _attributes(text, token)):
        value = next((value for value in values if value is not None), "")
        found.setdefault(name.lower(), html.unescape(value))
    return found


def attribute_range(text: str, token: Token, name: str) -> tuple[int, int] | None:
    """The characters of an attribute's value, if it is quoted."""
    for found in _attributes(text, token):
        if found[1].lower() == name:
            quoted = 2 if found[2] is not None else 3
            return found.span(quoted) if found[quoted] is not None else None
    return None


def text_parts(text: str, start: int, end: int, collapse: bool = True) -> list[Part]:
    """The parts of a text in HTML or XML: each entity is a part.

    A run of white space is a space. Without `collapse`, line ends and tabs are breaks, and spaces stay.
    """
    if text.startswith(CDATA, start):
        body = (start + 9, end - 3)
        return [
            Part("open", start, body[0], "", CDATA),
            *(part._replace(name=CDATA) for part in cut(text, *body, _SPACE if collapse else LINES, str, collapse)),
            Part("close", body[1], end, "", CDATA),
        ]
    escapes = ENTITY if collapse else re.compile(f"{ENTITY.pattern}|{LINES.pattern}")
    return cut(text, start, end, escapes, html.unescape, collapse)


def cut(
    text: str,
    start: int,
    end: int,
    escapes: re.Pattern | None,
    decode: Callable[[str], str],
    collapse: bool = True,
) -> list[Part]:
    """The parts of a text between two characters of a document: each escape is a part, and each match of `LINES`."""
    patterns = [pattern.pattern for pattern in (escapes, _SPACE if collapse else None) if pattern]
    matches = re.compile("|".join(patterns)).finditer(text, start, end) if patterns else iter(())
    others = (
        Part("break", *found.span(), "", SPACE)
        if not collapse and LINES.fullmatch(found[0])
        else Part("text", *found.span(), " " if found[0].isspace() else decode(found[0]))
        for found in matches
        if found[0] != " "
    )
    return with_text(others, text, start, end)


def with_text(others: Iterable[Part], text: str, start: int, end: int) -> list[Part]:
    """The parts `others` between two characters of a document, with the text before, between and after them."""
    parts: list[Part] = []
    position = start
    for part in others:
        if part.start > position:
            parts.append(Part("text", position, part.start, text[position : part.start]))
        parts.append(part)
        position = part.end
    if position < end:
        parts.append(Part("text", position, end, text[position:end]))
    return parts


class Cutter:
    """Splits parts from left to right at characters of their text. A part that is not text counts as one character."""

    def __init__(self, parts: Sequence[Part]):
        self.parts, self.number, self.position = parts, 0, 0  # the next part, and where its text begins
        self.taken = 0  # characters of the text

    def up_to(self, end: int) -> Iterator[Part]:
        """The parts up to a character. A part with another spelling than its text is not split."""
        while self.taken < end:
            part = self.parts[self.number]
            length = len(part.text) if part.kind == "text" else 1
            first = self.taken - self.position
            last = min(end - self.position, length)
            if part.kind == "text" and length == part.end - part.start:
                text = part.text[first:last]
                yield part._replace(start=part.start + first, end=part.start + last, text=text)
            elif length:
                yield part
            self.taken = self.position + last
            if last == length:
                self.position += length
                self.number += 1

    def span_up_to(self, end: int) -> tuple[int, int]:
        """The characters of the document of the parts up to a character."""
        parts = list(self.up_to(end))
        return parts[0].start, parts[-1].end


def trimmed(parts: Sequence[Part]) -> list[Part]:
    """Parts without white space and tags around all words."""
    rest = deque(parts)
    closing = _closing(parts)
    first_number = 0  # of the first one of the rest among all parts
    while rest:
        first, last = rest[0], rest[-1]
        dropped = 0
        if first.kind == "text" and first.text[:1] in _OUTER:
            rest[0] = _shortened(first, left=True)
            dropped = not rest[0].text
        elif last.kind == "text" and last.text[-1:] in _OUTER:
            rest[-1] = _shortened(last, left=False)
            if not rest[-1].text:
                rest.pop()
        elif first.kind == "alone" and not first.text:
            dropped = 1
        elif last.kind in ("alone", "break", "end") and not last.text:
            rest.pop()
        elif last.kind == "close" and len(rest) > 1 and rest[-2].kind == "open" and rest[-2].name == last.name:
            rest.pop()
            rest.pop()
        elif first.kind == "open" and (end := closing.get(first_number)) is not None:
            if end == first_number + len(rest) - 1:
                rest.pop()
                dropped = 1
            elif not any(part.text.strip() for part in islice(rest, end - first_number)):
                dropped = end - first_number + 1
            else:
                break
        elif not first.text and first.kind != "open":  # closed, or empty
            dropped = 1
        else:
            break
        for _ in range(dropped):
            rest.popleft()
        first_number += dropped
    return list(rest)


def _closing(parts: Sequence[Part]) -> dict[int, int]:
    """The index of the closing tag of each tag that is closed."""
    found: dict[int, int] = {}
    open_ones: dict[str, list[int]] = {}
    for index, part in enumerate(parts):
        if part.kind == "open":
            open_ones.setdefault(part.name, []).append(index)
        elif part.kind == "close" and open_ones.get(part.name):
            found[open_ones[part.name].pop()] = index
    return found


def _shortened(part: Part, left: bool) -> Part:
    """A text that is trimmed at one end. A text with another spelling than its source is one character."""
    text = part.text.lstrip(_OUTER) if left else part.text.rstrip(_OUTER)
    cut_off = len(part.text) - len(text)
    start, end = (part.start + cut_off, part.end) if left else (part.start, part.end - cut_off)
    return part._replace(text=text, start=start, end=end)


def escape_xml(text: str) -> str:
    """Escape text between tags of XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
