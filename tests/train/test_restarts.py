"""Runs that are stopped and continued end with the same weights, bit for bit, as runs without a stop."""

import json

import pytest
from small_models import QUIET, same_weights
from workers import together

from glossa.base.run_folder import RunFolder

pytestmark = pytest.mark.slow  # minutes in all

AUGMENTED = {"augmentation": json.dumps({"items": 0.3, "typing_errors": 0.2, "joined": 0.2})}
ALIGNED = {"alignment_head": True, "decoder_layers": 2}
WORKER, ACCUMULATED = {"dataloader_num_workers": 1}, {"gradient_accumulation_steps": 2}
CHANGES = {
    "evaluated": {"eval_strategy": "steps", "dropout": 0.1}, "Muon": {"muon_learning_rate": 0.02, "dropout": 0.1},
    "memory": {"memory": True, "batch_tokens": 200},
    "span corruption": {"objective": "span_corruption", "vocab_size": 284},
    "masked LM": {"objective": "masked_lm", "vocab_size": 284},
    "augmented": AUGMENTED | {"placeholder_augmentation": 0.1}, "aligned": ALIGNED,
    "aligned, augmented": ALIGNED | AUGMENTED,
    "augmented, worker": AUGMENTED | WORKER, "augmented, accumulated": AUGMENTED | ACCUMULATED,
    "aligned, worker": ALIGNED | WORKER, "aligned, accumulated": ALIGNED | ACCUMULATED,
}  # fmt: skip


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_resumed_run_is_exact(tmp_path, tiny_train, changes):
    """The checkpoint is in the middle of an epoch, and not of the first one."""
    changes = QUIET | {"max_steps": 20, "save_steps": 17} | changes
    whole = tiny_train(tmp_path / "whole", **changes)
    middle = whole / "checkpoint-17"
    epoch = json.loads((middle / "trainer_state.json").read_text())["epoch"]
    assert epoch > 1 and epoch % 1 > 0.05
    part = tiny_train(tmp_path / "part", resume_from_checkpoint=middle, **changes)
    assert same_weights(whole, part) and not same_weights(whole, middle)


def test_a_restart_ends_with_the_same_losses_and_weights(tmp_path, tiny_settings, zygote):
    """Bit for bit, with dropout: killed after the checkpoint of step 3, in step 5."""
    changes = {"max_steps": 9, "logging_steps": 1, "save_steps": 3, "dropout": 0.3, "resume_from_checkpoint": "true"}
    changes |= QUIET
    whole, killed = (RunFolder(tmp_path / name / "run") for name in ("whole", "killed"))
    runs = whole, killed
    launches = [{"folder": run.path.parent, "arguments": tiny_settings(run.path, **changes)} for run in runs]
    _, starts = together(zygote, launches[0], launches[1] | {"dies": 5, "restarts": 1})
    assert len(starts) == 2 and "step 4/9" in starts[0] and "step 5/9" not in starts[0]
    assert "step 4/9" in starts[1] and "step 3/9" not in starts[1]
    losses = [[(entry["step"], entry["loss"]) for entry in run.history if "loss" in entry] for run in runs]
    assert losses[0] == losses[1] and len(losses[0]) == 9
    assert same_weights(whole.path, killed.path)
