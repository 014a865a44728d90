"""The raw rows of all sources of a recipe."""

import re
from collections.abc import Sequence

from datasets import Dataset, DatasetDict

from .arguments import DataArguments
from .cleaning.cleaning import Loaded
from .encoding.prepared_ids import encoded_rows
from .intake.sources import load_held_out, load_source
from .mixture import Source, language_of_held_out
from .paths import distinct_names
from .streaming.streams import Stream


def load_sources(
    sources: Sequence[Source], arguments: DataArguments, stream: Stream | None = None, encoded: bool = False
) -> list[Loaded]:
    """The raw rows of every source; held-out files of the settings replace the predefined splits of the sources.

    Training rows that are `encoded`, in a prepared folder, are read with their token ids.
    """
    if not arguments.sources and stream is None:
        return [Loaded(sources[0].name, load_source(arguments), arguments)]
    given, loaded = load_held_out(arguments), []
    for number, source in enumerate(sources):
        if stream:
            own = stream.load_sample(number)
        elif encoded:
            own = DatasetDict({"train": encoded_rows(source)} | load_held_out(source.settings))
        else:
            own = load_source(source.settings)
        own = DatasetDict({name: rows for name, rows in own.items() if name not in given})
        loaded.append(Loaded(source.name, own, source.settings, source.language))
    held_out = Loaded("held-out files", given, arguments, language_of_held_out(arguments))
    return [*loaded, *([held_out] if given else [])]


def with_file_names(pairs: Dataset) -> Dataset:
    """Held-out pairs with a short name of their file in the column `file` if they are of several; else without it."""
    if "file" not in pairs.column_names:
        return pairs
    places = pairs["file"][:]
    files = list(dict.fromkeys(places))
    pairs = pairs.remove_columns("file")
    if len(files) < 2:
        return pairs
    # The two files of a group stand as "/a/one.de and /a/one.en".
    names = dict(zip(files, distinct_names([re.split(r" and (?=/)", file) for file in files]), strict=True))
    return pairs.add_column("file", [names[file] for file in places])
