"""Runs that are stopped and continued end with the same weights, bit for bit, as runs without a stop."""

import json

import pytest
from small_models import QUIET, same_weights

pytestmark = pytest.mark.slow  # minutes in all

AUGMENTED = {"augmentation": json.dumps({"items": 0.3, "typing_errors": 0.2, "joined": 0.2})}
ALIGNED = {"alignment_head": True, "decoder_layers": 2}
WORKER, ACCUMULATED = {"dataloader_num_workers": 1}, {"gradient_accumulation_steps": 2}
CHANGES = {
    "evaluated": {"eval_strategy": "steps", "dropout": 0.1}, "Muon": {"muon_learning_rate": 0.02, "dropout": 0.1},
    "memory": {"memory": True}, "span corruption": {"objective": "span_corruption", "vocab_size": 284},
    "masked LM": {"objective": "masked_lm", "vocab_size": 284},
    "augmented": AUGMENTED | {"placeholder_augmentation": 0.1}, "aligned": ALIGNED,
    "aligned, augmented": ALIGNED | AUGMENTED,
}  # fmt: skip
SLOW = {
    "augmented, worker": AUGMENTED | WORKER, "augmented, accumulated": AUGMENTED | ACCUMULATED,
    "aligned, worker": ALIGNED | WORKER, "aligned, accumulated": ALIGNED | ACCUMULATED,
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        *(pytest.param(changes, id=name) for name, changes in CHANGES.items()),
        *(pytest.param(changes, id=name, marks=pytest.mark.slow) for name, changes in SLOW.items()),
    ],
)
def test_a_resumed_run_is_exact(tmp_path, tiny_train, changes):
    """The checkpoint is in the middle of an epoch, and not of the first one."""
    changes = QUIET | {"max_steps": 40, "save_steps": 33} | changes
    whole = tiny_train(tmp_path / "whole", **changes)
    middle = whole / "checkpoint-33"
    epoch = json.loads((middle / "trainer_state.json").read_text())["epoch"]
    assert epoch > 1 and epoch % 1 > 0.05
    part = tiny_train(tmp_path / "part", resume_from_checkpoint=middle, **changes)
    assert same_weights(whole, part) and not same_weights(whole, middle)
