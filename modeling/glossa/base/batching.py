"""Batches of rows of similar length, limited by tokens instead of rows."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np


class TokenBatchSampler:
    """Batch sampler for a DataLoader that limits batches by tokens. It yields lists of row indices, each row once.

    Rows are sorted by length and cut into batches that fill the budget. If all rows of a step had the same length, the
    model would overfit to it. Therefore a batch mixes two neighboring target lengths, shuffled in every epoch, and
    the n batches of a step come from n parts of the length range: the shortest n-th of all batches, the next n-th,
    and so on. The cuts depend only on the lengths, so every epoch has the same number of batches.

    Args:
        source_lengths: Number of tokens in each row's source.
        target_lengths: Number of tokens in each row's target.
        batch_tokens: Maximum tokens of a batch on either side: rows times the longest row, padding included. A longer
            row forms a batch by itself.
        seed: Seed of the order, together with the epoch.
        batches_a_step: Batches per step, over all processes. The largest batches are cut in two until the number of
            batches is a multiple of it; no row is repeated or dropped.
        processes: Number of processes that share the batches of a step: batch i goes to process i modulo `processes`,
            as in Accelerate. The order within a step gives all processes about the same number of tokens. It does not
            change which batches form a step.
        pool: The first rows, of which each epoch has `drawn`, other ones in each until all were drawn.
        drawn: The number of these rows in an epoch.
    """

    def __init__(
        self,
        source_lengths: Sequence[int],
        target_lengths: Sequence[int],
        batch_tokens: int,
        seed: int = 0,
        batches_a_step: int = 1,
        processes: int = 1,
        pool: int = 0,
        drawn: int = 0,
    ):
        self.source_lengths = np.asarray(source_lengths)
        self.target_lengths = np.asarray(target_lengths)
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.batches_a_step = batches_a_step
        self.processes = processes
        self.pool, self.drawn = pool, min(drawn, pool)
        self.epoch = 0
        self.bounds = self._bounds(self.batch_tokens)

    def set_epoch(self, epoch: int):
        """Set the epoch, which changes the order, and the rows drawn from the pool."""
        self.epoch = epoch
        if self.drawn < self.pool:
            self._cut_again()

    @property
    def rows(self) -> np.ndarray:
        """The rows of this epoch."""
        order = np.random.default_rng(self.seed).permutation(self.pool)
        places = (self.epoch * self.drawn + np.arange(self.drawn)) % max(self.pool, 1)
        return np.concatenate([order[places], np.arange(self.pool, len(self.source_lengths))])

    def set_lengths(self, source_lengths: Sequence[int], target_lengths: Sequence[int]) -> None:
        """Form the same number of batches from new lengths of the same rows.

        If the rows do not fit, `batch_tokens` is raised for all batches.
        """
        self.source_lengths, self.target_lengths = np.asarray(source_lengths), np.asarray(target_lengths)
        self._cut_again()

    def _cut_again(self) -> None:
        count, budget = len(self), float(self.batch_tokens)
        while len(bounds := self._bounds(int(budget), count)) - 1 > count:
            budget *= 1.01
        self.bounds = bounds

    def add_batches(self, share: float) -> None:
        """Cut the largest batches in two until their number has grown by `share`, as reserve for [`set_lengths`]."""
        steps = -(-round((1 + share) * len(self)) // self.batches_a_step)
        self.bounds = self._cut(self.bounds.tolist(), steps * self.batches_a_step)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng((self.seed, self.epoch))
        order = self._sorted(generator.permutation(self.rows))
        parts = [generator.permutation(part) for part in np.array_split(np.arange(len(self)), self.batches_a_step)]
        batches = [batch for step in itertools.zip_longest(*parts) for batch in step if batch is not None]
        if self.processes > 1:
            batches = self._deal(batches, np.add.reduceat(self.target_lengths[order], self.bounds[:-1]))
        for batch in batches:
            yield order[self.bounds[batch] : self.bounds[batch + 1]].tolist()

    def _deal(self, batches: list[int], tokens: np.ndarray) -> list[int]:
        """Reorder the batches within each step, so that the largest go to the processes with the fewest tokens."""
        loads, dealt = np.zeros(self.processes), []
        for first in range(0, len(batches), self.batches_a_step):
            step = sorted(batches[first : first + self.batches_a_step], key=lambda batch: -tokens[batch])
            while step:
                share, step = step[: self.processes], step[self.processes :]
                poorest = loads.argsort(kind="stable")[: len(share)]
                loads[poorest] += tokens[share]
                dealt += [batch for _, batch in sorted(zip(poorest.tolist(), share, strict=True))]
        return dealt

    def imbalance(self) -> dict[str, float]:
        """How far the target tokens of the busiest process exceed the mean of all processes, per epoch and per step.

        In every step, all processes wait for the busiest one. The value for a step is the mean over the steps.
        """
        tokens = np.array([self.target_lengths[rows].sum() for rows in self])
        loads = tokens.reshape(-1, self.batches_a_step // self.processes, self.processes).sum(1)  # [steps, processes]
        epoch = loads.sum(0)
        return {
            "epoch": float(epoch.max() / epoch.mean() - 1),
            "step": float((loads.max(1) / loads.mean(1) - 1).mean()),
        }

    def padding(self) -> float:
        """Fraction of padding among all source and target tokens of an epoch: 1 - real / (rows x longest)."""
        real = padded = 0
        for rows in self:
            for lengths in (self.source_lengths[rows], self.target_lengths[rows]):
                real += lengths.sum()
                padded += lengths.max() * len(rows)
        return float(1 - real / padded) if padded else 0.0

    def _sorted(self, rows: np.ndarray) -> np.ndarray:
        """Sort `rows` by target length in steps of two, then by source length. The sort is stable."""
        source, target = self.source_lengths[rows], self.target_lengths[rows] // 2
        # Source lengths rise and fall in turn, so a batch across two target lengths has sources of similar length.
        return rows[np.lexsort((np.where(target % 2, -source, source), target))]

    def _bounds(self, budget: int, count: int = 0) -> np.ndarray:
        """Bounds of at least `count` batches of sorted rows: batch i has rows bounds[i] to bounds[i + 1] - 1."""
        order = self._sorted(self.rows)
        if not len(order):
            return np.zeros(1, dtype=int)  # no rows, no batches
        # Rows that the shuffle may swap all count as the longest among them.
        source, target = self.source_lengths[order], self.target_lengths[order] // 2
        starts = np.flatnonzero(np.diff(source, prepend=-1) | np.diff(target, prepend=-1))
        kinds_longest = np.maximum.reduceat(np.maximum(self.source_lengths, self.target_lengths)[order], starts)
        longest = kinds_longest.repeat(np.diff(starts, append=len(order))).tolist()
        bounds, widest = [0], 0
        for row, length in enumerate(longest):
            widest = max(widest, length)
            if row > bounds[-1] and widest * (row + 1 - bounds[-1]) > budget:
                bounds.append(row)
                widest = length
        bounds.append(len(longest))
        whole = -(-(len(bounds) - 1) // self.batches_a_step) * self.batches_a_step
        return self._cut(bounds, max(whole, count))

    def _cut(self, bounds: list[int], count: int) -> np.ndarray:
        """Cut the largest batches in two until there are `count`, or every batch has a single row."""
        while len(bounds) - 1 < min(count, bounds[-1]):
            largest = int(np.argmax(np.diff(bounds)))
            bounds.insert(largest + 1, (bounds[largest] + bounds[largest + 1]) // 2)
        return np.asarray(bounds)
