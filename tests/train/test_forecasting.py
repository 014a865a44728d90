"""The forecast of a run's end from the beginning of its curve."""

import math

import pytest
import torch
from transformers import get_scheduler

from glossa.base.run_folder import RunFolder
from glossa.train.evaluation.curves import CEILING, SHARE, Point, points_of, predict
from glossa.train.forecasting import share_of_rates


def curve(shares):
    """A curve of the family that is fitted: scores whose odds are linear in the square root of the share."""
    odds = [0.2 + 0.9 * math.sqrt(share) for share in shares]
    return [Point(share, CEILING * each / (1 + each)) for share, each in zip(shares, odds, strict=True)]


@pytest.mark.parametrize(("share", "end"), [(1.0, 1.0), (2.0, 2.0)])
def test_a_curve_of_this_law_is_continued(share, end):
    found = predict(curve([0.1, 0.2, 0.3, 0.4]), share)
    assert found.middle == pytest.approx(curve([end])[0].score)
    assert found.low < found.middle < found.high


def test_what_is_long_ago_does_not_count():
    late = curve([0.2, 0.3, 0.4])
    assert predict([Point(0.01, 40.0), *late]).middle == pytest.approx(predict(late).middle)


def test_a_falling_curve_is_not_continued_downwards():
    found = predict([Point(0.2, 30.0), Point(0.3, 29.0), Point(0.4, 28.0)])
    assert found.middle == pytest.approx(predict([Point(0.2, 30.0), Point(0.3, 29.0), Point(0.4, 28.0)], 2).middle)


@pytest.mark.parametrize(
    "points", [[], curve([0.1, 0.2]), [Point(0.1, 0.0)] * 4, [Point(each, CEILING + 1) for each in (0.2, 0.3, 0.4)]]
)
def test_without_a_curve_nothing_is_forecast(points):
    assert predict(points) is None


def test_the_interval_is_narrower_towards_the_end():
    widths = [found.high - found.low for found in (predict(curve([s / 4, s / 2, s])) for s in (0.3, 0.6, 1.0))]
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
    monkeypatch.setattr("glossa.train.forecasting.points_of", lambda history: curve([0.2, 0.3, 0.4]))
    run = tiny_train(tmp_path / "run", max_steps=8, eval_steps=1)
    shares = [entry[SHARE] for entry in RunFolder(run).history if "eval_loss" in entry]
    assert len(shares) == 8 and shares == sorted(shares) and shares[-1] == pytest.approx(1)
    assert len(points_of(RunFolder(run).history)) == 8
    out = capsys.readouterr().out
    assert (
        out.count("at the end, by this run's curve: chrF++ ") == 6
    )  # from a quarter of the steps to the last but one
