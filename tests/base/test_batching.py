"""Batches by token budget: all rows, within the budget, shuffled by seed and epoch, equal in number."""

import itertools

import numpy as np
import pytest

from glossa.base.batching import TokenBatchSampler


@pytest.fixture
def lengths():
    generator = np.random.default_rng(7)
    source = generator.integers(2, 40, 3000)
    return source, np.clip(source + generator.integers(-4, 5, 3000), 2, None)


def rows_of(sampler):
    return [row for batch in sampler for row in batch]


def test_an_epoch_has_every_row_once(lengths):
    sampler = TokenBatchSampler(*lengths, batch_tokens=400)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        assert sorted(rows_of(sampler)) == list(range(3000))


def test_no_batch_exceeds_the_budget_on_either_side(lengths):
    source, target = lengths
    for batch in TokenBatchSampler(source, target, batch_tokens=400):
        assert len(batch) * max(source[batch].max(), target[batch].max()) <= 400


def test_a_row_longer_than_the_budget_is_a_batch_of_its_own():
    batches = sorted(TokenBatchSampler([5, 900, 5], [5, 5, 5], batch_tokens=10))
    assert [1] in batches
    assert sorted(row for batch in batches for row in batch) == [0, 1, 2]


@pytest.mark.parametrize("batches", [1, 4])
def test_no_rows_make_no_batches(batches):
    sampler = TokenBatchSampler([], [], batch_tokens=10, batches_a_step=batches)
    assert (list(sampler), len(sampler), sampler.padding()) == ([], 0, 0.0)


def test_batches_by_hand():
    # Budget 12: three rows of length 4 fill a batch; the fourth and the row of 6 make 2 x 6 = 12.
    sampler = TokenBatchSampler([4, 4, 4, 4, 6], [4, 4, 4, 4, 6], batch_tokens=12)
    assert sorted(map(len, sampler)) == [2, 3]
    # Padding: the batch of 4 and 6 has one row padded by 2 on each side; 4 of 2 x (12 + 12) tokens.
    assert sampler.padding() == pytest.approx(4 / 48)
    # Rows with targets of 4 and 5 may be swapped, so each counts as 5: two make 10, three would make 15.
    assert sorted(map(len, TokenBatchSampler([4] * 5, [4, 4, 5, 4, 4], batch_tokens=14))) == [1, 2, 2]
    # So do rows that stand before the longest: three of 4 fill the budget, but the fourth may take the place of one.
    assert sorted(map(len, TokenBatchSampler([2] * 4, [4, 4, 4, 5], batch_tokens=12))) == [2, 2]


def test_a_batch_mixes_two_target_lengths():
    sampler = TokenBatchSampler([10] * 400, [10, 11] * 200, batch_tokens=220)
    for batch in sampler:
        assert {row % 2 for row in batch} == {0, 1}


@pytest.mark.parametrize("batches", [2, 4])
def test_the_batches_of_a_step_cover_all_lengths(lengths, batches):
    source, target = lengths
    sampler = TokenBatchSampler(source, target, batch_tokens=300, batches_a_step=batches)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        parts = [target[np.concatenate(list(sampler)[part::batches])] for part in range(batches)]
        for shorter, longer in itertools.pairwise(parts):
            assert shorter.max() <= longer.min() + 1  # the sampler joins two neighboring lengths
    # The batches of one part are shuffled.
    first = [int(target[batch].min()) for batch in list(sampler)[::batches]]
    assert first != sorted(first)


def test_epochs_differ_in_order_but_not_in_number_of_batches(lengths):
    sampler = TokenBatchSampler(*lengths, batch_tokens=300)
    epochs = []
    for epoch in range(4):
        sampler.set_epoch(epoch)
        epochs.append(list(sampler))
    assert {len(batches) for batches in epochs} == {len(sampler)}
    assert epochs[0] != epochs[1]
    assert {frozenset(b) for b in epochs[0]} != {frozenset(b) for b in epochs[1]}, "composition varies too"


def test_seed_and_epoch_determine_the_order(lengths):
    first, same = TokenBatchSampler(*lengths, 300, seed=3), TokenBatchSampler(*lengths, 300, seed=3)
    other = TokenBatchSampler(*lengths, 300, seed=4)
    for sampler in (first, same, other):
        sampler.set_epoch(5)
    assert list(first) == list(same)
    assert list(first) != list(other)


@pytest.mark.parametrize("processes", [2, 3, 8])
def test_batches_divide_among_processes_without_repeating_or_dropping(lengths, processes):
    sampler = TokenBatchSampler(*lengths, batch_tokens=300, batches_a_step=processes)
    assert len(sampler) % processes == 0
    assert sorted(rows_of(sampler)) == list(range(3000))
    plain = TokenBatchSampler(*lengths, batch_tokens=300)
    assert 0 <= len(sampler) - len(plain) < processes


def test_padding_equals_that_of_the_batches(lengths):
    source, target = lengths
    sampler = TokenBatchSampler(source, target, batch_tokens=300)
    real = source.sum() + target.sum()
    padded = sum(len(batch) * (source[batch].max() + target[batch].max()) for batch in sampler)
    assert sampler.padding() == pytest.approx(1 - real / padded)
    assert sampler.padding() < 0.15


def test_a_batch_at_the_border_of_two_target_lengths_has_similar_sources():
    # Sources fall for targets of 2 tokens and rise for those of 4: 9, 1, then 1, 9. The short ones share a batch.
    batches = list(TokenBatchSampler([1, 9, 1, 9], [2, 2, 4, 4], 9))
    assert sorted(map(sorted, batches)) == [[0, 2], [1], [3]]


@pytest.mark.parametrize(("processes", "accumulated"), [(2, 1), (2, 2), (3, 1), (4, 2)])
def test_the_batches_of_a_step_are_dealt_evenly(lengths, processes, accumulated):
    target, size = lengths[1], processes * accumulated
    dealt = TokenBatchSampler(*lengths, batch_tokens=300, batches_a_step=size, processes=processes)
    plain = TokenBatchSampler(*lengths, batch_tokens=300, batches_a_step=size)
    for epoch in (0, 1):
        dealt.set_epoch(epoch)
        plain.set_epoch(epoch)
        steps, same = ([list(s)[k : k + size] for k in range(0, len(s), size)] for s in (dealt, plain))
        for step, other in zip(steps, same, strict=True):  # the same batches in every step, in another order
            assert sorted(step) == sorted(other)
        loads = np.zeros((len(steps), processes))
        for number, step in enumerate(steps):
            for place, batch in enumerate(step):
                loads[number, place % processes] += target[batch].sum()
        whole = loads.sum(0)
        shares = dealt.imbalance()
        assert shares["epoch"] == pytest.approx(whole.max() / whole.mean() - 1)
        assert shares["step"] == pytest.approx((loads.max(1) / loads.mean(1) - 1).mean())
        assert shares["epoch"] < 0.01 <= plain_imbalance(plain, target, processes)


def plain_imbalance(sampler, target, processes):
    """Of batches that are not dealt by their tokens."""
    tokens = [target[batch].sum() for batch in sampler]
    loads = [sum(tokens[process::processes]) for process in range(processes)]
    return max(loads) / np.mean(loads) - 1


def test_dealing_by_hand():
    sampler = TokenBatchSampler([], [], 10, batches_a_step=3, processes=3)
    # The largest go to the processes that have the fewest tokens: 12, 8 and 4, then 4, 8 and 12 for the same three.
    assert sampler._deal([0, 1, 2, 3, 4, 5], np.array([4, 8, 12, 4, 8, 12])) == [2, 1, 0, 3, 4, 5]
    # Two batches for each of two processes: 4 and 1, 3 and 2.
    sampler = TokenBatchSampler([], [], 10, batches_a_step=4, processes=2)
    assert sampler._deal([0, 1, 2, 3], np.array([1, 2, 3, 4])) == [3, 2, 0, 1]


@pytest.mark.parametrize("batches", [1, 4])
def test_new_lengths_make_as_many_batches(lengths, batches):
    source, target = lengths
    sampler = TokenBatchSampler(source, target, batch_tokens=400, batches_a_step=batches)
    before = len(sampler)
    sampler.add_batches(0.02)
    count = len(sampler)
    assert 1.01 * before < count < 1.03 * before + batches and count % batches == 0
    for change in (1, -1):  # a few tokens more, or less
        longer = source + change * (np.arange(3000) % 20 == 0)
        sampler.set_lengths(longer, target)
        found = list(sampler)
        assert len(found) == len(sampler) == count
        assert sorted(row for batch in found for row in batch) == list(range(3000))
        assert max(len(rows) * max(longer[rows].max(), target[rows].max()) for rows in found) <= 400


def test_much_longer_rows_make_larger_batches_not_more(lengths):
    source, target = lengths
    sampler = TokenBatchSampler(source, target, batch_tokens=400)
    count = len(sampler)
    sampler.set_lengths(2 * source, 2 * target)
    assert len(list(sampler)) == count
    sampler.set_lengths(source, target)
    again = TokenBatchSampler(source, target, batch_tokens=400)
    assert list(sampler) == list(again)


def test_batches_of_single_rows_are_not_cut():
    sampler = TokenBatchSampler([5, 5], [5, 5], batch_tokens=5)
    sampler.add_batches(1.0)
    assert len(sampler) == 2


def test_each_epoch_draws_other_rows_of_the_pool_until_all_were_drawn():
    lengths = [3 + row % 9 for row in range(40)]
    sampler = TokenBatchSampler(lengths, lengths, batch_tokens=30, pool=30, drawn=12)
    sampler.add_batches(0.2)
    epochs = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(batches) == len(sampler)
        rows = sorted(row for batch in batches for row in batch)
        assert rows[-10:] == list(range(30, 40)) and len(rows) == len(set(rows)) == 22
        epochs.append(set(rows[:-10]))
    assert not epochs[0] & epochs[1] and epochs[0] | epochs[1] | epochs[2] == set(range(30))
    sampler.set_epoch(0)
    assert {row for batch in sampler for row in batch if row < 30} == epochs[0]


def test_a_pool_that_is_too_small_is_drawn_whole():
    sampler = TokenBatchSampler([4] * 9, [4] * 9, batch_tokens=8, pool=3, drawn=7)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        assert sorted(row for batch in sampler for row in batch) == list(range(9))
