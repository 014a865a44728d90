"""Scores for how well the words of pairs explain each other, by IBM model 1 (Brown et al. 1993)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
import regex
from datasets import Dataset, Features, Value

from ....base.caching import cached_map
from ....base.errors import GlossaError

FEWEST = 1000  # minimum number of pairs to learn from
LINKS = 4_000_000  # maximum number of word links to learn from, which bounds time and memory
ITERATIONS = 5
RARE = 3  # words with fewer occurrences are ignored
CHANCE = 0.1  # probability that a word comes from no word of the other side
# In scripts without spaces, each character is a word.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\w+")

Texts = Sequence[str]


class Side(NamedTuple):
    """The words of texts: the concatenated `ids`, and `counts`, the number of words in each text."""

    ids: numpy.ndarray
    counts: numpy.ndarray


class Links(NamedTuple):
    """All links of pairs: every word of one side with every word of the other side.

    Attributes:
        word: The index of the explained word among all words of its side, per link.
        given: The id of the explaining word, per link.
        explained: The id of the explained word, per link.
    """

    word: numpy.ndarray
    given: numpy.ndarray
    explained: numpy.ndarray


class Lexicon:
    """Probabilities of the words of one language, given a word of the other, by IBM model 1 without an empty word.

    Args:
        given: The words of one side.
        explained: The words of the other side of the same pairs.
        size: Number of word ids of the explained side.
        iterations: Iterations of expectation maximization, from uniform probabilities.
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
        """How much the given words of each pair raise the probability of the explained words: mean log-ratio in nats.

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


@dataclass
class _Half:
    """The model from one half of the pairs: the word ids of both sides, and a lexicon in each direction."""

    words: list[dict[str, int]]
    forward: Lexicon
    backward: Lexicon


class Alignment:
    """Scores how well the two sides of pairs explain each other, learned from `pairs` (columns `source` and `target`).

    Each half of the pairs is scored by a lexicon learned from the other half, so that a pair does not explain itself.
    Raises `GlossaError` if there are too few pairs to learn from.
    """

    def __init__(self, pairs: Dataset):
        if len(pairs) < FEWEST:
            raise GlossaError(
                f"filters.alignment learns from the pairs themselves and needs {FEWEST:,}, but there are "
                f"{len(pairs):,}. Leave it out, or set it for a larger source."
            )
        self.halves = [_learn(pairs, range(other, len(pairs), 2)) for other in (1, 0)]

    def scores(self, sources: Texts, targets: Texts, rows: Sequence[int]) -> numpy.ndarray:
        """The scores of pairs with these numbers in `pairs`; for unrelated sentences mostly below 0.

        A score is the mean over both directions of the mean log-ratio, in nats, of the probability of a word given the
        other side and its frequency.
        """
        scores = numpy.zeros(len(rows))
        for number, half in enumerate(self.halves):
            chosen = numpy.flatnonzero(numpy.asarray(rows) % 2 == number).tolist()
            one, other = (
                _side([texts[row] for row in chosen], words)
                for texts, words in zip((sources, targets), half.words, strict=True)
            )
            scores[chosen] = (half.forward.scores(one, other) + half.backward.scores(other, one)) / 2
        return scores


def _learn(pairs: Dataset, rows: range) -> _Half:
    """Learn from as many evenly spaced rows as fit into memory with their links."""
    some = pairs.select(rows[:: max(len(rows) // FEWEST, 1)])[:]
    counts = [numpy.array([len(_words(text)) for text in some[side]]) for side in ("source", "target")]
    links = float(numpy.mean(counts[0] * counts[1]))
    texts = pairs.select(rows[:: math.ceil(len(rows) * max(links, 1) / LINKS)])[:]
    words = [_vocabulary(texts[side]) for side in ("source", "target")]
    first, second = (_side(texts[side], own) for side, own in zip(("source", "target"), words, strict=True))
    return _Half(words, Lexicon(first, second, len(words[1])), Lexicon(second, first, len(words[0])))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _vocabulary(texts: Texts) -> dict[str, int]:
    """The ids of all but rare words."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in _words(text):
            counts[word] = counts.get(word, 0) + 1
    frequent = (word for word, count in counts.items() if count >= RARE)
    return {word: number for number, word in enumerate(frequent)}


def _side(texts: Texts, vocabulary: dict[str, int]) -> Side:
    found = [[vocabulary[word] for word in _words(text) if word in vocabulary] for text in texts]
    ids = numpy.fromiter((number for numbers in found for number in numbers), numpy.int32)
    return Side(ids, numpy.array([len(numbers) for numbers in found], dtype=numpy.int64))


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


def aligned_rows(pairs: Dataset, title: str) -> numpy.ndarray:
    """Whether the words of each pair explain each other better than chance."""
    learned: list[Alignment] = []  # unless the result is in the cache

    def judge(columns: dict, rows: list[int]) -> dict:
        if not learned:
            learned.append(Alignment(pairs))
        return {"aligned": learned[0].scores(columns["source"], columns["target"], rows) >= 0}

    found = cached_map(
        pairs,
        judge,
        with_indices=True,
        remove_columns=pairs.column_names,
        features=Features({"aligned": Value("bool")}),
        desc=f"aligning {title}",
    )
    return found.data.column("aligned").to_numpy()
