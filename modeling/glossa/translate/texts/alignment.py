"""Word alignments of sentences and translations, by which tags and spans are placed."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy

from ...base.word_links import Links, Words, find_words, token_links
from ...model.sentences_glossa import clean_text
from ..interface import Engine, Translation

SHARE = 0.3  # the lowest weight of a second link of a target word
FORM = 0.1  # the weight of similar spelling, relative to attention


class Pair(NamedTuple):
    """A sentence and its translation, with their words."""

    source: str
    source_words: Words
    target: str
    target_words: Words


# The weights of links of each pair, [source words, target words]; a column sums to at most 1.
Aligner = Callable[[Sequence[Pair]], list[numpy.ndarray]]


def align_by_form(pairs: Sequence[Pair]) -> list[numpy.ndarray]:
    """Links by spelling and position of words. They need no model, and are the same for all languages."""
    return [_by_form(pair) for pair in pairs]


def _by_form(pair: Pair) -> numpy.ndarray:
    sides = [
        [text[start:end] for start, end in words]
        for text, words in ((pair.source, pair.source_words), (pair.target, pair.target_words))
    ]
    weights = near_diagonal(len(sides[0]), len(sides[1])) * 0.5
    for i, word in enumerate(sides[0]):
        for j, other in enumerate(sides[1]):
            weights[i, j] += likeness(word, other)
    return weights / max(weights.sum(0).max(initial=0), 1)  # spelling counts more than position in every column


def near_diagonal(rows: int, columns: int, width: float = 0.06) -> numpy.ndarray:
    """Weights of a normal distribution around the diagonal; `width` is its standard deviation, as a share."""
    first = (numpy.arange(rows) + 0.5) / max(rows, 1)
    second = (numpy.arange(columns) + 0.5) / max(columns, 1)
    distance = first[:, None] - second[None, :]  # [rows, columns]
    return numpy.exp(-0.5 * (distance / width) ** 2)


def likeness(word: str, other: str) -> float:
    """The similarity of the spelling of two words, from 0 to 1."""
    if word.casefold() == other.casefold():
        return 1.0
    if not (word[:1].isalpha() and other[:1].isalpha()):
        return 0.4 if not (word[:1].isalnum() or other[:1].isalnum()) else 0.0  # marks are often others
    shared = shared_start(word.casefold(), other.casefold())
    return 0.6 * shared / max(len(word), len(other)) if shared > 2 else 0.0


def shared_start(word: str, other: str) -> int:
    """The number of letters with which both words begin."""
    pairs = zip(word, other, strict=False)
    return next((index for index, (first, second) in enumerate(pairs) if first != second), min(len(word), len(other)))


def normalized(weights: numpy.ndarray) -> numpy.ndarray:
    """Weights whose columns sum to 1, or are 0."""
    sums = weights.sum(0, keepdims=True)
    return numpy.divide(weights, sums, out=numpy.zeros_like(weights), where=sums > 0)


def strong_links(weights: numpy.ndarray) -> Links:
    """The strongest link of each target word, and links above `SHARE`, given weights [source words, target words]."""
    if not weights.size:
        return []
    chosen = (weights == weights.max(0)) & (weights > 0) | (weights >= SHARE)
    return [(int(source), int(target)) for source, target in zip(*chosen.nonzero(), strict=True)]


class AttentionAligner:
    """Links from the cross-attention of a model that is forced to decode the translation ([`Engine.attention`]).

    Pairs without attention are aligned by spelling.

    Args:
        engine: The model.
        tokenizer: Its tokenizer.
    """

    def __init__(self, engine: Engine, tokenizer: Any):
        self.engine, self.tokenizer = engine, tokenizer

    def __call__(self, pairs: Sequence[Pair]) -> list[numpy.ndarray]:
        found = align_by_form(pairs)
        # Slow tokenizers do not return the characters of tokens.
        if not self.engine.attends or not getattr(self.tokenizer, "is_fast", True):
            return found
        worded = (row for row, pair in enumerate(pairs) if pair.source_words and pair.target_words)
        encoded = {row: sides for row in worded if (sides := self._encode(pairs[row])) is not None}
        ids = [(source.ids, target.ids) for source, target in encoded.values()]
        attention = self.engine.attention([source for source, _ in ids], [target for _, target in ids])
        for (row, sides), weights in zip(encoded.items(), attention, strict=True):
            found[row] = combined(found[row], _of_words(weights, pairs[row], sides))
        return found

    def _encode(self, pair: Pair) -> "tuple[Tokens, Tokens] | None":
        """Token ids with their characters; None if the model does not take the pair unchanged."""
        limit = self.tokenizer.model_max_length
        sides = []
        for side, text in (("text", pair.source), ("text_target", pair.target)):
            if clean_text(text) != text:
                return None
            tokens = self.tokenizer(
                **{side: text}, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False
            )
            spans = zip(tokens["offset_mapping"], tokens["special_tokens_mask"], strict=True)
            sides.append(Tokens(tokens["input_ids"], [(0, 0) if special else span for span, special in spans]))
        return None if max(len(side.ids) for side in sides) > limit else (sides[0], sides[1])


class Tokens(NamedTuple):
    """Token ids, and the characters of each; (0, 0) for special tokens."""

    ids: list[int]
    spans: list[tuple[int, int]]


def _of_words(attention: numpy.ndarray, pair: Pair, encoded: tuple[Tokens, Tokens]) -> numpy.ndarray:
    """Links of words from attention of tokens [T, S]: the sum over source tokens, and the mean over target tokens."""
    source, target = (
        _membership(tokens.spans, words)
        for tokens, words in zip(encoded, (pair.source_words, pair.target_words), strict=True)
    )
    weights = source @ attention[: target.shape[1], : source.shape[1]].T @ target.T  # [source words, target words]
    return normalized(weights)


def _membership(spans: Words, words: Words) -> numpy.ndarray:
    """Whether each word shares characters with each token, [words, tokens]."""
    first, second = numpy.array(words).reshape(-1, 2), numpy.array(spans).reshape(-1, 2)
    latest = numpy.maximum(first[:, None, 0], second[None, :, 0])
    earliest = numpy.minimum(first[:, None, 1], second[None, :, 1])
    return (earliest > latest).astype(float)


def combined(form: numpy.ndarray, attention: numpy.ndarray) -> numpy.ndarray:
    """Attention, with the spelling of words where attention is undecided."""
    return normalized(attention + FORM * normalized(form))


def aligned(aligner: Aligner, pairs: Sequence[Pair]) -> list[numpy.ndarray]:
    """Links of pairs. A translation that equals its source is linked word by word."""
    different = [pair for pair in pairs if pair.source != pair.target]
    found = iter(aligner(different) if different else [])
    return [numpy.eye(len(pair.source_words)) if pair.source == pair.target else next(found) for pair in pairs]


def link_rows(rows: Sequence[tuple[str, Translation]], aligner: Aligner) -> list[Links]:
    """The links of each line and its translation, in words between white space. Failed lines have no links.

    Parts of a line that were translated separately are aligned separately.
    """
    pairs: list[Pair] = []
    counts = []
    for _, translation in rows:
        parts = [] if translation.failed else translation.parts
        pairs += [Pair(source, find_words(source), target, find_words(target)) for source, target in parts]
        counts.append(len(parts))
    weights = iter(aligner(pairs))
    own = iter(pairs)
    found = []
    for (source, translation), count in zip(rows, counts, strict=True):
        aligned = [(pair, strong_links(next(weights))) for pair in islice(own, count)]
        found.append(_of_line(source, translation.text, aligned))
    return found


def _of_line(source: str, target: str, parts: Sequence[tuple[Pair, Links]]) -> Links:
    """The links of a line, from the links of its parts."""
    words: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    links: Links = []
    starts = [0, 0]
    for pair, own in parts:
        links += [(len(words[0]) + row, len(words[1]) + column) for row, column in own]
        sides = (source, pair.source, pair.source_words), (target, pair.target, pair.target_words)
        for side, (text, part, part_words) in enumerate(sides):
            start = text.index(part, starts[side])
            words[side].extend(_moved(part_words, start))
            starts[side] = start + len(part)
    return token_links((source, target), words, links)


def _moved(words: Words, start: int) -> list[tuple[int, int]]:
    return [(first + start, last + start) for first, last in words]
