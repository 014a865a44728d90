"""Which stages the table advises, and how the hours are divided."""

import json
from pathlib import Path

import pytest

from glossa.train.stages.table import MEASURED, Measured, best, parts

RESULTS = Path(__file__).parents[3] / "docs" / "results.json"
CELLS = (
    Measured(30_000, 1, "both", "a"),
    Measured(30_000, 3, "both,diversify", "b"),
    Measured(100_000, 3, "plain", "c"),
)


@pytest.mark.parametrize(
    ("pairs", "hours", "row"),
    [(30_000, 1, "a"), (15_000, 0.5, "a"), (14_999, 1, None), (30_000, 1.9, "b"), (30_000, 0.4, None),
     (90_000, 3, "c"), (201_000, 3, None), (30_000, None, None), (40_000, 20, "b"), (20_000, 2, "b")],
)  # fmt: skip
def test_the_nearest_cell_counts_with_half_of_its_hours_or_more(pairs, hours, row):
    found = best(pairs, hours, CELLS)
    assert (found and found.row) == row


def gain_of(cell, results):
    """The gain of a cell's row over plain training of the same hours, in the mean of the seeds of both."""
    scores = []
    for name in (cell.row, f"{cell.row.partition(': ')[0]}: plain"):
        own = [result for result in results if result["row"] == name]
        scores.append({result["seed"]: result["metrics"]["validation"]["chrf"] for result in own})
        assert scores[-1], f"{name} is not in docs/results.json"
    row, plain = scores
    seeds = row.keys() & plain.keys()
    return sum(row[seed] - plain[seed] for seed in seeds) / len(seeds)


def test_a_cell_of_the_table_has_its_gain_among_the_results():
    results = json.loads(RESULTS.read_text())
    for cell in MEASURED:
        assert cell.gain == pytest.approx(gain_of(cell, results), abs=0.05) and (cell.gain >= 0.5 or not cell.gain)
        assert (cell.stages == "plain") == (cell.gain == 0) and cell.row.endswith(
            f": {cell.stages.replace(',', ', ')}"
        )
    rows = [("anki, 1 h: plain", 1, 40.0), ("anki, 1 h: both", 1, 41.0), ("anki, 1 h: both", 2, 90.0)]
    some = [{"row": row, "seed": seed, "metrics": {"validation": {"chrf": chrf}}} for row, seed, chrf in rows]
    assert gain_of(Measured(30_000, 1, "both", "anki, 1 h: both"), some) == 1.0
    with pytest.raises(AssertionError, match="not in docs/results"):
        gain_of(Measured(30_000, 1, "both", "help, 1 h: both"), some)


def test_nothing_is_advised_without_a_measurement():
    assert best(30_000, 1, ()) is None


def test_every_stage_has_its_part_of_the_hours():
    plan = list(parts(("both", "back", "diversify")))
    assert [(part.number, part.name) for part in plan] == [(1, "both"), (2, "back"), (3, "diversify"), (4, "last")]
    assert [part.end for part in plan] == pytest.approx([0.4, 0.4 + 0.2 / 3, 0.6, 1])
    assert [part.end for part in parts(("both",))] == [0.4, 1]
