"""Training speed next to other busy programs, for each number of threads and for the one that a run chooses.

Each busy program is a process that computes without pause. The run's choice is the trial of `glossa train`
(`glossa.training.cpu.choose_threads`), under the same load.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from glossa.training.cpu import choose_threads

from .contenders import Contender, ContenderBuilder
from .corpus import load_corpus
from .report import add_common_arguments, add_corpus_arguments, finish, prepare
from .sizes import SIZES
from .timing import alternate, spread, table

SETTLING_SECONDS = 1.0  # until the scheduler has spread the busy programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser, rounds=3)
    add_corpus_arguments(parser)
    parser.add_argument(
        "--sizes", nargs="+", choices=SIZES, default=["tiny", "small", "base"], help="in place of --size"
    )
    parser.add_argument("--neighbors", type=int, nargs="+", default=[0, 1, 2, 4], help="default: 0 1 2 4")


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    corpus = load_corpus(arguments.data, arguments.language)
    results, rows = {}, []
    for size in arguments.sizes:
        builder = ContenderBuilder(
            corpus.tokenized["train"], corpus.tokenizer, size, arguments.architecture, arguments.bf16
        )
        contender = builder.build("Glossa, bare loop")
        results[size] = {}
        for count in arguments.neighbors:
            found = measure(contender, count, arguments.threads, arguments.rounds, arguments.steps)
            results[size][count] = found
            rows.append(load_row(size, count, found))
            print(f"{size} beside {count}: {found}", flush=True)  # base takes an hour under load
    print(table(rows))
    finish(arguments, before, results)


@contextmanager
def busy_neighbors(count: int) -> Iterator[None]:
    """`count` processes that compute without pause."""
    # They end with this process, however it ends.
    program = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        time.sleep(SETTLING_SECONDS if count else 0)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure(contender: Contender, neighbors: int, threads: int, rounds: int, steps: int) -> dict:
    """`speeds` (target tokens a second) by number of threads, the number `chosen` and its `share` of the best."""
    counts = sorted({min(2**power, threads) for power in range(threads.bit_length() + 1)})

    def turn(count: int) -> float:
        torch.set_num_threads(count)
        contender.train(1)
        return contender.train(steps).speed

    with busy_neighbors(neighbors):
        measured = alternate({count: lambda count=count: turn(count) for count in counts}, rounds, warm_up=False)
        chosen = choose_threads(lambda: contender.train(1), cores=threads)
    speeds = {count: spread(found) for count, found in measured.items()}
    best = max(found["median"] for found in speeds.values())
    return {"speeds": speeds, "chosen": chosen, "share": speeds[chosen]["median"] / best}


def load_row(size: str, neighbors: int, found: dict) -> dict[str, str]:
    speeds = {
        f"{count} thread{'s' * (count > 1)}": f"{one['median']:,.0f} [{one['low']:,.0f}, {one['high']:,.0f}]"
        for count, one in found["speeds"].items()
    }
    row = {"size": size, "busy neighbors": str(neighbors)} | speeds
    return row | {"chosen": str(found["chosen"]), "share of the best": f"{found['share']:.0%}"}
