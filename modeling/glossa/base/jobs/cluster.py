"""Run functions on a Ray cluster.

Uses Ray tasks rather than Ray Data: an item names its input, and outputs go to a shared folder, so there is no data
between stages to stream. Ray schedules tasks also on machines that join later, and retries those of lost machines.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from ... import __version__
from ..errors import GlossaError
from .stage import Runner

logger = logging.getLogger(__name__)

# Runs first in every worker process. It does not import torch.
SETUP = {"worker_process_setup_hook": "glossa_command.set_environment"}
SECONDS = 10  # timeout for a connection to the cluster
AHEAD = 2  # tasks queued per core, so that no core is idle


@contextmanager
def on_ray(address: str, folder: Path | None, needed: Sequence[Path] = ()) -> Iterator[Runner]:
    """Connect to the Ray cluster at `address`, to run the stages of a job there.

    Args:
        address: "auto" for the cluster of this machine, "local" to start one on this machine for this job only, or
            HOST:PORT or ray://HOST:PORT.
        folder: The folder of the job's files; None if it writes none.
        needed: Files and folders that the job reads on all machines.

    Raises:
        GlossaError: if Ray is not installed, the cluster does not respond, or one of its machines has another version
            of Glossa or cannot see `folder` or a path in `needed`.
    """
    if find_spec("ray") is None:
        raise GlossaError('--ray needs Ray. Install it: pip install "glossa-mt[ray]".')
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # for a cluster started here; Ray's default is 15
    import ray

    _check_answer(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "runtime_env": SETUP}
    quiet |= {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        reason = str(error).split(".")[0]
        raise GlossaError(
            f"--ray is {address}, but no cluster responds there: {reason}. Start one with `ray start --head`, give "
            "HOST:PORT of its head node, or give local to use only this machine."
        ) from error
    try:
        _check_nodes(folder, needed)
        yield partial(_run, ray)
    finally:
        ray.shutdown()


def _check_answer(address: str) -> None:
    """Raise `GlossaError` if nothing responds at HOST:PORT; Ray itself waits for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        if address not in ("auto", "local"):
            raise GlossaError(f"--ray is {address!r}; give auto, local, HOST:PORT or ray://HOST:PORT.")
        return
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise GlossaError(
            f"--ray is {address}, but nothing responds there within {SECONDS} seconds: {error}."
        ) from error


def _check_nodes(folder: Path | None, needed: Sequence[Path]) -> None:
    """Raise `GlossaError` if a machine has another version of Glossa or cannot see one of the paths."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    paths = {str(path.absolute()): path for path in needed}
    token = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        token = folder / f"{uuid.uuid4().hex}.seen"  # another machine may have a different folder of the same name
        token.touch()
        paths = {str(token.absolute()): folder} | paths
    try:
        probe = ray.remote(num_cpus=0, max_retries=0)(_probe)
        nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        answers = [
            probe.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(list(paths))
            for node in nodes
        ]
        for name, answer in zip(nodes.values(), answers, strict=True):
            try:
                version, seen = ray.get(answer)
            except (ray.exceptions.TaskUnschedulableError, ray.exceptions.NodeDiedError):
                logger.warning("%s has left the cluster.", name)
                continue
            if version != __version__:
                raise GlossaError(
                    f"{name} has Glossa {version}, this machine has {__version__}. Install the same version on all."
                )
            for path, there in zip(paths.values(), seen, strict=True):
                if not there:
                    raise GlossaError(
                        f"{name} cannot see {path.absolute()}. Move it to a folder that all machines share."
                    )
    finally:
        if token is not None:
            token.unlink()


def _probe(paths: list[str]) -> tuple[str, list[bool]]:
    return __version__, [Path(path).exists() for path in paths]


def _run(ray: Any, load: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Iterator[Any]:
    """Yield the results as they complete. Raises the exceptions of the function."""
    key, shared = uuid.uuid4().hex, ray.put(load)
    task = ray.remote(num_cpus=1, max_retries=-1)(_call)
    waiting: list[Any] = []
    left = iter(items)
    try:
        while True:
            room = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1) - len(waiting)
            waiting += [task.remote(key, shared, item, os.getcwd()) for item in islice(left, max(room, 0))]
            if not waiting:
                return
            (done, *_), waiting = ray.wait(waiting, num_returns=1)
            yield ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, GlossaError) else error) from None
    except ray.exceptions.RayError as error:
        reason = str(error).partition("\n")[0]
        raise GlossaError(
            f"The cluster failed: {reason} Finished work is kept. Run the same command to continue."
        ) from error
    finally:
        for task_left in waiting:
            ray.cancel(task_left, force=True)


_loaded: tuple[str, Callable[[Any], Any]] | None = None  # key of the stage, and the function loaded in this process


def _call(key: str, load: Callable[[], Callable[[Any], Any]], item: Any, folder: str) -> Any:
    global _loaded
    if _loaded is None or _loaded[0] != key:
        if os.path.isdir(folder):
            os.chdir(folder)  # resolve relative paths as the command does
        os.environ["RAYON_NUM_THREADS"] = "1"  # as in `glossa.base.jobs.pool`
        _loaded = key, load()
    return _loaded[1](item)
