"""Trainings that a table still lacks, several at a time: `python -m benchmarks queue --multi30k FOLDER --anki FILE`.

The list is `QUEUE` in this file: rows of `benchmarks reproduce` and entries of `benchmarks race`, with a seed and the
minutes expected on one core. Rows that are finished are left out. As many as cores and memory allow run side by side,
each on a core of its own. Each may take `--limit` minutes; a row that was stopped is resumed by the next call.

FOLDER/results gets a file for each finished row, FOLDER/logs what each printed, and FOLDER/runs the runs. Finished
rows are added to `--results`. `--collect FOLDER` only adds those that another machine has finished, and `--list` only
shows what is left.
"""

import argparse
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import psutil

from glossa.base.errors import GlossaError

from .processes import run_limited
from .race import MARKS
from .race import is_finished as race_is_finished
from .reproduce import DOCS, add_result, corpus_of, find_result, read_results
from .rows import TABLES
from .timing import table

RACE = "race"
MEMORY = 3 * 2**30  # bytes of a training, at most
WAITING = "waiting"


@dataclass(frozen=True)
class Training:
    """A row with a seed.

    Attributes:
        table: Of `benchmarks.rows.TABLES`, or `race`.
        row: Its name in the table.
        seed: Its seed.
        minutes: Expected on one core.
    """

    table: str
    row: str
    seed: int
    minutes: int

    @property
    def name(self) -> str:
        return f"{self.table}-{self.row}-{self.seed}".replace(" ", "-").replace(",", "")


# The first in the list are started first.
QUEUE = [
    Training("multi30k", "glossa-fr", 1, 60),
    Training(RACE, "MarianMT, Seq2SeqTrainer, grouped", 2, 50),
    Training(RACE, "MarianMT, Seq2SeqTrainer, grouped", 3, 50),
    *(Training("anki", "six-layers", seed, 80) for seed in (1, 2, 3, 4)),
    Training("robustness", "anki-augmented", 1, 15),
    *(Training("languages", row, 1, 12) for row in TABLES["languages"]),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--multi30k", type=Path, metavar="FOLDER", help="Multi30k, as for reproduce")
    parser.add_argument("--anki", type=Path, metavar="FILE", help="fra-eng.zip, as for reproduce")
    parser.add_argument("--tico19", type=Path, metavar="FOLDER", help="TICO-19, as for reproduce")
    parser.add_argument("--results", type=Path, default=DOCS / "results.json", metavar="FILE",
                        help="the finished rows (default: those of this repository)")  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", default=Path("runs/queue"), help="default: runs/queue"
    )
    parser.add_argument("--jobs", type=int, help="trainings side by side (default: as cores and memory allow)")
    parser.add_argument("--limit", type=float, default=60, help="minutes of a training (default: 60)")
    parser.add_argument("--list", action="store_true", help="show what is left; train nothing")
    parser.add_argument("--collect", type=Path, metavar="FOLDER", help="add the results in FOLDER; train nothing")


def run(arguments: argparse.Namespace) -> None:
    if arguments.collect:
        return print(f"{collect(arguments.collect, arguments.results)} rows are in {arguments.results}.")
    left = [training for training in QUEUE if not is_finished(arguments, training)]
    if arguments.list or not left:
        return print(table(_rows((training, WAITING, 0.0) for training in left)) if left else "Nothing is left.")
    check_data(arguments, left)
    print(table(_rows(train_all(arguments, left))))
    print(f"{collect(arguments.output, arguments.results)} rows are in {arguments.results}.")


def is_finished(arguments: Namespace, training: Training) -> bool:
    """Whether the row is in the results, with today's settings."""
    if training.table == RACE:
        wanted = Namespace(results=arguments.results, marks=MARKS)
        return race_is_finished(wanted, training.row, training.seed)
    wanted = Namespace(results=arguments.results, table=training.table)
    return find_result(wanted, training.row, training.seed) is not None


def check_data(arguments: Namespace, trainings: Iterable[Training]) -> None:
    """Raise `GlossaError` if the files of a training are not given."""
    for training in trainings:
        option = "multi30k" if training.table == RACE else corpus_of(training.table, training.row)
        if option != "quickstart" and getattr(arguments, option) is None:
            raise GlossaError(f"{training.name} is in the queue and needs --{option}. See --help.")


def count_jobs(cores: int, memory: int) -> int:
    """How many trainings fit on a machine with so many cores and bytes of memory."""
    return max(min(cores, memory // MEMORY), 1)


def train_all(arguments: Namespace, trainings: list[Training]) -> list[tuple[Training, str, float]]:
    """Train all, several at a time, in their order; how each ended, and its seconds."""
    cores: SimpleQueue[int] = SimpleQueue()
    available = sorted(os.sched_getaffinity(0))
    for core in available:
        cores.put(core)
    jobs = arguments.jobs or count_jobs(len(available), psutil.virtual_memory().available)
    if jobs > len(available):
        raise GlossaError(f"--jobs is {jobs}, but this process may use {len(available)} cores. Give at most as many.")
    for folder in ("logs", "results", "runs"):
        (arguments.output / folder).mkdir(parents=True, exist_ok=True)

    def claim_core() -> None:
        os.sched_setaffinity(0, {cores.get()})  # of this thread, and of the processes that it starts

    def train(training: Training) -> tuple[Training, str, float]:
        print(f"{training.name}: starts", flush=True)
        started = time.monotonic()
        log = arguments.output / "logs" / f"{training.name}.log"
        status = run_limited(command(arguments, training), log, 60 * arguments.limit, {"OMP_NUM_THREADS": "1"})
        seconds = time.monotonic() - started
        print(f"{training.name}: {status}, {seconds / 60:.1f} minutes; {log}", flush=True)
        return training, status, seconds

    with ThreadPoolExecutor(jobs, initializer=claim_core) as pool:
        return list(pool.map(train, trainings))


def command(arguments: Namespace, training: Training) -> list[str]:
    """The command that trains one row and writes its result to a file of its own."""
    result = (arguments.output / "results" / f"{training.name}.json").resolve()
    words = [sys.executable, "-m", "benchmarks", "race" if training.table == RACE else "reproduce"]
    words += ["--entries", training.row] if training.table == RACE else [training.table, "--rows", training.row]
    words += ["--seeds", str(training.seed), "--cpu_threads", "1", "--results", str(result)]
    if training.table != RACE:
        words += ["--output_dir", str((arguments.output / "runs").resolve())]
        for corpus in ("anki", "tico19"):
            given = getattr(arguments, corpus)
            words += [f"--{corpus}", str(given.resolve())] if given else []
    return words + (["--multi30k", str(arguments.multi30k.resolve())] if arguments.multi30k else [])


def collect(folder: Path, results: Path) -> int:
    """Add the finished rows of a queue's `folder` to the file `results`; their number."""
    found = [row for file in sorted((folder / "results").glob("*.json")) for row in read_results(file)]
    for row in found:
        add_result(results, row, ("table", "row", "seed", "cpu") if row["table"] == RACE else ("table", "row", "seed"))
    return len(found)


def _rows(ended: Iterable[tuple[Training, str, float]]) -> list[dict[str, str]]:
    return [
        {
            "table": training.table,
            "row": training.row,
            "seed": str(training.seed),
            "minutes of a core, expected": str(training.minutes),
            "minutes": f"{seconds / 60:.1f}" if seconds else "",
            "status": status,
        }
        for training, status, seconds in ended
    ]
