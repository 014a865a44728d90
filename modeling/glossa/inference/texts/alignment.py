"""Word alignments of sentences and their translations, which say where tags go."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy

from ...data.encoding.word_links import Links, Words, between_spaces, find_words
from ..engines.engine import Translation

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LAYERS = (-1, -2)  # of a model without a trained head
SHARE = 0.3  # of a target word's weight that makes a link
FORM = 0.1  # the weight of what words look like, relative to that of attention


class Pair(NamedTuple):
    """A sentence and its translation, with their words."""

    source: str
    source_words: Words
    target: str
    target_words: Words


# The weights of links of each pair, [source words, target words]; a column sums to at most 1.
Aligner = Callable[[Sequence[Pair]], list[numpy.ndarray]]


def align_by_form(pairs: Sequence[Pair]) -> list[numpy.ndarray]:
    """Links by what words look like and where they stand; needs no model, and knows no language."""
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
    return weights / max(weights.sum(0).max(initial=0), 1)  # likeness counts more than place in every column


def near_diagonal(rows: int, columns: int, width: float = 0.06) -> numpy.ndarray:
    """Weights of a normal distribution around the diagonal; `width` is its standard deviation, as a share."""
    first = (numpy.arange(rows) + 0.5) / max(rows, 1)
    second = (numpy.arange(columns) + 0.5) / max(columns, 1)
    distance = first[:, None] - second[None, :]  # [rows, columns]
    return numpy.exp(-0.5 * (distance / width) ** 2)


def likeness(word: str, other: str) -> float:
    """How much two words look like each other, from 0 to 1."""
    if word.casefold() == other.casefold():
        return 1.0
    if not (word[:1].isalpha() and other[:1].isalpha()):
        return 0.4 if not (word[:1].isalnum() or other[:1].isalnum()) else 0.0  # marks are often others
    shared = _shared_start(word.casefold(), other.casefold())
    return 0.6 * shared / max(len(word), len(other)) if shared > 2 else 0.0


def _shared_start(word: str, other: str) -> int:
    pairs = zip(word, other, strict=False)
    return next((index for index, (first, second) in enumerate(pairs) if first != second), min(len(word), len(other)))


def normalized(weights: numpy.ndarray) -> numpy.ndarray:
    """Columns that sum to 1, or are 0."""
    sums = weights.sum(0, keepdims=True)
    return numpy.divide(weights, sums, out=numpy.zeros_like(weights), where=sums > 0)


def strong_links(weights: numpy.ndarray) -> Links:
    """Links from weights [source words, target words]: of each target word the strongest, and those above `SHARE`."""
    if not weights.size:
        return []
    chosen = (weights == weights.max(0)) & (weights > 0) | (weights >= SHARE)
    return [(int(source), int(target)) for source, target in zip(*chosen.nonzero(), strict=True)]


class AttentionAligner:
    """Links from the cross-attention of a model that is forced to decode the translation.

    Args:
        model: A sequence-to-sequence model of transformers.
        tokenizer: Its tokenizer.
        layers: The decoder layers whose mean attention counts. By default the head that was trained to align words, if
            there is one, and otherwise the last two layers, whose attention puts tags best (docs/desk.md).
        batch_tokens: Most tokens of a batch on either side, padding included.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        layers: Sequence[int] | None = None,
        batch_tokens: int = 4096,
    ):
        self.model, self.tokenizer, self.layers, self.batch_tokens = model, tokenizer, layers, batch_tokens

    def __call__(self, pairs: Sequence[Pair]) -> list[numpy.ndarray]:
        import torch

        from ...data.encoding.batching import TokenBatchSampler

        found = align_by_form(pairs)
        encoded = {row: sides for row, pair in enumerate(pairs) if (sides := self._encode(pair)) is not None}
        fitting = list(encoded)
        lengths = [[len(encoded[row][side].ids) for row in fitting] for side in (0, 1)]
        if not fitting:
            return found
        before = self.model.config._attn_implementation
        self.model.eval().set_attn_implementation("eager")  # fused attention does not return weights
        try:
            with torch.inference_mode():
                for batch in TokenBatchSampler(lengths[0], lengths[1], self.batch_tokens):
                    rows = [fitting[index] for index in batch]
                    attention = self._attention([encoded[row] for row in rows])  # [B, T, S]
                    for row, weights in zip(rows, attention, strict=True):
                        found[row] = combined(found[row], _of_words(weights, pairs[row], encoded[row]))
        finally:
            self.model.set_attn_implementation(before)
        return found

    def _encode(self, pair: Pair) -> "tuple[Tokens, Tokens] | None":
        """Token ids with their characters, or None for what the model does not take, or not as it is written."""
        from ...sentences_glossa import clean_text

        limit = self.tokenizer.model_max_length
        sides = []
        for side, text in (("text", pair.source), ("text_target", pair.target)):
            if clean_text(text) != text:
                return None
            tokens = self.tokenizer(**{side: text}, return_offsets_mapping=True, return_special_tokens_mask=True)
            spans = zip(tokens["offset_mapping"], tokens["special_tokens_mask"], strict=True)
            sides.append(Tokens(tokens["input_ids"], [(0, 0) if special else span for span, special in spans]))
        return None if max(len(side.ids) for side in sides) > limit else (sides[0], sides[1])

    def _attention(self, encoded: "list[tuple[Tokens, Tokens]]"):
        from transformers import DataCollatorForSeq2Seq

        rows = [{"input_ids": source.ids, "labels": target.ids} for source, target in encoded]
        batch = DataCollatorForSeq2Seq(self.tokenizer, model=self.model)(rows).to(self.model.device)
        found = self.model(**batch, output_attentions=True).cross_attentions
        trained = getattr(self.model.config, "alignment_layer", None)
        if self.layers is None and trained is not None:
            return found[trained][:, 0].float().cpu().numpy()  # [B, T, S]
        chosen = [found[max(layer, -len(found))].mean(1) for layer in self.layers or LAYERS]
        return (sum(chosen) / len(chosen)).float().cpu().numpy()  # [B, T, S]


class Tokens(NamedTuple):
    """Token ids, and the characters of each; (0, 0) for special tokens."""

    ids: list[int]
    spans: list[tuple[int, int]]


def _of_words(attention: numpy.ndarray, pair: Pair, encoded: tuple[Tokens, Tokens]) -> numpy.ndarray:
    """Attention of tokens [T, S] as links of words: summed over source tokens, averaged over target tokens."""
    source, target = (
        _membership(tokens.spans, words)
        for tokens, words in zip(encoded, (pair.source_words, pair.target_words), strict=True)
    )
    weights = source @ attention[: target.shape[1], : source.shape[1]].T @ target.T  # [source words, target words]
    return normalized(weights)


def _membership(spans: Words, words: Words) -> numpy.ndarray:
    """Whether each word has characters of each token, [words, tokens]."""
    first, second = numpy.array(words).reshape(-1, 2), numpy.array(spans).reshape(-1, 2)
    latest = numpy.maximum(first[:, None, 0], second[None, :, 0])
    earliest = numpy.minimum(first[:, None, 1], second[None, :, 1])
    return (earliest > latest).astype(float)


def combined(form: numpy.ndarray, attention: numpy.ndarray) -> numpy.ndarray:
    """Attention, and where it is undecided what words look like."""
    return normalized(attention + FORM * normalized(form))


Row = tuple[str, list[Translation]]


def with_links(rows: Iterator[Row], aligner: Aligner, chunk: int) -> Iterator[Row]:
    """The lines and translations of `rows`, `chunk` at a time; the translations get their links."""
    while some := list(islice(rows, chunk)):
        flat = [(source, translation) for source, translations in some for translation in translations]
        for (_, translation), links in zip(flat, link_rows(flat, aligner), strict=True):
            translation.links = links
        yield from some


def link_rows(rows: Sequence[tuple[str, Translation]], aligner: Aligner) -> list[Links]:
    """The links between white space of each line and its translation. One that failed has none.

    The parts of a line that were translated for themselves are aligned for themselves.
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
    return between_spaces((source, target), words, links)


def _moved(words: Words, start: int) -> list[tuple[int, int]]:
    return [(first + start, last + start) for first, last in words]
