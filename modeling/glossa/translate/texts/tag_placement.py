"""Place the tags of a source in its translation by word alignment.

Every tag is placed exactly once, and the nesting of tags stays. Elements move with the words that they enclose.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy

from ...model.spans_glossa import Span
from .alignment import Words
from .links import SIDES, Links, best_range, snapped
from .tags import Element, Piece, Point, Tagged

ALONE = 1000.0  # weight of a part "alone" for its element


class Cut(NamedTuple):
    """The white space between two sentences.

    Attributes:
        source: Its characters in the source.
        target: Its characters in the translation.
        word: The index of the target word after it.
    """

    source: Span
    target: Span
    word: int


class Window(NamedTuple):
    """A part of a translation: the words from `low` to `high`, which are the characters from `start` to `end`."""

    low: int
    high: int
    start: int
    end: int


def put_tags(
    tagged: Tagged,
    source_words: Words,
    target: str,
    target_words: Words,
    links: Links,
    spans: Sequence[Span] = (),
    cuts: Sequence[Cut] = (),
) -> list[Piece]:
    """The pieces of a translation with the tags of its source.

    A tag stays in its sentence, so that the time is linear in the number of sentences.

    Args:
        tagged: The source.
        source_words: The words of the source.
        target: The translation.
        target_words: The words of the translation.
        links: The links between words.
        spans: The spans of `tagged.alone` in the translation.
        cuts: The white space between sentences, in order.
    """
    writer = _Writer(tagged, source_words, target, target_words, links, spans, cuts)
    writer.write(tagged.root, Window(0, len(target_words), 0, len(target)))
    return writer.joined()


class _Writer:
    """Writes the pieces of one translation."""

    def __init__(self, tagged: Tagged, source_words: Words, target: str, target_words: Words, links, spans, cuts):
        self.tagged, self.source_words = tagged, source_words
        self.target, self.target_words, self.links, self.cuts = target, target_words, links, cuts
        numbers = {tuple(word): number for number, word in enumerate(target_words)}
        # Parts "alone": position in the translation, index of the target word, position in the source.
        self.alone = sorted(
            (place, numbers[tuple(place)], span, part) for place, (span, part) in zip(spans, tagged.alone, strict=True)
        )
        self.pieces: list[Piece] = []

    def write(self, element: Element, window: Window) -> None:
        """Write an element with a part of the translation."""
        if not element.children:
            self._write_text(window.start, window.end)
        elif cuts := self._cuts_inside(element):
            self._write_sentences(element, cuts, window)
        elif breaks := [child for child in element.children if isinstance(child, Point) and _is_break(child)]:
            self._write_sections(element, breaks, window)
        else:
            self._write_children(element, window)

    def _cuts_inside(self, element: Element) -> list[Cut]:
        """The cuts inside an element, but not inside its children."""
        found = []
        inner = [child for child in element.children if isinstance(child, Element)]
        number = 0
        for cut in self.cuts[bisect_right(self.cuts, element.start, key=lambda cut: cut.source.start) :]:
            if cut.source.end >= element.end:
                break
            while number < len(inner) and inner[number].end <= cut.source.end:
                number += 1
            if number == len(inner) or inner[number].start >= cut.source.start:
                found.append(cut)
        return found

    def _write_sentences(self, element: Element, cuts: list[Cut], window: Window) -> None:
        """Write the sentences of an element one by one; sentences inside the same child are written together."""
        inner: list[list[Element | Point]] = [[] for _ in range(len(cuts) + 1)]
        between: list[list[Point]] = [[] for _ in cuts]
        number = 0
        for child in element.children:
            while number < len(cuts) and _is_after(child, cuts[number]):
                number += 1
            here = cuts[number].source.start if number < len(cuts) else element.end + 1
            if isinstance(child, Point) and _is_break(child) and child.at >= here:
                between[number].append(child)
            else:
                inner[number].append(child)
        first, left, source = window.low, window.start, element.start
        for number, children in enumerate(inner):
            last, right, own_end, following = window.high, window.end, element.end, window.end
            if number < len(cuts):
                cut = cuts[number]
                last = min(max(cut.word, first), window.high)
                begun = next((each.start for each in inner[number + 1] if isinstance(each, Element)), cut.source.end)
                own_end = min(begun, cut.source.end)
                right = following = cut.target.start if own_end < cut.source.end else cut.target.end
                if between[number]:
                    right, following = cut.target
                right, following = (min(max(place, left), window.end) for place in (right, following))
            self.write(Element(source, own_end, children=children), Window(first, last, left, right))
            self.pieces += [part for point in (between[number] if number < len(cuts) else []) for part in point.parts]
            first, left, source = last, following, own_end

    def _write_children(self, element: Element, window: Window) -> None:
        elements = [child for child in element.children if isinstance(child, Element)]
        points = [child for child in element.children if isinstance(child, Point)]
        ranges = self._ranges(element, elements, window.low, window.high)
        # The elements and points at each gap between words, in the order of the source.
        order = {id(child): number for number, child in enumerate(element.children)}
        events: list[tuple[int, int, int, Element | Point]] = []
        for each, (first, last) in zip(elements, ranges, strict=True):
            events.append((first, int(last > first), order[id(each)], each))
        for point in points:
            events.append((self._gap(element, point, window, ranges), 0, order[id(point)], point))
        bounds = {id(child): bound for child, bound in zip(elements, ranges, strict=True)}
        position = window.start
        for gap, _, _, child in sorted(events, key=lambda event: event[:3]):
            if isinstance(child, Element) and bounds[id(child)][1] > gap:
                position = self._write_element(child, bounds[id(child)], position, window.end)
            elif isinstance(child, Element):
                self.pieces += _all_parts(child)  # no word is left for the element
            else:
                position = self._write_point(child, gap, position, window)
        self._write_text(position, window.end)

    def _write_sections(self, element: Element, breaks: list[Point], window: Window) -> None:
        """Write the text between breaks, which stay in order."""
        bounds = [element.start, *(point.at for point in breaks), element.end]
        gaps = self._sections(bounds, window.low, window.high)
        children = list(element.children)
        for number, point in enumerate([*breaks, None]):
            count = len(children) if point is None else next(i for i, each in enumerate(children) if each is point)
            inner, children = children[:count], children[count + 1 :]
            first, last = gaps[number], gaps[number + 1]
            section = Element(bounds[number], bounds[number + 1], children=inner)
            left = window.start if number == 0 else self.target_words[first][0] if first < last else window.end
            right = window.end if point is None else self.target_words[last - 1][1] if first < last else left
            self.write(section, Window(first, last, left, right))
            if point is not None:
                self.pieces += point.parts

    def _sections(self, bounds: list[int], low: int, high: int) -> list[int]:
        """The gaps dividing target words as `bounds` divide the source, with no other empty sections if possible."""
        worded = [bool(self.tagged.text[start:end].strip()) for start, end in pairwise(bounds)]
        total, words = bounds[-1] - bounds[0], high - low
        shortest = [int(own and words >= sum(worded)) for own in worded]
        gaps = numpy.arange(words + 1)
        costs = numpy.array([self._cost(low + int(gap)) for gap in gaps])
        best = numpy.full(words + 1, -numpy.inf)
        best[0] = 0
        back: list[numpy.ndarray] = []
        for (start, end), least in zip(pairwise(bounds), shortest, strict=True):
            gains = self.links.sums(self._rows(start, end), low, high)
            sums = numpy.concatenate([[0], gains.cumsum()])
            # The best gap at which the section may begin, for each gap at which it may end.
            values = numpy.concatenate([numpy.full(least, -numpy.inf), best - sums])[: words + 1]
            highest = numpy.maximum.accumulate(values)
            is_new = numpy.concatenate([[True], values[1:] > highest[:-1]])
            back.append(numpy.maximum.accumulate(numpy.where(is_new, gaps, 0)) - least)
            best = highest + sums - costs - abs(gaps / max(words, 1) - (end - bounds[0]) / max(total, 1))
        found = [words]
        for begins in reversed(back):
            found.append(max(int(begins[found[-1]]), 0))
        return [low + gap for gap in reversed(found)]

    def _cost(self, gap: int) -> float:
        """The cost of a break at a gap: inside a word, or without a mark before it."""
        if not 0 < gap < len(self.target_words):
            return 0.0
        before, after = self.target_words[gap - 1], self.target_words[gap]
        glued = before[1] == after[0]
        tagged = self.target[before[1] - 1] in ",;:.!?…，、。；：！？"
        return 4.0 * glued + 0.5 * (not tagged)

    def _write_element(self, element: Element, bounds: tuple[int, int], position: int, end: int) -> int:
        first, last = self.target_words[bounds[0]][0], self.target_words[bounds[1] - 1][1]
        if self.target[last - 1] in "'’" and self.tagged.text[element.end - 1 : element.end] not in ("'", "’"):
            last -= 1  # a closing quotation mark behind the element
        outer_left, inner_left = element.opening
        inner_right, outer_right = element.closing
        if inner_left and not outer_left and first > position and self.target[first - 1].isspace():
            first, inner_left = first - 1, False
        if inner_right and not outer_right and last < end and self.target[last].isspace():
            last, inner_right = last + 1, False
        self._write_text(position, first)
        assert element.open and element.close
        self.pieces += [element.open, *([" "] if inner_left else [])]
        self.write(element, Window(*bounds, first, last))
        self.pieces += [*([" "] if inner_right else []), element.close]
        return last

    def _write_point(self, point: Point, gap: int, position: int, window: Window) -> int:
        left, right = point.spaces
        low, high, start, end = window
        before = self.target_words[gap - 1][1] if gap > low else start
        after = self.target_words[gap][0] if gap < high else end
        if gap == low and not left:
            after = min(after, start) if not self.target[start:after].strip() and right else after
        at = max(position, after if left and not right else before)
        if gap == high and left and not right:
            at = end
        if gap == low and position == start and not left:
            at = start
        self._write_text(position, at)
        behind, ahead = self.target[at - 1 : at] if at > start else "", self.target[at : at + 1]
        if left and behind and not behind.isspace():
            self.pieces.append(" ")
        self.pieces += point.parts
        if right and ahead.isalnum():
            self.pieces.append(" ")
        return at

    def _write_text(self, start: int, end: int) -> None:
        position = start
        for place, _, _, part in self.alone[bisect_left(self.alone, start, key=lambda each: each[0].start) :]:
            if place.start >= end:
                break
            if place.end <= end and place.start >= position:
                self.pieces += [self.target[position : place.start], part]
                position = place.end
        self.pieces.append(self.target[position:end])

    def joined(self) -> list[Piece]:
        """The pieces, with neighboring texts joined."""
        done: list[Piece] = []
        for piece in self.pieces:
            if isinstance(piece, str) and done and isinstance(done[-1], str):
                done[-1] += piece
            elif piece:
                done.append(piece)
        return done

    def _rows(self, start: int, end: int) -> range:
        """The source words with characters between `start` and `end`."""
        first = bisect_right(self.source_words, start, key=lambda word: word[1])
        return range(first, max(first, bisect_left(self.source_words, end, key=lambda word: word[0])))

    def _ranges(self, parent: Element, elements: list[Element], low: int, high: int) -> list[tuple[int, int]]:
        """The range of target words of each element, from `low` to `high`. Ranges do not overlap."""
        outer = self._rows(parent.start, parent.end)
        everywhere = self.links.sums(outer, low, high)
        chosen: list[tuple[int, int]] = [(-1, -1)] * len(elements)
        free = numpy.ones(high - low, dtype=bool)
        gains = []
        own = self._words_alone(elements, low, high)
        free[[word - low for word in own.pop(None, [])]] = False
        for index, element in enumerate(elements):
            rows = self._rows(element.start, element.end)
            gain = 2 * self.links.sums(rows, low, high) - everywhere - 0.01
            if len(rows) == len(outer):
                gain = numpy.ones(high - low)
            for owner, words in own.items():
                gain[[word - low for word in words]] += ALONE if owner == index else -ALONE
            gains.append((float(gain[gain > 0].sum()), index, gain, rows))
        for _, index, gain, rows in sorted(gains, key=lambda entry: -entry[0]):
            found = best_range(gain, free)
            first, last = self._worded((found[0] + low, found[1] + low), elements[index], own.get(index, []))
            if first == last:
                first, last = self._nearest_free(self._expected(rows, outer, low, high), free, low)
            chosen[index] = (first, last)
            free[first - low : last - low] = False
        return [(snapped(first, chosen),) * 2 if first == last else (first, last) for first, last in chosen]

    def _worded(self, found: tuple[int, int], element: Element, alone: list[int]) -> tuple[int, int]:
        """A range without punctuation at its ends, unless the element has it there; empty without words."""
        first, last = found
        source = self.tagged.text[element.start : element.end].strip()
        if not any(map(str.isalnum, source)):
            return found
        words = [word for word in range(first, last) if self._has_letters(word) or word in alone]
        if not words:
            return 0, 0
        return words[0] if source[0].isalnum() else first, words[-1] + 1 if source[-1].isalnum() else last

    def _words_alone(self, elements: list[Element], low: int, high: int) -> dict[int | None, list[int]]:
        """The target words that are parts "alone", by the index of their element, or None."""
        found: dict[int | None, list[int]] = {}
        first, last = (bisect_left(self.alone, word, key=lambda each: each[1]) for word in (low, high))
        for _, word, (start, end), _ in self.alone[first:last]:
            number = bisect_right(elements, start, key=lambda each: each.start) - 1
            inside = number >= 0 and elements[number].start <= start and end <= elements[number].end
            found.setdefault(number if inside else None, []).append(word)
        return found

    def _expected(self, rows: range, outer: range, low: int, high: int) -> int:
        """The target word before which source words without links are expected."""
        before = range(outer.start, rows.start) if rows else ()
        after = range(rows.stop, outer.stop) if rows else ()
        for row in reversed(before):
            linked = self._linked(row, low, high)
            if len(linked):
                return low + int(linked.max()) + 1
        for row in after:
            linked = self._linked(row, low, high)
            if len(linked):
                return low + max(int(linked.min()) - 1, 0)
        return low + round((high - low) * len(before) / max(len(outer), 1))

    def _linked(self, row: int, low: int, high: int, least: float = 0.0) -> numpy.ndarray:
        """The target words, counted from `low`, whose link to a source word has at least the weight `least`."""
        weights = self.links.sums(range(row, row + 1), low, high)
        return numpy.flatnonzero((weights > 0) & (weights >= least))

    def _nearest_free(self, expected: int, free: numpy.ndarray, low: int) -> tuple[int, int]:
        """The free word nearest to the expected word; an empty range if no word is free."""
        words = [low + int(word) for word in numpy.flatnonzero(free) if self._has_letters(low + int(word))]
        if not words:
            return expected, expected
        word = min(words, key=lambda word: abs(word - expected))
        return word, word + 1

    def _has_letters(self, word: int) -> bool:
        return any(map(str.isalnum, self.target[slice(*self.target_words[word])]))

    def _gap(self, parent: Element, point: Point, window: Window, ranges: list[tuple[int, int]]) -> int:
        """The index of the target word before which a point is placed."""
        rows = self._rows(parent.start, parent.end)
        before = bisect_right(self.source_words, point.at, rows.start, rows.stop, key=lambda word: word[1])
        after = bisect_left(self.source_words, point.at, rows.start, rows.stop, key=lambda word: word[0])
        glued = self.tagged.text[point.at : point.at + 1].isalnum()
        sides = range(rows.start, before), range(after, rows.stop)
        return snapped(self._aligned_gap(*sides, window.low, window.high, glued), ranges)

    def _aligned_gap(self, before: range, after: range, low: int, high: int, glued: bool) -> int:
        if not before:
            return low
        if not after:
            return high
        left = self._linked(before[-1], low, high, SIDES)
        right = self._linked(after[0], low, high, SIDES)
        if len(left) and not (glued and len(right)):
            return low + int(left.max()) + 1
        if len(right):
            return low + int(right.min())
        return self._balanced(before, after, low, high)

    def _balanced(self, before: range, after: range, low: int, high: int) -> int:
        """The gap with the most links from left to left and from right to right."""
        left, right = self.links.sums(before, low, high), self.links.sums(after, low, high)
        to_left = numpy.concatenate([[0], left.cumsum()])
        to_right = right.sum() - numpy.concatenate([[0], right.cumsum()])
        return low + int(numpy.argmax(to_left + to_right))


def _is_break(child: Element | Point) -> bool:
    return isinstance(child, Point) and child.parts[0].kind in ("break", "end")


def _is_after(child: Element | Point, cut: Cut) -> bool:
    """Whether a child is after a cut."""
    if isinstance(child, Element):
        return child.start >= cut.source.start
    if child.at != cut.source.end or _is_break(child):
        return child.at > cut.source.end
    return child.spaces == (True, False)  # a point next to a word stays there


def _all_parts(element: Element) -> list[Piece]:
    """The parts of an element without words."""
    assert element.open and element.close
    inner: list[Piece] = []
    for child in element.children:
        inner += child.parts if isinstance(child, Point) else _all_parts(child)
    return [element.open, *inner, element.close]
