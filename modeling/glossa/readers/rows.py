"""Raw rows of files of pairs, cached as Arrow datasets with the columns of `FEATURES`."""

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from datasets import Dataset, Features, Value, concatenate_datasets

from ..base import languages, paths
from ..base.caching import cached_rows
from ..base.errors import GlossaError
from ..base.paths import file_groups
from . import columns, files, formats, parquet, segments
from . import reading as readers
from .columns import Columns
from .reading import read_rows

FEATURES = Features(
    {
        "source": Value("string"),
        "target": Value("string"),
        "line": Value("int64"),  # 1-based, in the file
        "problem": Value("string"),  # "", or why the row is not a pair, see `reading`
        "file": Value("string"),  # for rows with a problem and the first row of each file, otherwise ""
    }
)
PART = 64 * 2**20  # bytes of files per part
Groups = tuple[tuple[Path, ...], ...]
READING = (columns, files, formats, languages, parquet, paths, readers, segments)  # code that the rows depend on


def read_files(given, columns: Columns, limit: int | None) -> Dataset:
    """Raw rows of the files in the `given` paths, folders and patterns, at most `limit` in total."""
    # Tuples, since `datasets` would treat a list as shards.
    groups = tuple(tuple(path.absolute() for path in group) for group in file_groups(given))
    read = [read_part(part, columns, limit) for part in (parts_of(groups) if limit is None else [groups])]
    return concatenate_datasets(read) if len(read) > 1 else read[0]


def read_part(groups: Groups, columns: Columns, limit: int | None = None) -> Dataset:
    """Raw rows of groups of files, as in [`read_files`]."""
    arguments = {"groups": groups, "columns": columns, "limit": limit}
    return generated_rows(_file_rows, arguments, (file_states(groups), len(groups), astuple(columns), limit))


def file_states(groups: Groups) -> list[tuple[str, int, int]]:
    """Path, size in bytes and modification time of each file."""
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for group in groups for path in group]


def parts_of(groups: Groups) -> list[Groups]:
    """Divide groups of files into parts of about `PART` bytes, which can be read independently."""
    parts: list[Groups] = []
    size = 0
    for group in groups:
        own = sum(path.stat().st_size for path in group)
        if not parts or size + own > PART:
            parts.append(())
            size = 0
        parts[-1] += (group,)
        size += own
    return parts


def _file_rows(groups: Groups, columns: Columns, limit: int | None) -> Iterator[dict]:
    left = limit
    for group in groups:
        name, rows, first = " and ".join(map(str, group)), 0, True
        for source, target, line, problem in read_rows(group, columns, left):
            rows += problem not in (readers.HEADER, readers.CONTINUED)
            yield raw_row(source, target, line, problem, name if problem or first else "")
            first = False
        if not rows:
            raise GlossaError(f"{name} has no rows. Give a file with at least one pair.")
        if left is not None:
            left -= rows
            if not left:
                return


def raw_row(source: str, target: str, line: int, problem: str, file: str) -> dict:
    """A row of `FEATURES`."""
    return {
        "source": source,
        "target": target,
        "line": line,
        "problem": problem,
        "file": file,
    }


def generated_rows(generate, arguments: dict, settings: tuple) -> Dataset:
    """The raw rows that `generate(**arguments)` yields, cached; `settings` identify their content."""
    return cached_rows(generate, arguments, FEATURES, settings, READING)
