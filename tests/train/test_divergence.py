"""Steps without finite gradients are skipped and reported, and a run that diverges ends with an error."""

import logging
from types import SimpleNamespace

import pytest
import torch
from small_models import QUIET, weights

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.train import run as training_run
from glossa.train.divergence import StepGuard


@pytest.fixture
def poisoned(monkeypatch, tmp_path, tiny_train):
    """A run whose steps of these numbers have gradients that are not finite."""

    def start(steps, value, **changes):
        build = training_run.build_trainer

        def build_poisoned(*args):
            trainer = build(*args)

            def poison(module, inputs, output):
                if module.training and trainer.state.global_step + 1 in steps:
                    return output * value
                return output

            trainer.model.get_encoder().embed_tokens.register_forward_hook(poison)
            return trainer

        monkeypatch.setattr(training_run, "build_trainer", build_poisoned)
        return tiny_train(tmp_path / "run", **QUIET | {"max_steps": 8, "logging_steps": 1, "save_steps": 2} | changes)

    return start


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_step_without_finite_gradients_is_skipped(poisoned, caplog, value):
    with caplog.at_level(logging.WARNING):
        run = poisoned({3, 4, 6}, value)
    skipped = [record.getMessage() for record in caplog.records if "is skipped" in record.getMessage()]
    assert [text.split()[1] for text in skipped] == ["3", "4", "6"]
    assert all("pairs, beginning with '" in text for text in skipped)
    assert all(weight.isfinite().all() for weight in weights(run).values())
    losses = [entry["loss"] for entry in RunFolder(run).history if "loss" in entry]
    assert len(losses) == 8 and losses[7] < losses[0]


def test_a_skipped_step_changes_no_weight(poisoned):
    run = poisoned({1, 2}, float("nan"), max_steps=2, weight_decay=0.5)
    norms = [weight for name, weight in weights(run).items() if "norm" in name]
    assert norms and all(weight.eq(1).all() for weight in norms), "they start at 1, and weight decay would move them"


def test_three_in_a_row_end_the_run_and_name_the_last_checkpoint(poisoned, tmp_path):
    with pytest.raises(GlossaError, match=r"steps 3 to 5 are not finite.*checkpoint-4\. Start again with a lower"):
        poisoned({3, 4, 5}, float("nan"))
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_loss_that_is_not_a_number_in_bf16_ends_the_run_at_once(poisoned):
    with pytest.raises(GlossaError, match=r"loss of step 3 is not finite in bf16\. .*checkpoint-2\. .*--bf16 false"):
        poisoned({3}, float("nan"), bf16=True)


def test_fp16_skips_large_gradients_but_ends_with_a_loss_that_is_not_a_number(tmp_path):
    model = torch.nn.Linear(1, 1)
    guard = StepGuard(SimpleNamespace(fp16=True, bf16=False, output_dir=str(tmp_path)), None, scaler=object())
    for step in range(1, 6):  # the scaler skips such steps itself
        guard.losses = [torch.tensor(2.0)]
        guard.check(model, float("inf"), step, [])
    guard.losses = [torch.tensor(2.0), torch.tensor(float("nan"))]
    with pytest.raises(
        GlossaError, match=r"step 6 is not finite in fp16\. There is no checkpoint yet\. .*--bf16 true"
    ):
        guard.check(model, float("nan"), 6, [])


def test_no_checkpoint_holds_pickled_settings_or_a_token(poisoned):
    run = poisoned(set(), 1.0, max_steps=2, hub_token="hf_secret")
    files = [path for path in run.rglob("*") if path.is_file()]
    assert (run / "checkpoint-2" / "optimizer.pt") in files
    assert not [path for path in files if path.name == "training_args.bin"]
    assert not [path for path in files if b"hf_secret" in path.read_bytes()]
