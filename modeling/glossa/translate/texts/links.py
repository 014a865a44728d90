"""Links between the words of a text and its translation, within sentences."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy

from ...base.word_links import Words
from .alignment import Pair

LINKED = 0.05  # the lowest weight of a link
SIDES = 0.5  # the weight of a link that is the best one of only one of its words

Block = tuple[int, int, numpy.ndarray]  # the first source word and target word of a sentence, and its weights


def harden(weights: numpy.ndarray) -> numpy.ndarray:
    """Links with weight 1 if they are the best of both words, and `SIDES` if they are the best of one."""
    if 0 in weights.shape:
        return weights
    rows, columns = weights.shape
    forward = numpy.zeros(weights.shape)
    forward[weights.argmax(0), numpy.arange(columns)] = 1
    backward = numpy.zeros(weights.shape)
    backward[numpy.arange(rows), weights.argmax(1)] = 1
    return (forward * backward + SIDES * (forward != backward)) * (weights >= LINKED)


def split_words(pair: Pair, links: numpy.ndarray, edges: Sequence[int]) -> tuple[Words, Words, numpy.ndarray]:
    """The words of a pair, and their links, where words with a tag inside of them are two, as in 2<sup>24</sup>.

    Only a word that its translation has unchanged is split, since only then its parts are known.

    Args:
        pair: A sentence and its translation.
        links: The weights of the links, [source words, target words].
        edges: Places of tags in the sentence, from left to right.
    """
    own, theirs = list(pair.source_words), list(pair.target_words)
    for row in reversed(range(len(own))):
        start, end = own[row]
        inner = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        if not inner:
            continue
        word = pair.source[start:end]
        same = [column for column, (first, last) in enumerate(theirs) if pair.target[first:last] == word]
        if not same:
            continue
        column = max(same, key=lambda each: links[row, each])
        shift, bounds = theirs[column][0] - start, [start, *inner, end]
        own[row : row + 1] = pairwise(bounds)
        theirs[column : column + 1] = [(first + shift, last + shift) for first, last in pairwise(bounds)]
        parts = len(bounds) - 1
        links = numpy.repeat(links, [parts if each == row else 1 for each in range(len(links))], axis=0)
        links = numpy.repeat(links, [parts if each == column else 1 for each in range(links.shape[1])], axis=1)
        links[row : row + parts, column : column + parts] = numpy.eye(parts)
    return own, theirs, links


class Links:
    """The hard links of all sentences. Words of different sentences have no links.

    Args:
        blocks: The weights of each sentence, [source words, target words], in order.
    """

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = [(row, column, harden(weights)) for row, column, weights in blocks if weights.size]
        self.rows = [row for row, _, _ in self.blocks]

    def sums(self, rows: range, low: int, high: int) -> numpy.ndarray:
        """The sum of the weights of the source words `rows`, for each target word from `low` to `high`."""
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
    """The range of free words with the largest sum; (0, 0) if no sum is above 0."""
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
    """The nearest gap between words that is not inside `ranges`."""
    for first, last in ranges:
        if first < gap < last:
            return first if gap - first < last - gap else last
    return gap
