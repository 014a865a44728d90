"""An exponential moving average of the weights, which evaluation, checkpoints and the finished model use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import load_model, save_model
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn
from transformers import TrainerCallback

from ..run_folder import UNAVERAGED


class WeightAverage:
    """The moving average of a model's trained weights.

    A checkpoint holds the average as its model, so that every reader of a checkpoint gets the better weights. The
    weights that training goes on with are in a second file.

    Args:
        model: The model that is trained.
        decay: Share of the average that a step keeps, at most. Step t keeps min(decay, (1 + t) / (10 + t)), so that
            the first steps do not keep the random weights for long.
    """

    def __init__(self, model: nn.Module, decay: float):
        self.model = model
        self.decay = decay
        self.average = [weight.detach().clone() for weight in self._weights()]

    def _weights(self) -> list[nn.Parameter]:
        return [weight for weight in self.model.parameters() if weight.requires_grad]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the weights after `step` (counted from 1) to the average."""
        decay = min(self.decay, (1 + step) / (10 + step))
        get_ema_multi_avg_fn(decay)(self.average, self._weights(), None)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the context, the model has the averaged weights."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    @torch.no_grad()
    def exchange(self) -> None:
        """Exchange the weights of the model and the average."""
        for weight, average in zip(self._weights(), self.average, strict=True):
            kept = weight.clone()
            weight.copy_(average)
            average.copy_(kept)

    def save_beside(self, checkpoint: Path) -> None:
        """Write the weights that training goes on with; the model must have the averaged ones."""
        self.exchange()
        save_model(self.model, str(checkpoint / UNAVERAGED))
        self.exchange()

    def load(self, checkpoint: Path) -> None:
        """Take the average from the model, which was loaded from `checkpoint`, and its weights from a file there."""
        self.average = [weight.detach().clone() for weight in self._weights()]
        load_model(self.model, str(checkpoint / UNAVERAGED))


class UpdateAverage(TrainerCallback):
    """Adds the weights to the moving average after every step."""

    def __init__(self, average: WeightAverage):
        self.average = average

    def on_step_end(self, args, state, control, **kwargs):
        self.average.update(state.global_step)
