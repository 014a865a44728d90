"""Two machines, as network namespaces, whose link is cut in mid-run: restored after seconds, or never."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from torch.distributed import DistNetworkError, TCPStore

from glossa.cli import _describe
from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.training.run import train

PROGRAM = Path(__file__).parents[1] / "network.py"
NAMESPACES = ["unshare", "-rn"]
TRY = "ip link add glossa0 type veth peer name glossa1"
CHANGES = {"max_steps": 8, "logging_steps": 1, "dropout": 0.0, "eval_strategy": "no", "load_best_model_at_end": False}


def cut(folder, patience, restored, arguments):
    """Train on two machines; see tests/network.py. What it prints, and what each process printed and when it started
    each step."""
    try:
        subprocess.run([*NAMESPACES, *TRY.split()], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here: {error}")
    done = subprocess.run(
        [*NAMESPACES, sys.executable, str(PROGRAM), str(folder), str(patience), str(restored), *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    logs = [(folder / f"log-{rank}.txt").read_text() for rank in (0, 1)]
    starts = [json.loads((folder / f"starts-{rank}.json").read_text()) for rank in (0, 1)]
    return json.loads(done.stdout.splitlines()[-1]), logs, starts


@pytest.mark.slow
def test_training_goes_on_when_the_link_is_back(tmp_path, tiny_settings):
    found, logs, starts = cut(tmp_path, 100, 2, tiny_settings(tmp_path / "run", **CHANGES))
    assert found["statuses"] == [0, 0], logs
    for times in starts:  # the step in which the link was cut took until it was restored
        assert len(times) == 8 and times[3] < found["restored"] < times[4]
    alone = train(parse_settings(tiny_settings(tmp_path / "alone", gradient_accumulation_steps=2, **CHANGES)))
    losses = [
        [entry["loss"] for entry in RunFolder(run).history if "loss" in entry] for run in (tmp_path / "run", alone)
    ]
    assert len(losses[0]) == 8 and losses[0] == pytest.approx(losses[1], abs=1e-5)


@pytest.mark.slow
def test_a_link_that_stays_cut_ends_both_processes_with_a_message(tmp_path, tiny_settings):
    found, logs, starts = cut(tmp_path, 10, 0, tiny_settings(tmp_path / "run", save_steps=3, **CHANGES))
    assert found["statuses"] == [1, 1] and [len(times) for times in starts] == [4, 4]
    for rank, log in enumerate(logs):
        assert f"error: Process {rank} of 2 (numbered from 0) cannot reach another process: " in log
        assert "They connect at 10.77.0.1, port 29500." in log
    assert [path.name for path in RunFolder(tmp_path / "run").checkpoints(whole=True)] == ["checkpoint-3"]


def test_a_process_that_reaches_nobody_says_whom_it_tried(monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DistNetworkError) as error:
        TCPStore("127.0.0.1", 1, is_master=False, timeout=timedelta(milliseconds=100))
    message = _describe(error.value)
    assert message.startswith("Process 1 of 2 (numbered from 0) cannot reach another process: ")
    assert "They connect at 127.0.0.1, port 1." in message
