"""The last stage: Parquet files of pairs, shuffled by a hash of each pair with the seed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
from datasets import Dataset

from ..pairs import with_file_names
from .blocks import load_array, read_pairs
from .duplicates import CleanedBlock

PAIRS = 500_000  # approximate maximum per file
SPREAD = 16  # files of a smaller corpus, so that several processes can encode and read it
LEAST = 25_000  # approximate minimum of pairs in these files; a smaller corpus has one file
GROUP = 10_000  # pairs per row group


@dataclass(frozen=True)
class File:
    """A file to write: its name, its source, and the half-open range of its pairs' places."""

    name: str
    source: int
    low: int
    high: int


@dataclass(frozen=True)
class Order:
    """The remaining and held-out pairs of all blocks, for [`write_file`].

    Attributes:
        blocks: The blocks.
        remaining: The stem of the files of remaining pairs, per block.
        firsts: The number over all blocks of the first remaining pair, per block.
        held_out: The numbers of the held-out pairs, in ascending order.
    """

    blocks: Sequence[CleanedBlock]
    remaining: Sequence[Path]
    firsts: Sequence[int]
    held_out: numpy.ndarray


def files_of(source: int, pairs: int) -> list[File]:
    """The files of a source with this number of pairs to write."""
    count = max(-(-pairs // PAIRS), min(-(-pairs // LEAST), SPREAD))
    bounds = [number * 2**64 // count for number in range(count + 1)] if count else []
    return [
        File(f"train-{source:02d}-{number:05d}-of-{count:05d}", source, low, high)
        for number, (low, high) in enumerate(pairwise(bounds))
    ]


def write_file(order: Order, file: File, stem: Path) -> dict:
    """Write a Parquet file with the columns `source` and `target`."""
    tables, places = [], [numpy.zeros(0, numpy.uint64)]
    for block, remaining, first in zip(order.blocks, order.remaining, order.firsts, strict=True):
        if block.source != file.source:
            continue
        known = load_array(remaining, "places")
        start = int(numpy.searchsorted(known, numpy.uint64(file.low)))
        end = int(numpy.searchsorted(known, numpy.uint64(file.high))) if file.high < 2**64 else len(known)
        members = load_array(remaining, "members")[start:end]
        training = ~numpy.isin(members + first, order.held_out)
        rows = load_array(remaining, "rows")[members[training]]
        tables.append(read_pairs(block.stem, rows))
        places.append(known[start:end][training])
    together = pyarrow.concat_tables(tables)
    together = together.take(pyarrow.array(numpy.argsort(numpy.concatenate(places), kind="stable")))
    pyarrow.parquet.write_table(together, f"{stem}.parquet", row_group_size=GROUP, compression="zstd")
    return {"pairs": len(together)}


def write_evaluation(folder: Path, split: str, pairs: Dataset) -> dict[str, dict[str, int]]:
    """Write validation or test pairs, as a Parquet file per language and original file.

    Returns the names and sizes in bytes of the files by language, which is "" if there is one target language.
    """
    pairs = with_file_names(pairs)
    columns = [name for name in ("language", "file") if name in pairs.column_names]
    keys = list(zip(*(pairs[name][:] for name in columns), strict=True)) or [()] * len(pairs)
    written: dict[str, dict[str, int]] = {}
    (folder / split).mkdir(exist_ok=True)
    for key in dict.fromkeys(keys):
        given = dict(zip(columns, key, strict=True))
        words = [given.get("language", ""), Path(given.get("file", "")).stem]
        slug = re.sub(r"[^\w.-]+", "_", "-".join(filter(None, words))) or "pairs"
        name = f"{split}/{slug}.parquet"
        if name in [other for files in written.values() for other in files]:
            name = f"{split}/{slug}-{sum(map(len, written.values()))}.parquet"
        rows = pairs.select([row for row, own in enumerate(keys) if own == key]).select_columns(["source", "target"])
        pyarrow.parquet.write_table(pyarrow.table(rows[:]), folder / name, compression="zstd")
        written.setdefault(given.get("language", ""), {})[name] = (folder / name).stat().st_size
    return written
