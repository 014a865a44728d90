"""Measurements for the log: the fit to training batches, the speed and the utilization of the device."""

import pytest
import torch

from glossa.run_folder import RunFolder
from glossa.training.monitoring import Speedometer, TrainingTime, measure_fit

BATCHES = [
    {"input_ids": torch.tensor([[5, 6, 1]]), "labels": torch.tensor([[7, 8, 1]])},
    {"input_ids": torch.tensor([[9, 1, 0], [4, 5, 1]]), "labels": torch.tensor([[6, 1, -100], [9, -100, -100]])},
]


def test_the_fit_is_that_of_all_tokens_without_dropout_and_smoothing(tiny_model):
    model = tiny_model(dropout=0.5, label_smoothing=0.2).train()
    state = torch.get_rng_state()
    measured = measure_fit(model, BATCHES)
    assert model.training and torch.get_rng_state().equal(state), "training goes on as without measuring"
    model.eval()
    logits, labels = [], []
    for batch in BATCHES:
        logits.append(model(**batch).logits.flatten(0, 1))
        labels.append(batch["labels"].flatten())
    expected = torch.nn.functional.cross_entropy(torch.cat(logits), torch.cat(labels))
    assert measured["plain_loss"] == pytest.approx(expected.item())
    right = (torch.cat(logits).argmax(-1) == torch.cat(labels)).sum().item()
    assert measured["token_accuracy"] == right / 6


def test_the_fit_of_a_large_batch_is_that_of_its_first_rows(tiny_model, monkeypatch):
    monkeypatch.setattr("glossa.training.monitoring.FIT_TOKENS", 5)  # one row of three tokens
    model = tiny_model()
    first = {name: tensor[:1] for name, tensor in BATCHES[1].items()}
    assert measure_fit(model, BATCHES[1:]) == measure_fit(model, [first])
    assert measure_fit(model, []) == {}


def test_speed_and_utilization_by_hand():
    now, worked = [10.0], [2.0]
    meter = Speedometer(torch.device("cpu"), lambda: now[0], lambda: worked[0])
    meter.add(300)
    now[0], worked[0] = 12.0, 3.5
    with meter.paused():
        now[0], worked[0] = 20.0, 4.5
    now[0], worked[0] = 23.0, 5.5
    # 300 tokens in 2 + 3 seconds, in which the threads worked for 1.5 + 1.
    threads = torch.get_num_threads()
    assert meter.read() == {"target_tokens_per_second": 60.0, "utilization": round(0.5 / threads, 3)}
    now[0] += 1
    assert meter.read() == {"target_tokens_per_second": 0.0, "utilization": 0.0}


def test_the_log_of_a_run_has_them(tiny_run):
    entries = [entry for entry in RunFolder(tiny_run).history if "loss" in entry]
    assert entries
    for entry in entries:
        assert entry["plain_loss"] > 0 and 0 <= entry["token_accuracy"] <= 1 and entry["utilization"] > 0


def test_training_time():
    times = iter([10.0, 14.0, 16.0])
    clock = TrainingTime(lambda: next(times))
    assert clock.seconds == 0
    clock.on_train_begin(None, None, None)
    assert clock.state() == {"args": {}, "attributes": {"before": 4.0}}
    clock.before = 100.0
    assert clock.seconds == 106
