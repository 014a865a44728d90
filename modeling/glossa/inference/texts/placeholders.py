"""Whether a translation has the placeholders of its source, and how they come into one that was made without them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..sentinels import Held


def locate(source: str, held: Sequence[Held], target: str) -> list[tuple[int, int]] | None:
    """Where `target` has each of the parts that `source` holds; None if it has one of them more or less often.

    Equal ones are found in their order; so are those that the source has elsewhere as a word.
    """
    found: dict[Held, tuple[int, int]] = {}
    taken: list[tuple[tuple[int, int], tuple[int, int]]] = []  # of source and target
    for text in sorted({source[start:end] for start, end in held}, key=len, reverse=True):
        glued = any(source[start:end] == text and _is_glued(source, start, end) for start, end in held)
        own, theirs = (
            [
                span
                for span in _occurrences(text, side, glued)
                if not any(_overlap(span, other[index]) for other in taken)
            ]
            for index, side in enumerate((source, target))
        )
        if len(own) != len(theirs):
            return None
        pairs = list(zip(own, theirs, strict=True))
        found |= {Held(*span): other for span, other in pairs if Held(*span) in held}
        taken += [pair for pair in pairs if Held(*pair[0]) in held]
    return [found[part] for part in held] if all(part in found for part in held) else None


def _occurrences(text: str, target: str, glued: bool) -> list[tuple[int, int]]:
    """The places of `text`: between words, or `glued` to letters too."""
    before = r"(?<!\w)" if text[0].isalnum() and not glued else ""
    after = r"(?!\w)" if text[-1].isalnum() and not glued else ""
    return [found.span() for found in re.finditer(before + re.escape(text) + after, target)]


def _is_glued(text: str, start: int, end: int) -> bool:
    return any(side.isalnum() for side in (text[start - 1 : start], text[end : end + 1]))


def _overlap(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span[0] < other[1] and other[0] < span[1]


class Group(NamedTuple):
    """Held parts with nothing but marks between them: the first and the last one, and the characters of all."""

    first: int
    last: int
    start: int
    end: int


class Without(NamedTuple):
    """A sentence without the parts that it holds.

    Attributes:
        text: What remains.
        groups: What was left out.
        points: The character of `text` where each group stood.
    """

    text: str
    groups: list[Group]
    points: list[int]


def without(text: str, held: Sequence[Held]) -> Without:
    """`text` without its held parts, and with one space where a part stood between two."""
    groups: list[Group] = []
    for index, part in enumerate(held):
        if groups and not any(map(str.isalnum, text[groups[-1].end : part.start])):
            groups[-1] = groups[-1]._replace(last=index, end=part.end)
        else:
            groups.append(Group(index, index, part.start, part.end))
    groups = [_with_comma(text, group) for group in groups]
    rest, points, position = "", [], 0
    for group in groups:
        rest += text[position : group.start]
        position = group.end
        if rest[-1:] in ("", " ") and text[position : position + 1] == " ":
            position += 1
        elif rest[-1:] == " " and text[position : position + 1] in tuple(",.;:!?)]"):
            rest = rest[:-1]
        points.append(len(rest))
    rest += text[position:]
    lead = len(rest) - len(rest.lstrip())
    rest = rest.strip()
    return Without(rest, groups, [min(max(point - lead, 0), len(rest)) for point in points])


def _with_comma(text: str, group: Group) -> Group:
    """A group at an end of the sentence with the comma between it and the rest."""
    before = re.search(r",\s*\Z", text[: group.start])
    if before and not any(map(str.isalnum, text[group.end :])):
        return group._replace(start=before.start())
    after = re.match(r"\s*,", text[group.end :])
    if after and not any(map(str.isalnum, text[: group.start])):
        return group._replace(end=group.end + after.end())
    return group


def insert(
    source: str, held: Sequence[Held], bare: Without, target: str, points: Sequence[int]
) -> tuple[str, list[tuple[int, int]]]:
    """`target` with each group of held parts of `source` at its point, spaced as in the source; and where each is."""
    text, position = "", 0
    spans: list[tuple[int, int]] = [(0, 0)] * len(held)
    for point, (first, last, start, end) in sorted(zip(points, bare.groups, strict=True)):
        text += target[position:point]
        position = point
        spaced = start > 0 and (source[start - 1].isspace() or text[-1:].isalnum()) and source[start] != ","
        if text and not text[-1].isspace() and spaced:
            text += " "
        for index in range(first, last + 1):
            spans[index] = (len(text) + held[index].start - start, len(text) + held[index].end - start)
        text += source[start:end]
        following = target[position : position + 1]
        if following.isalnum():
            text += " "
        elif following.isspace() and source[end : end + 1] in tuple(",.)]"):
            position += target[position + 1 : position + 2] == source[end]
    return text + target[position:], spans
