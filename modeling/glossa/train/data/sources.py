"""Raw rows of a source of pairs: the embedded corpus, Anki, local files or the Hub."""

from datasets import Dataset, DatasetDict

from ...base.paths import file_groups
from ...readers import anki
from ...readers.columns import Columns
from ...readers.downloads import local_paths
from ...readers.embedded import embedded_corpus
from ...readers.hub import SPLITS, read_hub, read_splits
from ...readers.rows import Groups, parts_of, read_files
from .arguments import DataArguments


def load_source(arguments: DataArguments) -> DatasetDict:
    """Raw rows of every split: "train", and "validation" and "test" if predefined.

    Every line of a file is a row of `FEATURES`: `source` and `target` (unchanged text; with a problem, `source` is the
    raw text), `line` (1-based), `problem` and `file`. Rows are cached, so an unchanged file is read once. Raises
    `GlossaError` if the data is missing, damaged or empty, or lacks a language.
    """
    columns, limit = columns_of(arguments), arguments.max_train_samples
    if arguments.data_path:
        loaded = {"train": _read(arguments.data_path, arguments, columns, limit)}
    elif arguments.dataset == "anki":
        language = anki.other_language(*arguments.languages)
        loaded = {"train": read_files([anki.download_anki(language)], columns, limit)}
    elif arguments.dataset == "embedded":
        loaded = read_splits(embedded_corpus(), columns, limit, "the embedded corpus", "embedded")
    else:
        loaded = read_hub(arguments.dataset, arguments.dataset_config, columns, limit, arguments.streaming)
    loaded |= load_held_out(arguments)
    return DatasetDict({name: loaded[name] for name in SPLITS if name in loaded})


def load_held_out(arguments: DataArguments) -> DatasetDict:
    """Raw rows of `validation_path` and `test_path`, as "validation" and "test", if set."""
    columns, given = columns_of(arguments), {name: getattr(arguments, f"{name}_path") for name in SPLITS[1:]}
    return DatasetDict({name: _read(path, arguments, columns, None) for name, path in given.items() if path})


def _read(given: list[str], arguments: DataArguments, columns: Columns, limit: int | None) -> Dataset:
    return read_files(local_paths(given, arguments.languages), columns, limit)


def columns_of(arguments: DataArguments) -> Columns:
    """The columns of the two sides in the files of these settings."""
    if arguments.source_column:
        return Columns(((arguments.source_column, str(arguments.target_column)),), required=True)
    names = (arguments.languages, ("source", "target"))
    if arguments.dataset != "anki":
        return Columns(names)
    anki.other_language(*arguments.languages)
    return Columns(names, swapped=arguments.target_language == "en")


def training_parts(arguments: DataArguments) -> list[tuple[Groups, Columns]]:
    """The parts that [`read_part`] can read in parallel, so that [`load_source`] finds them in the cache."""
    if not arguments.data_path or arguments.max_train_samples is not None:
        return []
    paths = local_paths(arguments.data_path, arguments.languages)
    groups = tuple(tuple(path.absolute() for path in group) for group in file_groups(paths))
    return [(part, columns_of(arguments)) for part in parts_of(groups)]
