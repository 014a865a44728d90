"""Measurements for the log: the fit to training batches, the speed and the utilization of the device."""

import pytest
import torch
from datasets import Dataset

from glossa.base.run_folder import RunFolder
from glossa.train.monitoring import Speedometer, draw_fit_batches, mean_loss, measure_fit

BATCHES = [
    {"input_ids": torch.tensor([[5, 6, 1]]), "labels": torch.tensor([[7, 8, 1]])},
    {"input_ids": torch.tensor([[9, 1, 0], [4, 5, 1]]), "labels": torch.tensor([[6, 1, -100], [9, -100, -100]])},
]


def test_the_fit_is_that_of_all_tokens_without_dropout_and_smoothing(tiny_model):
    model = tiny_model(dropout=0.5).train()
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


def test_the_sample_has_rows_of_all_lengths():
    lengths = [length for length in range(1, 41) for _ in range(10)]
    rows = Dataset.from_dict(
        {"labels": [[number] * length for number, length in enumerate(lengths)], "source_length": [1] * 400}
        | {"target_length": lengths}
    )

    def collate(batch):
        assert all(set(row) == {"labels"} for row in batch)
        return [row["labels"] for row in batch]

    batches = draw_fit_batches(rows, collate, seed=3)
    drawn = [labels for batch in batches for labels in batch]
    numbers = {labels[0] for labels in drawn}
    assert len(drawn) == len(numbers) == 128
    assert all(labels == [labels[0]] * lengths[labels[0]] for labels in drawn)
    # 128 lengths, drawn from 1 to 40 evenly, have a mean of 20.5 with a standard error below 1.
    assert 17 < sum(map(len, drawn)) / 128 < 24
    assert all(len(batch) * max(map(len, batch)) <= 1024 for batch in batches)
    again = draw_fit_batches(rows, collate, seed=3)
    other = draw_fit_batches(rows, collate, seed=4)
    assert again == batches and {labels[0] for batch in other for labels in batch} != numbers
    assert measure_fit(torch.nn.Linear(1, 1), []) == {}, "no rows, no values"


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


def test_the_mean_loss_counts_the_steps_of_both_parts():
    history = [
        {"loss": 4.0, "step": 2}, {"loss": 3.0, "step": 4}, {"eval_loss": 9.0, "step": 4},
        {"loss": 1.0, "step": 6},
    ]  # fmt: skip
    # Two steps of 4 and two of 3 before, then four of 1: (8 + 6 + 4) / 8.
    assert mean_loss(history, 4, 8, 1.0) == 2.25
    assert mean_loss(history, 0, 6, 2.5) == 2.5
    # The checkpoint of step 5 was saved after a step that no entry covers.
    assert mean_loss(history, 5, 7, 1.0) == 16 / 6
