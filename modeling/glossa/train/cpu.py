"""Training on a CPU: choice of threads and precision by trials, and warnings if other programs slow it down."""

import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import psutil
import torch
from transformers import TrainerCallback

from .plan.devices import available_cores, has_bf16, name_of_cpu

Choice = TypeVar("Choice", int, bool)
logger = logging.getLogger(__name__)

TRIAL_SECONDS = 1.0  # per choice
ROUNDS = 3  # minimum; choices take turns, so that a burst of load affects all alike
LONGEST_TRIAL = 15.0  # seconds, for a model with slow steps
CLEARLY_SLOWER = 3.0  # a choice this many times slower than the best is not tried again
WORTH = 0.95  # maximum time of bf16 relative to float32, since bf16 is less precise
SLOWDOWN, SLOW_SECONDS = 3.0, 60.0  # warn if steps take this many times as long, for this long
TOGETHER = (
    ", and the training's threads or processes wait for each other. Stop those programs, or stop this run and "
    "continue it with --resume_from_checkpoint true --cpu_threads 1"
)
ALONE = ". Stop those programs, or wait for them to end"
CHECK_SECONDS, QUIET_SECONDS = 5.0, 600.0  # minimum time between checks, and between warnings


def choose_threads(step: Callable[[], None], cores: int | None = None) -> int:
    """The number of threads, from 1, 2, 4, ... to `cores`, with which `step` is currently fastest.

    OpenMP threads wait for each other after every operation. More threads are faster on an idle machine, but with
    another busy process they may be many times slower than one thread, so no fixed number fits both cases.

    Args:
        step: A training step. It is called several times for each number of threads.
        cores: Maximum number of threads; defaults to [`available_cores`].
    """
    cores = cores or available_cores()
    counts = sorted({min(2**power, cores) for power in range(cores.bit_length() + 1)})
    if len(counts) == 1:
        return counts[0]
    medians = _medians({count: partial(_timed, step, count) for count in counts})
    fastest = min(medians, key=medians.__getitem__)
    trial = ", ".join(f"{count}: {1000 * median:.0f} ms" for count, median in medians.items())
    logger.info("CPU threads: %d (a step with %s; --cpu_threads overrides)", fastest, trial)
    return fastest


def choose_bf16(steps: Mapping[bool, Callable[[], None]], threads: int) -> tuple[bool, str]:
    """Whether a step is faster in bf16, and a description of both times.

    Args:
        steps: The same step in float32 (False) and in bf16 (True).
        threads: The number of threads.
    """
    medians = _medians({bf16: partial(_timed, step, threads) for bf16, step in steps.items()})
    times = f"a step takes {1000 * medians[True]:.0f} ms in bf16, {1000 * medians[False]:.0f} ms in float32"
    return medians[True] <= WORTH * medians[False], times


def _medians(timed: Mapping[Choice, Callable[[], float]]) -> dict[Choice, float]:
    """The median time of each choice, which `timed` runs and times once. The number of threads is restored."""
    seconds: dict[Choice, list[float]] = {choice: [] for choice in timed}
    used = torch.get_num_threads()
    try:
        for run in timed.values():  # warm-up: the first call allocates memory and builds kernels
            run()
        while remaining := [choice for choice, found in seconds.items() if not _is_measured(found, seconds)]:
            for choice in remaining:
                seconds[choice].append(timed[choice]())
    finally:
        torch.set_num_threads(used)
    return {choice: statistics.median(found) for choice, found in seconds.items()}


def _is_measured(found: list[float], seconds: Mapping[Choice, list[float]]) -> bool:
    """Whether a choice has been measured well enough, or is clearly slower than another."""
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


def warn_of_emulation(capabilities: Mapping) -> None:
    """Log a warning if a CPU with these `torch.cpu.get_capabilities()` only emulates bf16."""
    if not has_bf16(capabilities):
        logger.warning(
            "%s has no bf16 instructions, so bf16 is emulated and many times slower. Set --bf16 false.",
            name_of_cpu(capabilities),
        )


class StepWatch(TrainerCallback):
    """Warns with advice if steps take several times as long as before for a minute.

    Args:
        clock: Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.recent: deque[tuple[float, float]] = deque()  # end and duration of the steps in the last minute
        self.usual = float("inf")  # step duration in the fastest minute
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
        step = durations[len(durations) // 4]  # the lower quartile
        self.usual = min(self.usual, step)
        if step > SLOWDOWN * self.usual and now - self.warned >= QUIET_SECONDS:
            self.warned = now
            share = args.world_size > 1 or torch.get_num_threads() > 1
            logger.warning(
                "A step has taken %.2f s for a minute, after %.2f s before. Other programs are probably busy (load "
                "average %.1f)%s.", step, self.usual, psutil.getloadavg()[0], TOGETHER if share else ALONE,
            )  # fmt: skip
