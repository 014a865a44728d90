"""Seconds and CPU-seconds of `glossa translate` from its cold start to its end, imports included.

Of few sentences and of many, with `generate` and with the engine that `--engine auto` takes: the first job, which
exports the model into the cache, and later ones. The cache is an empty one of the benchmark.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from glossa.errors import GlossaError
from glossa.run_folder import RunFolder

from .timing import alternate, machine, spread, table

TORCH, FIRST, LATER = "generate", "auto, first job", "auto, later job"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="folder of a run, with its held-out test pairs")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1, 1000], help="default: 1 1000")
    parser.add_argument("--num_beams", type=int, help="default: the model's own")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")


def run(arguments: argparse.Namespace) -> None:
    texts = list(RunFolder(arguments.model).load_held_out("test")["source"])
    rows = []
    for count in arguments.sentences:
        lines = (texts * (count // len(texts) + 1))[:count]
        measured = measure(arguments.model, lines, arguments.num_beams, arguments.rounds)
        rows += [start_row(count, name, found) for name, found in measured.items()]
    here = machine()
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    print(f"{table(rows)}\n\n{here['cpu']}, {here['cores']} cores, OMP_NUM_THREADS {threads}, ", end="")
    print(f"load average {here['load_average']:.1f}")


def measure(model: str, lines: list[str], num_beams: int | None, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds and CPU-seconds of each way in each round. With several, a warm-up round reads all files before."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.txt"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        numbers = iter(range(rounds + 1))
        ways: dict[str, Callable[[], tuple[float, float]]] = {
            TORCH: lambda: translate(model, source, Path(folder) / "none", "torch", num_beams),
            FIRST: lambda: translate(model, source, Path(folder) / f"new-{next(numbers)}", "auto", num_beams),
            LATER: partial(translate, model, source, Path(folder) / "kept", "auto", num_beams),
        }
        return alternate(ways, rounds, warm_up=rounds > 1)


def translate(model: str, source: Path, cache: Path, engine: str, num_beams: int | None) -> tuple[float, float]:
    """Seconds and CPU-seconds of one command. Raises `GlossaError` if it fails."""
    command = [sys.executable, "-m", "glossa_command", "translate", model, "--engine", engine]
    command += ["--input", str(source), "--output", os.devnull]
    command += ["--num_beams", str(num_beams)] if num_beams else []
    started, before = time.perf_counter(), os.times()
    done = subprocess.run(command, env=os.environ | {"HF_HOME": str(cache)}, capture_output=True, text=True)
    seconds, after = time.perf_counter() - started, os.times()
    if done.returncode:
        raise GlossaError(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    children = (after.children_user - before.children_user, after.children_system - before.children_system)
    return seconds, sum(children)


def start_row(sentences: int, way: str, found: list[tuple[float, float]]) -> dict[str, str]:
    """A row of the table: medians, with the lowest and highest."""
    seconds, cpu_seconds = (spread(values) for values in zip(*found, strict=True))
    cells = {"sentences": f"{sentences:,}", "engine": way}
    for name, values in (("seconds", seconds), ("CPU-seconds", cpu_seconds)):
        cells[name] = f"{values['median']:.1f} [{values['low']:.1f}, {values['high']:.1f}]"
    return cells
