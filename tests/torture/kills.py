"""Runs that are killed again and again end with the weights of a run that was not.

The killed processes are forked from this one, which has imported everything, so that a start takes a second.
"""

import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import torch
from safetensors.torch import load_file
from small_models import RUN, command_line, write_pairs

from glossa.base.checkpoints import CHECKPOINT_STATE
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.train.stages.chain import train_in_stages

SETTINGS = RUN | {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "batch_tokens": 60, "max_steps": 24, "save_steps": 4, "eval_steps": 4, "logging_steps": 5, "num_beams": 2,
    "max_new_tokens": 4, "max_validation_samples": 4, "max_test_samples": 4, "resume_from_checkpoint": "true",
    "use_cpu": True, "dropout": 0.2, "save_total_limit": 6,
}  # fmt: skip
IN_STAGES = {
    "stages": "both,diversify", "learning_rate": 0.01, "max_steps": 100, "save_steps": 20, "eval_steps": 20,
    "max_new_tokens": 12,
}  # fmt: skip
# The first four are in the test suite.
SETUPS = {
    "averaged": ({"average_checkpoints": 3, "gradient_accumulation_steps": 3}, 1), "in stages": (IN_STAGES, 1),
    "pretraining": ({"objective": "span_corruption"}, 1), "two processes": ({}, 2), "default": ({}, 1),
    "bf16": ({"bf16": True}, 1),
}  # fmt: skip
IN_WRITING = 5  # every fifth kill comes while a checkpoint is being written
PATIENCE = 300.0  # seconds for a run, also on a busy machine


def torture(count: int, seed: int) -> dict:
    """Kill runs of each set-up `count` times in all; returns counts, and raises if a run is lost or differs."""
    torch.set_num_threads(1)
    order, figures = random.Random(seed), {"kills": 0, "in_writing": 0, "runs": 0}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (changes, processes)) in enumerate(SETUPS.items()):
            kills = count // len(SETUPS) + (number < count % len(SETUPS))
            if kills:
                _torture(Path(folder) / name.replace(" ", "_"), changes, processes, kills, order, figures)
    return figures | {"lost": 0, "weights_that_differ": 0}


def _torture(folder: Path, changes: dict, processes: int, kills: int, order: random.Random, figures: dict) -> None:
    folder.mkdir()
    settings = SETTINGS | {"data_path": write_pairs(folder / "pairs.tsv")} | changes
    started = time.monotonic()
    reference = _finish(folder / "reference", settings, processes)
    duration = time.monotonic() - started
    while kills:
        run = folder / "run"
        while kills:
            in_writing = kills % IN_WRITING == 0
            if not _kill(run, settings, processes, order.uniform(0, duration), in_writing):
                break
            kills -= 1
            figures["kills"] += 1
            figures["in_writing"] += in_writing
        killed = _finish(run, settings, processes)
        different = [name for name, weight in reference.items() if not weight.equal(killed[name])]
        assert not different, f"{folder.name}: after kills these weights differ: {different[:3]}"
        figures["runs"] += 1
        shutil.rmtree(run)


def _finish(run: Path, settings: dict, processes: int) -> dict[str, torch.Tensor]:
    """Let a run end; returns its weights."""
    pids = list(_start(run, settings, processes))
    statuses = [os.waitpid(pid, 0)[1] for pid in pids]
    log = (run.parent / "log.txt").read_text(errors="replace")
    assert not any(statuses), f"{run}: a run that was killed before does not end: {log[-1500:]}"
    return load_file(run / "model.safetensors")


def _kill(run: Path, settings: dict, processes: int, seconds: float, in_writing: bool) -> bool:
    """Start a run and kill it after `seconds`, or while it writes a checkpoint; False if it ended before."""
    pids, started = list(_start(run, settings, processes)), time.monotonic()
    while time.monotonic() - started < (PATIENCE if in_writing else seconds):
        if any(os.waitpid(pid, os.WNOHANG)[0] for pid in pids[:1]):
            for pid in pids[1:]:
                os.waitpid(pid, 0)
            return False
        if in_writing and _is_writing(run):
            break
        time.sleep(0.0005)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    return True


def _is_writing(run: Path) -> bool:
    folders = sorted(run.glob("checkpoint-*"), key=lambda path: path.stat().st_mtime)
    return bool(folders) and not (folders[-1] / CHECKPOINT_STATE).exists()


def _start(run: Path, settings: dict, processes: int) -> Iterator[int]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for rank in range(processes):
        pid = os.fork()
        if not pid:
            _run(command_line(settings | {"output_dir": run}), rank, processes, port)
        yield pid


def _run(arguments: list[str], rank: int, processes: int, port: int) -> None:
    """The life of a forked process."""
    log = Path(arguments[-1]).parent / "log.txt"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if rank == 0 else os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, sys.stdout.fileno())
    os.dup2(descriptor, sys.stderr.fileno())
    if processes > 1:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes)}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_WORLD_SIZE": str(processes)}
    status = 1
    try:
        train_in_stages(catalog.parse(arguments), lambda given: train(parse_settings(given)))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
