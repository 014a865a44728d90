"""Raw rows of Hub datasets, or of folders that `datasets` can load."""

from collections.abc import Iterator
from contextlib import contextmanager

from datasets import Dataset, DatasetBuilder, Features, IterableDataset, Translation, load_dataset_builder
from datasets.exceptions import DatasetGenerationError, DatasetsError

from ..base.caching import cached_map
from ..base.errors import GlossaError, http_errors
from .columns import Columns, pair_of
from .rows import FEATURES, READING, generated_rows, raw_row

SPLITS = ("train", "validation", "test")


def load_builder(dataset: str, config: str | None) -> DatasetBuilder:
    """Load the builder of a Hub dataset or folder, without rows. Raises `GlossaError` if it does not exist."""
    with _loading(dataset, config):
        return load_dataset_builder(dataset, config)


def read_hub(
    dataset: str, config: str | None, columns: Columns, limit: int | None, streaming: bool = False
) -> dict[str, Dataset]:
    """Raw rows of each split of a Hub dataset or folder, with at most `limit` rows of the training split.

    With `streaming`, the dataset is not downloaded as a whole. Raises `GlossaError` if it cannot be loaded, has no
    training split, is empty or lacks the columns.
    """
    builder = load_builder(dataset, config)
    with _loading(dataset, config) as name:
        if streaming:
            splits = builder.as_streaming_dataset()
        else:
            builder.download_and_prepare()
            splits = builder.as_dataset()
        return read_splits(splits, columns, limit, name, builder.cache_dir)


@contextmanager
def _loading(dataset: str, config: str | None) -> Iterator[str]:
    """Yield the name of the dataset, and convert errors of `datasets` to `GlossaError`."""
    name = dataset + (f" ({config})" if config else "")
    try:
        yield name
    except (OSError, ValueError, RuntimeError, DatasetsError, *http_errors()) as error:
        reason = (isinstance(error, DatasetGenerationError) and error.__cause__) or error
        raise GlossaError(
            f"Dataset {name} could not be loaded: {reason}. Allowed are 'embedded', 'anki', "
            "'files' (with data_path), the id of a Hub dataset (https://huggingface.co/datasets, with dataset_config "
            "if it has several configs), or a folder of data files. Without a connection, use local files."
        ) from error


def read_splits(splits, columns: Columns, limit: int | None, name: str, version: str) -> dict[str, Dataset]:
    """Raw rows of the splits of a loaded dataset, as in [`read_hub`]; `version` must change with its content."""
    if "train" not in splits:
        raise GlossaError(f"{name} has no 'train' split; its splits are {sorted(splits)}. Choose another dataset.")
    loaded = {}
    for split in SPLITS:
        if split not in splits:
            continue
        # Held-out rows are sampled after cleaning.
        rows, most = splits[split], limit if split == "train" else None
        # Streams of JSON or CSV have no features before the first row is read.
        example = rows.features or next(iter(rows), None)
        if example is None:
            raise GlossaError(f"{name}, {split} has no rows. Choose another dataset or split.")
        column, source, target = _find_columns(example, columns, name)
        keys = {"column": column, "source": source, "target": target, "file": f"{name}, {split}"}
        if isinstance(rows, IterableDataset):
            stream = rows if most is None else rows.take(most)
            settings = version, most, sorted(keys.items())
            loaded[split] = generated_rows(_stream_rows, {"stream": stream, "keys": keys}, settings)
        else:
            rows = rows if most is None else rows.select(range(min(most, len(rows))))
            loaded[split] = cached_map(
                rows,
                _batch_rows,
                sorted(keys.items()),
                READING,
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
