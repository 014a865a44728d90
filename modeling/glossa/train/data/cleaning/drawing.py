"""Random selection of validation and test pairs, in groups that share no sentence with other pairs.

A sentence often has several translations, so with randomly selected pairs many test sources would occur in training.
Therefore pairs that share a sentence are connected in a graph, and whole connected components, called groups, are
drawn. Groups are ordered by a hash of the seed and their smallest sentence, where sentences are ordered by their
hashes. So the first groups are found from their sentences alone, without computing all groups: a billion pairs need no
more memory than a million. The selection is the same for both directions of a corpus, any order of its pairs, and any
number of parts.
"""

from collections.abc import Sequence

import numpy
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

LARGEST = numpy.uint64(2**64 - 1)
CANDIDATES = 8  # initial number of sentences per wanted pair; most groups have two or three sentences


class Sentences:
    """The sentences of pairs, as hashes, with an index from sentences to pairs.

    Attributes:
        sources: Hash of the source of each pair, uint64 (pairs,).
        targets: Hash of the target of each pair, uint64 (pairs,).
        sorted: The hashes of both sides in ascending order, uint64 (2 * pairs,).
        rows: The pair of each of these, int64 (2 * pairs,).
    """

    def __init__(self, sources, targets, sorted=None, rows=None):
        self.sources, self.targets = sources, targets
        if sorted is None:
            both = numpy.concatenate([sources, targets])
            order = numpy.argsort(both, kind="stable")
            sorted, rows = both[order], order % max(len(sources), 1)
        self.sorted, self.rows = sorted, rows

    def __len__(self) -> int:
        return len(self.sources)

    def pairs_with(self, wanted: numpy.ndarray) -> numpy.ndarray:
        """The distinct pairs with one of the `wanted` sentences on either side, in order."""
        first = numpy.searchsorted(self.sorted, wanted, "left")
        counts = numpy.searchsorted(self.sorted, wanted, "right") - first
        within = numpy.arange(counts.sum()) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
        return numpy.unique(self.rows[numpy.repeat(first, counts) + within])

    def candidates(self, bound: numpy.uint64, seed: int) -> numpy.ndarray:
        """The distinct sentences whose place in the order is at most `bound`."""
        found = self.sorted[places_of(self.sorted, seed) <= bound]
        return numpy.unique(found)


def draw(parts: Sequence[Sentences], wanted: Sequence[int], seed: int) -> list[numpy.ndarray]:
    """Draw pairs for each of the `wanted` sizes; returns their numbers over all parts, in order.

    Groups that no longer fit are skipped, so no size is exceeded. A size is reached if enough small groups are left.
    """
    total = sum(map(len, parts))
    share = CANDIDATES * sum(wanted) / max(2 * total, 1)
    while True:
        bound = LARGEST if share >= 1 else numpy.uint64(share * float(LARGEST))
        drawn = _fill(_groups(parts, bound, max(wanted, default=0), seed), wanted)
        if share >= 1 or [len(rows) for rows in drawn] == list(wanted):
            return drawn
        share *= 4


def _fill(groups: list[numpy.ndarray], wanted: Sequence[int]) -> list[numpy.ndarray]:
    drawn = []
    for number in wanted:
        chosen: list[numpy.ndarray] = []
        left, others = number, []
        for group in groups:
            if len(group) <= left:
                chosen.append(group)
                left -= len(group)
            else:
                others.append(group)
        groups = others
        drawn.append(numpy.sort(numpy.concatenate([numpy.zeros(0, numpy.int64), *chosen])))
    return drawn


def _groups(parts: Sequence[Sentences], bound: numpy.uint64, largest: int, seed: int) -> list[numpy.ndarray]:
    """The groups of at most `largest` pairs with a place of at most `bound`, in order, as pair numbers."""
    frontier = _union(part.candidates(bound, seed) for part in parts)
    known = frontier
    rows = numpy.zeros(0, numpy.int64)
    ends = numpy.zeros((2, 0), numpy.uint64)
    label = numpy.zeros(0, numpy.int64)
    while len(frontier):
        rows, ends = _with_pairs(parts, frontier, rows, ends)
        sentences, places = numpy.unique(ends, return_inverse=True)
        links = places.reshape(2, -1)
        size = (len(sentences), len(sentences))
        graph = coo_array((numpy.ones(len(rows), dtype=numpy.int8), (links[0], links[1])), shape=size)
        _, group_of = connected_components(graph, directed=False)
        label = group_of[links[0]]
        small = numpy.bincount(label, minlength=len(sentences))[group_of] <= largest
        # Groups that are too large are not expanded further.
        frontier = numpy.setdiff1d(sentences[small], known, assume_unique=True)
        known = numpy.union1d(known, frontier)
    return _ordered(rows, ends.min(0), label, bound, largest, seed)


def _with_pairs(parts, frontier, rows, ends) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Add the pairs with a sentence of the frontier to `rows` and their two `ends`."""
    numbers, sides, start = [rows], [ends], 0
    for part in parts:
        found = part.pairs_with(frontier)
        numbers.append(found + start)
        sides.append(numpy.stack([part.sources[found], part.targets[found]]))
        start += len(part)
    together = numpy.concatenate(numbers)
    rows, first = numpy.unique(together, return_index=True)
    return rows, numpy.concatenate(sides, axis=1)[:, first]


def _ordered(rows, smallest, label, bound, largest, seed) -> list[numpy.ndarray]:
    if not len(rows):
        return []
    order = numpy.argsort(label, kind="stable")
    starts = numpy.flatnonzero(numpy.diff(label[order], prepend=-1))
    places = places_of(numpy.minimum.reduceat(smallest[order], starts), seed)
    groups = numpy.split(rows[order], starts[1:])
    chosen = [number for number in numpy.argsort(places) if places[number] <= bound and len(groups[number]) <= largest]
    return [groups[number] for number in chosen]


def _union(arrays) -> numpy.ndarray:
    return numpy.unique(numpy.concatenate([numpy.zeros(0, numpy.uint64), *arrays]))


def places_of(keys: numpy.ndarray, seed: int) -> numpy.ndarray:
    """The distinct places of hashes in the order of a seed, by SplitMix64 (Steele et al. 2014)."""
    with numpy.errstate(over="ignore"):
        mixed = keys + numpy.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
        mixed = (mixed ^ (mixed >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> numpy.uint64(31))
