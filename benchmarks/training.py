"""How fast Glossa trains compared with other implementations of the same size, in turns, on the same pairs.

For each contender: real target tokens a second, padding, share of the machine's peak, and memory. The contenders are
transformers' MarianMT under the stock Seq2SeqTrainer, torch.nn.Transformer, and Glossa: in the processes that `glossa
train` starts, in one process with as many threads, and there without its Trainer.

A figure is the median of the rounds; a ratio is the median of the ratios within each round, with minimum and maximum.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch.distributed.elastic.utils.distributed import get_free_port

from glossa.errors import GlossaError
from glossa.jobs.pool import process_context
from glossa.plan.settings import GlossaTrainingArguments

from .contenders import NAMES, ContenderBuilder, Work, build_contender, count_trained
from .corpus import load_corpus
from .processes import in_process
from .report import (
    add_common_arguments,
    add_contenders_argument,
    add_corpus_arguments,
    finish,
    prepare,
    shared_options,
)
from .timing import alternate, format_ratio, matmul_peak, peak_memory, ratios, reset_peak, spread, table

PEAK = "matrix multiplication"
SHARED = "Glossa, as glossa train"  # in several processes, which share the batches of a step


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    add_corpus_arguments(parser)
    add_contenders_argument(parser, (SHARED, *NAMES))
    parser.add_argument(
        "--memory_rounds", type=int, default=1, help="for the memory column; 0 leaves it out (default: 1)"
    )


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    finish(arguments, before, compare(arguments))


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
        context = process_context("glossa.training.run")
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
    flops = sum(work.flops for work in works)
    return Work(seconds=max(work.seconds for work in works), steps=works[0].steps, flops=flops, **sums)


def _serve(connection, options: dict, rank: int, processes: int, port: int) -> None:
    """Send the number of parameters; then, for each number of steps that arrives, train and send the work done."""
    try:
        if processes > 1:
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
            os.environ.update({name: str(value) for name, value in place.items()})
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            torch.distributed.init_process_group("gloo")
        contender = build_contender(**options)
        connection.send(count_trained(contender.model))
        while True:
            connection.send(contender.train(connection.recv()))
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
        "rounds": [vars(work) for work in works],
    }


def measure_memory(names: list[str], rounds: int, options: dict) -> dict[str, dict]:
    """For each contender the spread of its `memory` in bytes, and of `memory_ratio`: the first one's memory over its.

    Args:
        names: Names of contenders.
        rounds: Processes of each.
        options: Options of [`train_contender`], without its name.
    """

    def turn(name: str) -> Callable[[], dict]:
        return lambda: in_process(train_contender, name, {"name": name} | options)

    measured = alternate({name: turn(name) for name in names}, rounds, warm_up=False)
    first = [found["memory"] for found in measured[names[0]]]
    results = {}
    for name, found_in_rounds in measured.items():
        memory = [found["memory"] for found in found_in_rounds]
        results[name] = found_in_rounds[0] | {"memory": spread(memory), "memory_ratio": ratios(first, memory)}
    return results


def train_contender(
    name: str, data: str | None, language: str, size: str, architecture: str, bf16: bool, threads: int, steps: int
) -> dict:
    """Train the contender for some steps in this process. Returns its `memory` in bytes and what it trained on."""
    torch.set_num_threads(threads)
    corpus = load_corpus(data, language)
    builder = ContenderBuilder(corpus.tokenized["train"], corpus.tokenizer, size, architecture, bf16)
    before = reset_peak()
    contender = builder.build(name)
    work = contender.train(steps)
    contender.close()
    return {
        "memory": peak_memory() - before,
        "target_tokens_a_step": work.target_tokens / work.steps,
        "padding": 1 - work.tokens / work.padded_tokens,
        "parameters": count_trained(contender.model),
    }


def training_rows(result: dict) -> list[dict[str, str]]:
    """What [`measure_training`] returned, a row for each contender; with its memory, if that was measured."""
    first = next(iter(result["contenders"])).partition(",")[0]
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
