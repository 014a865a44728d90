"""The forecast of a run's end from the beginning of its curve."""

import math

import pytest
import torch
from transformers import get_scheduler

from glossa.base.run_folder import RunFolder
from glossa.train.evaluation.curves import CEILING, SHARE, Point, points_of, predict
from glossa.train.forecasting import share_of_rates


@pytest.mark.parametrize(
    ("growth", "last", "end"),
    [
        ((1.0, 0.0), Point(0.5, 25.0), 37.5),  # the odds of 75 are 1 to 2, and grow with the share
        ((0.5, -0.25), Point(0.25, 37.5), 50.0),  # even odds times the root of 4
        ((0.5, -0.25), Point(0.25, 75 / (1 + math.exp(-3))), 75 / (1 + math.exp(-3))),  # does not fall
    ],
)
def test_odds_grow_with_the_share_the_slower_the_better_they_are(growth, last, end):
    found = predict([Point(0.1, 3.0), last], growth)
    assert found.middle == pytest.approx(end)
    assert found.low < found.middle < found.high


@pytest.mark.parametrize("points", [[], [Point(0.3, 0.0)], [Point(0.3, CEILING)], [Point(0.0, 20.0)]])
def test_without_a_score_nothing_is_forecast(points):
    assert predict(points) is None


def test_the_interval_is_narrower_towards_the_end():
    widths = [found.high - found.low for found in (predict([Point(share, 20.0)]) for share in (0.3, 0.6, 1.0))]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3


def test_the_share_is_the_area_under_the_schedule():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=2, num_training_steps=6)
    rates = [0, 0.5, 1, 0.75, 0.5, 0.25]  # warm-up in two steps, then down in four
    assert [share_of_rates(scheduler, step, 6) for step in range(7)] == pytest.approx(
        [sum(rates[:step]) / 3 for step in range(7)]
    )


def test_a_run_of_one_step_of_warm_up_has_a_share():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    assert share_of_rates(get_scheduler("linear", optimizer, num_warmup_steps=5, num_training_steps=1), 1, 1) == 0


def test_a_run_notes_its_curve_and_prints_forecasts(tiny_train, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("glossa.train.forecasting.points_of", lambda history: [Point(0.4, 20.0)])
    run = tiny_train(tmp_path / "run", max_steps=8, eval_steps=1)
    shares = [entry[SHARE] for entry in RunFolder(run).history if "eval_loss" in entry]
    assert len(shares) == 8 and shares == sorted(shares) and shares[-1] == pytest.approx(1)
    assert len(points_of(RunFolder(run).history)) == 8
    out = capsys.readouterr().out
    count = out.count("forecast of the final chrF++: ")
    assert count == 6, "from a quarter of the steps to the last but one"
