"""LoRA in a run: what is trained, what is saved, and resuming."""

import json
import shutil
import sys

import pytest
import torch
from peft import PeftModel
from refusals import refused
from safetensors.torch import load_file, save_file
from small_models import QUIET, same_weights, weights

from glossa.base.errors import GlossaError
from glossa.base.run_folder import ADAPTER_WEIGHTS
from glossa.train.adapters import Adapters
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.loading import load_model

SOURCE, TARGET = torch.tensor([[5, 6, 7, 1]]), torch.tensor([[2, 8, 9]])


@pytest.fixture
def settings(tiny_run, tiny_settings):
    def parse(output_dir, **changes):
        common = QUIET | {"init_from": tiny_run, "lora_rank": 2, "learning_rate": 0.05, "save_steps": 3}
        return parse_settings(tiny_settings(output_dir, **common | changes))

    return parse


def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=SOURCE, decoder_input_ids=TARGET).logits


def test_only_the_layers_change_and_the_adapter_is_saved_too(tmp_path, tiny_run, settings):
    run = train(settings(tmp_path / "run", max_steps=3))
    torch.testing.assert_close(weights(run / "checkpoint-3"), weights(run))
    before, after = weights(tiny_run), weights(run)
    assert before.keys() == after.keys()
    changed = {name for name in before if not before[name].equal(after[name])}
    assert changed and all(".layers." in name and before[name].ndim == 2 for name in changed)
    for name in changed:
        assert torch.linalg.matrix_rank(after[name] - before[name], atol=1e-4) <= 2
    adapted = PeftModel.from_pretrained(load_model(str(tiny_run)), run / "adapter")
    torch.testing.assert_close(logits(adapted), logits(load_model(str(run))), rtol=0, atol=1e-5)


def test_the_best_checkpoint_is_loaded(tmp_path, settings, monkeypatch):
    monkeypatch.setattr("glossa.train.run.can_turn", lambda *_: False)  # the start is better than any
    changes = {"eval_strategy": "steps", "eval_steps": 2, "save_steps": 2, "metric_for_best_model": "loss"}
    changes |= {"load_best_model_at_end": True, "learning_rate": 1.0}  # so high that checkpoints differ much
    loaded = set()
    for greater in (False, True):  # the lowest and the highest loss are not both the last
        run = train(settings(tmp_path / f"run-{greater}", max_steps=6, greater_is_better=greater, **changes))
        state = json.loads((run / "checkpoint-6" / "trainer_state.json").read_text())
        losses = {entry["step"]: entry["eval_loss"] for entry in state["log_history"] if "eval_loss" in entry}
        best = (max if greater else min)(losses, key=losses.get)
        loaded.add(best)
        saved, final = weights(run / f"checkpoint-{best}"), weights(run)
        torch.testing.assert_close(saved, final)
    assert len(loaded) == 2


def test_a_resumed_run_is_exact(tmp_path, settings):
    whole = train(settings(tmp_path / "whole", max_steps=5))
    part = train(settings(tmp_path / "part", max_steps=5, resume_from_checkpoint=whole / "checkpoint-3"))
    assert same_weights(whole, part)


def test_a_finished_training_that_was_cut_short_before_saving(tmp_path, settings):
    whole = train(settings(tmp_path / "whole", max_steps=3))
    expected = weights(whole)
    for name in ("metrics.json", "model.safetensors"):
        (whole / name).unlink()
    again = train(settings(tmp_path / "whole", max_steps=3, resume_from_checkpoint="true"))
    assert all(weights(again)[name].equal(expected[name]) for name in expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"init_from": ""}, "lora_rank is 2, but init_from is empty"),
        ({"lora_rank": -1}, "lora_rank is -1; it must be at least 0"),
        (
            {"objective": "causal_lm", "source_column": "t", "target_column": "t"},
            "lora_rank is 2, but objective is causal_lm",
        ),
    ],
)
def test_settings_are_checked(tmp_path, settings, changes, message):
    refused(message, settings, tmp_path / "run", **changes)


def test_peft_may_be_missing(tmp_path, settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    refused(r"pip install glossa-mt\[adapters\]", train, settings(tmp_path / "run", max_steps=1))


@pytest.mark.slow
def test_a_resume_on_other_base_weights_is_refused(tmp_path, tiny_run, settings):
    """The file of `init_from` was exchanged between two starts, with weights of the same shapes."""
    base = tmp_path / "base"
    shutil.copytree(tiny_run, base)
    train(settings(tmp_path / "run", init_from=base, max_steps=3))
    changed = {name: weight * 1.01 for name, weight in weights(base).items()}
    original = (base / "model.safetensors").read_bytes()
    save_file(changed, base / "model.safetensors", {"format": "pt"})
    again = {"init_from": base, "max_steps": 5, "resume_from_checkpoint": "true"}
    with pytest.raises(GlossaError, match="checkpoint-3 cannot be continued: the weights of init_from have changed"):
        train(settings(tmp_path / "run", **again))
    (base / "model.safetensors").write_bytes(original)
    train(settings(tmp_path / "run", **again))


@pytest.mark.parametrize("change", ["missing", "another shape", "another name"])
def test_adapters_that_do_not_fit_are_refused(tmp_path, tiny_run, change):
    adapters = Adapters(load_model(str(tiny_run)), 2)
    adapters.save_adapters(tmp_path)
    adapters.load(tmp_path)
    found = load_file(tmp_path / ADAPTER_WEIGHTS)
    name = sorted(found)[0]
    weight = found.pop(name)
    found |= {"another shape": {name: weight[:1]}, "another name": {f"{name}x": weight}}.get(change, {})
    save_file(found, tmp_path / ADAPTER_WEIGHTS)
    refused(r"does not fit this model and lora_rank: .*lora_", adapters.load, tmp_path)
