"""Texts and their tags, separated."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...model.spans_glossa import Span

DEEPEST = 120  # levels of tags, which are placed recursively


class Part(NamedTuple):
    """A part of a document.

    Attributes:
        kind: "text"; "open" or "close" for a tag of a pair around a text; "alone" for a part that is not translated,
            such as an image, code or a placeholder; "break" for a part that divides a text and stays in order, such
            as the time of a subtitle; "end" for a break that also ends a sentence.
        start: Its first character in the document.
        end: The character after its last one.
        text: The words of a text, or the words of a part "alone" for the model, or "".
        name: The same name for both tags of a pair.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    name: str = ""


Piece = str | Part  # of a translation: text, or a part of the source


class Spaces(NamedTuple):
    """Whether there is white space before and after a tag."""

    before: bool = False
    after: bool = False


NO_SPACES = Spaces()


@dataclass(slots=True)
class Point:
    """Parts without words before the character `at` of a text; several if it is an empty element."""

    parts: list[Part]
    at: int
    spaces: Spaces = NO_SPACES


@dataclass(slots=True)
class Element:
    """A pair of tags around the characters from `start` to `end`. The root has no tags."""

    start: int
    end: int
    open: Part | None = None
    close: Part | None = None
    children: "list[Element | Point]" = field(default_factory=list)
    opening: Spaces = NO_SPACES
    closing: Spaces = NO_SPACES


@dataclass(slots=True)
class Tagged:
    """A text and its tags.

    Attributes:
        text: The text.
        root: The tags.
        alone: Spans of `text` that are parts "alone", such as code.
        label: The code of the target language, or "", if the text is a label of a program; else None.
        marked: The text with the mark of its accelerator, such as `_Open`, if the mark was taken out.
        context: What distinguishes it from equal texts with other translations, as in
            [`glossa.translate.memory.units.Unit`].
    """

    text: str
    root: Element
    alone: list[tuple[Span, Part]] = field(default_factory=list)
    label: str | None = None
    marked: str = ""
    context: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has no tags."""
        return not self.root.children

    def edges(self) -> list[int]:
        """Where elements begin and end, from left to right."""
        found, left = set(), [self.root]
        while left:
            element = left.pop()
            found |= {element.start, element.end}
            left += [child for child in element.children if isinstance(child, Element)]
        return sorted(found)

    @classmethod
    def plain(cls, text: str) -> "Tagged":
        """A text without tags."""
        return cls(text, Element(0, len(text)))


def take_tags(parts: Sequence[Part]) -> Tagged:
    """The text and the tags of parts.

    A tag that is not closed, crosses another tag, or is more than `DEEPEST` levels deep, becomes a point. White space
    on both sides of a tag is in the text once.
    """
    pairs = tag_pairs(parts)
    tagged = Tagged("", Element(0, 0))
    stack = [tagged.root]
    done = _Growing()
    glued = True  # whether the last part was text
    for index, (part, spaces) in enumerate(zip(parts, _spaces(parts), strict=True)):
        if part.text and part.kind in ("text", "alone"):
            text = part.text
            doubled = not glued and text[0] == " " and done.last in (" ", "\n")
            if part.kind == "text" and (doubled or not done.length):
                text = text.lstrip(" ")
            at = done.length
            done.add(text)
            if part.kind == "alone":
                tagged.alone.append((Span(at, done.length), part))
            glued = True
            continue
        if part.kind in ("break", "end"):
            done.strip()
            done.add((" " if part.kind == "break" else "\n") * bool(done.length and done.last != "\n"))
        glued = False
        at = done.length
        if part.kind == "open" and index in pairs:
            element = Element(at, at, part, opening=spaces)
            stack[-1].children.append(element)
            stack.append(element)
        elif part.kind == "close" and index in pairs:
            element = stack.pop()
            element.end, element.close, element.closing = at, part, spaces
            if done.words <= element.start:  # the element has no words
                stack[-1].children[-1] = _as_point(element)
        else:
            stack[-1].children.append(Point([part], at, spaces))
    done.strip()
    tagged.text = "".join(done.texts)
    _clamp(tagged.root, len(tagged.text))
    return tagged


class _Growing:
    """A text to which pieces are added.

    Attributes:
        texts: The pieces.
        length: The length of the text.
        words: The position after the last character that is not white space.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.length = self.words = 0

    @property
    def last(self) -> str:
        return self.texts[-1][-1] if self.texts else ""

    def add(self, text: str) -> None:
        if text:
            self.texts.append(text)
            if body := text.rstrip():
                self.words = self.length + len(body)
            self.length += len(text)

    def strip(self) -> None:
        """Remove the spaces at the end."""
        while self.texts and self.texts[-1].endswith(" "):
            text = self.texts.pop()
            self.length -= len(text)
            if rest := text.rstrip(" "):
                self.texts.append(rest)
                self.length += len(rest)


def _clamp(element: Element, length: int) -> None:
    """Move tags behind the text to its end."""
    element.end = length if element.open is None else min(element.end, length)
    for child in element.children:
        if isinstance(child, Element):
            _clamp(child, length)
        else:
            child.at = min(child.at, length)


def _spaces(parts: Sequence[Part]) -> Iterator[Spaces]:
    """The white space around each part, across tags next to it."""
    following, after = "", []
    for part in reversed(parts):
        after.append(following[:1].isspace())
        following = part.text or following
    before = ""
    for part in parts:
        yield Spaces(before[-1:].isspace(), after.pop())
        before = part.text or before


def tag_pairs(parts: Sequence[Part]) -> set[int]:
    """The indices of tags in pairs that do not cross other pairs and are at most `DEEPEST` levels deep."""
    found: set[int] = set()
    stack: list[int] = []
    open_names: Counter[str] = Counter()
    for index, part in enumerate(parts):
        if part.kind == "open":
            stack.append(index)
            open_names[part.name] += 1
        elif part.kind == "close" and open_names[part.name]:
            while True:
                first = stack.pop()
                open_names[parts[first].name] -= 1
                if parts[first].name == part.name:
                    break
            found |= {first, index}
    depth = 0
    for index in sorted(found):
        depth += 1 if parts[index].kind == "open" else -1
        if depth > DEEPEST or (depth == DEEPEST and parts[index].kind == "close"):
            found.discard(index)
    return found


def _as_point(element: Element) -> Point:
    parts = [part for child in element.children for part in (child.parts if isinstance(child, Point) else [])]
    assert element.open and element.close
    spaces = Spaces(element.opening.before, element.closing.after)
    return Point([element.open, *parts, element.close], element.start, spaces)
