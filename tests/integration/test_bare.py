"""The checks of a saved folder in a process with transformers alone, and one that fails."""

import os
import subprocess
from pathlib import Path

import pytest
from bare_checks import CHECKS

SCRIPT = str(Path(__file__).parents[1] / "bare_checks.py")


@pytest.mark.slow
def test_a_run_passes_all_checks_without_glossa(tiny_run, early, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [early.path / "python", "-I", SCRIPT, str(tiny_run)], env=environment | {"HF_HOME": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.partition(":")[0] in CHECKS]
    assert len(lines) == len(CHECKS)
    assert not [line for line in lines if not line.endswith((": ok", "is not installed"))]
    assert done.returncode == 0, done.stderr
