"""Training rows read in place from Parquet files, in random order, without a copy on disk.

A file is divided into blocks of neighboring row groups. An epoch is a random order of the blocks of all sources,
divided into windows. A window is read and shuffled as a whole, so a stream position is a window and an offset in it.
A run resumes there without reading earlier rows or losing a buffer.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy
import pyarrow
import xxhash
from datasets import DatasetDict
from fsspec.core import url_to_fs
from pyarrow.parquet import FileMetaData, ParquetFile

from ....base.caching import cached_tables
from ....base.errors import GlossaError, http_errors
from ....base.paths import file_groups
from ....readers.columns import Row
from ....readers.downloads import local_paths
from ....readers.files import DAMAGE
from ....readers.hub import load_builder
from ....readers.parquet import open_parquet, parquet_rows
from ....readers.rows import generated_rows, raw_row
from ..arguments import DataArguments
from ..cleaning.splitting import repeated
from ..encoding import prepared_ids
from ..encoding.prepared_ids import FEATURES, read_groups
from ..filters import FILTERS, PREFIX
from ..mixture import Source, sources_of, weights
from ..prepared import tokens_of
from ..sources import columns_of, load_held_out, load_source

BLOCK_ROWS = 5_000  # minimum; a block of neighboring row groups takes one request to a server
WINDOW_ROWS = 20_000  # minimum; its tokens are in memory, and a resumed run reads one window again
SAMPLE_ROWS = 200_000  # for vocabulary, statistics and the number of batches
FOOTERS = 16  # read in parallel
# Settings that a stream does not support, with reasons. Duplicates are dropped only in the sample of its rows.
REFUSED = {
    "max_train_samples": "a stream reads all its rows",
    **{f"{PREFIX}{name}": "a stream is not read as a whole" for name, one in FILTERS.items() if one.step == "pairs"},
    "validation_size": "none can be held out of a stream, which is read in parts",
    "test_size": "none can be held out of a stream, which is read in parts",
    "objective": "pretraining needs all pairs at once",
    "alignment_head": "words are aligned in all pairs at once",
    "memory": "matches are looked for in all pairs",
    "both_directions": "its rows are read in one direction",
    "replay": "its pairs are mixed into all pairs of a pass",
}


@dataclass(frozen=True)
class Block:
    """Neighboring row groups: path or URL of the file, indices, rows before them, rows, bytes, index of the source."""

    path: str
    groups: range
    before: int
    rows: int
    size: int
    source: int


def is_stream(arguments: DataArguments) -> bool:
    """Whether training rows are read during training; with `max_train_samples`, they are copied first."""
    return arguments.streaming and arguments.max_train_samples is None


class Stream:
    """The training rows of all sources of checked `DataArguments`, in a random order that depends on seed and epoch.

    Raises `GlossaError` if a source is not in Parquet files or a setting needs all rows at once.
    """

    def __init__(self, arguments: DataArguments):
        self.arguments = arguments
        self.sources: list[Source] = sources_of(arguments)
        self.blocks: list[list[Block]] = []
        for number, source in enumerate(self.sources):
            _check(source.settings)
            self.blocks.append(_blocks(_files(source.settings), number))
        self.rows = [sum(block.rows for block in blocks) for blocks in self.blocks]
        self.tokens = tokens_of(self.sources)
        self.held_out: frozenset[int] = frozenset()  # hashes of sides of evaluation pairs, to exclude
        self.weights = weights(self.rows, self.sources, arguments.sampling_temperature)

    def windows(self, epoch: int, seed: int) -> list[list[Block]]:
        """The windows of an epoch; blocks of a source are repeated or drawn by its weight."""
        chosen: list[Block] = []
        for number, (blocks, weight) in enumerate(zip(self.blocks, self.weights, strict=True)):
            own = repeated(numpy.arange(len(blocks)), weight, (self.arguments.split_seed, number))
            chosen += [blocks[index] for index in own]
        order = numpy.random.default_rng((seed, epoch)).permutation(len(chosen))
        windows: list[list[Block]] = [[]]
        for index in order:
            if sum(block.rows for block in windows[-1]) >= WINDOW_ROWS:
                windows.append([])
            windows[-1].append(chosen[index])
        return windows

    def load_sample(self, number: int) -> DatasetDict:
        """A random sample of the raw rows of a source as "train", and its predefined evaluation splits.

        The sampled share of rows is the same for all sources, in total at most `SAMPLE_ROWS` rows.
        """
        settings, blocks = self.sources[number].settings, self.blocks[number]
        wanted = max(round(self.rows[number] * self.sampled), 1)
        generator = numpy.random.default_rng((self.arguments.split_seed, number))
        order = [blocks[index] for index in generator.permutation(len(blocks))]
        enough = numpy.searchsorted(numpy.cumsum([block.rows for block in order]), wanted) + 1
        chosen = tuple(order[:enough])
        versions = {path: _version(path) for path in {block.path for block in chosen}}
        state = ([(versions[block.path], repr(block.groups)) for block in chosen], repr(columns_of(settings)))
        if self.tokens is None:
            rows = generated_rows(_block_rows, {"blocks": chosen, "settings": settings}, state)
        else:
            rows = cached_tables(_block_tables, {"blocks": chosen}, FEATURES, state, [prepared_ids])
        kept = numpy.sort(generator.choice(len(rows), wanted, replace=False))
        # One training row of a dataset is read as well, since its columns are checked.
        own = load_held_out(settings) if settings.data_path else load_source(replace(settings, max_train_samples=1))
        return DatasetDict({"train": rows.select(kept)} | {name: own[name] for name in own if name != "train"})

    @property
    def sampled(self) -> float:
        """The share of all rows in the samples."""
        return min(SAMPLE_ROWS / sum(self.rows), 1.0)

    def fingerprint(self) -> str:
        """A hash of the sizes of all blocks, independent of file locations."""
        sizes = [(block.rows, block.size) for blocks in self.blocks for block in blocks]
        return xxhash.xxh3_128_hexdigest(repr(sizes).encode())


def block_rows(block: Block, settings: DataArguments) -> Iterator[Row]:
    """The rows of a block, numbered as in its file. Raises `GlossaError` if it cannot be read."""
    footer = _footer(block.path)
    # Prefetched data stays in memory until the file is closed.
    with _open_file(block.path) as file, open_parquet(file, footer, pre_buffer=True) as parquet:
        for source, target, line, problem in parquet_rows(
            parquet, block.path, columns_of(settings), list(block.groups)
        ):
            yield source, target, block.before + line, problem


def block_tables(block: Block, columns: Sequence[str]) -> Iterator[pyarrow.Table]:
    """Columns of the pairs of a block with token ids, by row group. Raises `GlossaError` if it cannot be read."""
    with _open_file(block.path) as file, ParquetFile(file, metadata=_footer(block.path), pre_buffer=True) as parquet:
        yield from read_groups(parquet, block.groups, columns)


def _block_tables(blocks: Sequence[Block]) -> Iterator[pyarrow.Table]:
    for block in blocks:
        yield from block_tables(block, list(FEATURES))


def _block_rows(blocks: Sequence[Block], settings: DataArguments) -> Iterator[dict]:
    for block in blocks:
        for source, target, line, problem in block_rows(block, settings):
            yield raw_row(source, target, line, problem, block.path)  # the file of every row, since rows are sampled


def _check(settings: DataArguments) -> None:
    if settings.max_train_samples is not None:
        raise GlossaError(
            f"max_train_samples of a source is {settings.max_train_samples}, but {REFUSED['max_train_samples']}. "
            "Leave it out, give the source a lower weight, or set streaming to false."
        )
    for name in settings.filters:
        if reason := REFUSED.get(f"{PREFIX}{name}"):
            raise GlossaError(f"{PREFIX}{name} is true, but {reason}. Leave it out, or set streaming to false.")


def _files(settings: DataArguments) -> list[str]:
    """The Parquet files with the training rows of a source: paths or URLs."""
    if settings.data_path:
        groups = file_groups(local_paths(settings.data_path, settings.languages))
        files = [str(path.absolute()) for group in groups for path in group]
    elif settings.dataset in ("embedded", "anki"):
        files = []
    else:
        builder = load_builder(settings.dataset, settings.dataset_config)
        files = [str(path) for path in (builder.config.data_files or {}).get("train", [])]
    others = [path for path in files if not path.lower().endswith(".parquet")]
    if others or not files:
        place = f"{others[0]} is another file" if others else f"dataset {settings.dataset} has none"
        raise GlossaError(
            f"streaming is true, which needs Parquet files, but {place}. Set streaming to false to copy the rows to "
            "the cache once. Or convert the files: datasets.load_dataset(...).to_parquet(...)."
        )
    return files


def _blocks(files: Sequence[str], source: int) -> list[Block]:
    with ThreadPoolExecutor(FOOTERS) as pool:
        footers = list(pool.map(_footer, files))
    blocks = []
    for path, footer in zip(files, footers, strict=True):
        first = before = rows = size = 0
        for group in range(footer.num_row_groups):
            rows += footer.row_group(group).num_rows
            size += footer.row_group(group).total_byte_size
            if rows >= BLOCK_ROWS or (rows and group == footer.num_row_groups - 1):
                blocks.append(Block(path, range(first, group + 1), before, rows, size, source))
                first, before, rows, size = group + 1, before + rows, 0, 0
    if not blocks:
        raise GlossaError(f"{files[0]} has no rows. Give files with at least one pair.")
    return blocks


def _version(path: str) -> str:
    """A hash of the path, size and modification time of a file, or of its version on the Hub."""
    system, name = url_to_fs(path)
    return system.ukey(name)


@lru_cache(maxsize=10_000)
def _footer(path: str) -> FileMetaData:
    with _open_file(path) as file, ParquetFile(file) as parquet:
        return parquet.metadata


@contextmanager
def _open_file(path: str) -> Iterator[Any]:
    """Open a file. Raises `GlossaError` if it cannot be read within the context."""
    try:
        system, name = url_to_fs(path)
        with system.open(name, "rb", cache_type="none") as file:  # Parquet reads exactly what it needs
            yield file
    except (*DAMAGE, *http_errors()) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise GlossaError(
            f"{path} cannot be read: {reason}. Check the connection and whether the file is damaged. Continue a run "
            "that has checkpoints with --resume_from_checkpoint true."
        ) from error
