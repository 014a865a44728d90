"""Ctrl-C during `glossa translate`, at any moment: one line and status 130, and whole lines in the output.

Each start is a process that is forked from this one, which has imported everything. `--workers` processes are forked
from a server, which has imported as much.
"""

import contextlib
import multiprocessing.util
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from multiprocessing import forkserver, get_context
from pathlib import Path

import glossa_command
import psutil
import torch

from glossa.inference.corpora import shards
from glossa.plan.arguments import parse_settings
from glossa.training.run import train

from .kills import SETTINGS

LINES = 150
PRELOADED = ["glossa", "glossa.cli.translate", "glossa.inference.translator", "glossa.inference.engines.ensemble"]
OUTSIDE = 99  # the status of a process that was interrupted before the command or after it
WITH_WORKERS = 5  # every fifth start


def torture(count: int, seed: int) -> dict:
    """Interrupt `count` translations; returns counts, and raises if one ends otherwise, or a line is cut."""
    torch.set_num_threads(1)
    get_context("forkserver").set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()
    shards.SHARD = LINES // 5
    order, figures = random.Random(seed), {"starts": 0, "interrupted": 0, "with_workers": 0, "continued": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = folder / "pairs.tsv"
        pairs.write_text("".join(f"{a} {b}.\t{b} {a}!\n" for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"))
        settings = SETTINGS | {"data_path": pairs, "output_dir": folder / "run", "max_steps": 4}
        arguments = [text for setting, value in settings.items() for text in (f"--{setting}", str(value))]
        assert _wait(_start(lambda: train(parse_settings(arguments)), folder / "log")) == 0
        (folder / "in").write_text("".join(f"{'ab'[number % 2]} {number}, k l.\n" for number in range(LINES)))
        expected, seconds = {}, {}
        for workers in (False, True):
            started = time.monotonic()
            assert _wait(_translate(folder, workers)) == 0, (folder / "log").read_text()
            seconds[workers] = time.monotonic() - started  # the first start is the slowest
            expected[workers] = (folder / "out").read_bytes()
        for number in range(count):
            workers = number % WITH_WORKERS == 0
            interrupted = _interrupt(folder, workers, order.uniform(0, 0.6 * seconds[workers]), expected[workers])
            figures["starts"] += 1
            figures["interrupted"] += interrupted
            figures["with_workers"] += interrupted and workers
            if interrupted and workers and (folder / "out.parts").exists():
                assert _wait(_translate(folder, workers, new=False)) == 0, (folder / "log").read_text()
                assert (folder / "out").read_bytes() == expected[workers], "the job does not continue"
                figures["continued"] += 1
    return figures | {"aborted": 0, "wrong": 0}


def _interrupt(folder: Path, workers: bool, seconds: float, expected: bytes) -> bool:
    """Start a translation and interrupt it; whether it had not ended before."""
    pid = _translate(folder, workers)
    time.sleep(seconds)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    # A terminal interrupts the workers, too.
    others = psutil.Process(forkserver._forkserver._forkserver_pid).children() if workers else []  # type: ignore
    for other in [pid, *(process.pid for process in others)] if not ended else []:
        os.kill(other, signal.SIGINT)
    status, log = _wait(pid), (folder / "log").read_text()
    if status == OUTSIDE:
        return False
    lines = [line for line in log.replace("\r", "\n").splitlines() if line and not re.search(r"\d+/\d+ \[", line)]
    what = f"{'workers' if workers else 'one process'}, after {seconds:.2f} s: status {status}, {log[-1500:]}"
    assert status in (0, 130), what
    assert status == 0 or len(lines) == 1, what
    found = (folder / "out").read_bytes() if (folder / "out").exists() else b""
    whole = expected.startswith(found) and (not found or found.endswith(b"\n"))
    assert whole and (status == 130 or found == expected), f"{what}: {found[-200:]!r}"
    return status == 130


def _translate(folder: Path, workers: bool, new: bool = True) -> int:
    """Start a translation; returns its process."""
    if new:
        (folder / "out").unlink(missing_ok=True)
        shutil.rmtree(folder / "out.parts", ignore_errors=True)
    words = ["translate", str(folder / "run"), "--input", str(folder / "in"), "--output", str(folder / "out")]
    words += ["--batch_tokens", "300"] + (["--workers", "2"] if workers else [])
    return _start(lambda: glossa_command.main(*words), folder / "log")


def _start(work, log: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(descriptor, sys.stdout.fileno())
        os.dup2(descriptor, sys.stderr.fileno())
        sys.argv[1:] = []
        signal.signal(signal.SIGINT, signal.default_int_handler)
        forkserver.ForkServer.ensure_running = lambda self: None  # it runs, as a child of the parent
        work()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:  # before the command has begun, or after its end
        status = OUTSIDE
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            threading._shutdown()  # type: ignore[attr-defined]
            multiprocessing.util._exit_function()  # type: ignore[attr-defined]
        sys.stdout.flush()
        os._exit(status)


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
