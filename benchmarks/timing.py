"""Measurements in turns: rounds, medians, ratios with their spread, and the peak speed of the machine."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import psutil
import torch

Measured = TypeVar("Measured")

MATRIX_SIZES = {"cpu": (1024, 2048), "cuda": (4096, 8192)}
MATRIX_SECONDS = 0.3  # of multiplying, for each size
RESET = "5"  # resets the peak; see proc(5)
NO_EVALUATION = [  # settings of a training that is timed
    *("--eval_strategy", "no", "--save_strategy", "no", "--load_best_model_at_end", "false"),
    *("--predict_with_generate", "false", "--logging_strategy", "no", "--report_to", "none", "--disable_tqdm", "true"),
]


def alternate(
    contenders: Mapping[str, Callable[[], Measured]], rounds: int, warm_up: bool = True
) -> dict[str, list[Measured]]:
    """What each contender returns in each of `rounds` rounds, after one warm-up call that does not count.

    In each round every contender has one turn. The first turn moves on from round to round, so that a disturbance of
    the machine affects all contenders alike and none always follows the same other.
    """
    names = list(contenders)
    for name in names if warm_up else ():
        contenders[name]()
    measured: dict[str, list[Measured]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            measured[name].append(contenders[name]())
    return measured


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, minimum and maximum of `values`."""
    values = sorted(values)
    return {"median": statistics.median(values), "low": values[0], "high": values[-1]}


def ratios(speeds: Sequence[float], others: Sequence[float]) -> dict[str, float]:
    """How many times as fast as another: the spread of the ratios within each round."""
    return spread(speed / other for speed, other in zip(speeds, others, strict=True))


def synchronize(device: str) -> None:
    """Wait until `device` has done what it was asked to do. A CPU always has."""
    if device != "cpu":
        torch.accelerator.synchronize()


def matmul_peak(dtype: torch.dtype, device: str = "cpu") -> float:
    """Floating-point operations a second of torch's fastest matrix multiplication on this device."""
    best = 0.0
    for size in MATRIX_SIZES[device]:
        first, second = (torch.rand(size, size, device=device).to(dtype) for _ in range(2))
        end = time.perf_counter() + MATRIX_SECONDS
        while (started := time.perf_counter()) < end:
            torch.mm(first, second)
            synchronize(device)
            best = max(best, 2 * size**3 / (time.perf_counter() - started))
    return best


def reset_peak() -> int:
    """Reset the peak memory of this process, and return its current memory in bytes (Linux)."""
    held = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text(RESET)
    return held


def peak_memory() -> int:
    """Peak resident memory of this process in bytes, since its start or the last reset (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def machine() -> dict[str, str | int | float]:
    """The conditions of a measurement: CPU with its instructions, cores, threads, load average, version of torch."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": f"{model[0] if model else platform.machine()} ({torch.backends.cpu.get_cpu_capability()})",
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "load_average": os.getloadavg()[0],
        "torch": torch.__version__,
    }


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows with equal keys as a Markdown table; all columns but the first are aligned to the right."""
    names = list(rows[0])
    lines = [names, ["---"] + ["---:"] * (len(names) - 1)] + [[row[name] for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def format_ratio(ratio: Mapping[str, float]) -> str:
    """A ratio with its spread, as in `2.50 [2.18, 3.22]`."""
    return f"{ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]"
