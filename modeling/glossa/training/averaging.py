"""The mean of several checkpoints, which generalises better than any of them (Vaswani et al. 2017, section 6.1)."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from transformers.trainer_callback import TrainerState

from ..errors import GlossaError


def checkpoint_step(checkpoint: Path) -> int:
    """The step at which `checkpoint` (a folder `checkpoint-STEP`) was saved."""
    return int(checkpoint.name.rpartition("-")[2])


def choose_checkpoints(run: Path, count: int, by: str, metric: str, greater_is_better: bool) -> list[Path]:
    """The `count` checkpoints of `run` that are the last ones, or the best by `metric`; oldest first.

    Raises `GlossaError` where the run kept fewer.
    """
    checkpoints = sorted(run.glob("checkpoint-*"), key=checkpoint_step)
    if len(checkpoints) < count:
        raise GlossaError(
            f"average_checkpoints is {count}, but {run} holds {len(checkpoints)} checkpoints. "
            "Train longer, save more often, or raise save_total_limit."
        )
    if by == "last":
        return checkpoints[-count:]
    state = TrainerState.load_from_json(checkpoints[-1] / "trainer_state.json")
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
        for file in sorted(checkpoint.glob("*.safetensors")):
            for name, weight in load_file(file).items():
                sums[name] = sums.get(name, 0) + weight.double()
    parameters = model.state_dict()
    for name, total in sums.items():
        # Tied matrices are stored once; writing to one writes to all.
        parameters[name].copy_(total / len(checkpoints))
