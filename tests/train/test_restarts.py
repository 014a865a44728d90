"""A process that dies in mid-run: the launcher starts all again, and the run ends as if nothing had happened."""

import pytest
from small_models import QUIET, same_weights
from workers import together

from glossa.base.run_folder import RunFolder

CHANGES = QUIET | {"max_steps": 9, "logging_steps": 1, "save_steps": 3}


@pytest.mark.slow
def test_a_restart_ends_with_the_same_losses_and_weights(tmp_path, tiny_settings, zygote):
    """Bit for bit, with dropout: killed after the checkpoint of step 3, in step 5."""
    changes = CHANGES | {"dropout": 0.3, "resume_from_checkpoint": "true"}
    whole, killed = (RunFolder(tmp_path / name / "run") for name in ("whole", "killed"))
    launches = [
        {"folder": run.path.parent, "arguments": tiny_settings(run.path, **changes)} for run in (whole, killed)
    ]
    _, starts = together(zygote, launches[0], launches[1] | {"dies": 5, "restarts": 1})
    assert len(starts) == 2 and "step 4/9" in starts[0] and "step 5/9" not in starts[0]
    assert "step 4/9" in starts[1] and "step 3/9" not in starts[1]
    losses = [[(entry["step"], entry["loss"]) for entry in run.history if "loss" in entry] for run in (whole, killed)]
    assert losses[0] == losses[1] and len(losses[0]) == 9
    assert same_weights(whole.path, killed.path)
