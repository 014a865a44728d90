"""Averaging of checkpoints, which often generalizes better than any one of them (Vaswani et al. 2017, section 6.1)."""

import logging
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from transformers.trainer_callback import TrainerState

from ..run_folder import CHECKPOINT_STATE, RunFolder, checkpoint_step

logger = logging.getLogger(__name__)


def choose_checkpoints(run: Path, count: int, by: str, metric: str, greater_is_better: bool) -> list[Path]:
    """The last `count` whole checkpoints of `run`, or the best by `metric`; oldest first.

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
    if by == "last" or not checkpoints:
        return checkpoints[-count:]
    state = TrainerState.load_from_json(str(checkpoints[-1] / CHECKPOINT_STATE))
    scores = {entry["step"]: entry[f"eval_{metric}"] for entry in state.log_history if f"eval_{metric}" in entry}

    def rank(path: Path) -> float:
        return scores.get(checkpoint_step(path), float("-inf") if greater_is_better else float("inf"))

    best = sorted(checkpoints, key=rank, reverse=greater_is_better)[:count]
    return [path for path in checkpoints if path in best]


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
