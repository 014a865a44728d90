"""The sentences of evaluation files, which training pairs must not have."""

import xxhash
from datasets import concatenate_datasets

from ...errors import GlossaError
from ..arguments import DataArguments
from ..intake.columns import Columns, set_aside
from ..intake.downloads import local_paths
from ..intake.paths import file_groups, is_table
from ..intake.sources import columns_of, read_files
from .splitting import normalize_side


def excluded_sides(arguments: DataArguments) -> frozenset[int]:
    """The 64-bit hashes of all normalized sentences in the files of `exclude`.

    Files that are no tables are read as lines of text. Raises `GlossaError` if a row cannot be read, since its
    sentence would stay in training.
    """
    found, entries = set(), local_paths(arguments.exclude, arguments)
    parts = []
    for path in [path for entry in entries for group in file_groups([entry]) for path in group]:
        lines = Columns((), lines=True)
        parts.append(read_files([path], columns_of(arguments) if is_table(path) else lines, None))
    for row in concatenate_datasets(parts) if parts else ():
        if row["problem"] and not set_aside(row["problem"]):
            raise GlossaError(
                f"exclude: {row['file']}, line {row['line']}: {row['problem']}: {row['source'][:80]!r}. Correct the "
                "row: its sentence would stay in training."
            )
        found |= {
            normalize_side(row[side]) for side in ("source", "target") if row[side].strip() and not row["problem"]
        }
    return frozenset(xxhash.xxh3_64_intdigest(side.encode()) for side in found)
