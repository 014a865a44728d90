"""Devices of a run: CPU cores, bf16 support, FSDP and DeepSpeed, and a training step for trials."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
from accelerate.utils import is_deepspeed_available
from transformers import TrainingArguments

from ...base.errors import GlossaError
from ...base.jobs.pool import cores


def available_cores() -> int:
    """The number of CPU cores for this process; its share if a launcher started several processes."""
    return max(cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1)), 1)


def has_bf16(capabilities: Mapping) -> bool:
    """Whether a CPU with these `torch.cpu.get_capabilities()` has instructions for bfloat16."""
    return any(capabilities.get(name) for name in ("amx_bf16", "amx_tile", "avx512_bf16", "bf16", "sve_bf16"))


def name_of_cpu(capabilities: Mapping) -> str:
    """The name of a CPU with these `torch.cpu.get_capabilities()`, for messages."""
    return capabilities.get("cpu_name") or capabilities.get("architecture") or "CPU"


def loss_options(model: Any, label_smoothing: float) -> dict[str, Any]:
    """The arguments of a Glossa model for the training loss: with label smoothing and without unused logits.

    Empty for models of other families, which lack these arguments.
    """
    if model.config.model_type != "glossa":
        return {}
    return {"smoothing": label_smoothing, "return_logits": False}


def trial_step(model: Any, batch: dict[str, torch.Tensor], bf16: bool) -> Callable[[], None]:
    """A function that runs a forward and backward pass of `model` on `batch`, and clears the gradients."""
    device = next(model.parameters()).device.type

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            loss = model(**batch, **loss_options(model, 0.1)).loss
        loss.backward()
        model.zero_grad(set_to_none=True)

    return step


def is_sharded(training: TrainingArguments) -> bool:
    """Whether the run uses FSDP, through the setting `fsdp` or the config file of Accelerate."""
    return bool(training.fsdp) or os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def uses_deepspeed(training: TrainingArguments) -> bool:
    """Whether the run uses DeepSpeed, through the setting `deepspeed` or the config file of Accelerate."""
    return bool(training.deepspeed) or os.environ.get("ACCELERATE_USE_DEEPSPEED", "").lower() == "true"


def check_deepspeed(training: TrainingArguments) -> None:
    """Raise `GlossaError` if the run uses DeepSpeed and it is not installed."""
    if uses_deepspeed(training) and not is_deepspeed_available():
        raise GlossaError(
            "The run uses DeepSpeed, which is not installed. Install it with `pip install deepspeed`, or use "
            "configuration/accelerate/fsdp.yaml, which needs no other library."
        )
