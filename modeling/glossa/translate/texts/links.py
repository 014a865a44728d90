"""Links between the words of a text and its translation, which are only within its sentences."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy

LINKED = 0.05  # the least share of a target word's weight that makes a link
SIDES = 0.5  # of a link that only one of its two words finds best

Block = tuple[int, int, numpy.ndarray]  # the first source word and target word of a sentence, and its weights


def harden(weights: numpy.ndarray) -> numpy.ndarray:
    """Links of 1 where two words find each other best, and of `SIDES` where one of them does."""
    if 0 in weights.shape:
        return weights
    rows, columns = weights.shape
    forward = numpy.zeros(weights.shape)
    forward[weights.argmax(0), numpy.arange(columns)] = 1
    backward = numpy.zeros(weights.shape)
    backward[numpy.arange(rows), weights.argmax(1)] = 1
    return (forward * backward + SIDES * (forward != backward)) * (weights >= LINKED)


class Links:
    """The hard links of all sentences; between words of different ones there are none.

    Args:
        blocks: The weights of each sentence, [source words, target words], in order.
    """

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = [(row, column, harden(weights)) for row, column, weights in blocks if weights.size]
        self.rows = [row for row, _, _ in self.blocks]

    def sums(self, rows: range, low: int, high: int) -> numpy.ndarray:
        """The weight of each target word from `low` to `high` for all of these source words together."""
        found = numpy.zeros(high - low)
        if not rows:
            return found
        first, last = max(bisect_right(self.rows, rows.start) - 1, 0), bisect_left(self.rows, rows.stop)
        for row, column, weights in self.blocks[first:last]:
            left, right = max(low, column), min(high, column + weights.shape[1])
            if left < right:
                own = weights[max(rows.start - row, 0) : rows.stop - row, left - column : right - column]
                found[left - low : right - low] += own.sum(0)
        return found


def best_range(gain: numpy.ndarray, free: numpy.ndarray) -> tuple[int, int]:
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


def snapped(gap: int, ranges: Sequence[tuple[int, int]]) -> int:
    """The gap between words next to `gap` that is inside none of `ranges`."""
    for first, last in ranges:
        if first < gap < last:
            return first if gap - first < last - gap else last
    return gap
