"""Cached steps over the rows of a dataset, which run again when their code or settings change.

`datasets` hashes a function by its name and by the objects it uses. That misses changes in the code that it calls, and
a tokenizer's hash changes with the padding it was last used with. Here the fingerprint of a result covers the rows,
the settings, the source text of the modules involved, and the versions of Python, Glossa and the libraries that read
and change text.
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
ROWS = 1000  # that are converted together


def cached_map(
    rows: Dataset, function: Callable, settings: Any = (), code: Sequence[ModuleType] = (), **options
) -> Dataset:
    """`rows.map(function, batched=True, **options)`, cached.

    Args:
        rows: What to map.
        function: Maps a batch of rows to a batch of rows.
        settings: Everything else that the result depends on, of plain types.
        code: Modules that `function` calls, besides the one that defines it.
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
    """The rows that `generate(**arguments)` yields, cached. `settings` stand for their content: files, version.

    `Dataset.from_generator` encodes row by row, which takes several times as long as reading them.
    """
    tables = _tables_of(generate(**arguments), features.arrow_schema)
    return _kept(tables, features, _fingerprint(generate, settings, code))


def cached_tables(
    generate: Callable[..., Iterator[pyarrow.Table]],
    arguments: dict[str, Any],
    features: Features,
    settings: Any,
    code: Sequence[ModuleType] = (),
) -> Dataset:
    """The rows of the tables that `generate(**arguments)` yields, as [`cached_rows`]."""
    return _kept(generate(**arguments), features, _fingerprint(generate, settings, code))


def _tables_of(rows: Iterator[dict], schema: pyarrow.Schema) -> Iterator[pyarrow.Table]:
    # The processes of a stage have one bar together.
    with tqdm(unit=" rows", desc="reading", delay=2, disable=parent_process() is not None) as bar:
        while some := list(islice(rows, ROWS)):
            yield pyarrow.Table.from_pylist(some, schema=schema)
            bar.update(len(some))


def _kept(tables: Iterator[pyarrow.Table], features: Features, fingerprint: str) -> Dataset:
    """The rows of these tables, from a file that is written unless it is there.

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
            f"{path}, which keeps rows that were read, is damaged: {error}. Remove it, and they are read again."
        ) from error


def fingerprint_of(rows: Dataset, function: Callable, settings: Any, code: Sequence[ModuleType]) -> str:
    """The fingerprint of a step over the rows, as in `cached_map`, for steps that store their result themselves."""
    return _fingerprint(function, (rows._fingerprint, settings), code)


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Inside the context, `datasets` uses this folder as its cache."""
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
    """The versions of what results depend on besides the code of Glossa; "" for a library that is not installed."""
    found = {"python": platform.python_version(), "glossa": __version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
