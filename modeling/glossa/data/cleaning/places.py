"""Where raw rows stand: their file and line, for reports and scores."""

import numpy
import pyarrow.compute
from datasets import Dataset

EXCERPT = 80  # characters of a side in an example


def files_of(rows: Dataset, chosen: numpy.ndarray, first: str = "") -> list[str]:
    """The file of each of the chosen raw rows; "" for rows that are of no file.

    `first` is the file that `rows` begin in, if they are a part of their source.
    """
    # Only the first row of a file, and rows with a problem, name it.
    files = rows.select_columns("file").with_format("arrow")[:]["file"]
    starts = numpy.flatnonzero(pyarrow.compute.not_equal(files, "").to_numpy(zero_copy_only=False))
    names = [first, *files.take(starts).to_pylist()]
    return [names[index] for index in numpy.searchsorted(starts, chosen, side="right")]


def places_of(rows: Dataset, chosen: numpy.ndarray) -> list[str]:
    """File and line of the chosen rows."""
    return [f"{row['file']}, line {row['line']}" for row in examples_of(rows, chosen)]


def examples_of(
    rows: Dataset, chosen: numpy.ndarray, reason: str = "", source: str = "", first: str = ""
) -> list[dict]:
    """File, line, reason and excerpt of the chosen raw rows; with a `reason` that is not their problem, both sides.

    `first` is as in `files_of`.
    """
    if not len(chosen):
        return []
    found = []
    for row, name in zip(rows.select(chosen), files_of(rows, chosen, first), strict=True):
        excerpt = row["source"][:EXCERPT] + (f" | {row['target'][:EXCERPT]}" if reason else "")
        place = {"source": source} if reason else {}
        found.append(
            place | {"file": name, "line": row["line"], "reason": reason or row["problem"], "excerpt": excerpt}
        )
    return found
