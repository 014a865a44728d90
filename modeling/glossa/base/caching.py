"""Cached processing of dataset rows, which runs again when its code or settings change.

`datasets` hashes a function by its name and the objects it uses. That misses changes in the code it calls, and the
hash of a tokenizer changes with its last padding. Here the fingerprint covers the rows, the settings, the source code
of the modules involved, and the versions of Python, Glossa and the libraries that process text.
"""

import inspect
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType
from typing import Any

import datasets
import pyarrow
from datasets import Dataset, Features
from datasets.arrow_writer import ArrowWriter
from datasets.fingerprint import Hasher
from datasets.utils import tqdm

from .. import __version__
from .errors import GlossaError

LIBRARIES = (
    "datasets", "defusedxml", "ftfy", "huggingface-hub", "langcodes", "lxml", "numpy", "openpyxl", "py3langid",
    "pyarrow", "rapidfuzz", "regex", "tokenizers", "transformers", "xxhash",
)  # fmt: skip
ROWS = 1000  # converted at a time


def cached_map(
    rows: Dataset, function: Callable, settings: Any = (), code: Sequence[ModuleType] = (), **options
) -> Dataset:
    """`rows.map(function, batched=True, **options)`, cached.

    Args:
        rows: The dataset to map.
        function: Maps a batch of rows to a batch of rows.
        settings: Everything else that the result depends on, in plain types.
        code: Modules that `function` calls, apart from the one that defines it.
        options: Arguments of `Dataset.map`.
    """
    fingerprint = _fingerprint(function, (rows._fingerprint, settings), code)
    return rows.map(function, batched=True, new_fingerprint=fingerprint, **options)


def cached_rows(
    generate: Callable[..., Iterator[dict]],
    arguments: dict[str, Any],
    features: Features,
    settings: Any,
    code: Sequence[ModuleType] = (),
) -> Dataset:
    """The rows that `generate(**arguments)` yields, cached. `settings`, such as files and versions, identify them.

    `Dataset.from_generator` encodes row by row, which takes several times as long as reading the rows.
    """
    tables = _tables_of(generate(**arguments), features.arrow_schema)
    return _cached_dataset(tables, features, _fingerprint(generate, settings, code))


def cached_tables(
    generate: Callable[..., Iterator[pyarrow.Table]],
    arguments: dict[str, Any],
    features: Features,
    settings: Any,
    code: Sequence[ModuleType] = (),
) -> Dataset:
    """The rows of the tables that `generate(**arguments)` yields, as [`cached_rows`]."""
    return _cached_dataset(generate(**arguments), features, _fingerprint(generate, settings, code))


def _tables_of(rows: Iterator[dict], schema: pyarrow.Schema) -> Iterator[pyarrow.Table]:
    # The parent process shows one progress bar for all processes of a stage.
    with tqdm(unit=" rows", desc="reading", delay=2, disable=parent_process() is not None) as bar:
        while some := list(islice(rows, ROWS)):
            yield pyarrow.Table.from_pylist(some, schema=schema)
            bar.update(len(some))


def _cached_dataset(tables: Iterator[pyarrow.Table], features: Features, fingerprint: str) -> Dataset:
    """The rows of `tables`, from a cache file that is written if it does not exist.

    Raises `GlossaError` if the file is damaged.
    """
    path = Path(datasets.config.HF_DATASETS_CACHE) / "tables" / f"{fingerprint}.arrow"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        try:
            with ArrowWriter(path=str(new), features=features) as writer:
                for table in tables:
                    writer.write_table(table)
                writer.finalize()
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    try:
        return Dataset(Dataset.from_file(str(path)).data, fingerprint=fingerprint)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise GlossaError(
            f"The cache file {path} is damaged: {error}. Remove it, and its rows are read again."
        ) from error


def fingerprint_of(rows: Dataset, function: Callable, settings: Any, code: Sequence[ModuleType]) -> str:
    """The fingerprint of a step over the rows, as in `cached_map`, for a step that stores its own result."""
    return _fingerprint(function, (rows._fingerprint, settings), code)


@contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Within the context, `datasets` uses `folder` as its cache."""
    before = datasets.config.HF_DATASETS_CACHE
    datasets.config.HF_DATASETS_CACHE = folder
    try:
        yield
    finally:
        datasets.config.HF_DATASETS_CACHE = before


def _fingerprint(function: Callable, settings: Any, code: Sequence[ModuleType]) -> str:
    modules = [inspect.getmodule(function), *code]
    sources = [inspect.getsource(module) for module in modules if module is not None]
    return Hasher.hash((function.__qualname__, settings, sources, versions()))


@cache
def versions() -> dict[str, str]:
    """The versions of Python, Glossa and `LIBRARIES`, on which results depend; "" for a library not installed."""
    found = {"python": platform.python_version(), "glossa": __version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
