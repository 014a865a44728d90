"""The memory that training takes: each contender in a process of its own, above what it held before the model.

The figure is the process's highest resident memory while it trained (VmHWM, which is reset) less its resident memory
before the model was built, when libraries and data were loaded.
"""

import json
import subprocess
import sys
from collections.abc import Callable

import torch

from glossa.errors import GlossaError

from .contenders import Field, count_trained
from .corpus import load_corpus
from .timing import alternate, peak_memory, ratios, reset_peak, spread, times


def measure_memory(names: list[str], rounds: int, options: dict) -> dict[str, dict]:
    """For each contender the spread of its `memory`, and of its `memory_ratio`: the first's memory, in its own.

    Args:
        names: Of contenders.
        rounds: Processes of each.
        options: Of [`train_alone`].
    """

    def turn(name: str) -> Callable[[], dict]:
        return lambda: in_process("benchmarks.memory", name, {"name": name} | options)

    measured = alternate({name: turn(name) for name in names}, rounds, warm_up=False)
    first = [found["memory"] for found in measured[names[0]]]
    results = {}
    for name, rounds_of_it in measured.items():
        memory = [found["memory"] for found in rounds_of_it]
        results[name] = rounds_of_it[0] | {"memory": spread(memory), "memory_ratio": ratios(first, memory)}
    return results


def train_alone(
    name: str, data: str | None, language: str, size: str, architecture: str, bf16: bool, threads: int, steps: int
) -> dict:
    """Train the contender for some steps in this process; its `memory` in bytes, and what it trained on."""
    torch.set_num_threads(threads)
    corpus = load_corpus(data, language)
    field = Field(corpus.tokenised["train"], corpus.tokenizer, size, architecture, bf16)
    before = reset_peak()
    contender = field.build(name)
    work = contender.train(steps)
    contender.close()
    return {
        "memory": peak_memory() - before,
        "target_tokens_a_step": work.target_tokens / work.steps,
        "padding": 1 - work.tokens / work.padded_tokens,
        "parameters": count_trained(contender.model),
    }


def in_process(module: str, name: str, options: dict) -> dict:
    """What `module` prints as its last line, JSON, when it is run in a process of its own with `options` as JSON.

    Raises `GlossaError` where that fails; `name` says to people what was measured.
    """
    command = [sys.executable, "-m", module, json.dumps(options)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise GlossaError(f"{name} failed in a process of its own: {process.stderr.strip()[-500:]}")
    return json.loads(process.stdout.splitlines()[-1])


def memory_rows(results: dict[str, dict]) -> list[dict[str, str]]:
    """What [`measure_memory`] returned, a row for each contender."""
    first = next(iter(results))
    return [
        {
            "memory of training": name,
            "peak": f"{found['memory']['median'] / 2**20:,.0f} MiB",
            f"{first} takes of it": times(found["memory_ratio"]),
            "tokens a step": f"{found['target_tokens_a_step']:,.0f}",
            "padding": f"{found['padding']:.1%}",
        }
        for name, found in results.items()
    ]


if __name__ == "__main__":
    print(json.dumps(train_alone(**json.loads(sys.argv[1]))))
