"""The words of a text and its tags, apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...spans_glossa import Span


class Part(NamedTuple):
    """A piece of the source at a place.

    Attributes:
        kind: "text"; "open" or "close" for one of two tags around a text; "alone" for what stands for itself, such as
            an image, code or a placeholder; "break" for what divides a text and keeps its order, such as the time of
            a subtitle.
        start: Its first character in the document.
        end: The one after its last.
        text: What it says: of a text the words, of what stands alone the words that a model should see, or "".
        name: What "open" and "close" have in common.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    name: str = ""


Piece = str | Part  # of a translated text: words, or something of the source


class Spaces(NamedTuple):
    """Whether white space stands before a tag and after it."""

    before: bool = False
    after: bool = False


NONE = Spaces()


@dataclass
class Point:
    """Something without words in a text, before its character `at`; several parts if it is an empty element."""

    parts: list[Part]
    at: int
    spaces: Spaces = NONE


@dataclass
class Element:
    """A pair of tags around the characters from `start` to `end`; the outermost one has none."""

    start: int
    end: int
    open: Part | None = None
    close: Part | None = None
    children: "list[Element | Point]" = field(default_factory=list)
    opening: Spaces = NONE
    closing: Spaces = NONE


@dataclass
class Tagged:
    """A text and its tags.

    Attributes:
        text: The words.
        root: The tags.
        label: For a label, whose translation ends as it does, the code of the target language, or "".
        alone: Spans of `text` that are a part of the source each, such as an image with a name or code.
    """

    text: str
    root: Element
    alone: list[tuple[Span, Part]] = field(default_factory=list)
    label: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has no tags."""
        return not self.root.children

    @classmethod
    def plain(cls, text: str) -> "Tagged":
        """A text without tags."""
        return cls(text, Element(0, len(text)))


def take_tags(parts: Sequence[Part]) -> Tagged:
    """The text of parts and its tags. A tag that is not closed, or crosses another one, stands alone.

    Of white space on both sides of a tag, one side is in the text.
    """
    pairs = tag_pairs(parts)
    tagged = Tagged("", Element(0, 0))
    stack = [tagged.root]
    glued = True  # the last part was text
    for index, part in enumerate(parts):
        if part.text and part.kind in ("text", "alone"):
            text = part.text
            if part.kind == "text" and (not tagged.text or (not glued and text[0] == " " == tagged.text[-1])):
                text = text.lstrip(" ")
            at = len(tagged.text)
            tagged.text += text
            if part.kind == "alone":
                tagged.alone.append((Span(at, len(tagged.text)), part))
            glued = True
            continue
        if part.kind == "break":
            tagged.text = tagged.text.rstrip(" ") + " " * bool(tagged.text)
        glued = False
        at, spaces = len(tagged.text), _spaces(parts, index)
        if part.kind == "open" and index in pairs:
            element = Element(at, at, part, opening=spaces)
            stack[-1].children.append(element)
            stack.append(element)
        elif part.kind == "close" and index in pairs:
            element = stack.pop()
            element.end, element.close, element.closing = at, part, spaces
            if not tagged.text[element.start : at].strip():  # it has no words
                stack[-1].children[-1] = _as_point(element)
        else:
            stack[-1].children.append(Point([part], at, spaces))
    tagged.text = tagged.text.rstrip(" ")
    _clamp(tagged.root, len(tagged.text))
    return tagged


def _clamp(element: Element, length: int) -> None:
    """Have no tag after the end of the text."""
    element.end = length if element.open is None else min(element.end, length)
    for child in element.children:
        if isinstance(child, Element):
            _clamp(child, length)
        else:
            child.at = min(child.at, length)


def _spaces(parts: Sequence[Part], index: int) -> Spaces:
    """The white space around the tag at `index`, tags next to it left out."""
    before = next((part.text for part in reversed(parts[:index]) if part.text), "")
    after = next((part.text for part in parts[index + 1 :] if part.text), "")
    return Spaces(before[-1:].isspace(), after[:1].isspace())


def tag_pairs(parts: Sequence[Part]) -> set[int]:
    """The positions of tags that enclose something without crossing others."""
    found: set[int] = set()
    stack: list[int] = []
    for index, part in enumerate(parts):
        if part.kind == "open":
            stack.append(index)
        elif part.kind == "close":
            names = [parts[other].name for other in stack]
            if part.name in names:
                while parts[stack[-1]].name != part.name:
                    stack.pop()
                found |= {stack.pop(), index}
    return found


def _as_point(element: Element) -> Point:
    parts = [part for child in element.children for part in (child.parts if isinstance(child, Point) else [])]
    assert element.open and element.close
    spaces = Spaces(element.opening.before, element.closing.after)
    return Point([element.open, *parts, element.close], element.start, spaces)
