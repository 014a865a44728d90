"""Pairs over many blocks, read by their numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy
import pyarrow
from datasets import Dataset

from .blocks import read_pairs


class Corpus:
    """Some of the pairs of each of several blocks, numbered one after another.

    Args:
        stems: The files of the blocks.
        rows: The chosen pairs of each, in ascending order; may be read in place.
    """

    def __init__(self, stems: Sequence[Path], rows: Sequence[numpy.ndarray]):
        self.stems, self.rows = stems, rows
        self.starts = numpy.cumsum([0, *map(len, rows)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def table(self, numbers, columns: Sequence[str] = ("source", "target")) -> pyarrow.Table:
        """The pairs with these numbers, which ascend."""
        numbers = numpy.asarray(numbers, dtype=numpy.int64)
        bounds = numpy.searchsorted(numbers, self.starts)
        tables = [
            read_pairs(stem, rows[numbers[start:end] - first], columns)
            for stem, rows, first, start, end in zip(
                self.stems, self.rows, self.starts, bounds, bounds[1:], strict=False
            )
            if end > start
        ]
        return pyarrow.concat_tables(tables) if tables else read_pairs(self.stems[0], numbers, columns)

    def select(self, numbers) -> Dataset:
        """The pairs with these numbers, as `Dataset.select`; in memory."""
        return Dataset.from_dict(self.table(numbers).to_pydict())
