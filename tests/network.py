"""Two machines on one: two network namespaces with a link, a process of `glossa train` in each, and the link is cut.

`unshare -rn python tests/network.py FOLDER PATIENCE RESTORED [ARGUMENT ...]`: the processes wait for each other for
PATIENCE seconds, and the link is restored after RESTORED seconds; never if 0.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from torch.distributed import distributed_c10d

from glossa.cli import run
from glossa.cli.train import main
from glossa.training.run import train
from glossa.training.trainer import GlossaTrainer

assert train  # imported for the processes that are forked

CLONE_NEWNET = 0x40000000
CUT_AT = 4  # batch of the first process
DEVICES, ADDRESSES = ("glossa0", "glossa1"), ("10.77.0.1", "10.77.0.2")


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)


def join_network(rank):
    ip("address", "add", f"{ADDRESSES[rank]}/24", "dev", DEVICES[rank])
    ip("link", "set", DEVICES[rank], "up")


def work(rank, folder, patience, arguments):
    """What the process of each machine runs; the first waits at a batch until the link is cut."""
    distributed_c10d.default_pg_timeout = timedelta(seconds=patience)  # on a CPU, transformers leaves ddp_timeout out
    with open(folder / f"log-{rank}.txt", "wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    if rank:
        if ctypes.CDLL(None).unshare(CLONE_NEWNET):
            raise OSError("unshare")
        (folder / "separate").touch()
        wait_for(folder / "linked")
        join_network(rank)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    os.environ |= {"MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": DEVICES[rank]}
    step, starts = GlossaTrainer.training_step, []

    def training_step(self, *args, **kwargs):
        starts.append(time.monotonic())
        if rank == 0 and len(starts) == CUT_AT:
            (folder / "ready").touch()
            wait_for(folder / "cut")
        return step(self, *args, **kwargs)

    GlossaTrainer.training_step = training_step
    status = 1
    try:
        run(main, [*arguments, "--ddp_backend", "gloo"])
        status = 0
    except SystemExit as end:
        print(end.code if isinstance(end.code, str) else f"status {end.code}", flush=True)
    (folder / f"starts-{rank}.json").write_text(json.dumps(starts))
    os._exit(status)


def experiment(folder, patience, seconds, arguments):
    """Train, and cut the link for that many seconds. Prints the statuses and when the link was restored."""
    pids = []
    for rank in (1, 0):
        pids.append(os.fork())
        if not pids[-1]:
            work(rank, folder, patience, arguments)
        if rank:
            wait_for(folder / "separate")
            ip("link", "add", DEVICES[0], "type", "veth", "peer", "name", DEVICES[1])
            ip("link", "set", DEVICES[1], "netns", str(pids[0]))
            ip("link", "set", "lo", "up")
            join_network(0)
            (folder / "linked").touch()
    wait_for(folder / "ready")
    ip("link", "set", DEVICES[0], "down")
    (folder / "cut").touch()
    restored = None
    if seconds:
        time.sleep(seconds)
        restored = time.monotonic()
        ip("link", "set", DEVICES[0], "up")
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in reversed(pids)]
    print(json.dumps({"statuses": statuses, "restored": restored}))


if __name__ == "__main__":
    experiment(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
