"""Tags around words come back on a translated sentence by word alignment.

Every tag comes back exactly once, and tags stay nested as they were. Elements may change places with the words that
they enclose.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy

from ...spans_glossa import Span
from .alignment import Words
from .tags import Element, Piece, Point, Tagged

LINKED = 0.05  # the least share of a target word's weight that makes a link
ALONE = 1000.0  # what a word that stands for itself weighs for the element in which it was
SIDES = 0.5  # of a link that only one of its two words finds best


def put_tags(
    tagged: Tagged,
    source_words: Words,
    target: str,
    target_words: Words,
    links: numpy.ndarray,
    spans: Sequence[Span] = (),
) -> list[Piece]:
    """The pieces of a translation with the tags of its source.

    Args:
        tagged: The source.
        source_words: Its words.
        target: The translation.
        target_words: Its words.
        links: Weights of their links, [source words, target words].
        spans: The characters of `target` where each of `tagged.alone` stands.
    """
    writer = _Writer(tagged, source_words, target, target_words, harden(links), spans)
    writer.write(tagged.root, 0, len(target_words), 0, len(target))
    return writer.joined()


def harden(weights: numpy.ndarray) -> numpy.ndarray:
    """Links of 1 where two words find each other best, and of `SIDES` where one of them does."""
    if 0 in weights.shape:
        return weights
    rows, columns = weights.shape
    forward = numpy.zeros_like(weights)
    forward[weights.argmax(0), numpy.arange(columns)] = 1
    backward = numpy.zeros_like(weights)
    backward[numpy.arange(rows), weights.argmax(1)] = 1
    return (forward * backward + SIDES * (forward != backward)) * (weights >= LINKED)


class _Writer:
    """Writes the pieces of one translation."""

    def __init__(self, tagged: Tagged, source_words: Words, target: str, target_words: Words, links, spans):
        self.tagged, self.source_words = tagged, source_words
        self.target, self.target_words, self.links = target, target_words, links
        self.spans = list(spans)
        self.alone = sorted((*span, part) for span, (_, part) in zip(spans, tagged.alone, strict=True))
        self.pieces: list[Piece] = []

    def write(self, element: Element, low: int, high: int, start: int, end: int) -> None:
        """Write the target words from `low` to `high`, which are the characters from `start` to `end`."""
        if breaks := [child for child in element.children if _is_break(child)]:
            self._write_sections(element, breaks, low, high, start, end)
            return
        elements = [child for child in element.children if isinstance(child, Element)]
        points = [child for child in element.children if isinstance(child, Point)]
        ranges = self._ranges(element, elements, low, high)
        # What comes at each gap between words: elements that begin there, and points in the order of the source.
        order = {id(child): number for number, child in enumerate(element.children)}
        events: list[tuple[int, int, int, Element | Point]] = []
        for each, (first, last) in zip(elements, ranges, strict=True):
            events.append((first, int(last > first), order[id(each)], each))
        for point in points:
            events.append((self._gap(element, point, low, high, ranges), 0, order[id(point)], point))
        bounds = {id(child): bound for child, bound in zip(elements, ranges, strict=True)}
        position = start
        for gap, _, _, child in sorted(events, key=lambda event: event[:3]):
            if isinstance(child, Element) and bounds[id(child)][1] > gap:
                position = self._write_element(child, bounds[id(child)], position, end)
            elif isinstance(child, Element):
                self.pieces += _all_parts(child)  # no word is left for it
            else:
                position = self._write_point(child, gap, position, end, low, high, start)
        self._write_text(position, end)

    def _write_sections(self, element: Element, breaks: list, low: int, high: int, start: int, end: int) -> None:
        """Write the text between breaks, each of which keeps its place in their order."""
        bounds = [element.start, *(point.at for point in breaks), element.end]
        gaps = self._sections(bounds, low, high)
        children = list(element.children)
        for number, point in enumerate([*breaks, None]):
            count = len(children) if point is None else next(i for i, each in enumerate(children) if each is point)
            inner, children = children[:count], children[count + 1 :]
            first, last = gaps[number], gaps[number + 1]
            section = Element(bounds[number], bounds[number + 1], children=inner)
            left = start if number == 0 else self.target_words[first][0] if first < last else end
            right = end if point is None else self.target_words[last - 1][1] if first < last else left
            self.write(section, first, last, left, right)
            if point is not None:
                self.pieces += point.parts

    def _sections(self, bounds: list[int], low: int, high: int) -> list[int]:
        """The gaps between target words that divide them like `bounds` divide the source, none empty if possible."""
        sections = len(bounds) - 1
        rows = [self._rows(first, last) for first, last in pairwise(bounds)]
        gains = numpy.array([self.links[own, low:high].sum(0) for own in rows]).reshape(sections, -1)
        sums = numpy.concatenate([numpy.zeros((sections, 1)), gains.cumsum(1)], axis=1)  # [sections, gaps]
        total, words = bounds[-1] - bounds[0], high - low
        least = 1 if words >= sections else 0
        best = numpy.full((sections + 1, words + 1), -numpy.inf)
        back = numpy.zeros((sections + 1, words + 1), dtype=int)
        best[0, 0] = 0
        for section in range(sections):
            share = (bounds[section + 1] - bounds[0]) / max(total, 1)
            for gap in range(words + 1):
                starts = numpy.arange(0, gap + 1 - least)
                if not len(starts):
                    continue
                scores = best[section, starts] + sums[section, gap] - sums[section, starts]
                chosen = int(scores.argmax())
                best[section + 1, gap] = scores[chosen] - self._cost(low + gap, gap / max(words, 1) - share)
                back[section + 1, gap] = starts[chosen]
        gaps = [words]
        for section in range(sections, 0, -1):
            gaps.append(int(back[section, gaps[-1]]))
        return [low + gap for gap in reversed(gaps)]

    def _cost(self, gap: int, off: float) -> float:
        """How unwelcome a break is at a gap: inside a word, after no mark, or `off` its share of the text."""
        if not 0 < gap < len(self.target_words):
            return 0.0
        before, after = self.target_words[gap - 1], self.target_words[gap]
        glued = before[1] == after[0]
        tagged = self.target[before[1] - 1] in ",;:.!?…，、。；：！？"
        return 4.0 * glued + 0.5 * (not tagged) + abs(off)

    def _write_element(self, element: Element, bounds: tuple[int, int], position: int, end: int) -> int:
        first, last = self.target_words[bounds[0]][0], self.target_words[bounds[1] - 1][1]
        outer_left, inner_left = element.opening
        inner_right, outer_right = element.closing
        if inner_left and not outer_left and first > position and self.target[first - 1].isspace():
            first, inner_left = first - 1, False
        if inner_right and not outer_right and last < end and self.target[last].isspace():
            last, inner_right = last + 1, False
        self._write_text(position, first)
        assert element.open and element.close
        self.pieces += [element.open, *([" "] if inner_left else [])]
        self.write(element, *bounds, first, last)
        self.pieces += [*([" "] if inner_right else []), element.close]
        return last

    def _write_point(self, point: Point, gap: int, position: int, end: int, low: int, high: int, start: int) -> int:
        left, right = point.spaces
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
        for first, last, part in self.alone:
            if start <= first and last <= end and first >= position:
                self.pieces += [self.target[position:first], part]
                position = last
        self.pieces.append(self.target[position:end])

    def joined(self) -> list[Piece]:
        """The pieces with texts joined."""
        done: list[Piece] = []
        for piece in self.pieces:
            if isinstance(piece, str) and done and isinstance(done[-1], str):
                done[-1] += piece
            elif piece:
                done.append(piece)
        return done

    def _rows(self, start: int, end: int) -> list[int]:
        """The source words that have characters between `start` and `end`."""
        return [row for row, (first, last) in enumerate(self.source_words) if first < end and last > start]

    def _ranges(self, parent: Element, elements: list[Element], low: int, high: int) -> list[tuple[int, int]]:
        """The target words of each element, from `low` to `high`; no word is in two."""
        outer = self._rows(parent.start, parent.end)
        chosen: list[tuple[int, int]] = [(-1, -1)] * len(elements)
        free = numpy.zeros(len(self.target_words), dtype=bool)
        free[low:high] = True
        gains = []
        own = self._words_alone(elements)
        free[own.pop(None, [])] = False
        for index, element in enumerate(elements):
            rows = self._rows(element.start, element.end)
            others = [row for row in outer if row not in set(rows)]
            gain = self.links[rows].sum(0) - self.links[others].sum(0) - 0.01
            if not others:
                gain = numpy.ones(len(self.target_words))
            for owner, words in own.items():
                gain[words] += ALONE if owner == index else -ALONE
            gains.append((float(numpy.clip(gain[low:high], 0, None).sum()), index, gain, rows))
        for _, index, gain, rows in sorted(gains, key=lambda entry: -entry[0]):
            first, last = self._worded(_best_range(gain, free), elements[index], own.get(index, []))
            if first == last:
                first, last = self._nearest_free(self._expected(rows, outer, low, high), free, low, high)
            chosen[index] = (first, last)
            free[first:last] = False
        return [(_snapped(first, chosen),) * 2 if first == last else (first, last) for first, last in chosen]

    def _worded(self, found: tuple[int, int], element: Element, alone: list[int]) -> tuple[int, int]:
        """A range without punctuation at its ends that the element does not have there; empty if no word is left."""
        first, last = found
        source = self.tagged.text[element.start : element.end].strip()
        if not any(map(str.isalnum, source)):
            return found
        words = [word for word in range(first, last) if self._has_letters(word) or word in alone]
        if not words:
            return 0, 0
        return words[0] if source[0].isalnum() else first, words[-1] + 1 if source[-1].isalnum() else last

    def _words_alone(self, elements: list[Element]) -> dict[int | None, list[int]]:
        """The target words that stand for themselves, by the number of the element that has them; None: of none."""
        found: dict[int | None, list[int]] = {}
        for ((start, end), _), span in zip(self.tagged.alone, self.spans, strict=True):
            inside = (number for number, each in enumerate(elements) if each.start <= start and end <= each.end)
            found.setdefault(next(inside, None), []).append(self.target_words.index(span))
        return found

    def _expected(self, rows: list[int], outer: list[int], low: int, high: int) -> int:
        """The target word before which a source word without links is expected."""
        before = [row for row in outer if rows and row < rows[0]]
        after = [row for row in outer if rows and row > rows[-1]]
        for row in reversed(before):
            linked = numpy.flatnonzero(self.links[row, low:high])
            if len(linked):
                return low + int(linked.max()) + 1
        for row in after:
            linked = numpy.flatnonzero(self.links[row, low:high])
            if len(linked):
                return low + max(int(linked.min()) - 1, 0)
        return low + round((high - low) * len(before) / max(len(outer), 1))

    def _nearest_free(self, expected: int, free: numpy.ndarray, low: int, high: int) -> tuple[int, int]:
        """The free word nearest to the expected one; an empty range if there is none."""
        words = [word for word in range(low, high) if free[word] and self._has_letters(word)]
        if not words:
            return expected, expected
        word = min(words, key=lambda word: abs(word - expected))
        return word, word + 1

    def _has_letters(self, word: int) -> bool:
        return any(map(str.isalnum, self.target[slice(*self.target_words[word])]))

    def _gap(self, parent: Element, point: Point, low: int, high: int, ranges: list[tuple[int, int]]) -> int:
        """The number of the target word before which a point comes."""
        rows = self._rows(parent.start, parent.end)
        before = [row for row in rows if self.source_words[row][1] <= point.at]
        after = [row for row in rows if self.source_words[row][0] >= point.at]
        gap = self._aligned_gap(before, after, low, high, self.tagged.text[point.at : point.at + 1].isalnum())
        return _snapped(gap, ranges)

    def _aligned_gap(self, before: list[int], after: list[int], low: int, high: int, glued: bool) -> int:
        if not before:
            return low
        if not after:
            return high
        left = numpy.flatnonzero(self.links[before[-1], low:high] >= SIDES)
        right = numpy.flatnonzero(self.links[after[0], low:high] >= SIDES)
        if len(left) and not (glued and len(right)):
            return low + int(left.max()) + 1
        if len(right):
            return low + int(right.min())
        return self._balanced(before, after, low, high)

    def _balanced(self, before: list[int], after: list[int], low: int, high: int) -> int:
        """The gap with the most links from left to left and from right to right."""
        left = self.links[before, low:high].sum(0)
        right = self.links[after, low:high].sum(0)
        scores = [left[:gap].sum() + right[gap:].sum() for gap in range(high - low + 1)]
        return low + int(numpy.argmax(scores))


def _is_break(child: Element | Point) -> bool:
    return isinstance(child, Point) and child.parts[0].kind == "break"


def _snapped(gap: int, ranges: Sequence[tuple[int, int]]) -> int:
    """The gap between words next to `gap` that is inside none of `ranges`."""
    for first, last in ranges:
        if first < gap < last:
            return first if gap - first < last - gap else last
    return gap


def _best_range(gain: numpy.ndarray, free: numpy.ndarray) -> tuple[int, int]:
    """The free words next to each other with the largest sum; (0, 0) if none is above 0."""
    best, found = 0.0, (0, 0)
    total, first = 0.0, 0
    for word, value in enumerate(gain):
        if not free[word]:
            total, first = 0.0, word + 1
            continue
        if total <= 0:
            total, first = 0.0, word
        total += float(value)
        if total > best + 1e-9:
            best, found = total, (first, word + 1)
    return found


def _all_parts(element: Element) -> list[Piece]:
    """The tags of an element without words."""
    assert element.open and element.close
    inner: list[Piece] = []
    for child in element.children:
        inner += child.parts if isinstance(child, Point) else _all_parts(child)
    return [element.open, *inner, element.close]
