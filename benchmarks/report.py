"""What the comparisons share: their options, the state of the machine, and the report of their figures."""

import argparse
import json
import os
from pathlib import Path

import datasets
import torch

from glossa.base.errors import GlossaError

from .corpus import data_arguments
from .sizes import SIZES
from .timing import machine, peak_memory


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", choices=SIZES, default="tiny", help="of the models (default: tiny)")
    parser.add_argument("--bf16", action="store_true", help="train in mixed precision")
    parser.add_argument("--steps", type=int, default=8, help="training steps in a turn (default: 8)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: one for each core")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--output", metavar="FILE.json", help="also write all figures to this file")
    parser.add_argument("--data", metavar="FOLDER", help="of Multi30k or Anki (default: the embedded corpus)")
    parser.add_argument("--language", default="fr", help="to translate into, from English (default: fr)")


def prepare(arguments: argparse.Namespace) -> dict[str, str | int | float]:
    """Check the options, set the threads, and return the state of the machine before the measurement."""
    for name in ("rounds", "steps", "threads"):
        if getattr(arguments, name) < 1:
            raise GlossaError(f"--{name} is {getattr(arguments, name)}; it must be at least 1.")
    data_arguments(arguments.data, arguments.language)  # raises before processes start
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # for the engine and for child processes
    datasets.disable_progress_bars()
    return machine()


def finish(arguments: argparse.Namespace, before: dict, results: dict) -> None:
    """Print the conditions of the measurement; write options, machine and results to `--output`."""
    print(f"\n{arguments.data or 'embedded corpus'}, {arguments.size}, {arguments.rounds} rounds; ", end="")
    print(f"{before['cpu']}, {before['threads']} threads, load average {before['load_average']:.1f} before; ", end="")
    print(f"peak memory of this process {peak_memory() / 2**20:,.0f} MiB")
    if arguments.output:
        report = {"options": vars(arguments), "machine": before, "results": results}
        Path(arguments.output).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
