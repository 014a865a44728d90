"""Batches of like length that hold a budget of tokens instead of a number of rows."""

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


class TokenBatchSampler(Sampler[list[int]]):
    """Yields lists of row numbers: every row once an epoch, in batches as large as the budget allows.

    Rows are sorted by length and cut into batches; rows of equal lengths change places from epoch to epoch, and so
    does the order of the batches. The cuts depend on lengths alone, so the number of batches never varies.

    Args:
        source_lengths: Tokens of each row's source.
        target_lengths: Tokens of each row's target.
        batch_tokens: Most tokens a batch may hold on either side: rows times the longest row, padding included. A
            single row longer than that is a batch of its own.
        seed: With the epoch, decides the order.
        multiple_of: The number of batches is a multiple of this, so that as many processes get equally many. The
            largest batches are cut in two until it is; no row is repeated or left out.
    """

    def __init__(
        self,
        source_lengths: Sequence[int],
        target_lengths: Sequence[int],
        batch_tokens: int,
        seed: int = 0,
        multiple_of: int = 1,
    ):
        self.source_lengths = np.asarray(source_lengths)
        self.target_lengths = np.asarray(target_lengths)
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.multiple_of = multiple_of
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
        for batch in generator.permutation(len(self)):
            yield order[self.bounds[batch] : self.bounds[batch + 1]].tolist()

    def padding(self) -> float:
        """Share of an epoch's tokens that is padding: 1 - real / (rows x longest), source plus target."""
        order = self._sorted(np.arange(len(self.source_lengths)))
        rows = np.diff(self.bounds)
        real = padded = 0
        for lengths in (self.source_lengths[order], self.target_lengths[order]):
            real += lengths.sum()
            padded += (np.maximum.reduceat(lengths, self.bounds[:-1]) * rows).sum()
        return float(1 - real / padded)

    def _sorted(self, rows: np.ndarray) -> np.ndarray:
        """`rows` by target length, then by source length; ties stay in the order given."""
        source, target = self.source_lengths[rows], self.target_lengths[rows]
        # Source lengths rise and fall in turn, so that no batch joins the longest of one target length to the
        # shortest of the next.
        return rows[np.lexsort((np.where(target % 2, -source, source), target))]

    def _bounds(self) -> np.ndarray:
        """Where the sorted rows are cut: batch i holds rows bounds[i] to bounds[i + 1]."""
        order = self._sorted(np.arange(len(self.source_lengths)))
        longest = np.maximum(self.source_lengths, self.target_lengths)[order].tolist()
        bounds, widest = [0], 0
        for row, length in enumerate(longest):
            widest = max(widest, length)
            if row > bounds[-1] and widest * (row + 1 - bounds[-1]) > self.batch_tokens:
                bounds.append(row)
                widest = length
        bounds.append(len(longest))
        while (len(bounds) - 1) % self.multiple_of and len(bounds) - 1 < len(longest):
            largest = int(np.argmax(np.diff(bounds)))
            bounds.insert(largest + 1, (bounds[largest] + bounds[largest + 1]) // 2)
        return np.asarray(bounds)
