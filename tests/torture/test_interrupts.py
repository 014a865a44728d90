"""A short run of the interrupts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_interrupted_translations_end_in_one_line():
    # In a process of its own, since it forks.
    done = subprocess.run(
        [sys.executable, "-m", "torture", "interrupts", "--count", "10"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["starts"] == 10 and figures["interrupted"] and not figures["wrong"]
