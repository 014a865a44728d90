"""Batches of like length that hold a budget of tokens instead of a number of rows."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


class TokenBatchSampler(Sampler[list[int]]):
    """Yields lists of row numbers: every row once an epoch, in batches as large as the budget allows.

    Rows are sorted by length and cut into batches. What all rows of a step have in common, such as where they end,
    is learned too well: so rows of two neighbouring target lengths, shuffled in every epoch, make up a batch, and of
    the n batches of a step one comes from the shortest n-th of all batches, one from the next, and so on. The cuts
    depend on lengths alone, so the number of batches never varies.

    Args:
        source_lengths: Tokens of each row's source.
        target_lengths: Tokens of each row's target.
        batch_tokens: Most tokens a batch may hold on either side: rows times the longest row, padding included. A
            single row longer than that is a batch of its own.
        seed: With the epoch, decides the order.
        batches_a_step: Of all processes together. The number of batches is a multiple of it: the largest are cut in
            two until it is; no row is repeated or left out.
    """

    def __init__(
        self,
        source_lengths: Sequence[int],
        target_lengths: Sequence[int],
        batch_tokens: int,
        seed: int = 0,
        batches_a_step: int = 1,
    ):
        self.source_lengths = np.asarray(source_lengths)
        self.target_lengths = np.asarray(target_lengths)
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.batches_a_step = batches_a_step
        self.epoch = 0
        self.bounds = self._bounds()

    def set_epoch(self, epoch: int):
        """Choose the order of this epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng((self.seed, self.epoch))
        order = self._sorted(generator.permutation(len(self.source_lengths)))
        parts = [generator.permutation(part) for part in np.array_split(np.arange(len(self)), self.batches_a_step)]
        for batch in itertools.chain.from_iterable(itertools.zip_longest(*parts)):
            if batch is not None:
                yield order[self.bounds[batch] : self.bounds[batch + 1]].tolist()

    def padding(self) -> float:
        """Share of an epoch's tokens that is padding: 1 - real / (rows x longest), source plus target."""
        real = padded = 0
        for rows in self:
            for lengths in (self.source_lengths[rows], self.target_lengths[rows]):
                real += lengths.sum()
                padded += lengths.max() * len(rows)
        return float(1 - real / padded)

    def _sorted(self, rows: np.ndarray) -> np.ndarray:
        """`rows` by target length, in twos, then by source length; ties stay in the order given."""
        source, target = self.source_lengths[rows], self.target_lengths[rows] // 2
        # Source lengths rise and fall in turn, so that no batch joins the longest of some target lengths to the
        # shortest of the next.
        return rows[np.lexsort((np.where(target % 2, -source, source), target))]

    def _bounds(self) -> np.ndarray:
        """Where the sorted rows are cut: batch i holds rows bounds[i] to bounds[i + 1]."""
        order = self._sorted(np.arange(len(self.source_lengths)))
        # Rows that may change places count as the longest of them.
        kinds = (self.source_lengths * 2**32 + self.target_lengths // 2)[order]
        starts = np.flatnonzero(np.diff(kinds, prepend=-1))
        kinds_longest = np.maximum.reduceat(np.maximum(self.source_lengths, self.target_lengths)[order], starts)
        longest = kinds_longest.repeat(np.diff(starts, append=len(order))).tolist()
        bounds, widest = [0], 0
        for row, length in enumerate(longest):
            widest = max(widest, length)
            if row > bounds[-1] and widest * (row + 1 - bounds[-1]) > self.batch_tokens:
                bounds.append(row)
                widest = length
        bounds.append(len(longest))
        while (len(bounds) - 1) % self.batches_a_step and len(bounds) - 1 < len(longest):
            largest = int(np.argmax(np.diff(bounds)))
            bounds.insert(largest + 1, (bounds[largest] + bounds[largest + 1]) // 2)
        return np.asarray(bounds)
