"""Seconds and CPU-seconds of commands from their cold start, imports included.

`glossa translate` of few lines and of many and `glossa score` of one pair, to their end: with `generate`, and with the
engine that `--engine auto` takes, in the first job, which exports the model into the cache, and in a later one. The
cache is an empty one of the benchmark. And `glossa train quickstart`, to the end of its first step.
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
from typing import Any

import psutil

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder

from .timing import NO_EVALUATION, alternate, machine, spread, table

TORCH, FIRST, LATER = "generate", "auto, first job", "auto, later job"
GLOSSA = [sys.executable, "-m", "glossa_command"]
TRAIN = ["train", "quickstart", *NO_EVALUATION, "--logging_strategy", "steps", "--logging_steps", "1"]
Times = tuple[float, float]  # seconds and CPU-seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="folder of a run, with its held-out test pairs")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1, 1000], help="to translate (default: 1 1000)")
    parser.add_argument("--num_beams", type=int, help="default: each command's own")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")


def run(arguments: argparse.Namespace) -> None:
    rows, rounds = [], arguments.rounds
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in commands(arguments, Path(scratch)).items():
            rows += [start_row(name, way, found) for way, found in measure(command, scratch, rounds).items()]
    taken = [train() for _ in range(rounds + (rounds > 1))]
    rows.append(start_row("train quickstart, first step", "", taken[-rounds:]))
    here = machine()
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    print(f"{table(rows)}\n\n{here['cpu']}, {here['cores']} cores, OMP_NUM_THREADS {threads}, ", end="")
    print(f"load average {here['load_average']:.1f}")


def commands(arguments: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """The commands that translate and score, by name, without an engine. Their input is written into `folder`."""
    pairs = RunFolder(arguments.model).load_held_out("test")
    beams = ["--num_beams", str(arguments.num_beams)] if arguments.num_beams else []
    found = {}
    for count in arguments.sentences:
        lines = (list(pairs["source"]) * (count // len(pairs) + 1))[:count]
        write(source := folder / f"{count}.txt", lines)
        words = ["translate", arguments.model, "--input", str(source), "--output", os.devnull]
        found[f"translate, {count:,} line{'s' * (count > 1)}"] = words + beams
    files = [folder / "pair.source", folder / "pair.target"]
    for file, side in zip(files, ("source", "target"), strict=True):
        write(file, pairs[side][:1])
    found["score, 1 pair"] = ["score", arguments.model, "--data_path", *map(str, files), *beams]
    return {name: [*GLOSSA, *words] for name, words in found.items()}


def measure(command: list[str], folder: str, rounds: int) -> dict[str, list[Times]]:
    """The times of a command in each round, by engine. With several, a warm-up round reads all files before."""
    turns: dict[str, Callable[[], Any]] = {
        TORCH: partial(finish, command, folder, "torch"),
        FIRST: partial(first_and_later, command, folder),
    }
    found = alternate(turns, rounds, warm_up=rounds > 1)
    first, later = zip(*found[FIRST], strict=True)
    return {TORCH: found[TORCH], FIRST: list(first), LATER: list(later)}


def write(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def first_and_later(command: list[str], folder: str) -> list[Times]:
    """The times of two jobs with one cache, which is empty before the first."""
    cache = tempfile.mkdtemp(dir=folder)
    return [finish(command, cache, "auto") for _ in range(2)]


def finish(command: list[str], cache: str, engine: str) -> Times:
    """The times of a command from its start to its end. Raises `GlossaError` if it fails."""
    started, before = time.perf_counter(), os.times()
    words = [*command, "--engine", engine]
    done = subprocess.run(words, env=os.environ | {"HF_HOME": cache}, capture_output=True, text=True)
    seconds, after = time.perf_counter() - started, os.times()
    if done.returncode:
        raise GlossaError(f"{' '.join(words)} failed: {done.stderr[-500:]}")
    children = (after.children_user - before.children_user, after.children_system - before.children_system)
    return seconds, sum(children)


def train() -> Times:
    with tempfile.TemporaryDirectory() as folder:
        return first_step([*GLOSSA, *TRAIN, "--output_dir", folder])


def first_step(command: list[str]) -> Times:
    """The times of a training, with all its processes, until it prints its first loss; it is ended then."""
    started = time.perf_counter()
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        output = []
        try:
            for text in process.stdout:
                if "step 1/" in text:
                    return time.perf_counter() - started, cpu_seconds(psutil.Process(process.pid))
                output.append(text)
        finally:
            process.terminate()
    raise GlossaError(f"{' '.join(command)} ended before its first step: {''.join(output)[-500:]}")


def cpu_seconds(process: psutil.Process) -> float:
    """Of a process and of all that it has started, ended ones included."""
    running = [process, *process.children(recursive=True)]
    return sum(sum(one.cpu_times()[:4]) for one in running)  # user and system time, also of children that have ended


def start_row(command: str, way: str, found: list[Times]) -> dict[str, str]:
    """A row of the table: medians, with the lowest and highest."""
    seconds, cpu = (spread(values) for values in zip(*found, strict=True))
    cells = {"command": command, "engine": way}
    for name, values in (("seconds", seconds), ("CPU-seconds", cpu)):
        cells[name] = f"{values['median']:.1f} [{values['low']:.1f}, {values['high']:.1f}]"
    return cells
