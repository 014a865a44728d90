"""Training rows of which a share is augmented and tokenized in each epoch."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from ....base.matches import MATCH, MATCH_SCORE, draw_matches, memory_suffix
from ....base.pair import Pair
from ....model.spans_glossa import MEMORY
from ..arguments import DataArguments
from ..augmentation.augmentation import Augmentation
from .encoding import IDS, TEXTS, beyond_limits, encode_rows, lengths_of, tokens_before

CHUNK = 1000  # rows processed as text at a time, and that may be joined with each other


class AugmentedRows:
    """Tokenized training rows with text, for a DataLoader; some are augmented in each epoch.

    An augmented row that exceeds `max_length` or the filter `length_ratio` is left unchanged. With matches (`memory`),
    an epoch also has all rows with a match a second time, with the match appended to the source; the match does not
    count for these limits.

    Args:
        rows: Rows of [`tokenize_pairs`] with their text.
        tokenizer: The tokenizer of the run.
        augmentation: The augmentation to apply.
        arguments: The data settings, with the limits of a row.

    Attributes:
        source_lengths: Number of tokens in each row's source in this epoch.
        target_lengths: Number of tokens in each row's target in this epoch.
        counts: Number of augmented rows in this epoch, by kind.
        seconds: Time for the augmentation of this epoch.
        examples: The first augmented pair of each kind in this epoch, before and after.
    """

    def __init__(
        self, rows: Dataset, tokenizer: PreTrainedTokenizerBase, augmentation: Augmentation, arguments: DataArguments
    ):
        self.tokenizer, self.augmentation, self.arguments = tokenizer, augmentation, arguments
        self.unchanged = rows.select_columns([*IDS, *({"links"} & set(rows.features))])
        self.texts = rows.select_columns([name for name in [*TEXTS, *MATCH] if name in rows.features])
        self._lengths = [numpy.asarray(rows[name][:]) for name in ("source_length", "target_length")]
        scores = rows[MATCH_SCORE][:] if MATCH_SCORE in rows.features else []
        self.again = numpy.flatnonzero(scores)
        self.epoch: int | None = None
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Augment the rows of this epoch."""
        if epoch == self.epoch:
            return
        started = time.perf_counter()
        self.epoch = epoch
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, tuple[Pair, Pair]] = {}
        self.changed: dict[int, dict[str, numpy.ndarray]] = {}
        lengths = [numpy.concatenate([own, own[self.again]]) for own in self._lengths]
        for first in range(0, len(self.texts), CHUNK):
            for row, ids in self._change(self.texts[first : first + CHUNK], first):
                self.changed[row] = ids
                for own, name in zip(lengths, IDS, strict=True):
                    own[row] = len(ids[name])
        self.source_lengths, self.target_lengths = lengths
        self.seconds = time.perf_counter() - started

    def _change(self, texts: dict[str, list[str]], first: int) -> Iterator[tuple[int, dict[str, numpy.ndarray]]]:
        """Yield the numbers and token ids of the augmented rows in a chunk."""
        pairs = list(map(Pair, texts["source"], texts["target"]))
        languages = texts.get("language", [])
        found = self.augmentation.apply(pairs, self.epoch or 0, first, languages)
        for index, ids in self._encode(pairs, found, languages):
            yield first + index, ids
        start, end = numpy.searchsorted(self.again, (first, first + len(pairs))).tolist()
        if start < end:
            matched = self._with_matches(texts, pairs, self.again[start:end].tolist(), first)
            places = {index: place for place, index in enumerate(matched, len(self.unchanged) + start)}
            for index, ids in self._encode(pairs, matched, languages):
                yield places[index], ids

    def _with_matches(
        self, texts: dict[str, list[str]], pairs: list[Pair], rows: list[int], first: int
    ) -> dict[int, tuple[str, Pair]]:
        """The pairs of `rows` with a match appended to their source, by index."""
        own = [pairs[row - first] for row in rows]
        matches = [Pair(*(texts[name][row - first] for name in MATCH)) for row in rows]
        seen = draw_matches(pairs, own, matches, rows, self.augmentation.seed, self.epoch or 0)
        return {
            row - first: ("memory", pair._replace(source=pair.source + memory_suffix(pair.source, match)))
            for row, pair, match in zip(rows, own, seen, strict=True)
        }

    def _encode(
        self, pairs: list[Pair], found: dict[int, tuple[str, Pair]], languages: list[str]
    ) -> Iterator[tuple[int, dict[str, numpy.ndarray]]]:
        for index, sides in encode_changed(self.tokenizer, found, languages, self.arguments).items():
            kind, pair = found[index]
            self.counts[kind] += 1
            self.examples.setdefault(kind, (pairs[index], pair))
            yield index, {name: numpy.array(side, numpy.int32) for name, side in zip(IDS, sides, strict=True)}

    def __len__(self) -> int:
        return len(self.unchanged) + len(self.again)

    def __getitem__(self, row: int) -> dict[str, list[int]]:
        """The `input_ids` and `labels` of a row in this epoch, and the `links` of an unchanged row."""
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: list[int]) -> list[dict[str, Any]]:
        """The rows of a batch, called by a DataLoader."""
        count = len(self.unchanged)
        batch = self.unchanged[[row if row < count else int(self.again[row - count]) for row in rows]]
        found: list[dict[str, Any]] = [dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True)]
        for place, row in enumerate(rows):
            if row in self.changed:
                found[place] = {name: ids.tolist() for name, ids in self.changed[row].items()}
        return found


def encode_changed(
    tokenizer: PreTrainedTokenizerBase,
    found: dict[int, tuple[str, Pair]],
    languages: Sequence[str],
    arguments: DataArguments,
) -> dict[int, tuple[list[int], list[int]]]:
    """The token ids, source and target, of pairs from [`Augmentation.apply`], without pairs beyond the limits.

    `languages` has the target language of every row if there are several.
    """
    if not found:
        return {}
    sides = encode_rows(
        tokenizer,
        [pair.source for _, pair in found.values()],
        [pair.target for _, pair in found.values()],
        [languages[index] for index in found] if languages else None,
    )
    ratio, before = arguments.filters["length_ratio"], tokens_before(tokenizer)
    own = [_without_match(ids, tokenizer) for ids in sides[0]] if arguments.memory else sides[0]
    beyond = numpy.logical_or(*beyond_limits(lengths_of((own, sides[1])), arguments.max_length, ratio, before))
    beyond |= numpy.array([len(ids) > tokenizer.model_max_length for ids in sides[0]])
    rows = zip(found, zip(*sides, strict=True), beyond, strict=True)
    return {index: (source, target) for index, (source, target), excluded in rows if not excluded}


def _without_match(ids: list[int], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    mark: Any = tokenizer.convert_tokens_to_ids(MEMORY)
    return [*ids[: ids.index(mark)], ids[-1]] if mark in ids else ids
