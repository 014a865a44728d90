"""Training on a CPU: how many threads, what bfloat16 is worth, and a warning if other programs slow it down."""

import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping

import psutil
import torch
from transformers import TrainerCallback

from ..plan.devices import available_cores, has_bf16

logger = logging.getLogger(__name__)

TRIAL_SECONDS = 1.0  # for each number of threads
ROUNDS = 3  # at least, in turn, so that a burst of load hits all alike
LONGEST_TRIAL = 15.0  # seconds, for a model whose steps are slow
CLEARLY_SLOWER = 3.0  # times as slow as the best number of threads: not tried again
SLOWDOWN, SLOW_SECONDS = 3.0, 60.0  # a warning when steps take this many times as long, for this long
CHECK_SECONDS, QUIET_SECONDS = 5.0, 600.0  # at least between two checks, and between two warnings


def choose_threads(step: Callable[[], None], cores: int | None = None) -> int:
    """The number of threads with which `step` is fastest now, from 1, 2, 4, ... to `cores`.

    The threads of OpenMP wait for each other after every operation. On an idle machine more of them are faster; next
    to another busy process they may be many times slower than one, and no fixed setting is right for both.

    Args:
        step: One step of training. It is called several times for each number of threads.
        cores: Most threads; [`available_cores`] when not given.
    """
    cores = cores or available_cores()
    counts = sorted({min(2**power, cores) for power in range(cores.bit_length() + 1)})
    if len(counts) == 1:
        return counts[0]
    seconds: dict[int, list[float]] = {count: [] for count in counts}
    used = torch.get_num_threads()
    try:
        for count in counts:  # a first call allocates memory and builds kernels
            _timed(step, count)
        while open_counts := [count for count, found in seconds.items() if not _settled(found, seconds)]:
            for count in open_counts:
                seconds[count].append(_timed(step, count))
    finally:
        torch.set_num_threads(used)
    medians = {count: statistics.median(found) for count, found in seconds.items()}
    fastest = min(medians, key=medians.__getitem__)
    trial = ", ".join(f"{count}: {1000 * median:.0f} ms" for count, median in medians.items())
    logger.info("CPU threads: %d (a step with %s; --cpu_threads overrides)", fastest, trial)
    return fastest


def _settled(found: list[float], seconds: dict[int, list[float]]) -> bool:
    """Whether a number of threads is measured well enough, or clearly slower than another."""
    if not found:
        return False
    best = min(min(times) for times in seconds.values() if times)
    enough = len(found) >= ROUNDS and sum(found) >= TRIAL_SECONDS
    hopeless = len(found) > 1 and min(found) > CLEARLY_SLOWER * best
    return enough or hopeless or sum(found) >= LONGEST_TRIAL


def _timed(step: Callable[[], None], threads: int) -> float:
    torch.set_num_threads(threads)
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def report_bf16(capabilities: Mapping, bf16: bool) -> None:
    """Log what bfloat16 is worth on a CPU with these `torch.cpu.get_capabilities()`; a warning if it is very slow.

    Args:
        capabilities: By name.
        bf16: Whether training uses it.
    """
    name = capabilities.get("cpu_name") or capabilities.get("architecture") or "CPU"
    if not has_bf16(capabilities):
        if bf16:
            logger.warning("%s has no bf16 instructions: bf16 is emulated, many times slower. Set --bf16 false.", name)
        else:
            logger.info("%s has no bf16 instructions: float32 is faster here.", name)
        return
    if capabilities.get("amx_bf16") or capabilities.get("amx_tile"):
        line = f"{name} has AMX: bf16 is fast here"
    elif capabilities.get("avx512_bf16"):
        line = f"{name} has AVX512-BF16 but no AMX: bf16 is faster here, most of all for wide models"
    else:
        line = f"{name} has ARM's bf16 instructions: bf16 may be faster here"
    logger.info("%s%s.", line, "" if bf16 else " (--bf16 true)")


class StepWatch(TrainerCallback):
    """Warns if steps take several times as long as before for a minute, and says what to do.

    Args:
        clock: Seconds; another clock for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.recent: deque[tuple[float, float]] = deque()  # end and duration of the steps of the last minute
        self.usual = float("inf")  # the shortest minute's duration of a step
        self.started = self.checked = 0.0
        self.warned = float("-inf")

    def on_step_begin(self, args, state, control, **kwargs):
        self.started = self.clock()

    def on_step_end(self, args, state, control, **kwargs):
        now = self.clock()
        self.recent.append((now, now - self.started))
        if now - self.recent[0][0] < SLOW_SECONDS or now - self.checked < CHECK_SECONDS:
            return
        self.checked = now
        while now - self.recent[0][0] > SLOW_SECONDS:
            self.recent.popleft()
        durations = sorted(duration for _, duration in self.recent)
        step = durations[len(durations) // 4]  # three of four steps take at least this long
        self.usual = min(self.usual, step)
        if step > SLOWDOWN * self.usual and now - self.warned >= QUIET_SECONDS:
            self.warned = now
            logger.warning(
                "A step has taken %.2f s for a minute, after %.2f s before. Other programs are probably busy (load "
                "average %.1f), and the training's threads or processes wait for each other. Stop those programs, or "
                "stop this run and continue it with --resume_from_checkpoint true --cpu_threads 1.",
                step, self.usual, psutil.getloadavg()[0],
            )  # fmt: skip
