"""Preparation of clean and split sentence pairs from data settings."""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy
import xxhash
from datasets import Dataset, DatasetDict, concatenate_datasets

from ...base.caching import cached_map
from ...base.errors import GlossaError
from ...base.paths import distinct_names
from ...readers.hub import SPLITS
from ...readers.teachers import read_teachers
from .arguments import CHECKS, DataArguments
from .cleaning import filters
from .cleaning.cleaning import LoadedSource, clean, clean_sources
from .cleaning.drawing import Sentences
from .cleaning.report import DataReport
from .cleaning.splitting import check_overlap, held_out_sides, hold_out, repeated, sample_rows, side_keys
from .encoding.encoding import TOKENIZED
from .encoding.prepared_ids import encoded_rows
from .mixture import Source, language_of_held_out, sources_of, weights
from .prepared import tokens_of
from .sources import load_held_out, load_source
from .streaming.streams import REFUSED, Stream, is_stream

logger = logging.getLogger(__name__)


def prepare_pairs(arguments: DataArguments, stream: Stream | None = None) -> tuple[DatasetDict, DataReport]:
    """Prepare pairs (columns `source`, `target`) in "train", "validation" and "test", with a report.

    With several target languages, the column `language` has the code of each pair's language. With predefined held-out
    pairs from several files, the column `file` has the name of their file.

    Predefined splits are kept, and training pairs that share a side with them are dropped. Missing splits are held out
    of the training pairs of all sources by connected components, unless their size is 0. `max_validation_samples` and
    `max_test_samples` draw pairs with `split_seed`. The training rows of a source are repeated or drawn by its weight,
    and begin with its tag. Prepared pairs also have token ids and lengths. With `streaming`, "train" is a sample of
    the `stream`. Raises `GlossaError` if the settings or the data are invalid.
    """
    sources = sources_of(arguments)
    for source in sources:
        filters.check(source.settings)
    if stream is None and is_stream(arguments):
        stream = Stream(arguments)
    dataset, report = clean_sources(load_sources(sources, arguments, stream, tokens_of(sources) is not None))
    report.teachers = teachers_of(sources)
    missing = {
        f"{name}_size": 0 if name in dataset else getattr(arguments, f"{name}_size") for name in ("validation", "test")
    }
    chosen = {"train": numpy.arange(len(dataset["train"]))}
    if stream is not None:
        report.stream = {"rows": sum(stream.rows), "sample": report.splits["train"]["read"]}
        _refuse_missing(missing)
        stream.held_out = frozenset() if arguments.keep_overlap else held_out_sides(dataset)
    elif any(size != 0 for size in missing.values()):
        chosen = hold_out([Sentences(*side_keys(dataset["train"]))], **missing, seed=arguments.split_seed)
    for name in ("validation", "test"):
        if name in chosen:
            dataset[name] = dataset["train"].select(chosen[name])
        if name in dataset:
            limit = getattr(arguments, f"max_{name}_samples")
            if limit == 0:
                dataset.pop(name)
                continue
            dataset[name] = with_file_names(sample_rows(dataset[name], limit, arguments.split_seed))
    keys = side_keys(dataset["train"])  # before tags are added
    dataset["train"] = _apply_weights(dataset["train"], chosen, sources, arguments, report)
    dataset = DatasetDict({name: dataset[name] for name in SPLITS if name in dataset})
    report.sizes = {name: len(part) for name, part in dataset.items()}
    report.overlap = check_overlap(dataset, (keys[0][chosen["train"]], keys[1][chosen["train"]]))
    return dataset, report


def teachers_of(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """What translated the pairs of the sources, as far as their files say it."""
    return read_teachers(path for source in sources for path in source.settings.data_path or ())


def load_sources(
    sources: Sequence[Source], arguments: DataArguments, stream: Stream | None = None, encoded: bool = False
) -> list[LoadedSource]:
    """Load the raw rows of every source. Held-out files of the settings replace predefined splits of the sources.

    With `encoded`, the training rows of a prepared folder are read with token ids.
    """
    if not arguments.sources and stream is None:
        return [LoadedSource(sources[0].name, load_source(arguments), arguments)]
    given, loaded = load_held_out(arguments), []
    for number, source in enumerate(sources):
        if stream:
            own = stream.load_sample(number)
        elif encoded:
            own = DatasetDict({"train": encoded_rows(source)} | load_held_out(source.settings))
        else:
            own = load_source(source.settings)
        own = DatasetDict({name: rows for name, rows in own.items() if name not in given})
        loaded.append(LoadedSource(source.name, own, source.settings, source.language))
    held_out = LoadedSource("held-out files", given, arguments, language_of_held_out(arguments))
    return [*loaded, *([held_out] if given else [])]


def with_file_names(pairs: Dataset) -> Dataset:
    """Shorten the file names in the column `file` of held-out pairs; remove the column unless there are several."""
    if "file" not in pairs.column_names:
        return pairs
    places = pairs["file"][:]
    files = list(dict.fromkeys(places))
    pairs = pairs.remove_columns("file")
    if len(files) < 2:
        return pairs
    # The two files of a group are joined as "/a/one.de and /a/one.en".
    names = dict(zip(files, distinct_names([re.split(r" and (?=/)", file) for file in files]), strict=True))
    return pairs.add_column("file", [names[file] for file in places])


def _refuse_missing(missing: dict[str, float | None]) -> None:
    """Raise `GlossaError` if pairs would have to be held out from a stream."""
    for name, size in missing.items():
        if size != 0:
            split = name.removesuffix("_size")
            raise GlossaError(
                f"There are no {split} pairs, and {REFUSED[name]}. Give {split}_path, or set {name} to 0."
            )


def _apply_weights(
    pairs: Dataset,
    chosen: dict[str, numpy.ndarray],
    sources: Sequence[Source],
    arguments: DataArguments,
    report: DataReport,
) -> Dataset:
    """The training rows of an epoch: each source in turn, repeated or drawn by its weight, with its tag."""
    bounds = numpy.cumsum([0, *(report.sources[source.name]["kept"] for source in sources)])
    blocks = []
    for source, (start, end) in zip(sources, pairwise(bounds), strict=True):
        own = {name: rows[(rows >= start) & (rows < end)] for name, rows in chosen.items()}
        report.sources[source.name] |= {name: len(rows) for name, rows in own.items()}
        blocks.append(own["train"])
    factors = weights([len(block) for block in blocks], sources, arguments.sampling_temperature)
    parts = []
    for number, (source, block, weight) in enumerate(zip(sources, blocks, factors, strict=True)):
        rows = repeated(block, weight, (arguments.split_seed, number))
        report.sources[source.name] |= {"weight": round(weight, 4), "seen": len(rows)}
        parts.append(rows)
    if len(sources) > 1:
        logger.info("seen in an epoch: %s", {name: counts["seen"] for name, counts in report.sources.items()})
    if not any(source.tag for source in sources):
        return pairs.select(numpy.concatenate(parts))
    return concatenate_datasets(
        [_tagged(pairs.select(rows), source.tag) for rows, source in zip(parts, sources, strict=True) if len(rows)]
    )


def _tagged(rows: Dataset, tag: str) -> Dataset:
    if not tag:
        return rows
    return cached_map(rows, _add_tag, tag, input_columns="source", fn_kwargs={"tag": tag}, desc="tagging")


def _add_tag(sources: list[str], tag: str) -> dict:
    return {"source": [tag + text for text in sources]}


def in_both_directions(pairs: Dataset) -> Dataset:
    """The pairs, and after them the same with their sides exchanged."""
    exchanged = pairs.rename_columns({"source": "target", "target": "source"})
    return concatenate_datasets([pairs, exchanged.select_columns(pairs.column_names)])


def by_language(pairs: Dataset) -> list[tuple[str, Dataset]]:
    """The rows of each target language with its code, or all rows with "" if there is no column `language`."""
    if "language" not in pairs.column_names:
        return [("", pairs)]
    languages = numpy.asarray(pairs["language"][:])
    return [(name, pairs.select(numpy.flatnonzero(languages == name))) for name in dict.fromkeys(languages.tolist())]


def group_references(dataset: Dataset) -> list[tuple[str, list[str]]]:
    """Each distinct source, in order of first appearance, with all its targets in order."""
    references: dict[str, list[str]] = {}
    for source, target in zip(dataset["source"][:], dataset["target"][:], strict=True):
        references.setdefault(source, []).append(target)
    return list(references.items())


def each_line(dataset: Dataset) -> list[tuple[str, list[str]]]:
    """The source of every row with its target, followed by the other targets of this source."""
    targets = {source: dict.fromkeys(found) for source, found in group_references(dataset)}
    rows = zip(dataset["source"][:], dataset["target"][:], strict=True)
    return [(source, [own, *(other for other in targets[source] if other != own)]) for source, own in rows]


def load_pairs(arguments: DataArguments, repeated: bool = False) -> Dataset:
    """Load the clean pairs of `arguments`, without held-out splits. Implausible data only cause a warning.

    With `repeated`, duplicates are kept.
    """
    dataset, _ = clean(load_source(arguments), replace(arguments, trust_data=CHECKS), repeated=repeated)
    return dataset["train"]


def fingerprints(data: DatasetDict) -> dict[str, str]:
    """A hash of the texts of each split in order, independent of file names."""
    found = {}
    for split, rows in data.items():
        digest = xxhash.xxh3_128()
        for batch in rows.iter(10_000):
            for name, texts in batch.items():
                if name in ("file", *TOKENIZED):
                    continue
                digest.update("\0".join(texts).encode())
        found[split] = digest.hexdigest()
    return found
