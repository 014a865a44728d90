"""How fast Glossa trains compared with other implementations of the same size, in turns, on the same pairs.

For each contender: real target tokens a second, padding, share of the machine's peak, and memory. The contenders are
transformers' MarianMT under the stock Seq2SeqTrainer, torch.nn.Transformer, and Glossa without its Trainer.

A figure is the median of the rounds; a ratio is the median of the ratios within each round, with minimum and maximum.
"""

import argparse
from functools import partial

import torch

from glossa.errors import GlossaError
from glossa.jobs.pool import process_context

from .contenders import Work, build_contender, count_trained
from .memory import measure_memory
from .profile import MATRICES, profile_rows, time_by_kind
from .report import (
    add_common_arguments,
    add_contenders_argument,
    add_corpus_arguments,
    finish,
    prepare,
    shared_options,
)
from .timing import alternate, format_ratio, matmul_peak, ratios, spread, table

PEAK = "matrix multiplication"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    add_corpus_arguments(parser)
    add_contenders_argument(parser)
    parser.add_argument("--profile", action="store_true", help="where Glossa's time goes, instead of a comparison")
    parser.add_argument(
        "--memory_rounds", type=int, default=1, help="for the memory column; 0 leaves it out (default: 1)"
    )


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    finish(arguments, before, profile_training(arguments) if arguments.profile else compare(arguments))


def compare(arguments: argparse.Namespace) -> dict:
    """Measure the contenders and print the table."""
    options = shared_options(arguments)
    result = measure_training(arguments.contenders, arguments.rounds, arguments.steps, options)
    if arguments.memory_rounds:
        memory = measure_memory(arguments.contenders, arguments.memory_rounds, options | {"steps": arguments.steps})
        for name, found in memory.items():
            result["contenders"][name] |= {key: found[key] for key in ("memory", "memory_ratio")}
    print(table(training_rows(result)))
    peak = {name: f"{value / 1e9:,.0f}" for name, value in result["peak"].items()}
    precision = "bfloat16" if arguments.bf16 else "float32"
    print(f"\nPeak: {peak['median']} [{peak['low']}, {peak['high']}] GFLOP/s of matrix multiplication in {precision}")
    return result


def profile_training(arguments: argparse.Namespace) -> dict:
    """Print where the time of Glossa's training steps goes."""
    contender = build_contender("Glossa, bare loop", **shared_options(arguments))
    contender.train(arguments.steps)
    work, found = time_by_kind(partial(contender.train, arguments.steps))
    peak = matmul_peak(torch.bfloat16 if arguments.bf16 else torch.float32)
    print(table(profile_rows(found)))
    print(f"\n{work.flops / work.seconds / peak:.1%} of the peak overall, ", end="")
    print(f"{work.flops / found[MATRICES] / peak:.1%} during matrix multiplication")
    return found


def measure_training(names: list[str], rounds: int, steps: int, options: dict) -> dict:
    """Turns of `steps` steps of each contender in `rounds` rounds, with the machine's peak measured in each round.

    `options` are the options of [`build_contender`]. Returns `peak` (the spread of operations a second) and
    `contenders`: for each its parameters, and the spreads of its `speed`, of its `ratio` (how many times as fast the
    first of `names` is), and of its `share` of the peak; its padding, and its target tokens a step.
    """
    contenders = {name: _ContenderProcess(name, options) for name in names}
    turns: dict = {name: partial(contender.train, steps) for name, contender in contenders.items()}
    turns[PEAK] = lambda: matmul_peak(torch.bfloat16 if options["bf16"] else torch.float32)
    try:
        parameters = {name: contender.receive() for name, contender in contenders.items()}
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
    """A contender in its own process, idle between its turns.

    In a single process each contender would add its own threads, and OpenMP slows down for all of them once there are
    more threads than cores.
    """

    def __init__(self, name: str, options: dict):
        self.name = name
        context = process_context("glossa.training.run")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, name, options), daemon=True)
        self.process.start()
        theirs.close()

    def train(self, steps: int) -> Work:
        self.connection.send(steps)
        return self.receive()

    def receive(self):
        """What the process sends; an error is raised here."""
        try:
            received = self.connection.recv()
        except EOFError as error:
            raise GlossaError(f"The process of {self.name} ended early; the system may have ended it.") from error
        if isinstance(received, Exception):
            raise received
        return received

    def close(self) -> None:
        self.connection.close()
        self.process.join()


def _serve(connection, name: str, options: dict) -> None:
    """Send the number of parameters; then, for each number of steps that arrives, train and send the work done."""
    try:
        contender = build_contender(name, **options)
        connection.send(count_trained(contender.model))
        while True:
            connection.send(contender.train(connection.recv()))
    except EOFError:
        contender.close()
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
        "rounds": [vars(work) for work in works],
    }


def training_rows(result: dict) -> list[dict[str, str]]:
    """What [`measure_training`] returned, a row for each contender; with its memory, if that was measured."""
    first = next(iter(result["contenders"]))
    rows = []
    for name, found in result["contenders"].items():
        row = {
            "training": name,
            "parameters": f"{found['parameters']:,}",
            "target tokens/s": f"{found['speed']['median']:,.0f}",
            f"{first} is faster": format_ratio(found["ratio"]),
            "tokens a step": f"{found['target_tokens_a_step']:,.0f}",
            "padding": f"{found['padding']:.1%}",
            "of peak": f"{found['share']['median']:.1%}",
        }
        if "memory" in found:
            row["peak memory"] = f"{found['memory']['median'] / 2**20:,.0f} MiB"
            row["of this"] = format_ratio(found["memory_ratio"])
        rows.append(row)
    return rows
