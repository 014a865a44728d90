"""Additions to the Trainer's log: fit to the training pairs, tokens per second, and utilization of the device."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy
import torch
from datasets import Dataset
from torch import nn
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from ..base.batching import TokenBatchSampler
from .pieces import loss_sums

FIT_ROWS = 128
FIT_TOKENS = 1024  # of a batch; all logits of a larger one may not fit into memory


def draw_fit_batches(
    rows: Dataset, collate: Callable[[list[dict]], dict[str, torch.Tensor]], seed: int
) -> list[dict[str, torch.Tensor]]:
    """`FIT_ROWS` random training rows in batches, for `measure_fit`.

    A single training batch is not enough: its sentences have one length, and short ones are easier than long ones.
    """
    drawn = numpy.random.default_rng(seed).permutation(rows.num_rows)[:FIT_ROWS]
    sample = rows.select(numpy.sort(drawn))
    sampler = TokenBatchSampler(sample["source_length"][:], sample["target_length"][:], FIT_TOKENS)
    sample = sample.remove_columns(["source_length", "target_length"])
    return [collate([sample[row] for row in batch]) for batch in sampler]


@torch.no_grad()
def measure_fit(model: nn.Module, batches: list[dict[str, torch.Tensor]]) -> dict[str, float]:
    """Loss (nats per token) and share of right tokens of `batches`, without dropout or label smoothing.

    They can be compared with the validation values; the training loss itself cannot.
    """
    was_training = model.training
    model.eval()
    loss, right, tokens = loss_sums(model, batches).tolist()
    model.train(was_training)
    return {"plain_loss": loss / tokens, "token_accuracy": right / tokens} if tokens else {}


class FirstStep(TrainerCallback):
    """Notes the step that training began after: 0, or that of the checkpoint that a run was resumed from."""

    def __init__(self) -> None:
        self.step = 0

    def on_train_begin(self, args, state, control, **kwargs):
        self.step = state.global_step


def mean_loss(history: list[dict], resumed: int, step: int, since: float) -> float:
    """The mean training loss of a run that was resumed.

    Args:
        history: The Trainer's log, in which each `loss` is a mean since the one before it.
        resumed: The step of the checkpoint that it was resumed from; 0 for none.
        step: The last step.
        since: The mean loss of the steps since the checkpoint.
    """
    total, last = 0.0, 0
    for entry in history:
        if "loss" in entry and entry["step"] <= resumed:
            total += entry["loss"] * (entry["step"] - last)
            last = entry["step"]
    steps = step - resumed
    return (total + since * steps) / (last + steps) if last + steps else since


class TrainingTime(TrainerCallback, ExportableState):
    """Seconds of training, evaluations included. Checkpoints hold them, so that the seconds of a continued run add up.

    Args:
        clock: Gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        self.clock = clock
        self.before = 0.0  # in earlier processes
        self.started: float | None = None

    @property
    def seconds(self) -> float:
        return self.before + (0.0 if self.started is None else self.clock() - self.started)

    def on_train_begin(self, args, state, control, **kwargs):
        self.started = self.clock()

    def state(self) -> dict:
        return {"args": {}, "attributes": {"before": self.seconds}}


class Speedometer:
    """Target tokens per second and utilization of the device between two readings.

    Args:
        device: The device that trains. The utilization of a CPU is the share of its threads' time that the process has
            used; for an NVIDIA GPU it comes from NVML, if the package nvidia-ml-py is installed.
        clock: Gives seconds.
        cpu_clock: Gives the seconds that all threads of the process have worked.
    """

    def __init__(
        self,
        device: torch.device,
        clock: Callable[[], float] = time.perf_counter,
        cpu_clock: Callable[[], float] = time.process_time,
    ):
        self.device, self.clock, self.cpu_clock = device, clock, cpu_clock
        self.tokens: int | torch.Tensor = 0
        self.started, self.worked = clock(), cpu_clock()

    def add(self, tokens: int | torch.Tensor) -> None:
        """Count target tokens that are trained on. A tensor stays on its device, which need not be waited for."""
        self.tokens = self.tokens + tokens

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time in the context, which is not spent on training."""
        started, worked = self.clock(), self.cpu_clock()
        yield
        self.started += self.clock() - started
        self.worked += self.cpu_clock() - worked

    def read(self) -> dict[str, float]:
        """The values since the last reading."""
        now, worked = self.clock(), self.cpu_clock()
        seconds = max(now - self.started, 1e-9)
        values = {"target_tokens_per_second": round(int(self.tokens) / seconds, 1)}
        utilization = self._utilization((worked - self.worked) / seconds)
        if utilization is not None:
            values["utilization"] = round(utilization, 3)
        self.tokens, self.started, self.worked = 0, now, worked
        return values

    def _utilization(self, busy_threads: float) -> float | None:
        if self.device.type == "cpu":
            return busy_threads / torch.get_num_threads()
        if self.device.type != "cuda":
            return None
        try:
            return torch.cuda.utilization(self.device) / 100
        except (ModuleNotFoundError, RuntimeError):  # without nvidia-ml-py, or without a driver that answers
            return None
