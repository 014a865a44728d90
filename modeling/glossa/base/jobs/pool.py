"""Functions in processes of this machine."""

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
    """The cores that this process may use."""
    # Not every system can bind a process to cores.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment_threads() -> int | None:
    """The threads that `OMP_NUM_THREADS` asks for; None if it is not set, or not valid, which its library reports."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # the others are for nested threads
    return int(first) if first.isdecimal() and int(first) else None


def in_this_process(load: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Iterator[Any]:
    """The results of the function that `load` makes, in order."""
    yield from map(load(), items)


def in_processes(
    load: Callable[[], Callable[[Any], Any]],
    items: Sequence[Any],
    processes: int,
    modules: Sequence[str] = ("glossa",),
) -> Iterator[Any]:
    """The results of the function that `load` makes once in each process, in the order in which they come.

    Every process has one thread, and ends with its parent. `modules` are imported before it starts (see
    [`process_context`]). Raises `GlossaError` if a process is killed, and what the function raises.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes; other numbers of threads may round differently
    workers = max(min(processes, len(items)), 1)
    with ProcessPoolExecutor(workers, process_context(*modules), _start, (load,)) as pool:
        try:
            for job in as_completed([pool.submit(_call, item) for item in items]):
                yield job.result()
        except BrokenProcessPool as error:
            raise GlossaError(
                "A process was killed, perhaps for lack of memory. What is finished stays, and the same command "
                "continues; give fewer processes if memory was short."
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def process_context(*modules: str) -> BaseContext:
    """The `multiprocessing` context that starts processes soonest.

    On Linux they are forked from a server process, which has imported `modules` once: importing takes each of them
    seconds of CPU time. Other systems cannot fork safely once libraries have been loaded, so their processes import it
    themselves. The server has the environment variables of the time when the first process was started.
    """
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


_function: Callable[[Any], Any] | None = None  # of this process


def _start(load: Callable[[], Callable[[Any], Any]]) -> None:
    """Prepare a process of the pool: it ends with its parent and with Ctrl-C, and has one thread."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    os.environ["RAYON_NUM_THREADS"] = "1"  # of tokenizers, which reads it when it first encodes a batch
    global _function
    _function = load()


def end_with_parent() -> None:
    """Have this process end with the one that asked for it, which need not be the one that it was forked from."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent: Any = parent_process()
    parent.join()
    os._exit(1)  # an ordinary exit would wait for output that nobody reads any more


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
