"""Peak memory of training, each contender in its own process.

The figure is the peak resident memory of the process while it trains (VmHWM, which is reset) less its resident memory
before the model was built, when libraries and data were already loaded.
"""

import argparse
from collections.abc import Callable

import torch

from .contenders import ContenderBuilder, count_trained
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
from .timing import alternate, format_ratio, peak_memory, ratios, reset_peak, spread, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    add_corpus_arguments(parser)
    add_contenders_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    results = measure_memory(
        arguments.contenders, arguments.rounds, shared_options(arguments) | {"steps": arguments.steps}
    )
    print(table(memory_rows(results)))
    finish(arguments, before, results)


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


def memory_rows(results: dict[str, dict]) -> list[dict[str, str]]:
    """What [`measure_memory`] returned, a row for each contender."""
    first = next(iter(results))
    return [
        {
            "memory of training": name,
            "peak": f"{found['memory']['median'] / 2**20:,.0f} MiB",
            f"{first} takes of it": format_ratio(found["memory_ratio"]),
            "tokens a step": f"{found['target_tokens_a_step']:,.0f}",
            "padding": f"{found['padding']:.1%}",
        }
        for name, found in results.items()
    ]
