"""The first stage: converts blocks of raw rows to files of clean pairs and their hashes.

The files of a block, by suffix:

    .arrow      its pairs: source, target, line, file, repaired
    .key.npy    hash of each pair, uint64 (pairs,)
    .near.npy   hash shared by near duplicates, or `key` if no source drops these, ascending, uint64 (pairs,)
    .member.npy the pair of each of these, uint32 (pairs,)
    .sides.npy  hashes of the normalized sides, uint64 (2, pairs)
    .outcome.npy the outcome of each row, by its number in `OUTCOMES`, uint8 (rows,)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy
import pyarrow
from datasets import Dataset

from ....base.caching import fingerprint_of
from ..cleaning import rows as rows_module
from ..cleaning.cleaning import Cleaning, judged
from ..cleaning.report import files_of
from ..cleaning.rows import CODE, KEPT, check_block
from ..cleaning.splitting import hash_sides

ROWS = 50_000  # raw rows of a block


@dataclass(frozen=True)
class Block:
    """Consecutive raw rows of a source.

    Attributes:
        source: Number of the source.
        rows: The rows, with columns as in [`glossa.readers.sources`].
        file: The file of the first row.
    """

    source: int
    rows: Dataset
    file: str


def blocks_of(number: int, rows: Dataset, cleanings: Sequence[Cleaning]) -> dict[str, Block]:
    """Divide the raw rows of a source into blocks, named by a hash of their rows and rules."""
    settings = (cleanings[number].rules.stamp(), cleanings[number].language, ROWS, drop_near(cleanings))
    stamp = fingerprint_of(rows, clean_block, settings, (rows_module, *CODE))
    starts = range(0, len(rows), ROWS)
    files = files_of(rows, numpy.array(starts))
    return {
        f"{stamp}-{start // ROWS:06d}": Block(number, rows.select(range(start, min(start + ROWS, len(rows)))), file)
        for start, file in zip(starts, files, strict=True)
    }


def drop_near(cleanings: Sequence[Cleaning]) -> bool:
    """Whether any source drops near duplicates."""
    return any(cleaning.rules.near_duplicates for cleaning in cleanings)


def clean_block(cleanings: Sequence[Cleaning], block: Block, stem: Path) -> dict:
    """Write the files of a block; returns its counts and examples as [`judged`]."""
    cleaning = cleanings[block.source]
    rules = replace(cleaning.rules, near_duplicates=drop_near(cleanings))
    batch, checked, outcome = check_block(block.rows[:], rules)
    rows = rows_of(block, batch)
    numpy.save(f"{stem}.outcome.npy", outcome.astype(numpy.uint8))
    kept = numpy.flatnonzero(outcome == KEPT)
    _write_pairs(checked, kept, batch["line"], files_of(rows, kept, block.file), stem)
    _write_hashes(checked, kept, cleaning, stem)
    return judged(cleaning, rows, outcome, len(block.rows), block.file)


def rows_of(block: Block, columns: dict) -> Dataset:
    """The checked rows of a block, from `columns` if the rows were split into sentences."""
    if len(columns["line"]) == len(block.rows):
        return block.rows
    return Dataset.from_dict(columns, features=block.rows.features)


def _write_pairs(checked: dict, kept: numpy.ndarray, lines: list[int], files: list[str], stem: Path) -> None:
    repaired = checked.get("repaired", [False] * len(checked["source"]))
    columns = {side: [checked[side][row] for row in kept] for side in ("source", "target")}
    table = pyarrow.table(
        columns
        | {
            "line": pyarrow.array([lines[row] for row in kept], pyarrow.int64()),
            "file": pyarrow.array(files, pyarrow.string()).dictionary_encode(),
            "repaired": pyarrow.array([bool(repaired[row]) for row in kept], pyarrow.bool_()),
        }
    )
    with pyarrow.OSFile(f"{stem}.arrow", "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_hashes(checked: dict, kept: numpy.ndarray, cleaning: Cleaning, stem: Path) -> None:
    key = cleaning.apart(checked["key"][kept])
    near = cleaning.apart(checked["near"][kept]) if "near" in checked else key
    order = numpy.argsort(near, kind="stable")
    sides = hash_sides({side: [checked[side][row] for row in kept] for side in ("source", "target")})
    arrays: Mapping[str, numpy.ndarray] = {
        "key": key,
        "near": near[order],
        "member": order.astype(numpy.uint32),
        "sides": numpy.stack([sides["source"], sides["target"]]),
    }
    for name, array in arrays.items():
        numpy.save(f"{stem}.{name}.npy", array)


def load_array(stem: Path, name: str) -> numpy.ndarray:
    """An array of a block, memory-mapped."""
    return numpy.load(f"{stem}.{name}.npy", mmap_mode="r")


def read_pairs(stem: Path, chosen: numpy.ndarray, columns: Sequence[str] = ("source", "target")) -> pyarrow.Table:
    """Some pairs of a block, in the given order."""
    with pyarrow.memory_map(f"{stem}.arrow") as file:
        return pyarrow.ipc.open_file(file).read_all().select(columns).take(pyarrow.array(chosen))


class Corpus:
    """Selected pairs of several blocks, numbered consecutively.

    Args:
        stems: The stems of the blocks' files.
        rows: The selected pairs of each block, in ascending order; may be memory-mapped.
    """

    def __init__(self, stems: Sequence[Path], rows: Sequence[numpy.ndarray]):
        self.stems, self.rows = stems, rows
        self.starts = numpy.cumsum([0, *map(len, rows)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def table(self, numbers, columns: Sequence[str] = ("source", "target")) -> pyarrow.Table:
        """The pairs with these ascending numbers."""
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
        """The pairs with these ascending numbers as a dataset in memory."""
        return Dataset.from_dict(self.table(numbers).to_pydict())
