"""Additions to the Trainer's log: fit to the training pairs, tokens per second and device utilization."""

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
FIT_TOKENS = 1024  # per batch; the logits of a larger batch may not fit into memory


def draw_fit_batches(
    rows: Dataset, collate: Callable[[list[dict]], dict[str, torch.Tensor]], seed: int
) -> list[dict[str, torch.Tensor]]:
    """Batches of `FIT_ROWS` random training rows, for [`measure_fit`].

    A single training batch would be biased: its sentences are of similar length, and short sentences are easier.
    """
    drawn = numpy.random.default_rng(seed).permutation(rows.num_rows)[:FIT_ROWS]
    sample = rows.select(numpy.sort(drawn))
    sampler = TokenBatchSampler(sample["source_length"][:], sample["target_length"][:], FIT_TOKENS)
    sample = sample.remove_columns(["source_length", "target_length"])
    return [collate([sample[row] for row in batch]) for batch in sampler]


@torch.no_grad()
def measure_fit(model: nn.Module, batches: list[dict[str, torch.Tensor]]) -> dict[str, float]:
    """Loss (nats per token) and share of correct tokens of `batches`, without dropout or label smoothing.

    Unlike the training loss, they are comparable with the validation metrics.
    """
    was_training = model.training
    model.eval()
    loss, right, tokens = loss_sums(model, batches).tolist()
    model.train(was_training)
    return {"plain_loss": loss / tokens, "token_accuracy": right / tokens} if tokens else {}


class FirstStep(TrainerCallback):
    """Records the step at which training began: 0, or the step of the checkpoint of a resumed run."""

    def __init__(self) -> None:
        self.step = 0

    def on_train_begin(self, args, state, control, **kwargs):
        self.step = state.global_step


def mean_loss(history: list[dict], resumed: int, step: int, since: float) -> float:
    """The mean training loss of a resumed run.

    Args:
        history: The Trainer's log, in which each `loss` is the mean since the previous entry.
        resumed: The step of the checkpoint it was resumed from; 0 for none.
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
    """Measures the seconds of training, evaluations included. They are saved in checkpoints, for resumed runs.

    Args:
        clock: Returns seconds.
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
    """Measures target tokens per second and device utilization between two readings.

    Args:
        device: The training device. The utilization of a CPU is the share of its threads' time used by the process;
            for an NVIDIA GPU it comes from NVML, if the package nvidia-ml-py is installed.
        clock: Returns seconds.
        cpu_clock: Returns the CPU seconds of all threads of the process.
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
        """Add trained target tokens. A tensor stays on its device, so no synchronization is needed."""
        self.tokens = self.tokens + tokens

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time spent in the context from the measurement."""
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
        except (ModuleNotFoundError, RuntimeError):  # nvidia-ml-py or a working driver is missing
            return None
