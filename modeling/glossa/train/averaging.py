"""Checkpoint averaging, which often generalizes better than a single one (Vaswani et al. 2017, section 6.1)."""

import logging
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from ..base.run_folder import RunFolder

logger = logging.getLogger(__name__)


def choose_checkpoints(run: Path, count: int) -> list[Path]:
    """The last `count` complete checkpoints of `run`, oldest first.

    If there are fewer, returns all of them with a warning, since a finished run must not fail here.
    """
    checkpoints = RunFolder(run).checkpoints(whole=True)
    if len(checkpoints) < count:
        logger.warning(
            "average_checkpoints is %d, but %s has only %d complete checkpoints. Averaging these. Train longer, save "
            "more often, or raise save_total_limit.", count, run, len(checkpoints),
        )  # fmt: skip
    return checkpoints[-count:]


@torch.no_grad()
def average_into(model: nn.Module, checkpoints: list[Path]) -> None:
    """Set the weights of `model` to the mean of the checkpoints' weights, summed in float64."""
    sums: dict[str, torch.Tensor] = {}
    for checkpoint in checkpoints:
        for file in sorted(checkpoint.glob("model*.safetensors")):
            for name, weight in load_file(file).items():
                sums[name] = sums.get(name, 0) + weight.double()
    parameters = model.state_dict()
    for name, total in sums.items():
        # Tied weights are stored once and share memory.
        parameters[name].copy_(total / len(checkpoints))
