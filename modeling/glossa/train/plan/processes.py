"""The number of processes for training on a CPU."""

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import psutil
import torch

from ...base.errors import GlossaError
from ...base.jobs.pool import environment_threads
from ...base.run_folder import RunFolder
from ..data.arguments import TokenizerArguments
from .devices import available_cores
from .settings import GlossaTrainingArguments, ModelArguments
from .table import PLAIN

logger = logging.getLogger(__name__)

# The memory of a process, from measurements of models with widths of 128 to 512 and batches of 574 to 2,048 tokens.
OWN_BYTES = 2**30  # libraries, texts and a reserve
WEIGHT_BYTES = 22  # a weight, its gradient, its momentum and temporary values of the optimizer
ACTIVATIONS = 40  # values saved for the backward pass per element of a layer's output
BF16 = 1.5  # maximum memory relative to float32: copies of the weights, and kernels for the shapes of batches
COPIES = sys.platform == "linux"  # other systems cannot fork a process that has loaded these libraries


def choose_processes(given: Mapping[str, Any]) -> int:
    """The number of processes for training on the CPU; 1 with an accelerator, or if a launcher started several.

    Processes that share the batches of a step wait for each other once per step, without using the CPU. Threads wait
    after each operation, so that another busy program makes them many times slower.

    `cpu_processes` sets the number. By default it is 1 if the number of threads is set; or that of the resumed run; or
    1 for streams, pretraining and fine-tuning, where results may depend on the number of processes; or the largest
    number that divides the batches of a step and for which cores and memory suffice.

    Args:
        given: The settings in the recipe and on the command line, by name.

    Raises:
        GlossaError: If `cpu_processes` does not divide the batches of a step.
    """
    if "LOCAL_RANK" in os.environ or torch.accelerator.is_available():
        return 1
    batches = given.get("gradient_accumulation_steps") or GlossaTrainingArguments.gradient_accumulation_steps
    if wanted := given.get("cpu_processes"):
        if batches % wanted:
            raise GlossaError(
                f"cpu_processes is {wanted}, but gradient_accumulation_steps is {batches}: the processes share the "
                "batches of a step. Give a number that divides it."
            )
        if wanted > 1 and not COPIES:
            logger.warning("cpu_processes is %d, but this system supports one. Results are the same.", wanted)
        return wanted if COPIES else 1
    if given.get("cpu_threads") or environment_threads():
        return 1
    if before := resumed_recipe(given):
        return before.get("cpu_processes") or 1
    other = given.get("objective", "translation") != "translation" or given.get("streaming") or given.get("init_from")
    if other or not COPIES or given.get("stages", PLAIN) != PLAIN:  # the last of several stages is fine-tuning
        return 1
    wanted = _largest_share(batches, available_cores())
    free, each = psutil.virtual_memory().available, process_bytes(given)
    chosen = _largest_share(batches, min(wanted, free // each))
    if chosen < wanted:
        logger.warning(
            "Memory for %d of %d processes: each takes about %.1f GiB, and %.1f GiB are free. Lower batch_tokens, or "
            "set --cpu_processes %d to start all.", chosen, wanted, each / 2**30, free / 2**30, wanted,
        )  # fmt: skip
    return chosen


def _largest_share(batches: int, most: int) -> int:
    """The largest number up to `most` that divides `batches`, and at least 1."""
    return max((count for count in range(1, batches + 1) if batches % count == 0 and count <= most), default=1)


def process_bytes(given: Mapping[str, Any]) -> int:
    """The estimated memory of a training process in bytes, for the sizes of model and batches in `given`."""
    groups = (TokenizerArguments, ModelArguments, GlossaTrainingArguments)
    size: dict[str, Any] = {field.name: field.default for group in groups for field in fields(group)}
    size |= {name: value for name, value in given.items() if value is not None}
    width, layers = size["d_model"], size["encoder_layers"] + size["decoder_layers"]
    inner = sum(size[f"{side}_layers"] * size[f"{side}_ffn_dim"] for side in ("encoder", "decoder"))
    attention = 4 * size["encoder_layers"] + 8 * size["decoder_layers"]  # matrices of width x width
    weights = width * (size["vocab_size"] + attention * width + 3 * inner)
    activations = 4 * ACTIVATIONS * width * layers * size["batch_tokens"]
    return OWN_BYTES + WEIGHT_BYTES * weights + activations


def lack_of_memory(recipe: Mapping[str, Any], processes: int) -> str:
    """The reason why this number of processes has too little memory for bf16; "" if it suffices."""
    each, free = BF16 * process_bytes(recipe), psutil.virtual_memory().available
    if processes * (each - psutil.Process().memory_info().rss) <= free:
        return ""
    return f"a process takes about {each / 2**30:.1f} GiB in bf16, and {free / 2**30:.1f} GiB are free"


def resumed_recipe(given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe of the resumed run; empty for a new run."""
    wanted = given.get("resume_from_checkpoint")
    if str(wanted or "no").lower() in ("false", "no"):
        return {}
    if str(wanted).lower() in ("true", "yes", "last"):
        return RunFolder(given.get("output_dir") or GlossaTrainingArguments.output_dir).recipe
    return RunFolder(Path(str(wanted)).parent).recipe
