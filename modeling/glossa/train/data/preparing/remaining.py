"""The third stage: the pairs of a block without duplicates and unaligned pairs, sorted for drawing and writing.

The files of a block, by suffix:

    .rows.npy     the remaining pairs of the block, int64 (remaining,)
    .sides.npy    hashes of their sides, uint64 (2, remaining)
    .sorted.npy   these hashes in ascending order, uint64 (2 * remaining,)
    .owners.npy   the pair of each of these, among the remaining ones, int64 (2 * remaining,)
    .places.npy   the places of the pairs in the order of writing, ascending, uint64 (remaining,)
    .members.npy  the pair of each of these, among the remaining ones, int64 (remaining,)
    .dropped.npy  the other pairs of the block, ascending, int64 (dropped,)
    .reasons.npy  the reason of each of these, by its number in `DEPENDENT`, uint8 (dropped,)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from ..cleaning.alignment import Alignment
from ..cleaning.cleaning import DEPENDENT, Cleaning, judged_pairs
from ..cleaning.drawing import Sentences, places_of
from ..cleaning.report import example
from .blocks import load_array, read_pairs
from .duplicates import CleanedBlock, dropped_in


@dataclass(frozen=True)
class Remaining:
    """The results of earlier stages that determine the remaining pairs of a block.

    Attributes:
        parts: The stems of the files of duplicates.
        alignments: The alignment models by number of the source, for sources with the filter `alignment`.
        starts: The number in the source of a block's first distinct pair, by stem, for blocks of such sources.
        cleanings: The cleaning rules of each source.
        seed: The seed of the order of writing.
    """

    parts: Sequence[Path]
    alignments: Mapping[int, Alignment]
    starts: Mapping[Path, int]
    cleanings: Sequence[Cleaning]
    seed: int


def distinct_rows(parts: Sequence[Path], block: CleanedBlock) -> numpy.ndarray:
    """The pairs of a block that are not duplicates of earlier pairs."""
    return numpy.setdiff1d(numpy.arange(block.pairs), dropped_in(parts, block.first, block.pairs)[0])


def find_remaining(given: Remaining, block: CleanedBlock, stem: Path) -> dict:
    """Write the files of a block; returns counts and examples of dropped pairs."""
    repeated, near = dropped_in(given.parts, block.first, block.pairs)
    rows = numpy.setdiff1d(numpy.arange(block.pairs), repeated, assume_unique=True)
    cleaning, dropped = given.cleanings[block.source], {"duplicates": repeated[~near]}
    if cleaning.rules.near_duplicates:
        dropped["near_duplicates"] = repeated[near]
    if block.source in given.alignments:
        table = read_pairs(block.stem, rows)
        numbers = range(given.starts[block.stem], given.starts[block.stem] + len(rows))
        texts = [table.column(side).to_pylist() for side in ("source", "target")]
        aligned = given.alignments[block.source].scores(texts[0], texts[1], numbers) >= 0
        dropped["alignment"], rows = rows[~aligned], rows[aligned]
    sentences = Sentences(*load_array(block.stem, "sides")[:, rows])
    places = places_of(load_array(block.stem, "key")[rows], given.seed)
    order = numpy.argsort(places)
    others = numpy.concatenate(list(dropped.values()))
    reasons = numpy.repeat([DEPENDENT.index(reason) for reason in dropped], [len(found) for found in dropped.values()])
    arrays = {
        "rows": rows,
        "sides": numpy.stack([sentences.sources, sentences.targets]),
        "sorted": sentences.sorted,
        "owners": sentences.rows,
        "places": places[order],
        "members": order,
        "dropped": numpy.sort(others),
        "reasons": reasons[numpy.argsort(others)].astype(numpy.uint8),
    }
    for name, array in arrays.items():
        numpy.save(f"{stem}.{name}.npy", array)
    repaired = rows[read_pairs(block.stem, rows, ["repaired"]).column("repaired").to_numpy().astype(bool)]

    def examples(chosen: numpy.ndarray, reason: str) -> list[dict]:
        pairs = read_pairs(block.stem, chosen, ["source", "target", "line", "file"]).to_pylist()
        return [example(pair, reason, cleaning.name) for pair in pairs]

    return judged_pairs(dropped, len(rows), repaired, examples)


def sentences_of(stem: Path) -> Sentences:
    """The sentences of the remaining pairs of a block, memory-mapped."""
    sources, targets = load_array(stem, "sides")
    return Sentences(sources, targets, load_array(stem, "sorted"), load_array(stem, "owners"))
