"""Which stages the table advises, and how the hours are divided."""

import pytest

from glossa.train.stages.table import MEASURED, Measured, best, parts

CELLS = (
    Measured(30_000, 1, "both", "a"),
    Measured(30_000, 3, "both,diversify", "b"),
    Measured(100_000, 3, "plain", "c"),
)


@pytest.mark.parametrize(
    ("pairs", "hours", "row"),
    [(30_000, 1, "a"), (15_000, 0.5, "a"), (14_999, 1, None), (30_000, 1.9, "b"), (30_000, 0.4, None),
     (90_000, 3, "c"), (201_000, 3, None), (30_000, None, None)],
)  # fmt: skip
def test_the_nearest_cell_counts_within_a_factor_of_two(pairs, hours, row):
    found = best(pairs, hours, CELLS)
    assert (found and found.row) == row


def test_nothing_is_advised_without_a_measurement():
    assert all(cell.row for cell in MEASURED) and best(30_000, 1, ()) is None


def test_every_stage_has_its_part_of_the_hours():
    plan = list(parts(("both", "back", "diversify")))
    assert [(part.number, part.name) for part in plan] == [(1, "both"), (2, "back"), (3, "diversify"), (4, "last")]
    assert [part.end for part in plan] == pytest.approx([0.4, 0.4 + 0.2 / 3, 0.6, 1])
    assert [part.end for part in parts(("both",))] == [0.4, 1]
