"""The course of a training: where it is in its schedule at each evaluation, and what its end will be."""

from typing import Any

import numpy
from torch.optim.lr_scheduler import LambdaLR
from transformers import TrainerCallback

from .evaluation.curves import SHARE, points_of, predict

FIRST = 0.25  # of the steps, before which nothing is forecast


class Forecast(TrainerCallback):
    """Notes with each evaluation how much of the sum of all learning rates is behind it, and forecasts the end.

    The score of a run is a smoother function of this share than of the steps: at the end of a schedule many steps
    change little.

    Args:
        is_new: Whether the model is new: the curves of others say nothing about one that is tuned.
    """

    def __init__(self, is_new: bool = True):
        self.is_new = is_new

    def on_evaluate(self, args, state, control, lr_scheduler: Any = None, **kwargs):
        entry = state.log_history[-1] if state.log_history else {}
        if "eval_loss" not in entry or not isinstance(lr_scheduler, LambdaLR):
            return
        entry[SHARE] = share_of_rates(lr_scheduler, state.global_step, state.max_steps)
        is_shown = self.is_new and state.is_world_process_zero
        if is_shown and FIRST * state.max_steps <= state.global_step < state.max_steps:
            found = predict(points_of(state.log_history))
            if found is not None:
                print(f"  forecast of the final chrF++: {found.low:.0f} to {found.high:.0f}", flush=True)


def share_of_rates(scheduler: LambdaLR, step: int, steps: int) -> float:
    """The sum of the learning rates until `step`, as a share of the sum of all `steps`."""
    rates = numpy.array([scheduler.lr_lambdas[0](each) for each in range(steps)])
    return float(rates[:step].sum() / (rates.sum() or 1.0))  # a run of one step of warm-up has a rate of 0
