"""`glossa train` starts several processes on a CPU by itself, which train as one does."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch
from small_models import QUIET, weights

from glossa.base.run_folder import RunFolder
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

FORKING = Path(__file__).parents[1] / "forking.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux copies processes with loaded libraries")


@pytest.fixture
def fork(zygote):
    def start(*launches):
        """Train with each (arguments, number of processes) in turn; the finished process."""
        command = [zygote.path / "python", FORKING, json.dumps(launches)]
        return subprocess.run(command, env=zygote.environment, capture_output=True, text=True, timeout=300)

    return start


def assert_equal_weights(folder, other, tolerance):
    torch.testing.assert_close(weights(folder), weights(other), rtol=0, atol=tolerance)


def lines(folder):
    names = ("step", "loss", "plain_loss", "eval_loss", "eval_bleu", "eval_chrf", "eval_token_accuracy")
    return [[entry.get(name) for name in names] for entry in RunFolder(folder).history if "train_loss" not in entry]


@pytest.mark.slow
def test_one_process_two_and_four_train_alike(tmp_path, tiny_settings, tiny_train, fork, monkeypatch, resampling):
    """The same batches, steps, weights, scores and settings; also with Muon, whose work they share."""
    monkeypatch.setattr("glossa.train.evaluation.scoring.score_both", resampling)
    changes = {"dropout": 0.0, "max_steps": 12, "eval_steps": 6, "save_steps": 6, "logging_steps": 2}
    changes |= {"muon_learning_rate": 0.02, "gradient_accumulation_steps": 4, "bf16": "false"}
    one, two, four, part = (tmp_path / name for name in ("one", "two", "four", "part"))
    tiny_train(one, **changes)
    done = fork(
        (tiny_settings(two, **changes), 2), (tiny_settings(four, **changes), 4),
        (tiny_settings(part, **changes | {"max_steps": 6}), 2),
    )  # fmt: skip
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr
    for other in (two, four):
        assert_equal_weights(one, other, 1e-5)
        assert len(lines(one)) == len(lines(other)) == 8
        for mine, theirs in zip(lines(one), lines(other), strict=True):
            assert mine == pytest.approx(theirs, abs=1e-4)
        scores = [RunFolder(folder).metrics["test"]["greedy"]["scores"] for folder in (one, other)]
        assert scores[0] == scores[1]
    assert RunFolder(two).metrics["processes"] == 2 and RunFolder(two).metrics["steps"] == 12
    recipes = [RunFolder(folder).recipe for folder in (one, two)]
    changed = {name for name in recipes[1] if recipes[0].get(name) != recipes[1][name]}
    assert changed <= {"cpu_processes", "output_dir", "logging_dir", "run_name"} and recipes[1]["cpu_processes"] == 2

    # One process goes on where two have stopped.
    train(parse_settings([*tiny_settings(part, **changes), "--resume_from_checkpoint", "true"]))
    assert_equal_weights(one, part, 1e-5)


@pytest.mark.slow
def test_a_run_of_two_processes_continues_exactly(tmp_path, tiny_settings, fork):
    changes = QUIET | {"dropout": 0.2, "gradient_accumulation_steps": 2, "muon_learning_rate": 0.02, "max_steps": 8}
    whole, part = tmp_path / "whole", tmp_path / "part"
    done = fork(
        (tiny_settings(whole, **changes), 2), (tiny_settings(part, **changes | {"max_steps": 5}), 2),
        ([*tiny_settings(part, **changes), "--resume_from_checkpoint", "true"], 2),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_equal_weights(whole, part, 0)


@pytest.mark.slow
def test_an_error_of_all_is_printed_once(tmp_path, tiny_settings, fork):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.safetensors").touch()
    done = fork((tiny_settings(tmp_path / "run", gradient_accumulation_steps=2), 2))
    assert done.returncode == 1
    assert done.stderr.count("error:") == done.stderr.count("already holds a run") == 1
    assert "Traceback" not in done.stderr and "SIGTERM" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, 1)])
def test_a_signal_reaches_all_processes(tmp_path, tiny_settings, number, status):
    """Ctrl-C for the whole group, SIGTERM for the first process, and one of the processes that is killed."""
    changes = QUIET | {"gradient_accumulation_steps": 2, "num_train_epochs": 100_000, "save_steps": 1e6}
    changes |= {"logging_steps": 1, "cpu_processes": 2}
    command = [sys.executable, "-m", "glossa_command", "train", *tiny_settings(tmp_path / "run", **changes)]
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    while "'loss'" not in (text := (tmp_path / "log").read_text()) and "loss " not in text:
        assert process.poll() is None, text
        time.sleep(0.2)
    children = [child.pid for child in psutil.Process(process.pid).children()]
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        os.kill(process.pid if number == signal.SIGTERM else children[1], number)
    assert process.wait(60) == status
    text = (tmp_path / "log").read_text()
    if number == signal.SIGKILL:
        assert "error: Process 1 of 2 (numbered from 0) was killed by SIGKILL. If memory ran out" in text
    else:
        (checkpoint,) = RunFolder(tmp_path / "run").checkpoints(whole=True)
        assert len([*checkpoint.glob("rng_state*.pth")]) == 2
    assert len(children) == 2 and not any(map(psutil.pid_exists, children))
