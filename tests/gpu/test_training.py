"""Optimizers and whole runs on the device: Muon, LoRA, streams, and resuming."""

import copy

import pyarrow
import pyarrow.parquet
import pytest
import torch
from small_models import QUIET, weights

from glossa.base.run_folder import RunFolder
from glossa.train.muon import combine_with_muon, layer_matrices

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


def test_steps_of_muon_are_orthogonal_and_close_to_those_of_the_cpu(device, tiny_model):
    models = [tiny_model().float() for _ in range(2)]
    before = copy.deepcopy(models[0])
    for model, place in zip(models, ("cpu", device), strict=True):
        model.to(place)
        optimizer = combine_with_muon(torch.optim.AdamW(model.parameters(), lr=0.01), model, 0.1, 0.0)
        torch.manual_seed(2)
        for weight in model.parameters():
            weight.grad = torch.randn(weight.shape).to(place)
        optimizer.step()
    for (name, weight), other in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(other.cpu(), weight, rtol=0, atol=0.01, msg=name)
    for old, new in zip(layer_matrices(before), layer_matrices(models[1]), strict=True):
        update = (new.detach().cpu() - old.detach()) / (0.1 * max(1, old.shape[0] / old.shape[1]) ** 0.5)
        # Newton and Schulz move singular values to between 0.7 and 1.2, the smallest ones less far.
        values = torch.linalg.svdvals(update)
        assert values.max() < 1.3 and values.median() > 0.6


@pytest.mark.parametrize("precision", ["false", "true"])
def test_a_resumed_run_ends_with_the_same_weights(tmp_path, tiny_train, on_device, precision):
    """With Muon and dropout. On a GPU, sums of gradients may differ in their last bits."""
    changes = QUIET | on_device | {"max_steps": 8, "save_steps": 4, "dropout": 0.1, "bf16": precision}
    changes |= {"muon_learning_rate": 0.01}
    whole = tiny_train(tmp_path / "whole", **changes)
    changes["resume_from_checkpoint"] = whole / "checkpoint-4"
    resumed = tiny_train(tmp_path / "resumed", **changes)
    first, middle, second = (weights(folder) for folder in (whole, whole / "checkpoint-4", resumed))
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, rtol=0, atol=1e-3 if precision == "true" else 1e-4, msg=name)
    assert any(not first[name].equal(middle[name]) for name in first)


def test_lora_changes_the_layers_by_matrices_of_its_rank(tmp_path, tiny_run, tiny_train, on_device):
    pytest.importorskip("peft")
    changes = QUIET | on_device | {"init_from": tiny_run, "lora_rank": 2, "learning_rate": 0.05, "max_steps": 4}
    run = tiny_train(tmp_path / "run", **changes)
    before, after = weights(tiny_run), weights(run)
    changed = {name for name in before if not before[name].equal(after[name])}
    assert changed and all(".layers." in name and before[name].ndim == 2 for name in changed)
    for name in changed:
        assert torch.linalg.matrix_rank(after[name] - before[name], atol=1e-4) <= 2


def test_a_stream_trains(tmp_path, tiny_train, on_device):
    rows = [{"en": f"{a} {b}.", "fr": f"{b} {a}!"} for a in "abcdefgh" for b in "klmnopqrstuvwxyzABCD"]
    held_out = [{"en": f"{a} {a}.", "fr": f"{a} {a}!"} for a in "klmnopqrstuvwxyzABCD"]
    for name, pairs in {"train": rows, "val": held_out}.items():
        pyarrow.parquet.write_table(pyarrow.table({"translation": pairs}), tmp_path / f"{name}.parquet")
    changes = QUIET | on_device | {"streaming": "true", "max_steps": 20, "test_size": 0, "trust_data": "true"}
    changes |= {"data_path": tmp_path / "train.parquet", "validation_path": tmp_path / "val.parquet"}
    run = RunFolder(tiny_train(tmp_path / "run", **changes))
    losses = [entry["loss"] for entry in run.history if "loss" in entry]
    assert run.metrics["steps"] == 20 and losses[-1] < losses[0]
