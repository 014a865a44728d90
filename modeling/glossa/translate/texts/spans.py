"""Spans in translations: find them, and insert them into a translation without spans."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy

from ...base.word_links import find_words
from ...model.spans_glossa import Span
from .alignment import Pair
from .labels import FINAL
from .links import harden

MOVED = "uncertain in placeholders"  # the problem of a translation with a span that has no certain place


def locate(source: str, spans: Sequence[Span], target: str) -> list[Span] | None:
    """The spans of `target` that equal the `spans` of `source`; None if a span occurs more or less often.

    Equal spans are matched in order, including equal words outside spans that are not translated.
    """
    found: dict[Span, Span] = {}
    taken: list[tuple[Span, Span]] = []  # of source and target
    for text in sorted({source[start:end] for start, end in spans}, key=len, reverse=True):
        glued = any(source[start:end] == text and _is_glued(source, start, end) for start, end in spans)
        own, theirs = (
            [
                span
                for span in _occurrences(text, side, glued)
                if not any(_overlap(span, other[index]) for other in taken)
            ]
            for index, side in enumerate((source, target))
        )
        if len(own) != len(theirs):
            own = [span for span in own if span in spans]  # equal words outside spans are translated
        if len(own) != len(theirs):
            return None
        pairs = [pair for pair in zip(own, theirs, strict=True) if pair[0] in spans]
        found |= dict(pairs)
        taken += pairs
    return [found[span] for span in spans] if all(span in found for span in spans) else None


def _occurrences(text: str, target: str, glued: bool) -> list[Span]:
    """The occurrences of `text` as a word, or with `glued` also next to letters."""
    before = r"(?<!\w)" if text[0].isalnum() and not glued else ""
    after = r"(?!\w)" if text[-1].isalnum() and not glued else ""
    return [Span(*found.span()) for found in re.finditer(before + re.escape(text) + after, target)]


def _is_glued(text: str, start: int, end: int) -> bool:
    return any(side.isalnum() for side in (text[start - 1 : start], text[end : end + 1]))


def _overlap(span: Span, other: Span) -> bool:
    return span.start < other.end and other.start < span.end


class Group(NamedTuple):
    """Spans with only punctuation between them: the first and last index, and the characters of all."""

    first: int
    last: int
    start: int
    end: int


class Without(NamedTuple):
    """A sentence without its spans.

    Attributes:
        text: The rest of the sentence.
        groups: The spans.
        points: The position of each group in `text`.
    """

    text: str
    groups: list[Group]
    points: list[int]


def without(text: str, spans: Sequence[Span]) -> Without:
    """`text` without its spans, with one space in place of a span between spaces."""
    groups: list[Group] = []
    for index, span in enumerate(spans):
        if groups and not any(map(str.isalnum, text[groups[-1].end : span.start])):
            groups[-1] = groups[-1]._replace(last=index, end=span.end)
        else:
            groups.append(Group(index, index, span.start, span.end))
    groups = [_with_comma(text, group) for group in groups]
    rest, points, position = "", [], 0
    for group in groups:
        rest += text[position : group.start]
        position = group.end
        if rest[-1:] in ("", " ", "(", "[") and text[position : position + 1] == " ":
            position += 1
        elif rest[-1:] == " " and text[position : position + 1] in tuple(",.;:!?)]"):
            rest = rest[:-1]
        points.append(len(rest))
    rest += text[position:]
    lead = len(rest) - len(rest.lstrip())
    rest = rest.strip()
    return Without(rest, groups, [min(max(point - lead, 0), len(rest)) for point in points])


def _with_comma(text: str, group: Group) -> Group:
    """A group at the start or end of a sentence, with the comma next to it."""
    before = re.search(r",\s*\Z", text[: group.start])
    if before and not any(map(str.isalnum, text[group.end :])):
        return group._replace(start=before.start())
    after = re.match(r"\s*,", text[group.end :])
    if after and not any(map(str.isalnum, text[: group.start])):
        return group._replace(end=group.end + after.end())
    return group


def put_spans(
    source: str, spans: Sequence[Span], bare: Without, pair: Pair, weights: numpy.ndarray
) -> tuple[str, list[Span], bool]:
    """A translation with the spans of `source`, their positions, and whether all positions are certain.

    Args:
        source: A sentence.
        spans: Its spans.
        bare: The sentence without them.
        pair: The sentence without spans, and its translation.
        weights: The links of the words of `pair`, [source words, target words].
    """
    links, points, certain = harden(weights), [], True
    for point in bare.points:
        gap = _certain_gap(pair, links, point)
        certain = certain and gap is not None
        points.append(_end_of_words(pair) if gap is None else gap)
    text, places = _insert(source, spans, bare, pair.target, points)
    return text, places, certain


def pair_of(source: str, target: str) -> Pair:
    """Two texts with their words."""
    return Pair(source, find_words(source), target, find_words(target))


def _insert(
    source: str, spans: Sequence[Span], bare: Without, target: str, points: Sequence[int]
) -> tuple[str, list[Span]]:
    """`target` with the groups of spans at `points`, spaced as in the source, and the position of each span."""
    text, position = "", 0
    places = [Span(0, 0)] * len(spans)
    for point, (first, last, start, end) in sorted(zip(points, bare.groups, strict=True)):
        text += target[position:point]
        position = point
        spaced = start > 0 and (source[start - 1].isspace() or text[-1:].isalnum()) and source[start] != ","
        if text and not text[-1].isspace() and spaced:
            text += " "
        for index in range(first, last + 1):
            places[index] = Span(len(text) + spans[index].start - start, len(text) + spans[index].end - start)
        text += source[start:end]
        following = target[position : position + 1]
        if following.isalnum():
            text += "" if source[end : end + 1].isalnum() else " "
        elif following.isspace() and source[end : end + 1] in tuple(",.)]"):
            position += target[position + 1 : position + 2] == source[end]
    return text + target[position:], places


def _certain_gap(pair: Pair, links: numpy.ndarray, point: int) -> int | None:
    """The position in the translation for `point` in the source; None if it is not certain.

    It is certain at both ends, and between words whose translations are neighbors in the same order.
    """
    source, target = (
        [index for index, (first, last) in enumerate(words) if any(map(str.isalnum, text[first:last]))]
        for text, words in ((pair.source, pair.source_words), (pair.target, pair.target_words))
    )
    before = [row for row in source if pair.source_words[row][1] <= point]
    after = [row for row in source if pair.source_words[row][0] >= point]
    if not target or not before:
        return pair.target_words[target[0]][0] if target else 0
    marks = "".join(pair.source[pair.source_words[before[-1]][1] : point].split())  # between word and point
    if not after:
        return _after_marks(pair, pair.target_words[target[-1]][1], len(pair.target), marks)
    left, right = ([column for column in target if links[row, column]] for row in (before[-1], after[0]))
    if not left or not right or target.index(max(left)) + 1 != target.index(min(right)):
        return None
    return _after_marks(pair, pair.target_words[max(left)][1], pair.target_words[min(right)][0], marks)


def _after_marks(pair: Pair, start: int, end: int, marks: str) -> int:
    """The position after as many punctuation marks as `marks`, between two characters of the translation.

    It is before the final mark of a sentence, unless `marks` have a final mark.
    """
    position, left = start, len(marks)
    ended = any(mark in FINAL for mark in marks)
    while left and position < end and (ended or pair.target[position] not in FINAL):
        left -= not pair.target[position].isspace()
        position += 1
    return position


def _end_of_words(pair: Pair) -> int:
    """The position after the last word, before the final mark."""
    if not pair.target_words:
        return len(pair.target)
    first, last = pair.target_words[-1]
    return first if len(pair.target_words) > 1 and pair.target[first:last] in f"{FINAL}:;," else last
