"""Normalization of sentences for comparison, and splits of pairs without shared sentences."""

import logging
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy
import xxhash
from datasets import Dataset, DatasetDict, Features, Value, concatenate_datasets

from ....base.caching import cached_map
from ....base.errors import GlossaError
from ....base.paths import file_groups, is_table
from ....readers.columns import Columns, set_aside
from ....readers.downloads import local_paths
from ....readers.rows import read_files
from ..arguments import DataArguments
from ..sources import columns_of
from .drawing import Sentences, draw

logger = logging.getLogger(__name__)

# Default sizes of a split: public test sets have 1,000 to 3,000 pairs, and scores of under 500 pairs are unreliable.
SMALLEST_SPLIT, LARGEST_SPLIT = 500, 2000
_DIGITS = re.compile(r"\d+")
_KEYS = Features({"source": Value("uint64"), "target": Value("uint64")})


_IGNORED_CATEGORIES = {"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs", "Zl", "Zp", "Cc", "Cf"}


class _Ignored(dict):
    """Table for `str.translate` that deletes punctuation (P), separators (Z), control and format characters (C)."""

    def __missing__(self, point: int) -> int | None:
        # Filled on demand, since a table of all of Unicode takes half a second at each start.
        self[point] = None if unicodedata.category(chr(point)) in _IGNORED_CATEGORIES else point
        return self[point]


_IGNORED = _Ignored()


@lru_cache(maxsize=8)  # several filters normalize the sides of the same pair
def normalize_side(text: str) -> str:
    """Normalize a sentence for comparison: NFKC, case-folded, without punctuation and white space.

    "Go!" equals "go .". Text that consists only of punctuation is unchanged.
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_IGNORED) or text


def split_by_component(
    dataset: Dataset, validation_size: float | None, test_size: float | None, seed: int
) -> DatasetDict:
    """Split pairs (columns `source`, `target`) into "train", "validation" and "test", as in [`hold_out`]."""
    chosen = hold_out([Sentences(*side_keys(dataset))], validation_size, test_size, seed)
    return DatasetDict({name: dataset.select(rows) for name, rows in chosen.items()})


def hold_out(
    parts: Sequence[Sentences], validation_size: float | None, test_size: float | None, seed: int
) -> dict[str, numpy.ndarray]:
    """The numbers, over all `parts`, of the pairs for "train", "validation" and "test", which share no sentence.

    A size below 1 is a share of the pairs (at least one pair), a size from 1 a number of pairs, 0 means no split, and
    None is one pair in a hundred, but at least 500 (or one in ten, if these are fewer) and at most 2,000. `seed`
    determines the selection, see [`glossa.train.data.cleaning.drawing`]. Splits keep the order of the pairs. Raises
    `GlossaError` if there are too few pairs, or they are too connected.
    """
    total = sum(map(len, parts))
    wanted = wanted_sizes(total, validation_size, test_size)
    drawn = draw(parts, list(wanted.values()), seed)
    for (name, size), rows in zip(wanted.items(), drawn, strict=True):
        if size and not len(rows):
            raise GlossaError(
                f"No pair is left for the {name} split: of the {total} pairs, those that share a sentence stay "
                f"together, and no such group of at most {size} is left. Give more varied pairs, change the sizes, or "
                f"set {name}_path."
            )
    splits = {"train": numpy.setdiff1d(numpy.arange(total), numpy.concatenate(drawn), assume_unique=True)}
    splits |= {name: rows for name, rows in zip(wanted, drawn, strict=True) if wanted[name]}
    logger.info("split: %s", {name: len(part) for name, part in splits.items()})
    return splits


def wanted_sizes(total: int, validation_size: float | None, test_size: float | None) -> dict[str, int]:
    """The numbers of pairs to hold out of `total`. Raises `GlossaError` if none is left for training."""
    wanted = {"validation": _count(validation_size, total), "test": _count(test_size, total)}
    if total < 1 + sum(wanted.values()):
        raise GlossaError(
            f"{total} pairs are too few to hold out {wanted['validation']} for validation and "
            f"{wanted['test']} for test and train on the rest. Give more pairs, or lower "
            "validation_size and test_size (0: no split)."
        )
    return wanted


def without_digits(side: str) -> str:
    """A normalized side without digits, for the comparison of near duplicates."""
    return _DIGITS.sub("", side)


def sample_rows(rows: Dataset, count: int | None, seed: int) -> Dataset:
    """`count` random rows in order, or all for None. Not the first rows, which are the shortest in a sorted file."""
    if count is None or count >= len(rows):
        return rows
    chosen = numpy.random.default_rng(seed).choice(len(rows), count, replace=False)
    return rows.select(numpy.sort(chosen))


def repeated(rows: numpy.ndarray, weight: float, seed: Sequence[int]) -> numpy.ndarray:
    """Repeat or draw `rows` by `weight`, in order: 2 repeats all, 1.5 a random half. At least one row is kept."""
    if not len(rows):
        return rows
    whole = int(weight)
    rest = round((weight - whole) * len(rows)) or (whole == 0)
    again = numpy.random.default_rng(seed).choice(rows, int(rest), replace=False)
    return numpy.sort(numpy.concatenate([numpy.repeat(rows, whole), again]))


def _count(size: float | None, total: int) -> int:
    if size is None:
        return min(max(_count(0.01, total), min(SMALLEST_SPLIT, _count(0.1, total))), LARGEST_SPLIT)
    return int(size) if size >= 1 else max(1, round(size * total)) if size else 0


def side_keys(dataset: Dataset) -> tuple[numpy.ndarray, numpy.ndarray]:
    """64-bit hashes of the normalized sides, two uint64 (pairs,). A collision only joins two groups."""
    keys = cached_map(
        dataset,
        hash_sides,
        remove_columns=dataset.column_names,
        features=_KEYS,
        desc="comparing sides",
    )
    return keys.data.column("source").to_numpy(), keys.data.column("target").to_numpy()


def hash_sides(batch: dict) -> dict:
    """64-bit hashes of the normalized sides of a batch of pairs."""
    digest = xxhash.xxh3_64_intdigest
    return {
        side: numpy.array([digest(normalize_side(text).encode()) for text in batch[side]], dtype=numpy.uint64)
        for side in _KEYS
    }


def held_out_sides(dataset: DatasetDict) -> frozenset[int]:
    """The 64-bit hashes of the normalized sides of all evaluation pairs."""
    keys = (side_keys(rows) for name, rows in dataset.items() if name != "train")
    return frozenset(int(key) for sides in keys for side in sides for key in side)


def check_overlap(
    dataset: DatasetDict, train: tuple[numpy.ndarray, numpy.ndarray] | None = None
) -> dict[str, dict[str, int]]:
    """Count the pairs of each evaluation split with a normalized side that occurs in training: {split: {side: count}}.

    `train` has the [`side_keys`] of the training pairs, by default of those in `dataset`. Warns if there are such
    pairs, since they can inflate scores.
    """
    keys = train or side_keys(dataset["train"])
    if any("language" in rows.column_names for rows in dataset.values()):
        keys = (numpy.concatenate(keys),) * 2
    known = dict(zip(_KEYS, keys, strict=True))
    overlap = {}
    for split in [name for name in dataset if name != "train"]:
        held_out = dict(zip(_KEYS, side_keys(dataset[split]), strict=True))
        overlap[split] = {side: int(numpy.isin(held_out[side], known[side]).sum()) for side in _KEYS}
        if any(overlap[split].values()):
            logger.warning(
                "%s: of %d pairs, %d sources and %d targets also occur in training; this can inflate scores.",
                split,
                len(dataset[split]),
                overlap[split]["source"],
                overlap[split]["target"],
            )
    return overlap


def excluded_sides(arguments: DataArguments) -> frozenset[int]:
    """The 64-bit hashes of all normalized sentences in the files of the filter `exclude`.

    Files other than tables are read as lines of text. Raises `GlossaError` if a row cannot be read, since its sentence
    would stay in training.
    """
    found, entries = set(), local_paths(arguments.filters.get("exclude", []), arguments.languages)
    parts = []
    for path in [path for entry in entries for group in file_groups([entry]) for path in group]:
        lines = Columns((), lines=True)
        parts.append(read_files([path], columns_of(arguments) if is_table(path) else lines, None))
    for row in concatenate_datasets(parts) if parts else ():
        if row["problem"] and not set_aside(row["problem"]):
            raise GlossaError(
                f"filters.exclude: {row['file']}, line {row['line']}: {row['problem']}: {row['source'][:80]!r}. "
                "Correct the row: its sentence would stay in training."
            )
        found |= {
            normalize_side(row[side]) for side in ("source", "target") if row[side].strip() and not row["problem"]
        }
    return frozenset(xxhash.xxh3_64_intdigest(side.encode()) for side in found)
