"""How fast Glossa trains compared with other implementations of the same size, in turns, on the same pairs.

For each contender: real target tokens a second, padding, share of the machine's peak, and memory. The contenders are
transformers' MarianMT under the stock Seq2SeqTrainer, and Glossa: in the processes that `glossa train` starts, and in
one process with as many threads.

A figure is the median of the rounds; a ratio is the median of the ratios within each round, with minimum and maximum.
"""

import argparse
import os
from collections.abc import Sequence
from functools import partial

import torch
from torch.distributed.elastic.utils.distributed import get_free_port

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import process_context
from glossa.train.plan.settings import GlossaTrainingArguments

from .contenders import NAMES, ContenderBuilder, Work, count_trained
from .corpus import load_corpus
from .report import add_common_arguments, finish, prepare
from .timing import alternate, format_ratio, matmul_peak, peak_memory, ratios, reset_peak, spread, table

PEAK = "matrix multiplication"
SHARED = "Glossa, as glossa train"  # in several processes, which share the batches of a step
OPTIONS = ("data", "language", "size", "bf16", "threads")  # of the command line, for each contender


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    names = (SHARED, *NAMES)
    parser.add_argument("--contenders", nargs="+", choices=names, default=list(names), help="default: all")


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    finish(arguments, before, compare(arguments))


def compare(arguments: argparse.Namespace) -> dict:
    """Measure the contenders and print the table."""
    options = {name: getattr(arguments, name) for name in OPTIONS}
    result = measure_training(arguments.contenders, arguments.rounds, arguments.steps, options)
    print(table(training_rows(result)))
    peak = {name: f"{value / 1e9:,.0f}" for name, value in result["peak"].items()}
    precision = "bfloat16" if arguments.bf16 else "float32"
    print(f"\nPeak: {peak['median']} [{peak['low']}, {peak['high']}] GFLOP/s of matrix multiplication in {precision}")
    return result


def measure_training(names: list[str], rounds: int, steps: int, options: dict) -> dict:
    """Turns of `steps` steps of each contender in `rounds` rounds, with the machine's peak measured in each round.

    `options` are those of `OPTIONS`. Returns `peak` (the spread of operations a second) and `contenders`: for each its
    parameters, and the spreads of its `speed`, of its `ratio` (how many times as fast the first of `names` is), and of
    its `share` of the peak; its padding, its target tokens a step, and the bytes of its peak memory.
    """
    contenders = {name: _ContenderProcess(name, options) for name in names}
    turns: dict = {name: partial(contender.train, steps) for name, contender in contenders.items()}
    turns[PEAK] = lambda: matmul_peak(torch.bfloat16 if options["bf16"] else torch.float32)
    try:
        parameters = {name: contender.parameters() for name, contender in contenders.items()}
        measured = alternate(turns, rounds)
    finally:
        for contender in contenders.values():
            contender.close()
    peaks = measured.pop(PEAK)
    first = [work.speed for work in measured[names[0]]]
    return {
        "peak": spread(peaks),
        "contenders": {
            name: _summary(measured[name], peaks, first) | {"parameters": parameters[name]} for name in names
        },
    }


class _ContenderProcess:
    """A contender in its own process, or in several that train together, idle between its turns.

    In a single process each contender would add its own threads, and OpenMP slows down for all of them once there are
    more threads than cores.
    """

    def __init__(self, name: str, options: dict):
        self.name = name
        context = process_context("glossa.train.run")
        count = shared_processes(options["threads"]) if name == SHARED else 1
        own = options | {"name": NAMES[0] if name == SHARED else name, "threads": options["threads"] // count}
        port = get_free_port()
        self.connections, self.processes = [], []
        for rank in range(count):
            connection, theirs = context.Pipe()
            self.connections.append(connection)
            self.processes.append(context.Process(target=_serve, args=(theirs, own, rank, count, port), daemon=True))
            self.processes[-1].start()
            theirs.close()

    def train(self, steps: int) -> Work:
        for connection in self.connections:
            connection.send(steps)
        return together(self._receive())

    def parameters(self) -> int:
        """How many are trained; each process sends this when it is ready."""
        return self._receive()[0]

    def _receive(self) -> list:
        """What the processes send; an error is raised here."""
        try:
            received = [connection.recv() for connection in self.connections]
        except EOFError as error:
            raise GlossaError(f"The process of {self.name} ended early; the system may have ended it.") from error
        for one in received:
            if isinstance(one, Exception):
                raise one
        return received

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            process.join()


def shared_processes(threads: int) -> int:
    """The processes that `glossa train` starts for as many cores: they share the batches of a step evenly."""
    batches = GlossaTrainingArguments.gradient_accumulation_steps
    return max(count for count in range(1, batches + 1) if batches % count == 0 and count <= threads)


def together(works: Sequence[Work]) -> Work:
    """The work of processes that trained at the same time."""
    sums = {name: sum(getattr(work, name) for work in works) for name in ("target_tokens", "tokens", "padded_tokens")}
    sums |= {name: sum(getattr(work, name) for work in works) for name in ("flops", "memory")}
    return Work(seconds=max(work.seconds for work in works), steps=works[0].steps, **sums)


def _serve(connection, options: dict, rank: int, processes: int, port: int) -> None:
    """Send the number of parameters; then, for each number of steps that arrives, train and send the work done."""
    try:
        if processes > 1:
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
            os.environ.update({name: str(value) for name, value in place.items()})
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            torch.distributed.init_process_group("gloo")
        # Preparation must start no threads: only training threads count, and training may run in a thread of its own.
        torch.set_num_threads(1)
        corpus = load_corpus(options["data"], options["language"])
        builder = ContenderBuilder(corpus.tokenized["train"], corpus.tokenizer, options["size"], options["bf16"])
        before = reset_peak()
        contender = builder.build(options["name"])
        torch.set_num_threads(options["threads"])
        connection.send(count_trained(contender.model))
        while True:
            work = contender.train(connection.recv())
            work.memory = peak_memory() - before
            connection.send(work)
    except EOFError:
        contender.close()
        if processes > 1:
            torch.distributed.destroy_process_group()
    except Exception as error:
        connection.send(error)


def _summary(works: list[Work], peaks: list[float], first: list[float]) -> dict:
    speeds = [work.speed for work in works]
    return {
        "speed": spread(speeds),
        "ratio": ratios(first, speeds),
        "share": spread(work.flops / work.seconds / peak for work, peak in zip(works, peaks, strict=True)),
        "padding": 1 - sum(work.tokens for work in works) / sum(work.padded_tokens for work in works),
        "target_tokens_a_step": sum(work.target_tokens for work in works) / sum(work.steps for work in works),
        "memory": max(work.memory for work in works),
        "rounds": [vars(work) for work in works],
    }


def training_rows(result: dict) -> list[dict[str, str]]:
    """What [`measure_training`] returned, a row for each contender."""
    first = next(iter(result["contenders"])).partition(",")[0]
    return [
        {
            "training": name,
            "parameters": f"{found['parameters']:,}",
            "target tokens/s": f"{found['speed']['median']:,.0f}",
            f"{first} is faster": format_ratio(found["ratio"]),
            "tokens a step": f"{found['target_tokens_a_step']:,.0f}",
            "padding": f"{found['padding']:.1%}",
            "of peak": f"{found['share']['median']:.1%}",
            "peak memory": f"{found['memory'] / 2**20:,.0f} MiB",
        }
        for name, found in result["contenders"].items()
    ]
