"""The dropped rows of a block with their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet

from ..cleaning.cleaning import DEPENDENT, Cleaning
from ..cleaning.report import files_of
from ..cleaning.rows import KEPT, MALFORMED, OUTCOMES, split_columns
from .blocks import Block, load_array, read_pairs, rows_of

NAMES = ("corpus", "reason", "problem", "source", "target", "file", "line")
SCHEMA = pyarrow.schema([(name, pyarrow.int64() if name == "line" else pyarrow.string()) for name in NAMES])


@dataclass(frozen=True)
class Dropped:
    """A block whose dropped rows are written.

    Attributes:
        block: The raw rows.
        cleaned: The stem of the files of cleaned pairs.
        remaining: The stem of the files of remaining pairs.
    """

    block: Block
    cleaned: Path
    remaining: Path


def write_rejects(cleanings: Sequence[Cleaning], item: Dropped, stem: Path) -> dict:
    """Write a Parquet file with the columns `NAMES`: first rows dropped individually, then rows dropped by comparison.

    The former have raw texts. `problem` describes the problem of a malformed row, and `corpus` is the name of the
    source.
    """
    cleaning = cleanings[item.block.source]
    batch = split_columns(item.block.rows[:], cleaning.rules)
    rows = rows_of(item.block, batch)
    outcome = load_array(item.cleaned, "outcome")
    chosen = numpy.flatnonzero(outcome != KEPT)
    own = {
        "reason": [OUTCOMES[outcome[row]] for row in chosen],
        "problem": [batch["problem"][row] if outcome[row] == MALFORMED else "" for row in chosen],
        "file": files_of(rows, chosen, item.block.file),
    }
    own |= {name: [batch[name][row] for row in chosen] for name in ("source", "target", "line")}
    dropped = load_array(item.remaining, "dropped")
    later = read_pairs(item.cleaned, dropped, ("source", "target", "line", "file")).to_pydict()
    later |= {"reason": [DEPENDENT[number] for number in load_array(item.remaining, "reasons")]}
    later |= {"problem": [""] * len(dropped)}
    columns = {name: own[name] + later[name] for name in NAMES if name != "corpus"}
    columns["corpus"] = [cleaning.name] * (len(chosen) + len(dropped))
    table = pyarrow.table({name: columns[name] for name in NAMES}, schema=SCHEMA)
    if len(table):
        pyarrow.parquet.write_table(table, f"{stem}.parquet", compression="zstd")
    return {"rows": len(table)}
