"""Short runs of the parts that fork, each in a process of its own: torch cannot be set up again after a training."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torture import batching, documents, placeholders, readers, tags

TESTS = Path(__file__).parents[1]


def torture(zygote, part, *options):
    """The figures of a run of `part`."""
    done = subprocess.run(
        [zygote.path / "python", "-m", "torture", part, *options],
        env=zygote.environment | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}, capture_output=True,
        text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_killed_runs_end_with_equal_weights(zygote):
    """One kill in each of four set-ups."""
    assert torture(zygote, "kills", "--count", "4")["kills"] == 4


@pytest.mark.slow
def test_damaged_folders_and_strange_recipes_end_in_one_line(zygote):
    figures = torture(zygote, "folders", "--count", "25", "--seed", "3")
    assert figures["uncaught"] == figures["silent"] == 0
    assert figures["recipes"] + figures["folders"] == figures["refused"] + figures["went on"] == 25


@pytest.mark.parametrize(
    ("part", "count", "seed", "all_of", "least"),
    [
        (batching, 4, 3, ("mixtures",), {"texts": 21, "blank": 1, "several_sentences": 1, "alone": 11}),
        (documents, 60, 1, ("same", "refused"), {"same": 21, "refused": 21}),
        (placeholders, 120, 1, ("sentences",), {"put_back": 61}),
        (readers, 120, 1, ("read", "refused"), {"read": 41, "refused": 41}),
        (tags, 150, 1, ("texts",), {"tags": 301}),
    ],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2],
)
def test_a_short_run_finds_no_fault(part, count, seed, all_of, least):
    figures = part.torture(count, seed)
    assert sum(figures[name] for name in all_of) == count
    assert all(figures[name] >= number for name, number in least.items()), figures
