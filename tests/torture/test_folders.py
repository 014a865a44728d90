"""A short run of the damaged folders and strange recipes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_damaged_folders_and_strange_recipes_end_in_one_line():
    # In a process of its own, since it forks.
    done = subprocess.run(
        [sys.executable, "-m", "torture", "folders", "--count", "25", "--seed", "3"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["uncaught"] == figures["silent"] == 0
    assert figures["recipes"] + figures["folders"] == figures["refused"] + figures["went on"] == 25
