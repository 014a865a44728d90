"""Prepared pairs with token ids, so that training does not tokenize them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.parquet
from datasets import Dataset, Features, Value
from pyarrow.parquet import ParquetFile

from ....base.caching import cached_tables
from ....readers.rows import file_states
from ..mixture import Source
from .encoding import TOKENIZED, encode_rows, lengths_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FEATURES = Features({"source": Value("string"), "target": Value("string")} | TOKENIZED)
SCHEMA = FEATURES.arrow_schema.remove_metadata()


def encode_file(
    tokenizer: "PreTrainedTokenizerBase", folder: Path, item: tuple[str, str, str], stem: Path
) -> dict[str, int]:
    """Write a copy of a Parquet file of prepared pairs with token ids and lengths.

    `item` has the name of the file in `folder`, the tag of its source, and its target language if there are several.
    """
    name, tag, language = item
    with (
        ParquetFile(folder / name) as given,
        pyarrow.parquet.ParquetWriter(f"{stem}.parquet", SCHEMA, compression="zstd") as writer,
    ):
        for group in range(given.num_row_groups):
            texts = given.read_row_group(group, ["source", "target"]).to_pydict()
            sources = [tag + text for text in texts["source"]]
            languages = [language] * len(sources) if language else None
            ids = encode_rows(tokenizer, sources, texts["target"], languages)
            lengths = lengths_of(ids)
            columns: dict[str, Any] = texts | dict(zip(TOKENIZED, (*ids, *lengths), strict=True))
            writer.write_table(pyarrow.table(columns, schema=SCHEMA))
        return {"pairs": given.metadata.num_rows}


def encoded_rows(source: Source) -> Dataset:
    """The pairs of a source of a prepared folder, with token ids and lengths."""
    files = [Path(path).absolute() for path in source.settings.data_path]
    return cached_tables(_tables, {"files": files}, FEATURES, file_states((tuple(files),)))


def _tables(files: Sequence[Path]) -> Iterator[pyarrow.Table]:
    for path in files:
        with ParquetFile(path) as file:
            yield from read_groups(file, range(file.num_row_groups), list(FEATURES))


def read_groups(file: ParquetFile, groups: Sequence[int], columns: Sequence[str]) -> Iterator[pyarrow.Table]:
    """Yield columns of an open file of pairs with token ids, by row group."""
    schema = pyarrow.schema([SCHEMA.field(name) for name in columns])
    for group in groups:
        yield file.read_row_group(group, list(columns)).select(columns).cast(schema)
