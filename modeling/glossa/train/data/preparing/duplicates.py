"""Repeated pairs among all blocks, found in parts: a part has all pairs whose hash is in its range.

It is the hash that nearly equal pairs share, also for sources that keep these: equal pairs are then in the same part.

The files of a part, after its stem: `.rows.npy`, the numbers of the pairs to drop in ascending order, where pairs are
numbered over all blocks, int64 (pairs,), and `.near.npy`, whether each is only nearly repeated, bool (pairs,).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy

from ..cleaning.cleaning import repeated_pairs
from .blocks import load_array

PAIRS = 1_000_000  # of a part, about


@dataclass(frozen=True)
class Cleaned:
    """A finished block.

    Attributes:
        stem: The stem of its files.
        first: The number of its first pair over all blocks.
        pairs: How many it has.
        source: The number of its source.
        near: Whether its source drops nearly equal pairs.
    """

    stem: Path
    first: int
    pairs: int
    source: int
    near: bool


def parts_of(places: Sequence[Cleaned]) -> list[tuple[int, int]]:
    """The ranges of hashes of the parts: from the first up to, but without, the second."""
    count = max(sum(place.pairs for place in places) // PAIRS, 1)
    bounds = [number * 2**64 // count for number in range(count + 1)]
    return list(pairwise(bounds))


def find_repeated(places: Sequence[Cleaned], part: tuple[int, int], stem: Path) -> dict:
    """Write the files of a part. Of equal pairs the first one stays, in the order of the blocks."""
    groups, keys, rows = (numpy.concatenate(arrays) for arrays in zip(*_members(places, *part), strict=True))
    dropped, near = repeated_pairs(keys, groups, rows)
    numpy.save(f"{stem}.rows.npy", dropped)
    numpy.save(f"{stem}.near.npy", near)
    return {"pairs": len(rows), "dropped": len(dropped)}


def _members(places: Sequence[Cleaned], low: int, high: int) -> Iterator[tuple[numpy.ndarray, ...]]:
    yield numpy.zeros(0, numpy.uint64), numpy.zeros(0, numpy.uint64), numpy.zeros(0, numpy.int64)
    for place in places:
        near = load_array(place.stem, "near")
        start = int(numpy.searchsorted(near, numpy.uint64(low)))
        end = int(numpy.searchsorted(near, numpy.uint64(high))) if high < 2**64 else len(near)
        member = load_array(place.stem, "member")[start:end]
        key = load_array(place.stem, "key")[member]
        yield near[start:end] if place.near else key, key, member.astype(numpy.int64) + place.first


def dropped_in(parts: Sequence[Path], first: int, pairs: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The pairs to drop among `pairs` pairs from number `first` on, counted from there, and whether only nearly."""
    found = [(numpy.zeros(0, numpy.int64), numpy.zeros(0, bool))]
    for stem in parts:
        rows = load_array(stem, "rows")
        start, end = numpy.searchsorted(rows, [first, first + pairs])
        found.append((rows[start:end] - first, load_array(stem, "near")[start:end]))
    rows, near = (numpy.concatenate(arrays) for arrays in zip(*found, strict=True))
    order = numpy.argsort(rows)
    return rows[order], near[order]
