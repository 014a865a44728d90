"""Groups of pairs that are drawn, against a search of all groups in plain Python."""

import random
from itertools import pairwise

import numpy
import pytest

from glossa.train.data.cleaning.drawing import Sentences, draw


def place(key, seed):
    """SplitMix64 as in its paper, on Python's numbers."""
    mixed = (key + (seed + 1) * 0x9E3779B97F4A7C15) % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return mixed ^ mixed >> 31


def all_groups(pairs):
    """Every group of pairs, as sorted numbers, by following sentences from pair to pair."""
    by_sentence = {}
    for number, pair in enumerate(pairs):
        for sentence in pair:
            by_sentence.setdefault(sentence, []).append(number)
    seen, groups = set(), []
    for first in range(len(pairs)):
        waiting, group = [first] if first not in seen else [], set()
        while waiting:
            number = waiting.pop()
            if number not in group:
                group.add(number)
                waiting += [other for sentence in pairs[number] for other in by_sentence.pop(sentence, [])]
        if group:
            seen |= group
            groups.append(sorted(group))
    return groups


def expected(pairs, wanted, seed):
    groups = sorted(all_groups(pairs), key=lambda group: place(min(key for row in group for key in pairs[row]), seed))
    drawn = []
    for size in wanted:
        chosen, rest = [], []
        for group in groups:
            fits = len(group) <= size - len(chosen)
            chosen += group if fits else []
            rest += [] if fits else [group]
        groups = rest
        drawn.append(sorted(chosen))
    return drawn


def corpus(generator, size, sentences):
    keys = [generator.randrange(2**64) for _ in range(sentences)]
    return [(generator.choice(keys), generator.choice(keys)) for _ in range(size)]


def parts_of(pairs, cuts):
    bounds = [0, *sorted(cuts), len(pairs)]
    return [
        Sentences(*numpy.array(pairs[start:end], dtype=numpy.uint64).reshape(-1, 2).T)
        for start, end in pairwise(bounds)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_draw_is_that_of_all_groups_in_any_parts(seed):
    generator = random.Random(seed)
    size = generator.choice([3, 40, 400, 3000])
    pairs = corpus(generator, size, int(size * generator.choice([0.8, 2, 5])))
    wanted = [generator.randint(0, size // 10), generator.randint(1, size // 10 + 1)]
    cuts = [generator.randint(0, size) for _ in range(3)]
    drawn = draw(parts_of(pairs, cuts), wanted, seed)
    assert [rows.tolist() for rows in drawn] == expected(pairs, wanted, seed)


def test_the_draw_does_not_depend_on_order_or_direction():
    pairs = corpus(random.Random(1), 500, 900)
    order = random.Random(2).sample(range(500), 500)
    mirrored = [pairs[row][::-1] for row in order]
    first = [{pairs[row] for row in rows} for rows in draw(parts_of(pairs, []), [20, 30], 1)]
    second = [{mirrored[row][::-1] for row in rows} for rows in draw(parts_of(mirrored, [100]), [20, 30], 1)]
    assert first == second
    assert first != [{pairs[row] for row in rows} for rows in draw(parts_of(pairs, []), [20, 30], 2)]


def test_every_group_is_as_likely_as_any_other():
    # Groups of one pair and of four; a rule that starts at a random sentence would prefer the larger ones.
    generator = random.Random(0)
    small = [(generator.randrange(2**64), generator.randrange(2**64)) for _ in range(1000)]
    hubs = [generator.randrange(2**64) for _ in range(1000)]
    pairs = small + [(hub, generator.randrange(2**64)) for hub in hubs for _ in range(4)]
    (rows,) = draw(parts_of(pairs, []), [1000], 1)
    singles = int((rows < 1000).sum())
    assert 170 < singles < 230  # 200 groups of each kind have 1,000 pairs; the standard deviation is about 10
