"""Training with several processes: `python -m benchmarks devices RECIPE [--processes 1 2]`.

A turn trains the recipe's model for some steps, in processes that `torchrun` starts, each on its own GPU or with one
thread of the CPU. A step has equally many batches in every turn: with more processes fewer are accumulated. The
numbers of processes take turns. Any setting of `glossa train` may follow the recipe.

`--fsdp` adds turns with the launch file for FSDP. Accelerate uses FSDP on several GPUs only; without GPUs these turns
make it treat CPUs as GPUs, and their speed says little.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import datasets
import torch
from accelerate import DistributedType, PartialState
from transformers import DataCollatorForSeq2Seq, set_seed

from glossa.data.encoding.encoding import tokenize_pairs
from glossa.data.pairs import prepare_pairs
from glossa.errors import GlossaError
from glossa.plan.arguments import parse_settings
from glossa.training.building import build_model, build_tokenizer, build_trainer

from .steps import NO_EVALUATION
from .timing import machine, peak_memory, table

FSDP = Path(__file__).parents[1] / "configuration" / "accelerate" / "fsdp.yaml"
LOG_LINES = 5  # of a turn; the first has the start and does not count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s RECIPE [--processes N ...] [--steps N] [--rounds N] [--fsdp] [--setting value ...]"
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument("--steps", type=int, default=50, help="of a turn, a multiple of 5 (default: 50)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--fsdp", action="store_true", help="also with FSDP, where there are several processes")
    parser.set_defaults(settings=[])


def run(arguments: argparse.Namespace) -> None:
    state = machine()
    kinds = [(count, False) for count in arguments.processes]
    kinds += [(count, True) for count in arguments.processes if count > 1 and arguments.fsdp]
    turns: dict[tuple[int, bool], list[dict]] = {kind: [] for kind in kinds}
    for _ in range(arguments.rounds):
        for (count, fsdp), found in turns.items():
            found.append(turn(count, arguments.steps, arguments.settings, fsdp))
    print(table(rows(turns)))
    print(f"\n{state['cpu']}, {len(os.sched_getaffinity(0))} cores for this, load average ", end="")
    print(f"{state['load_average']:.1f} before; {arguments.rounds} rounds of {arguments.steps} steps")


def turn(processes: int, steps: int, settings: list[str], fsdp: bool) -> dict:
    """What the main one of `processes` processes measures."""
    with tempfile.TemporaryDirectory() as folder:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        if fsdp:
            launcher = ["-m", "accelerate.commands.launch", "--config_file", str(FSDP)]
            launcher += ["--num_processes", str(processes)]
        program = ["-m", "benchmarks.devices", folder, str(steps), *settings]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, *launcher, *program], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise GlossaError(f"training with {processes} processes failed:\n{done.stderr}")
        with open(f"{folder}/turn.json", encoding="utf-8") as file:
            return json.load(file)


def use_fsdp_on_cpus() -> None:
    """Make Accelerate treat CPUs as GPUs, since it uses FSDP on several GPUs only."""
    start = PartialState.__init__

    def with_gpus(self, *args, **kwargs) -> None:
        start(self, *args, **kwargs)
        if self._shared_state["distributed_type"] == DistributedType.MULTI_CPU:  # later it is FSDP
            self._shared_state["distributed_type"] = DistributedType.MULTI_GPU

    PartialState.__init__ = with_gpus  # type: ignore[method-assign]


def measure(folder: str, steps: int, argv: list[str]) -> None:
    """In each process: train, and let the main one write what it measured into `folder`."""
    datasets.disable_progress_bars()
    options = ["--max_steps", str(steps), "--logging_strategy", "steps", "--logging_steps", str(steps // LOG_LINES)]
    options += ["--cpu_threads", "1", "--output_dir", f"{folder}/run"]
    if not torch.accelerator.is_available():
        options += ["--ddp_backend", "gloo"]
        if "ACCELERATE_USE_FSDP" in os.environ:
            use_fsdp_on_cpus()
    settings = parse_settings([*argv, *NO_EVALUATION, *options])  # the last of two equal settings counts
    training = settings.training
    training.gradient_accumulation_steps = max(training.gradient_accumulation_steps // training.world_size, 1)
    with training.main_process_first():
        pairs, report = prepare_pairs(settings.data)
    tokenizer = build_tokenizer(settings, pairs)
    with training.main_process_first():
        tokenized = tokenize_pairs(pairs, tokenizer, settings.data, report)
    set_seed(training.seed)
    torch.set_num_threads(1)
    model = build_model(settings, tokenizer)
    trainer = build_trainer(settings, model, tokenizer, pairs, tokenized, DataCollatorForSeq2Seq(tokenizer, model))
    trainer.train()
    memory = torch.tensor([float(peak_memory())], device=training.device)
    memory = trainer.accelerator.gather(memory).max().item()  # of all processes: every one must call this
    trainer.accelerator.end_training()  # with an open process group a process may be aborted at its exit
    if not training.should_save:
        return
    log = [entry for entry in trainer.state.log_history if "target_tokens_per_second" in entry]
    sampler = trainer.batch_sampler
    found = {
        "speed": statistics.median(entry["target_tokens_per_second"] for entry in log[1:]),
        "loss": log[-1]["loss"],
        "memory": memory,
        "padding": sampler.padding(),
        "imbalance": sampler.imbalance() if training.world_size > 1 else {"epoch": 0.0, "step": 0.0},
    }
    with open(f"{folder}/turn.json", "w", encoding="utf-8") as file:
        json.dump(found, file)


def rows(turns: dict[tuple[int, bool], list[dict]]) -> list[dict[str, str]]:
    """Medians of what the turns measured, a row for each number of processes, with and without FSDP."""
    first = statistics.median(found["speed"] for found in next(iter(turns.values())))
    result = []
    for (count, fsdp), found in turns.items():
        speed = statistics.median(one["speed"] for one in found)
        memory = statistics.median(one["memory"] for one in found)
        result.append(
            {
                "processes": f"{count}, FSDP" if fsdp else str(count),
                "target tokens/s": f"{speed:,.0f}",
                "of the first": f"{speed / first:.2f}",
                "peak memory of a process": f"{memory / 2**20:,.0f} MiB",
                "padding": f"{found[0]['padding']:.1%}",
                "imbalance in an epoch": f"{found[0]['imbalance']['epoch']:.2%}",
                "in a step": f"{found[0]['imbalance']['step']:.1%}",
                "loss of the last steps": f"{found[0]['loss']:.4f}",
            }
        )
    return result


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
