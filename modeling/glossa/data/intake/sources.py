"""Pairs from the package, Anki, local files or the Hub, all as the same raw rows.

Every source becomes a `DatasetDict` of cached Arrow datasets with the columns of `FEATURES`.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

from datasets import (
    Dataset,
    DatasetBuilder,
    DatasetDict,
    Features,
    IterableDataset,
    Translation,
    Value,
    concatenate_datasets,
    load_dataset_builder,
)
from datasets.exceptions import DatasetGenerationError, DatasetsError

from ...errors import GlossaError, http_errors
from .. import languages, paths
from ..arguments import DataArguments
from ..caching import cached_map, cached_rows
from ..paths import file_groups
from . import anki, columns, files, formats, parquet, readers, segments
from .columns import Columns, pair_of
from .downloads import local_paths
from .embedded import embedded_corpus
from .readers import read_rows

logger = logging.getLogger(__name__)

FEATURES = Features(
    {
        "source": Value("string"),
        "target": Value("string"),
        "line": Value("int64"),  # 1-based, in the file
        "problem": Value("string"),  # "", or why the row is no pair, as `readers` says
        "file": Value("string"),  # of rows with a problem and of the first row of each file, else ""
    }
)
SPLITS = ("train", "validation", "test")
PART = 64 * 2**20  # bytes of files that are read together
Groups = tuple[tuple[Path, ...], ...]
_READING = (columns, files, formats, languages, parquet, paths, readers, segments)


def load_source(arguments: DataArguments) -> DatasetDict:
    """Raw rows of every split: "train", and "validation" and "test" if they are predefined.

    Every line of a file is a row of `FEATURES`: `source` and `target` (unchanged text; `source` is the raw text if
    there is a problem), `line` (1-based), `problem` and `file`. Rows are cached, so an unchanged file is read once.
    Raises `GlossaError` if the data is missing, damaged or empty, or lacks a language.
    """
    limit = arguments.max_train_samples
    if arguments.data_path:
        paths = local_paths(arguments.data_path, arguments)
        loaded = {"train": read_files(paths, columns_of(arguments), limit)}
    elif arguments.dataset == "anki":
        language = anki.other_language(arguments.source_language, arguments.target_language)
        loaded = {"train": read_files([anki.download_anki(language)], columns_of(arguments), limit)}
    elif arguments.dataset == "embedded":
        loaded = _from_splits(embedded_corpus(), arguments, "the embedded corpus", "embedded")
    else:
        loaded = _from_hub(arguments)
    loaded |= load_held_out(arguments)
    return DatasetDict({name: loaded[name] for name in SPLITS if name in loaded})


def load_held_out(arguments: DataArguments) -> DatasetDict:
    """Raw rows of `validation_path` and `test_path`, as "validation" and "test" if they are given."""
    given = {name: getattr(arguments, f"{name}_path") for name in SPLITS[1:]}
    return DatasetDict(
        {
            name: read_files(local_paths(path, arguments), columns_of(arguments), None)
            for name, path in given.items()
            if path
        }
    )


def columns_of(arguments: DataArguments) -> Columns:
    """The columns of the two sides in the files of these settings."""
    if arguments.source_column:
        return Columns(((arguments.source_column, str(arguments.target_column)),), required=True)
    names = ((arguments.source_language, arguments.target_language), ("source", "target"))
    if arguments.dataset != "anki":
        return Columns(names)
    anki.other_language(arguments.source_language, arguments.target_language)
    return Columns(names, swapped=arguments.target_language == "en")


def read_files(given, columns: Columns, limit: int | None) -> Dataset:
    """Raw rows of the files that `given` paths, folders and patterns name; at most `limit` rows of all of them."""
    # Tuples: `datasets` takes a list for shards.
    groups = tuple(tuple(path.absolute() for path in group) for group in file_groups(given))
    read = [read_part(part, columns, limit) for part in (parts_of(groups) if limit is None else [groups])]
    return concatenate_datasets(read) if len(read) > 1 else read[0]


def read_part(groups: Groups, columns: Columns, limit: int | None = None) -> Dataset:
    """Raw rows of groups of files, as [`read_files`]."""
    arguments = {"groups": groups, "columns": columns, "limit": limit}
    return generated_rows(_file_rows, arguments, (stamps_of(groups), len(groups), astuple(columns), limit))


def stamps_of(groups: Groups) -> list[tuple[str, int, int]]:
    """Name, size and time of each file."""
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for group in groups for path in group]


def parts_of(groups: Groups) -> list[Groups]:
    """Groups of files in parts of about `PART` bytes, which can be read by themselves."""
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


def training_parts(arguments: DataArguments) -> list[tuple[Groups, Columns]]:
    """List the parts that [`read_part`] can read in parallel, so that [`load_source`] finds them in the cache."""
    if not arguments.data_path or arguments.max_train_samples is not None:
        return []
    paths = local_paths(arguments.data_path, arguments)
    groups = tuple(tuple(path.absolute() for path in group) for group in file_groups(paths))
    return [(part, columns_of(arguments)) for part in parts_of(groups)]


def _file_rows(groups: Groups, columns: Columns, limit: int | None) -> Iterator[dict]:
    left = limit
    for group in groups:
        name, rows, first = " and ".join(map(str, group)), 0, True
        for source, target, line, problem in read_rows(group, columns, left):
            rows += problem not in (readers.HEADER, readers.CONTINUED)
            yield raw_row(source, target, line, problem, name if problem or first else "")
            first = False
        if not rows:
            raise GlossaError(f"{name} is empty: it has no rows. Give a file with at least one pair.")
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
    """The raw rows that `generate(**arguments)` yields, cached; `settings` stand for their content."""
    return cached_rows(generate, arguments, FEATURES, settings, _READING)


def load_builder(arguments: DataArguments) -> DatasetBuilder:
    """Load the builder of a Hub dataset or folder, without rows. Raises `GlossaError` if there is no such dataset."""
    with _loading(arguments):
        return load_dataset_builder(arguments.dataset, arguments.dataset_config)


def _from_hub(arguments: DataArguments) -> dict[str, Dataset]:
    builder = load_builder(arguments)
    with _loading(arguments) as name:
        if arguments.streaming:
            splits = builder.as_streaming_dataset()
        else:
            builder.download_and_prepare()
            splits = builder.as_dataset()
        return _from_splits(splits, arguments, name, builder.cache_dir)


@contextmanager
def _loading(arguments: DataArguments) -> Iterator[str]:
    """Yields the name of the dataset, and turns errors of `datasets` into `GlossaError`."""
    name = arguments.dataset + (f" ({arguments.dataset_config})" if arguments.dataset_config else "")
    try:
        yield name
    except (OSError, ValueError, RuntimeError, DatasetsError, *http_errors()) as error:
        reason = (isinstance(error, DatasetGenerationError) and error.__cause__) or error
        raise GlossaError(
            f"Data set {name} could not be loaded: {reason}. Allowed are 'embedded', 'anki', "
            "'files' (with data_path), the id of a Hub data set (https://huggingface.co/datasets, with dataset_config "
            "where it has several), or a folder of data files. Without a connection, use local files."
        ) from error


def _from_splits(splits, arguments: DataArguments, name: str, version: str) -> dict[str, Dataset]:
    """Raw rows of the splits of a loaded dataset; `version` must change with its content."""
    if "train" not in splits:
        raise GlossaError(f"{name} has no 'train' split but {sorted(splits)}; choose another data set.")
    loaded = {}
    for split in SPLITS:
        if split not in splits:
            continue
        # Held-out rows are limited after cleaning, by a random choice among all.
        rows, limit = splits[split], arguments.max_train_samples if split == "train" else None
        # Streams of JSON or CSV have no features until the first row is read.
        example = rows.features or next(iter(rows), None)
        if example is None:
            raise GlossaError(f"{name}, {split} is empty: it has no rows. Choose another data set or split.")
        column, source, target = _find_columns(example, columns_of(arguments), name)
        keys = {"column": column, "source": source, "target": target, "file": f"{name}, {split}"}
        if isinstance(rows, IterableDataset):
            stream = rows if limit is None else rows.take(limit)
            settings = version, limit, sorted(keys.items())
            loaded[split] = generated_rows(_stream_rows, {"stream": stream, "keys": keys}, settings)
        else:
            rows = rows if limit is None else rows.select(range(min(limit, len(rows))))
            loaded[split] = cached_map(
                rows,
                _batch_rows,
                sorted(keys.items()),
                _READING,
                with_indices=True,
                fn_kwargs=keys,
                remove_columns=rows.column_names,
                features=FEATURES,
                desc=f"reading {split}",
            )
    return loaded


def _find_columns(features: Features | dict, columns: Columns, name: str) -> tuple[str | None, str, str]:
    """`("translation", source key, target key)`, or `(None, source column, target column)`."""
    translation = features.get("translation")
    if not columns.required and isinstance(translation, Translation | dict):
        present = translation.languages if isinstance(translation, Translation) else list(translation)
        found = columns.find(present)
        if not found:
            missing = [repr(key) for key in columns.names[0] if key not in present]
            raise GlossaError(
                f"{name} lacks {' or '.join(missing)}; its languages are "
                f"{sorted(present)}. Set source_language and target_language to two of these."
            )
        return "translation", *found
    found = columns.find(list(features))
    if not found:
        raise columns.missing(name, f"its columns are {sorted(features)}")
    return None, *found


def _batch_rows(batch: dict, indices: list[int], column, source, target, file: str) -> dict:
    if column:
        records = batch[column]
    else:
        records = [
            dict(zip((source, target), pair, strict=True)) for pair in zip(batch[source], batch[target], strict=True)
        ]
    rows = [
        raw_row(*pair[:2], index + 1, pair[2], file if pair[2] or not index else "")
        for index, record in zip(indices, records, strict=True)
        for pair in [pair_of(record or {source: None, target: None}, source, target)]
    ]
    return {key: [row[key] for row in rows] for key in FEATURES}


def _stream_rows(stream: IterableDataset, keys: dict) -> Iterator[dict]:
    column, source, target, file = keys["column"], keys["source"], keys["target"], keys["file"]
    for line, record in enumerate(stream, 1):
        record = (record[column] if column else record) or {source: None, target: None}
        first, second, problem = pair_of(record, source, target)
        yield raw_row(first, second, line, problem, file if problem or line == 1 else "")
