"""Large files with `glossa translate --workers`: `python -m benchmarks shards MODEL`.

Translates generated lines (sentences of the corpus in the package, so MODEL is best the quickstart's) with several
numbers of workers, and once more with the whole job killed again and again at random times. Prints the time of each,
and whether all outputs are equal byte for byte.
"""

import argparse
import hashlib
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from glossa.data.embedded.corpus import embedded_corpus
from glossa.errors import GlossaError
from glossa.inference.engines.engine import ENGINES

from .timing import machine, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="folder of a run, or of an exported engine with --engine")
    parser.add_argument("--engine", choices=ENGINES, default="torch", help="default: torch")
    parser.add_argument("--lines", type=int, default=100_000, help="default: 100,000")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="default: 1 2 4")
    parser.add_argument("--num_beams", type=int, default=1, help="default: 1")
    parser.add_argument("--kills", type=int, default=20, help="of the job with the most workers (default: 20)")


def run(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.txt"
        write_lines(source, arguments.lines)
        rows = []
        for workers in arguments.workers:
            rows.append(measure(arguments, source, workers, 0))
        if arguments.kills:
            rows.append(measure(arguments, source, max(arguments.workers), arguments.kills))
    print(table(rows))
    conditions = machine()
    print(f"\n{arguments.lines:,} lines; {conditions['cpu']}, {conditions['cores']} cores. ", end="")
    equal = len({row["SHA-256"] for row in rows}) == 1
    print("All outputs are equal." if equal else "The outputs DIFFER.")


def write_lines(path: Path, lines: int) -> None:
    """`lines` sentences of the embedded corpus, numbered so that they differ."""
    sentences = embedded_corpus()["train"]["translation"][:]
    with open(path, "w", encoding="utf-8") as file:
        for number, sentence in enumerate(itertools.islice(itertools.cycle(sentences), lines)):
            print(f"{sentence['en']} {number}" if number >= len(sentences) else sentence["en"], file=file)


def measure(arguments: argparse.Namespace, source: Path, workers: int, kills: int) -> dict[str, str]:
    """Translate the file, with `kills` interruptions; a row of the table."""
    output = source.with_name("output.txt")
    command = [sys.executable, "-c", "from glossa_command import main; main('translate')", arguments.model]
    command += ["--engine", arguments.engine, "--num_beams", str(arguments.num_beams), "--workers", str(workers)]
    command += ["--input", str(source), "--output", str(output)]
    started, generator = time.perf_counter(), random.Random(1)
    for _ in range(kills):
        # Between the start of the workers and the end of the job, and sometimes during the start.
        _kill_after(command, generator.uniform(1, 20))
        if output.exists():
            raise GlossaError("The job ended before all kills. Give more --lines.")
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise GlossaError(f"glossa translate failed: {done.stderr[-1000:]}")
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    output.unlink()
    cost = re.search(r"([\d.]+) CPU-hours a million words", done.stderr)
    assert cost is not None
    return {
        "workers": str(workers),
        "kills": str(kills),
        "seconds": f"{seconds:,.0f}",
        "lines a second": f"{arguments.lines / seconds:,.0f}",
        "CPU-hours a million words": cost[1],
        "SHA-256": digest[:12],
    }


def _kill_after(command: list[str], seconds: float) -> None:
    """Start the job, and kill its whole process group."""
    job = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        job.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
