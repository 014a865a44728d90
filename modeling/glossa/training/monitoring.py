"""What the log has beside the Trainer's loss: fit to the batches just trained on, speed, and use of the device."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

FIT_TOKENS = 1024  # of a batch, padding included; all logits of a whole batch may not fit into memory


@torch.no_grad()
def measure_fit(model: nn.Module, batches: list[dict[str, torch.Tensor]]) -> dict[str, float]:
    """Loss (nats per token) and share of right tokens of `batches`, without dropout, label smoothing or R-Drop.

    They can be compared with those of validation; the loss that is trained on cannot. Of each batch, the first rows
    are measured, of `FIT_TOKENS` tokens together.
    """
    was_training = model.training
    model.eval()
    loss = right = tokens = 0.0
    for whole in batches:
        rows = max(FIT_TOKENS // whole["labels"].shape[1], 1)
        batch = {name: tensor[:rows] for name, tensor in whole.items()}
        output = model(**batch)
        real = batch["labels"] != -100
        count = int(real.sum())
        loss += float(output.loss) * count
        right += int(((output.logits.argmax(-1) == batch["labels"]) & real).sum())
        tokens += count
    model.train(was_training)
    return {"plain_loss": loss / tokens, "token_accuracy": right / tokens} if tokens else {}


class TrainingTime(TrainerCallback, ExportableState):
    """Seconds of training, evaluations included. Checkpoints hold them, so that those of a continued run add up.

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
        device: That trains. The utilization of a CPU is the share of its threads' time that the process has used; that
            of an NVIDIA GPU is NVML's, if the package nvidia-ml-py is installed.
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
        self.tokens = 0
        self.started, self.worked = clock(), cpu_clock()

    def add(self, tokens: int) -> None:
        """Count target tokens that are trained on."""
        self.tokens += tokens

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
        values = {"target_tokens_per_second": round(self.tokens / seconds, 1)}
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
