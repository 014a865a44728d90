"""Run functions in processes of this machine."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.context import BaseContext
from typing import Any

from ..errors import GlossaError


def cores() -> int:
    """The number of CPU cores available to this process."""
    # Not every system supports CPU affinity.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment_threads() -> int | None:
    """The number of threads in `OMP_NUM_THREADS`; None if it is unset or invalid (OpenMP reports an invalid value)."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # further values are for nested parallelism
    return int(first) if first.isdecimal() and int(first) else None


def in_this_process(load: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Iterator[Any]:
    """Apply the function that `load` returns to each item; yields the results in order."""
    yield from map(load(), items)


def in_processes(
    load: Callable[[], Callable[[Any], Any]],
    items: Sequence[Any],
    processes: int,
    modules: Sequence[str] = ("glossa",),
) -> Iterator[Any]:
    """Apply a function, which `load` returns once per process, to each item; yields the results as they complete.

    Every process has one thread and exits with its parent. `modules` are imported before it starts (see
    [`process_context`]). Raises `GlossaError` if a process is killed, and the exceptions of the function.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes; rounding may depend on the number of threads
    workers = max(min(processes, len(items)), 1)
    with ProcessPoolExecutor(workers, process_context(*modules), _start, (load,)) as pool:
        try:
            for job in as_completed([pool.submit(_call, item) for item in items]):
                yield job.result()
        except BrokenProcessPool as error:
            raise GlossaError(
                "A process was killed, possibly because it ran out of memory. Finished work is kept. Run the same "
                "command to continue, with fewer processes if memory was short."
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def process_context(*modules: str) -> BaseContext:
    """The `multiprocessing` context that starts processes fastest.

    On Linux, processes are forked from a server process that has imported `modules` once, which takes seconds of CPU
    time. Other systems cannot fork safely after libraries are loaded, so each process imports the modules itself. The
    server keeps the environment variables from the time when the first process was started.
    """
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


_function: Callable[[Any], Any] | None = None  # loaded in this process


def _start(load: Callable[[], Callable[[Any], Any]]) -> None:
    """Initialize a process of the pool: it exits with its parent and on Ctrl-C, and has one thread."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    os.environ["RAYON_NUM_THREADS"] = "1"  # tokenizers reads it when it first encodes a batch
    global _function
    _function = load()


def end_with_parent() -> None:
    """Exit when the process that requested this one exits, which need not be the process it was forked from."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent: Any = parent_process()
    parent.join()
    os._exit(1)  # a normal exit would block on output that is no longer read


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
