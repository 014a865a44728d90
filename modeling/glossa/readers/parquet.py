"""Rows of Parquet files, read with little memory for any content: repeated values are stored once."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from pyarrow.parquet import FileMetaData, ParquetFile

from ..base.errors import GlossaError
from .columns import Columns, Row, pair_of
from .files import damage_refused

# Text that decompresses to more than this many bytes and this many times its compressed size is not a real corpus.
LARGEST, RATIO = 64 << 20, 1000


def read_parquet(path: Path, columns: Columns) -> Iterator[Row]:
    """Rows of a .parquet file. Raises `GlossaError` as in [`parquet_rows`], and if the file is damaged."""
    with damage_refused(path), open_parquet(path, pyarrow.parquet.read_metadata(path)) as file:
        yield from parquet_rows(file, str(path), columns)


def open_parquet(file: Any, metadata: FileMetaData, **options) -> ParquetFile:
    """Open a Parquet file with texts read as dictionaries, so that equal values are in memory once."""
    columns = [metadata.schema.column(index) for index in range(len(metadata.schema))]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return ParquetFile(file, metadata=metadata, read_dictionary=texts, **options)


def parquet_rows(file: ParquetFile, name: str, columns: Columns, groups: Sequence[int] | None = None) -> Iterator[Row]:
    """Rows of an open Parquet file, or of some of its row `groups`, numbered from 1. Errors call the file `name`.

    Raises `GlossaError` if a column is missing or not text, or if the text decompresses to an implausible size.
    """
    schema = file.schema_arrow
    nested = "translation" in schema.names and not columns.required
    nested = nested and pyarrow.types.is_struct(schema.field("translation").type)
    fields = list(schema.field("translation").type) if nested else list(schema)
    present = [field.name for field in fields]
    found = columns.unique(name, present)
    if not found:
        raise columns.missing(name, f"the file has {present}")
    places = [present.index(side) for side in found]
    for place in places:
        if not _is_text(fields[place].type):
            raise GlossaError(
                f"{name}: column {present[place]!r} holds {fields[place].type}, not text. Give the file a text "
                "column, or set source_column and target_column to two of "
                f"{[field.name for field in fields if _is_text(field.type)]}."
            )
    number = total = 0
    wanted = ["translation"] if nested else sorted(set(found))
    groups = list(range(file.num_row_groups)) if groups is None else list(groups)
    limit = _limit(file.metadata, name, wanted, groups)
    # pyarrow cannot read dictionaries within a struct from several row groups at once.
    for batch in chain.from_iterable(
        file.iter_batches(row_groups=part, columns=wanted)
        for part in ([[group] for group in groups] if nested else [groups])
    ):
        sides = batch.column("translation").flatten() if nested else batch
        texts = [_texts(sides[place] if nested else batch.column(present[place])) for place in places]
        for source, target in zip(*texts, strict=True):
            number += 1
            first, second, problem = pair_of({found[0]: source, found[1]: target}, *found)
            total += len(first) + len(second)
            if total > limit:
                raise _too_large(name, limit)
            yield first, second, number, problem


def _limit(metadata: FileMetaData, name: str, wanted: list[str], groups: Sequence[int]) -> int:
    """The maximum bytes for the text of some columns and row groups, checked here against their declared size."""
    packed = unpacked = 0
    for row_group in map(metadata.row_group, groups):
        for chunk in map(row_group.column, range(row_group.num_columns)):
            if chunk.path_in_schema.partition(".")[0] in wanted:
                packed += chunk.total_compressed_size
                unpacked += chunk.total_uncompressed_size
    limit = max(LARGEST, RATIO * packed)
    if unpacked > limit:
        raise _too_large(name, limit)
    return limit


def _too_large(name: str, limit: int) -> GlossaError:
    return GlossaError(
        f"{name} cannot be read: its text decompresses to over {limit >> 20} MiB, over {RATIO:,} times its size in "
        "the file. It may be damaged. Write it again, without repeated rows."
    )


def _is_text(kind: pyarrow.DataType) -> bool:
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    types = pyarrow.types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind)


def _texts(column: pyarrow.Array) -> list[str | bytes | None]:
    """The texts of a column, as bytes if not UTF-8. Equal texts are the same object."""
    if pyarrow.types.is_dictionary(column.type):
        values = _texts(column.dictionary)
        return [None if index is None else values[index] for index in column.indices.to_pylist()]
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        return [_decoded(value) for value in column.cast(pyarrow.large_binary()).to_pylist()]


def _decoded(value: bytes | None) -> str | bytes | None:
    try:
        return value if value is None else value.decode()
    except UnicodeDecodeError:
        return value
