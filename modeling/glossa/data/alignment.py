"""How well the words of pairs explain each other, by IBM model 1 (Brown et al. 1993), learned from the pairs."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy
import regex

from ..errors import GlossaError

FEWEST = 1000  # pairs to learn from
LINKS = 8_000_000  # at most, of words in the pairs to learn from, which bounds time and memory
ITERATIONS = 5
RARE = 3  # words that occur less often in the pairs to learn from say nothing
CHANCE = 0.1  # of a word to come from no word of the other side
CHUNK = 2000  # pairs that are scored at a time
# A text that is written without spaces has a word in each of its characters.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\w+")

Texts = Sequence[str]


class Side(NamedTuple):
    """The words of texts: `ids` of all of them one after another, and `counts`, the number of words of each text."""

    ids: numpy.ndarray
    counts: numpy.ndarray


class Links(NamedTuple):
    """Every word of one side with every word of the other side of its pair.

    Attributes:
        word: For each link, the number of the explained word among all words of its side.
        given: The id of the word that may explain it.
        explained: Its id.
    """

    word: numpy.ndarray
    given: numpy.ndarray
    explained: numpy.ndarray


class Lexicon:
    """Probabilities of the words of one language, given a word of the other, by IBM model 1 without an empty word.

    Args:
        given: The words of one side.
        explained: Those of the other side of the same pairs.
        size: Number of word ids of the explained side.
        iterations: Of expectation maximization, from uniform probabilities.
    """

    def __init__(self, given: Side, explained: Side, size: int, iterations: int = ITERATIONS):
        self.size = size
        links = _links(given, explained)
        self.keys, place = numpy.unique(self._keys(links), return_inverse=True)
        by = self.keys // size  # the given word of each entry
        self.probabilities = numpy.ones(len(self.keys))
        for _ in range(iterations):
            shares = self.probabilities[place]
            shares /= numpy.bincount(links.word, shares)[links.word]
            counts = numpy.bincount(place, shares)
            self.probabilities = counts / numpy.bincount(by, counts)[by]
        self.frequencies = numpy.bincount(explained.ids, minlength=size) / max(len(explained.ids), 1)

    def _keys(self, links: Links) -> numpy.ndarray:
        return links.given.astype(numpy.int64) * self.size + links.explained

    def scores(self, given: Side, explained: Side) -> numpy.ndarray:
        """Of each pair, by how much its given words make the explained ones more probable: mean log-ratio in nats.

        0 for a pair without known words.
        """
        links = _links(given, explained)
        keys = self._keys(links)
        place = numpy.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        found = numpy.where(self.keys[place] == keys, self.probabilities[place], 0.0)
        sums = numpy.bincount(links.word, found, minlength=len(explained.ids))
        means = sums / numpy.repeat(given.counts, explained.counts).clip(min=1)
        ratios = numpy.log((1 - CHANCE) * means / self.frequencies[explained.ids] + CHANCE)
        totals = numpy.bincount(_pairs(explained), ratios, minlength=len(explained.counts))
        return totals / explained.counts.clip(min=1) * (given.counts > 0)


def alignment_scores(sources: Texts, targets: Texts) -> numpy.ndarray:
    """How well the two sides of each pair explain each other; a pair of unrelated sentences has less than 0, mostly.

    The score is the mean over both directions of the mean log-ratio of the probability of a word given the other side
    and its frequency, in nats. Each half of the pairs is judged by what was learned from the other half, so a pair
    does not explain itself.

    Args:
        sources: Texts, at least [`FEWEST`].
        targets: Their translations.

    Raises:
        GlossaError: if there are too few pairs to learn from.
    """
    if len(sources) < FEWEST:
        raise GlossaError(
            f"filter_alignment learns from the pairs themselves and needs {FEWEST:,}, but there are {len(sources):,}. "
            "Leave it out, or put it on a larger source."
        )
    scores = numpy.zeros(len(sources))
    halves = [range(half, len(sources), 2) for half in range(2)]
    for judged, learned in (halves, halves[::-1]):
        learned = _enough(sources, targets, learned)
        words = [_vocabulary(side[row] for row in learned) for side in (sources, targets)]
        first, second = (
            _side([side[row] for row in learned], own) for side, own in zip((sources, targets), words, strict=True)
        )
        forward = Lexicon(first, second, len(words[1]))
        backward = Lexicon(second, first, len(words[0]))
        rows = iter(judged)
        while chunk := list(islice(rows, CHUNK)):
            one = _side([sources[row] for row in chunk], words[0])
            other = _side([targets[row] for row in chunk], words[1])
            scores[chunk] = (forward.scores(one, other) + backward.scores(other, one)) / 2
    return scores


def _enough(sources: Texts, targets: Texts, rows: range) -> range:
    """Rows evenly spread over `rows`, so few that their links fit into memory."""
    some = rows[:: max(len(rows) // FEWEST, 1)]
    links = sum(len(_WORD.findall(sources[row])) * len(_WORD.findall(targets[row])) for row in some) / len(some)
    return rows[:: math.ceil(len(rows) * max(links, 1) / LINKS)]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _vocabulary(texts: Iterator[str]) -> dict[str, int]:
    """The ids of words that are not rare."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in _words(text):
            counts[word] = counts.get(word, 0) + 1
    frequent = (word for word, count in counts.items() if count >= RARE)
    return {word: number for number, word in enumerate(frequent)}


def _side(texts: list[str], vocabulary: dict[str, int]) -> Side:
    found = [[vocabulary[word] for word in _words(text) if word in vocabulary] for text in texts]
    ids = numpy.fromiter((number for numbers in found for number in numbers), numpy.int32)
    return Side(ids, numpy.array([len(numbers) for numbers in found]))


def _pairs(side: Side) -> numpy.ndarray:
    """The number of the pair of each word."""
    return numpy.repeat(numpy.arange(len(side.counts)), side.counts)


def _links(given: Side, explained: Side) -> Links:
    pairs = _pairs(explained)
    counts = given.counts[pairs]  # links of each explained word
    word = numpy.repeat(numpy.arange(len(pairs)), counts)
    starts = numpy.cumsum(given.counts) - given.counts
    within = numpy.arange(len(word)) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
    return Links(word, given.ids[starts[pairs][word] + within], explained.ids[word])
