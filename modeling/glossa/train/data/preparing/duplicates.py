"""Detection of duplicates among all blocks, in parts: a part has all pairs with a hash in its range.

The hash is the one shared by near duplicates, even for sources that keep these, so that equal pairs are in one part.
The files of a part: `.rows.npy`, the numbers over all blocks of the pairs to drop, ascending, int64 (pairs,), and
`.near.npy`, whether each is only a near duplicate, bool (pairs,).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy

from ..cleaning.cleaning import repeated_pairs
from .blocks import load_array

PAIRS = 1_000_000  # approximate number per part


@dataclass(frozen=True)
class CleanedBlock:
    """A finished block.

    Attributes:
        stem: The stem of its files.
        first: The number of its first pair over all blocks.
        pairs: The number of its pairs.
        source: The number of its source.
        near: Whether its source drops near duplicates.
    """

    stem: Path
    first: int
    pairs: int
    source: int
    near: bool


def parts_of(places: Sequence[CleanedBlock]) -> list[tuple[int, int]]:
    """The half-open ranges of hashes of the parts."""
    count = max(sum(place.pairs for place in places) // PAIRS, 1)
    bounds = [number * 2**64 // count for number in range(count + 1)]
    return list(pairwise(bounds))


def find_repeated(places: Sequence[CleanedBlock], part: tuple[int, int], stem: Path) -> dict:
    """Write the files of a part. Of equal pairs, the first in the order of the blocks is kept."""
    groups, keys, rows = (numpy.concatenate(arrays) for arrays in zip(*_members(places, *part), strict=True))
    dropped, near = repeated_pairs(keys, groups, rows)
    numpy.save(f"{stem}.rows.npy", dropped)
    numpy.save(f"{stem}.near.npy", near)
    return {"pairs": len(rows), "dropped": len(dropped)}


def _members(places: Sequence[CleanedBlock], low: int, high: int) -> Iterator[tuple[numpy.ndarray, ...]]:
    yield numpy.zeros(0, numpy.uint64), numpy.zeros(0, numpy.uint64), numpy.zeros(0, numpy.int64)
    for place in places:
        near = load_array(place.stem, "near")
        start = int(numpy.searchsorted(near, numpy.uint64(low)))
        end = int(numpy.searchsorted(near, numpy.uint64(high))) if high < 2**64 else len(near)
        member = load_array(place.stem, "member")[start:end]
        key = load_array(place.stem, "key")[member]
        yield near[start:end] if place.near else key, key, member.astype(numpy.int64) + place.first


def dropped_in(parts: Sequence[Path], first: int, pairs: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The pairs to drop among `pairs` pairs from number `first` on, relative to it, and whether each is a near one."""
    found = [(numpy.zeros(0, numpy.int64), numpy.zeros(0, bool))]
    for stem in parts:
        rows = load_array(stem, "rows")
        start, end = numpy.searchsorted(rows, [first, first + pairs])
        found.append((rows[start:end] - first, load_array(stem, "near")[start:end]))
    rows, near = (numpy.concatenate(arrays) for arrays in zip(*found, strict=True))
    order = numpy.argsort(rows)
    return rows[order], near[order]
