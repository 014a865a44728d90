"""A short run of the pushes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_killed_pushes_lose_and_replace_nothing():
    # In a process of its own, since it forks.
    done = subprocess.run(
        [sys.executable, "-m", "torture", "pushes", "--count", "12"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["pushes"] == 12 and figures["kills"] and not figures["wrong"]
