"""What a trial on this machine tells: passes that fit into the hours."""

import logging
from types import SimpleNamespace

import pytest
import torch

from glossa.train import trial
from glossa.train.plan.arguments import Origin, parse_settings
from glossa.train.trial import limit_passes


@pytest.mark.parametrize(("hours", "passes"), [(0.5, 5), (0.05, 0.5), (10, 7)])
def test_passes_are_those_that_fit(monkeypatch, caplog, hours, passes):
    # 1.3 times 276.923 seconds a pass are 360 seconds: ten an hour.
    monkeypatch.setattr(trial, "seconds_per_pass", lambda trainer: 360 / 1.3)
    model = SimpleNamespace(config=SimpleNamespace(dropout=0.3))
    settings = parse_settings(["--num_train_epochs", "7", "--hours", str(hours)])
    with caplog.at_level(logging.INFO):
        limited = limit_passes(settings, SimpleNamespace(model=model))
    assert limited.training.num_train_epochs == pytest.approx(passes)
    assert limited.origins["num_train_epochs"] == Origin("trial", f"what fits into {hours:g} hours")
    assert settings.training.num_train_epochs == 7
    assert ("Only 50% of the training pairs" in caplog.text) == (passes < 1)
    assert "Scoring and saving take more time." in caplog.text


@pytest.mark.parametrize(("passes", "dropout", "said"), [(15, 0.3, True), (14.9, 0.3, False), (15, 0.1, False)])
def test_a_short_run_is_advised_to_have_less_dropout(monkeypatch, caplog, passes, dropout, said):
    monkeypatch.setattr(trial, "seconds_per_pass", lambda trainer: 600 / 1.3)  # six passes fit into an hour
    model = SimpleNamespace(config=SimpleNamespace(dropout=dropout))
    with caplog.at_level(logging.INFO):
        settings = parse_settings(["--num_train_epochs", str(passes), "--hours", "1"])
        limit_passes(settings, SimpleNamespace(model=model))
    assert ("--dropout 0.1" in caplog.text) == said


def test_the_trial_extrapolates_from_a_few_batches(monkeypatch, tmp_path, tiny_train):
    trainers = []
    monkeypatch.setattr(trial, "limit_passes", lambda settings, trainer: trainers.append(trainer) or settings)
    tiny_train(tmp_path / "run", hours=1, num_train_epochs=0.1)
    (trainer,) = trainers
    before = [weight.detach().clone() for weight in trainer.model.parameters()], torch.get_rng_state()
    ticks = iter(range(1000))
    monkeypatch.setattr(trial.time, "perf_counter", lambda: float(next(ticks)))  # every batch takes one second
    assert trial.seconds_per_pass(trainer) == pytest.approx(len(trainer.batch_sampler))
    assert all(map(torch.equal, before[0], trainer.model.parameters()))
    assert before[1].equal(torch.get_rng_state())
