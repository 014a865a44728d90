"""Texts for pretraining: lines of text files, a column of tables or a dataset, or both sides of pairs."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import xxhash
from datasets import Dataset, DatasetDict, Features, List, Value, concatenate_datasets

from ...base.caching import cached_map
from ...base.errors import GlossaError
from ...base.paths import file_groups, is_table
from ...readers.downloads import local_paths
from ...readers.files import MAX_LINE
from ...readers.reading import Columns
from ...readers.rows import read_files
from .arguments import DataArguments
from .cleaning.cleaning import clean
from .cleaning.report import DataReport
from .cleaning.splitting import check_overlap, sample_rows, split_by_component
from .encoding.encoding import parts
from .encoding.vocabulary import vocabulary_files
from .filters import FILTERS, PREFIX
from .pairs import prepare_pairs
from .sources import load_source
from .streaming.streams import REFUSED, is_stream

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from .encoding.corruption import PretrainingCollator

_TOKENIZED = Features(
    {"input_ids": List(Value("int32")), "source_length": Value("int32"), "target_length": Value("int32")}
)


def prepare_texts(arguments: DataArguments) -> tuple[DatasetDict, DataReport]:
    """Prepare clean, distinct texts (column `text`) in "train" and "validation", and a report of the preparation.

    - With `source_column` and `target_column` equal: that column of the tables in `data_path`, or of the dataset.
    - If `data_path` names plain text files: their lines.
    - Otherwise: both sides of the pairs from `prepare_pairs`, without the test split. A translation model fine-tuned
      with the same data settings is then tested on sentences that pretraining has not seen.

    In the first two cases, `validation_size` texts are held out if there are no validation texts. `max_train_samples`
    limits the rows of each file. Raises `GlossaError` if the settings or the data are invalid.
    """
    arguments = replace(
        arguments,
        data_path=local_paths(arguments.data_path, arguments.languages),
        validation_path=local_paths(arguments.validation_path, arguments.languages),
    )
    if arguments.sources and arguments.text_column is not None:
        raise GlossaError(
            f"source_column and target_column are both {arguments.text_column!r}, but the sources hold pairs. Leave "
            "them out, or give texts as data_path."
        )
    if arguments.text_column is None and (not arguments.data_path or any(map(is_table, _files(arguments.data_path)))):
        if is_stream(arguments):
            raise GlossaError(
                f"streaming is true, but {REFUSED['objective']}. Set streaming to false, which copies the rows to the "
                "cache once, or set max_train_samples."
            )
        pairs, report = prepare_pairs(arguments)
        texts = DatasetDict({split: _sides(rows) for split, rows in pairs.items() if split != "test"})
    else:
        for name in arguments.filters:
            if FILTERS[name].two:
                raise GlossaError(f"{PREFIX}{name} is true, but the data are texts in any language. Leave it out.")
        # A text is paired with itself, so that the cleaning and splitting of pairs apply.
        longest = {"characters": MAX_LINE}  # long texts are later split into several rows
        settings = replace(arguments, filters=longest | arguments.filters | {"identical": False})
        rows, report = clean(load_texts(arguments), settings, sides=False)
        if "validation" not in rows and arguments.validation_size != 0:
            rows |= split_by_component(rows["train"], arguments.validation_size, 0, arguments.split_seed)
        elif "validation" in rows:
            rows["validation"] = sample_rows(
                rows["validation"], arguments.max_validation_samples, arguments.split_seed
            )
        report.overlap = check_overlap(DatasetDict(rows))
        texts = DatasetDict(
            {split: part.select_columns(["source"]).rename_column("source", "text") for split, part in rows.items()}
        )
    report.sizes = {split: len(part) for split, part in texts.items()}
    return texts, report


def load_texts(arguments: DataArguments) -> DatasetDict:
    """Raw rows as from [`load_source`], in "train" and "validation"; each text is both `source` and `target`."""
    column = arguments.text_column
    named = Columns(((str(column), str(column)),), required=True)
    loaded = {}
    if not arguments.data_path:
        # Validation files are read below, since they may be tables or plain text.
        sides = replace(arguments, source_column=column, target_column=column, validation_path=[], test_path=[])
        loaded = {split: rows for split, rows in load_source(sides).items() if split != "test"}
    for split, given in (("train", arguments.data_path), ("validation", arguments.validation_path)):
        paths = _files(given)
        limit = arguments.max_train_samples if split == "train" else None
        plain = [path for path in paths if not is_table(path)]
        if plain and column:
            raise GlossaError(
                f"source_column and target_column are both {column!r}, but {plain[0]} is a text file, which has no "
                "columns. Leave them out, or give a table; a text file with tabs must be named .tsv."
            )
        parts = [read_files([path], Columns((), lines=True) if path in plain else named, limit) for path in paths]
        if parts:
            loaded[split] = concatenate_datasets(parts)
    return DatasetDict(loaded)


def _files(given: Sequence[str]) -> list[Path]:
    return [file for group in file_groups(given) for file in group]


def _sides(pairs: Dataset) -> Dataset:
    """The distinct texts of both sides: sources first, then targets."""
    sides = [pairs.select_columns([side]).rename_column(side, "text") for side in ("source", "target")]
    texts = concatenate_datasets(sides)
    keys = [xxhash.xxh3_64_intdigest(text.encode()) for batch in texts.iter(1000) for text in batch["text"]]
    _, first = numpy.unique(numpy.array(keys, dtype=numpy.uint64), return_index=True)
    return texts.select(numpy.sort(first))


def tokenize_texts(
    texts: DatasetDict, tokenizer: "PreTrainedTokenizerBase", collator: "PretrainingCollator", max_length: int
) -> DatasetDict:
    """Tokenize texts to `input_ids` without special tokens, and compute their lengths after corruption by `collator`.

    A text of more than `max_length` tokens (special tokens included) is split into rows of similar length. Validation
    texts are corrupted here and get `labels`, so that every evaluation uses the same corruption.
    """
    from .encoding import corruption

    longest = max(max_length - max(len(tokenizer("")["input_ids"]), 1), 1)

    def encode(batch: dict, held_out: bool) -> dict:
        texts = batch["text"]
        encoded = [
            ids for part in parts(texts) for ids in tokenizer(texts[part], add_special_tokens=False)["input_ids"]
        ]
        pieces = [piece for ids in encoded for piece in _pieces(ids, longest)]
        corrupted = [collator.corrupt(piece) for piece in pieces]
        return {
            "input_ids": [row["input_ids"] for row in corrupted] if held_out else pieces,
            **({"labels": [row["labels"] for row in corrupted]} if held_out else {}),
            "source_length": [len(row["input_ids"]) for row in corrupted],
            "target_length": [len(row["labels"]) for row in corrupted],
        }

    tokenized = {}
    for split, rows in texts.items():
        held_out = split != "train"
        settings = *vocabulary_files(tokenizer), collator.objective, collator.seed, max_length, held_out
        tokenized[split] = cached_map(
            rows,
            encode,
            settings,
            [corruption],
            fn_kwargs={"held_out": held_out},
            remove_columns=rows.column_names,
            features=Features(_TOKENIZED | {"labels": List(Value("int32"))}) if held_out else _TOKENIZED,
            desc=f"tokenizing {split}",
        )
    return DatasetDict(tokenized)


def _pieces(ids: list[int], longest: int) -> list[list[int]]:
    count = -(-len(ids) // longest)
    bounds = [len(ids) * index // count for index in range(count + 1)] if count else [0]
    return [ids[start:end] for start, end in pairwise(bounds)]
