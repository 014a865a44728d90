"""The models that train next to Glossa: each stays in memory and trains for some steps at a time."""

import tempfile
import threading
import time
from dataclasses import dataclass
from queue import Queue

import torch
from datasets import Dataset
from torch import nn
from transformers import (
    DataCollatorForSeq2Seq,
    MarianMTModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    set_seed,
)

from glossa.base.batching import TokenBatchSampler
from glossa.model.configuration_glossa import GlossaConfig
from glossa.model.modeling_glossa import GlossaForConditionalGeneration
from glossa.train.plan.settings import GlossaTrainingArguments
from glossa.train.trainer import GlossaTrainer

from .sizes import LABEL_SMOOTHING, forward_flops, glossa_config, marian_config
from .timing import synchronize

SENTENCES = 64  # in a step of the stock Trainer; Glossa's hold as many on average
LEARNING_RATE = 1e-4
MAX_STEPS = 10**6  # more than any measurement takes
STRATEGIES = {  # how the stock Trainer draws its batches
    "MarianMT, Seq2SeqTrainer": "random",
    "MarianMT, Seq2SeqTrainer, grouped": "group_by_length",
}
NAMES = ("Glossa", *STRATEGIES)


@dataclass
class Work:
    """What some training steps processed. Tokens are counted on both sides, except `target_tokens`."""

    seconds: float
    steps: int
    target_tokens: int
    tokens: int
    padded_tokens: int  # including padding
    flops: int
    memory: int = 0  # bytes at the highest since the model was built, if that is measured

    @property
    def speed(self) -> float:
        """Real target tokens a second."""
        return self.target_tokens / self.seconds


class Contender:
    """A model in training: one long `train()` of a Trainer, in a thread that pauses after the last step of each turn.

    The time of a turn includes everything that the Trainer does between steps, and nothing of its start.

    Args:
        trainer: The Trainer with the model.
        config: The shapes that give its number of operations.
        folder: The Trainer's; it lasts as long as the contender.
    """

    def __init__(
        self,
        trainer: "_RecordingSeq2SeqTrainer | _RecordingGlossaTrainer",
        config: GlossaConfig,
        folder: tempfile.TemporaryDirectory,
    ):
        self.trainer, self.model, self.config, self.folder = trainer, trainer.model, config, folder
        trainer.remove_callback(PrinterCallback)
        self.pause = _PauseCallback()
        trainer.add_callback(self.pause)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def train(self, steps: int) -> Work:
        """Train for this many more steps."""
        if not self.thread.is_alive():
            self.thread.start()
        self.trainer.batches.clear()
        started = time.perf_counter()
        self.pause.steps.put(steps)
        ended = self.pause.ends.get()
        if isinstance(ended, BaseException):
            raise ended
        return self._work(steps, self.trainer.batches, ended - started)

    def close(self) -> None:
        """End the training."""
        if self.thread.is_alive():
            self.pause.steps.put(0)
            self.thread.join()

    def _run(self) -> None:
        try:
            self.trainer.train()
        except BaseException as error:
            self.pause.ends.put(error)

    def _work(self, steps: int, batches: list[dict[str, torch.Tensor]], seconds: float) -> Work:
        work = Work(seconds, steps, 0, 0, 0, 0)
        for batch in batches:
            (rows, source), target = batch["input_ids"].shape, batch["labels"].shape[1]
            real = int((batch["labels"] != -100).sum())
            work.target_tokens += real
            work.tokens += real + int(batch["attention_mask"].sum())
            work.padded_tokens += rows * (source + target)
            work.flops += 3 * forward_flops(self.config, rows, source, target)
        return work


class _PauseCallback(TrainerCallback):
    """Waits for a number of steps, lets them run, reports the end of the last one, and waits again.

    Zero steps end the training.
    """

    def __init__(self):
        self.steps: Queue[int] = Queue()
        self.ends: Queue[float | BaseException] = Queue()
        self.left = 0

    def on_train_begin(self, args, state, control, **kwargs):
        self.left = self.steps.get()

    def on_step_end(self, args, state, control, **kwargs):
        self.left -= 1
        if self.left == 0:
            synchronize(args.device.type)
            self.ends.put(time.perf_counter())
            self.left = self.steps.get()
            control.should_training_stop = self.left == 0


class _RecordingTrainer:
    """A Trainer that keeps the batches of its steps, so that they are counted outside the measured time."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.batches: list[dict[str, torch.Tensor]] = []

    def training_step(self, model, inputs, *args, **kwargs):
        self.batches.append({name: inputs[name] for name in ("input_ids", "attention_mask", "labels")})
        return super().training_step(model, inputs, *args, **kwargs)  # type: ignore[misc]


class _RecordingGlossaTrainer(_RecordingTrainer, GlossaTrainer):
    pass


class _RecordingSeq2SeqTrainer(_RecordingTrainer, Seq2SeqTrainer):
    pass


def count_trained(model: nn.Module) -> int:
    """Trainable parameters. MarianMT's own count includes its fixed positions."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def equal_budget(rows: Dataset, sentences: int) -> int:
    """The largest `batch_tokens` with which Glossa's batches hold at most `sentences` sentences on average."""
    source, target = rows["source_length"][:], rows["target_length"][:]
    low, high = 1, sentences * max(*source, *target)
    while low < high:
        budget = (low + high + 1) // 2
        if len(TokenBatchSampler(source, target, budget)) * sentences >= len(rows):
            low = budget
        else:
            high = budget - 1
    return low


class ContenderBuilder:
    """Builds the contenders of one size on the same rows.

    Args:
        rows: Tokenized training pairs.
        tokenizer: The tokenizer of these pairs.
        size: One of [`SIZES`].
        bf16: Mixed precision, for all contenders.
        device: `cpu` or `cuda`.
        sentences: In a step, on average (default: `SENTENCES`).
    """

    def __init__(
        self,
        rows: Dataset,
        tokenizer: PreTrainedTokenizerBase,
        size: str,
        bf16: bool = False,
        device: str = "cpu",
        sentences: int | None = None,
    ):
        self.rows, self.tokenizer, self.bf16, self.device = rows, tokenizer, bf16, device
        self.sentences = sentences or SENTENCES
        self.config = glossa_config(size, tokenizer)
        self.batches_a_step = GlossaTrainingArguments.gradient_accumulation_steps
        self.batch_tokens = equal_budget(rows, self.sentences // self.batches_a_step)
        self.folder = tempfile.TemporaryDirectory(prefix="glossa-benchmark-")

    def build(self, name: str) -> Contender:
        """The contender with this name, one of [`NAMES`]."""
        set_seed(1)
        return self._glossa() if name == NAMES[0] else self._marian(STRATEGIES[name])

    def _glossa(self) -> Contender:
        model = GlossaForConditionalGeneration(self.config)
        model.set_attn_implementation("eager" if self.device == "cpu" else "sdpa")  # as a run sets it
        processes = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
        arguments = GlossaTrainingArguments(
            batch_tokens=self.batch_tokens,
            gradient_accumulation_steps=self.batches_a_step // processes,
            eval_strategy="no",
            load_best_model_at_end=False,
            **self._arguments(),
        )
        return Contender(_RecordingGlossaTrainer(**self._trainer(model, arguments)), self.config, self.folder)

    def _marian(self, strategy: str) -> Contender:
        model = MarianMTModel(marian_config(self.config))
        arguments = Seq2SeqTrainingArguments(
            per_device_train_batch_size=self.sentences,
            label_smoothing_factor=LABEL_SMOOTHING,
            train_sampling_strategy=strategy,
            **self._arguments(),
        )
        return Contender(_RecordingSeq2SeqTrainer(**self._trainer(model, arguments)), self.config, self.folder)

    def _arguments(self) -> dict:
        return {
            "output_dir": self.folder.name,
            "max_steps": MAX_STEPS,
            "learning_rate": LEARNING_RATE,
            "bf16": self.bf16,
            "use_cpu": self.device == "cpu",
            "seed": 1,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
        }

    def _trainer(self, model: nn.Module, arguments: Seq2SeqTrainingArguments) -> dict:
        return {
            "model": model,
            "args": arguments,
            "train_dataset": self.rows,
            "processing_class": self.tokenizer,
            "data_collator": DataCollatorForSeq2Seq(self.tokenizer, model),
        }
