"""What a trial on this machine tells: passes that fit into the hours."""

import logging
from types import SimpleNamespace

import pytest
import torch

from glossa.train import trial
from glossa.train.plan.arguments import Origin, parse_settings
from glossa.train.plan.sizing import show_choices
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
    assert limited.origins["num_train_epochs"] == Origin("trial", f"what fits into {hours:.3g} h")
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


@pytest.mark.parametrize(
    ("hours", "kept", "advised"),
    [(0.41, True, "4.1 --dropout 0.1 --augmentation standard"), (0.39, False, "3.9 --dropout 0.1")],
)
def test_a_chosen_augmentation_needs_four_passes_in_the_hours(monkeypatch, caplog, hours, kept, advised):
    """The case `hours-augmentation`: 43 passes are chosen by the pairs, fewer fit; ten passes take an hour."""
    monkeypatch.setattr(trial, "seconds_per_pass", lambda trainer: 360 / 1.3)
    chosen = {"num_train_epochs": 43, "dropout": 0.1, "augmentation": {"items": 0.1}}
    settings = parse_settings(["--hours", str(hours)]).with_values(chosen, Origin("chosen", "for 7,000 pairs"))
    dropped = []
    model = SimpleNamespace(config=SimpleNamespace(dropout=0.1))
    trainer = SimpleNamespace(model=model, drop_augmentation=lambda: dropped.append(True))
    settings = limit_passes(settings, trainer)
    assert (settings.data.shares != {}, dropped) == (kept, [] if kept else [True])
    with caplog.at_level(logging.INFO):
        show_choices(settings)
    assert caplog.messages[-1] == f"Chosen for 7,000 pairs: --num_train_epochs {advised}"


def test_no_smaller_model_is_advised_for_a_start(monkeypatch, caplog):
    monkeypatch.setattr(trial, "seconds_per_pass", lambda trainer: 3600)
    for start in ("", "runs/other"):
        settings = parse_settings(["--hours", "1", *(["--init_from", start] if start else [])])
        limit_passes(settings, SimpleNamespace(model=SimpleNamespace(config=SimpleNamespace(dropout=0.1))))
    new, tuned = [message for message in caplog.messages if message.startswith("Only")]
    assert new.endswith("Give more --hours, or a smaller model.") and tuned.endswith("Give more --hours.")


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
