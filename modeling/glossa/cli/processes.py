"""The processes of `glossa train`. The settings are parsed once, in the first process."""

import ctypes
import logging
import os
import signal
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from ..base.errors import GlossaError
from ..train.plan.catalog import Given
from . import run

GRACE = 2.0  # seconds
LONGEST_WAIT = timedelta(days=7)
PR_SET_PDEATHSIG = 1  # prctl(2)


def start(given: Given) -> None:
    """Train with one process for each GPU, or on the CPU with as many as cores and memory allow.

    Raises `GlossaError` if a setting is wrong, or a process is killed.
    """
    end_with_launcher()
    devices = local_devices()
    if devices > 1:
        return launch(given, devices)
    from ..train.plan.processes import choose_processes

    processes = choose_processes(given.values)
    if processes > 1:
        return fork(given, processes)
    train(given)


def train(given: Given) -> None:
    """Train in this process."""
    from ..train import run as training
    from ..train.plan.arguments import parse_settings

    training.train(parse_settings(given))


def end_with_launcher() -> None:
    """Get SIGTERM when Accelerate's launcher ends: it forwards no signals to a single process. Linux only."""
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ and "LOCAL_RANK" not in os.environ
    if launched and sys.platform == "linux":
        end_with_parent()


def end_with_parent() -> None:
    """Get SIGTERM when the parent process ends. Linux only."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def local_devices() -> int:
    """The number of GPUs; 0 in a process of a launcher, which has its own."""
    if "LOCAL_RANK" in os.environ:
        return 0
    import torch

    return torch.cuda.device_count()


def launch(given: Given, processes: int) -> None:
    """Train under Accelerate's launcher, with one process for each device.

    All processes get signals and save a checkpoint. This process then ends with their status.
    """
    from accelerate.commands.launch import launch_command, launch_command_parser
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    with tempfile.TemporaryDirectory(prefix="glossa-") as folder:  # readable by this user only
        settings = Path(folder) / "settings.json"
        given.save(settings)
        options = ["--multi_gpu", "--num_processes", str(processes), "--num_machines", "1"]
        options += ["--mixed_precision", "no", "--dynamo_backend", "no", "--module", __name__, str(settings)]
        options += ["--debug"] * ("--debug" in sys.argv)
        try:
            launch_command(launch_command_parser().parse_args(options))
        except SignalException as error:
            sys.exit(128 + error.sigval)
        except ChildFailedError:  # the process has printed its error
            sys.exit(1)


def fork(given: Given, processes: int) -> None:
    """Train with several processes on the CPU, forked from this one so that libraries are imported once.

    All processes get signals and save a checkpoint. This process then ends with their status.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    from ..train import run as _  # noqa: F401  # before the fork

    for name in ("torch.distributed.elastic", "torch.multiprocessing"):  # the processes print their errors
        logging.getLogger(name).setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id="glossa",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        start_method="fork",
    )
    sys.stdout.flush()
    try:
        elastic_launch(config, _work)(given.with_flag("cpu_processes", processes))
    except SignalException as error:
        sys.exit(128 + error.sigval)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode > 0:
            sys.exit(1)
        raise GlossaError(
            f"Process {rank} of {processes} (numbered from 0) was killed by {signal.Signals(-failure.exitcode).name}. "
            "If memory ran out, give --cpu_processes 1. The run continues with --resume_from_checkpoint true."
        ) from error


def _work(given: Given) -> None:
    """Train in a forked process."""
    import torch

    from ..train.plan.devices import available_cores

    os.setsid()  # or Ctrl-C would reach this process twice, and the second would end it before it saves
    end_with_parent()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):  # remove the launcher's handlers
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("OMP_NUM_THREADS", str(available_cores()))  # Accelerate warns if it is not set
    # The default timeout is half an hour, but the first process may need longer to prepare the data.
    torch.distributed.init_process_group("gloo", timeout=LONGEST_WAIT)
    if os.environ["RANK"] != "0":
        logging.getLogger().setLevel(logging.WARNING)
    run(lambda _: _train_with_others(given), ["--debug"] * ("--debug" in sys.argv))


def _train_with_others(given: Given) -> None:
    """Train as one of several processes. An error of all is printed by the first, and a cause before its effects."""
    try:
        with given.placed():
            train(given)
    except Exception as error:
        if os.environ["RANK"] != "0" or not isinstance(error, GlossaError):
            time.sleep(GRACE)  # if another process has failed, the launcher ends this one
        raise


if __name__ == "__main__":  # a process that `launch` started
    run(lambda words: _train_with_others(Given.load(Path(words[0]))))
