"""Windows of a stream: raw rows to batches of token ids, in the processes of a data loader."""

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
CHUNK = 1000  # rows that are text at a time

Sides = tuple[list[list[int]], list[list[int]]]  # the token ids of rows, source and target
Arrays = list[numpy.ndarray]  # of each side
Counts = dict[str, Counter]  # of rows by source and outcome


@dataclass
class Window:
    """A window of a stream: the token ids of its rows, its batches as row numbers, and the counts of its rows.

    `tokens` counts the tokens of all rows, source and target, and `places` includes padding.
    """

    ids: list[numpy.ndarray]  # of all sources one after another, and of all targets
    ends: list[numpy.ndarray]  # where each row ends in them
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
    """The windows of a stream by epoch and number. What a window holds depends on the stream, its place and `seed`.

    Args:
        stream: The stream of the run.
        tokenizer: The tokenizer of the run.
        batch_tokens: Most tokens of a batch on either side, as for `TokenBatchSampler`.
        batches_a_step: Batches of a step on one process.
        seed: Seed of the order, together with the epoch.
        augmentation: What is changed in the pairs; nothing by default.
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
        # Whether token ids are read: pairs that are changed, or compared with held-out pairs, are read as text.
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
        """The window at (epoch, number); an error is returned: a worker that raised it would add its traceback."""
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
        """The token ids of the rows of a window, one after another, and their lengths, both by side, in parts."""
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
        """The token ids of a prepared block, and their lengths; `counts` grow."""
        for table in block_tables(block, list(TOKENIZED)):
            sizes = [table.column(name).to_numpy().astype(numpy.int64) for name in LENGTHS]
            counts.update({"read": len(table), "kept": len(table)})
            within = self._within(sizes, counts, self.stream.sources[block.source].settings)
            if len(within) < len(table):
                table, sizes = table.take(within), [size[within] for size in sizes]
            yield [table.column(name).combine_chunks().flatten().to_numpy() for name in IDS], sizes

    def _within(self, lengths: Arrays, counts: Counter, settings: DataArguments) -> numpy.ndarray:
        """The numbers of the rows that are not too long or unequal; `counts` grow."""
        ratio, before = settings.filters["length_ratio"], tokens_before(self.tokenizer)
        too_long, unequal = beyond_limits(lengths, settings.max_length, ratio, before)
        for reason, beyond in (("too_long", too_long), ("length_ratio", unequal)):
            if beyond.any():
                counts[reason] += int(beyond.sum())
        within = numpy.flatnonzero(~too_long & ~unequal)
        counts["seen"] += len(within)
        return within

    def _augment(self, pairs: list[Pair], ids: Sides, order: int, first: int, language: str | None) -> None:
        """Replace the `ids` of the pairs that are augmented; `first` is the row number of the first in its window."""
        if self.augmentation is None:
            return
        found = self.augmentation.apply(pairs, order, first)
        languages = [language] * len(pairs) if language else []
        for index, changed in encode_changed(self.tokenizer, found, languages, self.stream.arguments).items():
            for side, own in zip(ids, changed, strict=True):
                side[index] = own

    def _tokenized(self, block: Block, counts: Counter) -> Iterator[tuple[list[Pair], Sides]]:
        """The pairs of a block that are kept, and their token ids, source and target; `counts` grow."""
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
    """The batches of one of n processes, read in order: every n-th of all batches of an epoch.

    An epoch has a fixed number of batches, about a pass over the stream, and goes on from the end of the last one. The
    windows are dealt to the processes in turn, so a pass reads every row once.

    Args:
        windows: The windows of the stream.
        length: Batches of all processes in an epoch.
        process: The number of this process.
        processes: How many there are.
        workers: Processes of the data loader that read windows ahead; 0 reads them here.
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
        """Where to continue after `given` batches, and the counts until there. Serializable as JSON."""
        begun = next(state for state in reversed(self._begun) if state["batches"] <= given)
        return begun | {"batch": given - begun["batches"], "batches": given}

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue where `state` says."""
        self._given = state["batches"]
        self.counts: Counts = {name: Counter(counts) for name, counts in state["counts"].items()}
        self.tokens, self.places = state["tokens"], state["places"]
        self._begun: deque[dict[str, Any]] = deque(maxlen=8)  # states at the beginnings of the last windows
        self._batches = self._read(state["epoch"], state["number"], state["batch"])

    def _read(self, epoch: int, number: int, batch: int) -> Iterator[list[dict[str, list[int]]]]:
        """The batches from this place on."""
        before = self._given - batch
        loader = torch.utils.data.DataLoader(
            self.windows,  # type: ignore[arg-type]
            sampler=self._places(epoch, number),
            batch_size=None,
            num_workers=self.workers,
            prefetch_factor=1 if self.workers else None,
            collate_fn=_unchanged,  # type: ignore[arg-type]
            worker_init_fn=start_worker,
            generator=torch.Generator(),  # the loader must not draw from the random numbers of training
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
        """The windows of this process without end, from the one with this number."""
        while True:
            while number >= (count := self.windows.count(epoch)):
                epoch, number = epoch + 1, number - count
            yield epoch, number
            number += self.processes

    def padding(self) -> float:
        """Share of padding among the tokens of the windows so far."""
        return 1 - self.tokens / self.places if self.places else 0.0


def _unchanged(window: Window | GlossaError) -> Window | GlossaError:
    return window


def start_worker(worker: int) -> None:
    """Initialize a data loader's process, so that it ends with its parent, even if the parent is killed.

    `tokenizers` starts no threads in it; after a fork it would warn and not start them.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # On other systems, and for a parent that has ended before this line.
    end_with_parent()
