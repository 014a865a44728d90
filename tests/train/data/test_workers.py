"""Processes of data loaders end with the run that started them, however it ends."""

import os
import signal
import time
from pathlib import Path

import numpy
import pytest
import torch

from glossa.train.data.streaming.windows import StreamBatches, Window


class Large:
    """Windows of 8 MiB, which fill the queue of a worker; each worker notes its number."""

    def __init__(self, folder):
        self.folder = folder

    def count(self, epoch):
        return 1000

    def __len__(self):
        return 1000

    def __getitem__(self, place):
        (self.folder / str(os.getpid())).touch()
        ids, ends = numpy.zeros(1 << 20, numpy.int32), numpy.array([1 << 20])
        return Window([ids, ids], [ends, ends], [[0]], {}, 1, 1)


def windows(folder):
    batches = StreamBatches(Large(folder), 1000, workers=2)
    batches[0]


def run(start, folder):
    """A process that starts two workers and then does something else for a long time; returns its number."""
    pid = os.fork()
    if not pid:
        torch.set_num_threads(1)
        try:
            start(folder)
            time.sleep(600)
        finally:
            os._exit(1)
    return pid


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_workers_end_with_a_run_that_is_killed(tmp_path):
    pid = run(windows, tmp_path)
    assert until(lambda: len(list(tmp_path.iterdir())) == 2), "both workers have started"
    workers = [int(path.name) for path in tmp_path.iterdir()]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    try:
        assert until(lambda: not any(map(lives, workers)))
    finally:
        for worker in filter(lives, workers):
            os.kill(worker, signal.SIGKILL)
