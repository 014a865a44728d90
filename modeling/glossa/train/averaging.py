"""Averaging of checkpoints, which often generalizes better than any one of them (Vaswani et al. 2017, section 6.1)."""

import logging
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from ..base.run_folder import RunFolder

logger = logging.getLogger(__name__)


def choose_checkpoints(run: Path, count: int) -> list[Path]:
    """The last `count` whole checkpoints of `run`, oldest first.

    If the run has fewer, returns all of them and logs a warning, since a finished run must not fail here.
    """
    checkpoints = RunFolder(run).checkpoints(whole=True)
    if len(checkpoints) < count:
        logger.warning(
            "average_checkpoints is %d, but %s holds %d whole checkpoints: averaging those. Train longer, save more "
            "often, or raise save_total_limit.",
            count,
            run,
            len(checkpoints),
        )
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
        # Tied matrices are stored once and share their memory.
        parameters[name].copy_(total / len(checkpoints))
