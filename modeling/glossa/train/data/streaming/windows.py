"""Windows of a stream: converts raw rows to batches of token ids in data loader processes."""

import ctypes
import itertools
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch
import torch.utils.data
from transformers import PreTrainedTokenizerBase

from ....base.batching import TokenBatchSampler
from ....base.errors import GlossaError
from ....base.jobs.pool import end_with_parent
from ....base.pair import Pair
from ..arguments import DataArguments
from ..augmentation.augmentation import Augmentation
from ..cleaning.cleaning import refuse_row
from ..cleaning.report import example
from ..cleaning.rows import KEPT, MALFORMED, check_block, counted, rules_of
from ..encoding.augmented import encode_changed
from ..encoding.encoding import (
    IDS,
    LENGTHS,
    TOKENIZED,
    beyond_limits,
    encode_rows,
    lengths_of,
    stamp_of,
    tokens_before,
)
from .streams import Block, Stream, block_rows, block_tables

PR_SET_PDEATHSIG = 1  # prctl(2)
CHUNK = 1000  # rows processed as text at a time

Sides = tuple[list[list[int]], list[list[int]]]  # token ids of rows, source and target
Arrays = list[numpy.ndarray]  # source and target
Counts = dict[str, Counter]  # rows by source and outcome


@dataclass
class Window:
    """A window of a stream: the token ids of its rows, its batches as row indices, and the counts of its rows.

    `tokens` is the number of source and target tokens of all rows, and `places` the number with padding.
    """

    ids: list[numpy.ndarray]  # concatenated sources, and concatenated targets
    ends: list[numpy.ndarray]  # end offset of each row
    batches: list[list[int]]
    counts: Counts
    tokens: int
    places: int

    def rows(self, batch: int) -> list[dict[str, list[int]]]:
        """The `input_ids` and `labels` of a batch."""
        return [
            {
                name: ids[ends[row - 1] if row else 0 : ends[row]].tolist()
                for name, ids, ends in zip(("input_ids", "labels"), self.ids, self.ends, strict=True)
            }
            for row in self.batches[batch]
        ]


class Windows(torch.utils.data.Dataset):
    """The windows of a stream by epoch and number. Their content depends on the stream, the position and `seed`.

    Args:
        stream: The stream of the run.
        tokenizer: The tokenizer of the run.
        batch_tokens: Maximum tokens of a batch on either side, as in `TokenBatchSampler`.
        batches_a_step: Batches per step and process.
        seed: Seed of the order, together with the epoch.
        augmentation: The augmentation of the pairs; None by default.
    """

    def __init__(
        self,
        stream: Stream,
        tokenizer: PreTrainedTokenizerBase,
        batch_tokens: int,
        batches_a_step: int = 1,
        seed: int = 0,
        augmentation: Augmentation | None = None,
    ):
        self.stream = stream
        self.tokenizer = tokenizer
        self.rules = [rules_of(source.settings, True, stream.held_out) for source in stream.sources]
        self.batch_tokens = batch_tokens
        self.batches_a_step = batches_a_step
        self.seed = seed
        self.augmentation = augmentation
        # Whether token ids are read. Pairs to augment, or to compare with held-out pairs, are read as text.
        self.known = (
            stream.tokens is not None
            and augmentation is None
            and not stream.held_out
            and stream.tokens.stamp == stamp_of(tokenizer, any(source.language for source in stream.sources))
        )
        self._epoch, self._blocks = -1, list[list[Block]]()

    def count(self, epoch: int) -> int:
        """The number of windows in an epoch."""
        return len(self._of_epoch(epoch))

    def _of_epoch(self, epoch: int) -> list[list[Block]]:
        if epoch != self._epoch:
            self._epoch, self._blocks = epoch, self.stream.windows(epoch, self.seed)
        return self._blocks

    def __getitem__(self, place: tuple[int, int]) -> Window | GlossaError:
        """The window at (epoch, number). Errors are returned, since a worker that raises adds its traceback."""
        epoch, number = place
        try:
            return self._window(self._of_epoch(epoch)[number], epoch << 32 | number)
        except GlossaError as error:
            return error

    def _window(self, blocks: list[Block], order: int) -> Window:
        counts: Counts = {source.name: Counter() for source in self.stream.sources}
        sides: list[list[numpy.ndarray]] = [[numpy.zeros(0, numpy.int32)], [numpy.zeros(0, numpy.int32)]]
        lengths: list[list[numpy.ndarray]] = [[numpy.zeros(0, numpy.int64)], [numpy.zeros(0, numpy.int64)]]
        for flat, sizes in self._encoded(blocks, counts, order):
            for side in range(2):
                sides[side].append(flat[side])
                lengths[side].append(sizes[side])
        ids = list(map(numpy.concatenate, sides))
        source, target = map(numpy.concatenate, lengths)
        sampler = TokenBatchSampler(
            source,  # type: ignore[arg-type]
            target,  # type: ignore[arg-type]
            self.batch_tokens,
            self.seed,
            self.batches_a_step,
        )
        sampler.set_epoch(order)
        batches = list(sampler)
        places = sum(len(rows) * int(side[rows].max()) for rows in batches for side in (source, target))
        ends = [numpy.cumsum(side, dtype=numpy.int64) for side in (source, target)]
        return Window(ids, ends, batches, counts, int(source.sum() + target.sum()), places)

    def _encoded(self, blocks: list[Block], counts: Counts, order: int) -> Iterator[tuple[Arrays, Arrays]]:
        """Yield the concatenated token ids of the rows of a window and their lengths, both by side, in parts."""
        row = 0
        for block in blocks:
            corpus = self.stream.sources[block.source]
            if self.known:
                yield from self._read(block, counts[corpus.name])
                continue
            for pairs, encoded in self._tokenized(block, counts[corpus.name]):
                self._augment(pairs, encoded, order, row, corpus.language)
                row += len(pairs)
                sizes = lengths_of(encoded)
                flat = [
                    numpy.fromiter(itertools.chain.from_iterable(side), numpy.int32, int(size.sum()))
                    for side, size in zip(encoded, sizes, strict=True)
                ]
                yield flat, sizes

    def _read(self, block: Block, counts: Counter) -> Iterator[tuple[Arrays, Arrays]]:
        """Yield the token ids of a prepared block and their lengths; updates `counts`."""
        for table in block_tables(block, list(TOKENIZED)):
            sizes = [table.column(name).to_numpy().astype(numpy.int64) for name in LENGTHS]
            counts.update({"read": len(table), "kept": len(table)})
            within = self._within(sizes, counts, self.stream.sources[block.source].settings)
            if len(within) < len(table):
                table, sizes = table.take(within), [size[within] for size in sizes]
            yield [table.column(name).combine_chunks().flatten().to_numpy() for name in IDS], sizes

    def _within(self, lengths: Arrays, counts: Counter, settings: DataArguments) -> numpy.ndarray:
        """The indices of the rows within the length limits; updates `counts`."""
        ratio, before = settings.filters["length_ratio"], tokens_before(self.tokenizer)
        too_long, unequal = beyond_limits(lengths, settings.max_length, ratio, before)
        for reason, beyond in (("too_long", too_long), ("length_ratio", unequal)):
            if beyond.any():
                counts[reason] += int(beyond.sum())
        within = numpy.flatnonzero(~too_long & ~unequal)
        counts["seen"] += len(within)
        return within

    def _augment(self, pairs: list[Pair], ids: Sides, order: int, first: int, language: str | None) -> None:
        """Replace the `ids` of augmented pairs; `first` is the index in the window of the first pair."""
        if self.augmentation is None:
            return
        found = self.augmentation.apply(pairs, order, first)
        languages = [language] * len(pairs) if language else []
        for index, changed in encode_changed(self.tokenizer, found, languages, self.stream.arguments).items():
            for side, own in zip(ids, changed, strict=True):
                side[index] = own

    def _tokenized(self, block: Block, counts: Counter) -> Iterator[tuple[list[Pair], Sides]]:
        """Yield the kept pairs of a block and their token ids, source and target; updates `counts`."""
        source, rules = self.stream.sources[block.source], self.rules[block.source]
        rows = block_rows(block, source.settings)
        while chunk := list(itertools.islice(rows, CHUNK)):
            columns = dict(
                zip(("source", "target", "line", "problem"), map(list, zip(*chunk, strict=True)), strict=True)
            )
            columns, checked, outcome = check_block(columns, rules)
            counts.update(
                {"read": len(chunk), "split": len(outcome) - len(chunk)} if rules.split else {"read": len(chunk)}
            )
            if source.settings.strict and MALFORMED in outcome:
                row = {name: columns[name][list(outcome).index(MALFORMED)] for name in columns}
                refuse_row(example(row | {"file": block.path}))
            counts.update(counted(outcome))
            kept = numpy.flatnonzero(outcome == KEPT)
            if not len(kept):
                continue
            pairs = [Pair(source.tag + checked["source"][row], checked["target"][row]) for row in kept]
            languages = [source.language] * len(pairs) if source.language else None
            texts = [pair.source for pair in pairs], [pair.target for pair in pairs]
            sides = encode_rows(self.tokenizer, *texts, languages)
            within = self._within(lengths_of(sides), counts, source.settings)
            yield (
                [pairs[row] for row in within],
                ([sides[0][row] for row in within], [sides[1][row] for row in within]),
            )


class StreamBatches(torch.utils.data.Dataset):
    """The batches of one of n processes, read in order: every n-th of all batches in an epoch.

    An epoch has a fixed number of batches, about a pass over the stream, and continues where the last one ended. The
    windows are distributed to the processes in turn, so a pass reads every row once.

    Args:
        windows: The windows of the stream.
        length: Batches of all processes in an epoch.
        process: The index of this process.
        processes: The number of processes.
        workers: Data loader processes that prefetch windows; 0 reads them in this process.
    """

    def __init__(self, windows: Windows, length: int, process: int = 0, processes: int = 1, workers: int = 0):
        self.windows = windows
        self.length = length
        self.processes, self.workers = processes, workers
        self.load_state(
            {"epoch": 0, "number": process, "batch": 0, "batches": 0, "counts": {}, "tokens": 0, "places": 0}
        )

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> list[dict[str, list[int]]]:
        """The rows of a batch, with `input_ids` and `labels`."""
        own = self.length // self.processes
        if index // self.processes != self._given % own:
            raise ValueError(f"batch {index} is not the next one of the stream")
        rows = next(self._batches)
        self._given += 1
        return rows

    def state(self, given: int) -> dict[str, Any]:
        """The position after `given` batches, and the counts so far. Serializable as JSON."""
        begun = next(state for state in reversed(self._begun) if state["batches"] <= given)
        return begun | {"batch": given - begun["batches"], "batches": given}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from `state`."""
        self._given = state["batches"]
        self.counts: Counts = {name: Counter(counts) for name, counts in state["counts"].items()}
        self.tokens, self.places = state["tokens"], state["places"]
        self._begun: deque[dict[str, Any]] = deque(maxlen=8)  # states at the start of the last windows
        self._batches = self._read(state["epoch"], state["number"], state["batch"])

    def _read(self, epoch: int, number: int, batch: int) -> Iterator[list[dict[str, list[int]]]]:
        """Yield the batches from this position on."""
        before = self._given - batch
        loader = torch.utils.data.DataLoader(
            self.windows,  # type: ignore[arg-type]
            sampler=self._places(epoch, number),
            batch_size=None,
            num_workers=self.workers,
            prefetch_factor=1 if self.workers else None,
            collate_fn=_unchanged,  # type: ignore[arg-type]
            worker_init_fn=start_worker,
            generator=torch.Generator(),  # so that the loader does not use the random state of training
        )
        for place, window in zip(self._places(epoch, number), loader, strict=True):
            if isinstance(window, GlossaError):
                raise window
            state = dict(zip(("epoch", "number"), place, strict=True)) | {"batch": 0, "batches": before}
            counts = {name: dict(counts) for name, counts in self.counts.items()}
            self._begun.append(state | {"counts": counts, "tokens": self.tokens, "places": self.places})
            for name, found in window.counts.items():
                self.counts.setdefault(name, Counter()).update(found)
            self.tokens += window.tokens
            self.places += window.places
            for index in range(batch, len(window.batches)):
                yield window.rows(index)
            before, batch = before + len(window.batches), 0

    def _places(self, epoch: int, number: int) -> Iterator[tuple[int, int]]:
        """Yield the positions of this process's windows endlessly, from this window on."""
        while True:
            while number >= (count := self.windows.count(epoch)):
                epoch, number = epoch + 1, number - count
            yield epoch, number
            number += self.processes

    def padding(self) -> float:
        """Fraction of padding among the tokens of the windows so far."""
        return 1 - self.tokens / self.places if self.places else 0.0


def _unchanged(window: Window | GlossaError) -> Window | GlossaError:
    return window


def start_worker(worker: int) -> None:
    """Initialize a data loader process, so that it exits with its parent, even if the parent is killed.

    Turns off the threads of `tokenizers`, which do not start after a fork and would cause a warning.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # For other systems, and for a parent that exited before this line.
    end_with_parent()
