"""A short run of the kills: one in each of three set-ups."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_killed_runs_end_with_equal_weights(zygote):
    # In a process of its own, since it forks, and torch cannot be set up again in a process that has trained.
    subprocess.run(
        [zygote.path / "python", "-m", "torture", "kills", "--count", "3"],
        env=zygote.environment | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        check=True,
        timeout=900,
    )
