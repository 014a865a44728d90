"""The models that train next to Glossa: each stays in memory and trains for some steps at a time."""

import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Queue

import torch
from datasets import Dataset
from torch import nn
from torch.utils.data import DataLoader
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

from glossa.configuration_glossa import GlossaConfig
from glossa.data.encoding.batching import TokenBatchSampler
from glossa.modeling_glossa import GlossaForConditionalGeneration
from glossa.plan.settings import GlossaTrainingArguments
from glossa.training.trainer import GlossaTrainer

from .corpus import load_corpus
from .sizes import LABEL_SMOOTHING, forward_flops, glossa_config, marian_config
from .timing import synchronize
from .torch_transformer import TorchTransformer

SENTENCES = 64  # in a step of the stock Trainer; Glossa's hold as many on average
LEARNING_RATE = 1e-4
MAX_GRADIENT_NORM = 1.0  # the Trainer's default
MAX_STEPS = 10**6  # more than any measurement takes
NAMES = (
    "Glossa",
    "Glossa, bare loop",
    "MarianMT, Seq2SeqTrainer",
    "MarianMT, Seq2SeqTrainer, grouped",
    "torch.nn.Transformer, bare loop",
    "torch.nn.Transformer, Glossa's batches",
)


@dataclass
class Work:
    """What some training steps processed. Tokens are counted on both sides, except `target_tokens`."""

    seconds: float
    steps: int
    target_tokens: int
    tokens: int
    padded_tokens: int  # including padding
    flops: int

    @property
    def speed(self) -> float:
        """Real target tokens a second."""
        return self.target_tokens / self.seconds


class Contender(ABC):
    """A model in training. The shapes in `config` give its number of operations."""

    model: nn.Module
    config: GlossaConfig
    folder: tempfile.TemporaryDirectory | None = None  # of its Trainer; it lasts as long as the contender

    def train(self, steps: int) -> Work:
        """Train for this many more steps."""
        return self._work(steps, *self.turn(steps))

    @abstractmethod
    def turn(self, steps: int) -> tuple[list[dict[str, torch.Tensor]], float]:
        """The batches of this many more steps, and the seconds that they took."""

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        """End the training."""

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


class BareLoop(Contender):
    """Training without a Trainer: the batches of `loader` again and again, `batches_a_step` to an optimizer step."""

    def __init__(
        self,
        model: nn.Module,
        config: GlossaConfig,
        loader: DataLoader,
        bf16: bool,
        batches_a_step: int = 1,
        device: str = "cpu",
    ):
        self.model, self.config, self.bf16, self.device = model.to(device).train(), config, bf16, device
        self.batches, self.batches_a_step = _repeat(loader), batches_a_step
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)

    def turn(self, steps: int) -> tuple[list[dict[str, torch.Tensor]], float]:
        seen = []
        started = time.perf_counter()
        for _ in range(steps):
            batches = [next(self.batches) for _ in range(self.batches_a_step)]
            batches = [{name: ids.to(self.device) for name, ids in batch.items()} for batch in batches]
            for batch in batches:
                with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
                    loss = self.model(**batch)["loss"]
                (loss / len(batches)).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), MAX_GRADIENT_NORM)
            self.optimizer.step()
            self.optimizer.zero_grad()
            seen += batches
        synchronize(self.device)
        return seen, time.perf_counter() - started


def _repeat(loader: DataLoader) -> Iterator[dict[str, torch.Tensor]]:
    epoch = 0
    while True:
        if isinstance(loader.batch_sampler, TokenBatchSampler):
            loader.batch_sampler.set_epoch(epoch)
        for batch in loader:
            yield dict(batch)
        epoch += 1


class TrainerLoop(Contender):
    """One long `train()` of a Trainer, in a thread that pauses after the last step of each turn.

    The time of a turn includes everything that the Trainer does between steps, and nothing of its start.
    """

    def __init__(self, trainer: "_RecordingSeq2SeqTrainer | _RecordingGlossaTrainer", config: GlossaConfig):
        self.trainer, self.model, self.config = trainer, trainer.model, config
        trainer.remove_callback(PrinterCallback)
        self.pause = _PauseCallback()
        trainer.add_callback(self.pause)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def turn(self, steps: int) -> tuple[list[dict[str, torch.Tensor]], float]:
        if not self.thread.is_alive():
            self.thread.start()
        self.trainer.batches.clear()
        started = time.perf_counter()
        self.pause.steps.put(steps)
        ended = self.pause.ends.get()
        if isinstance(ended, BaseException):
            raise ended
        return self.trainer.batches.copy(), ended - started

    def close(self) -> None:
        if self.thread.is_alive():
            self.pause.steps.put(0)
            self.thread.join()

    def _run(self) -> None:
        try:
            self.trainer.train()
        except BaseException as error:
            self.pause.ends.put(error)


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
        architecture: Glossa's architecture; the other models always have the published one.
        bf16: Mixed precision, for all contenders.
        device: `cpu` or `cuda`.
        sentences: In a step, on average (default: `SENTENCES`).
    """

    def __init__(
        self,
        rows: Dataset,
        tokenizer: PreTrainedTokenizerBase,
        size: str,
        architecture: str = "published",
        bf16: bool = False,
        device: str = "cpu",
        sentences: int | None = None,
    ):
        self.rows, self.tokenizer, self.bf16, self.device = rows, tokenizer, bf16, device
        self.sentences = sentences or SENTENCES
        self.config = glossa_config(size, tokenizer, architecture)
        self.published = glossa_config(size, tokenizer)
        self.batches_a_step = GlossaTrainingArguments.gradient_accumulation_steps
        self.batch_tokens = equal_budget(rows, self.sentences // self.batches_a_step)
        self.folder = tempfile.TemporaryDirectory(prefix="glossa-benchmark-")
        builders = (
            self._glossa,
            self._bare,
            lambda: self._marian("random"),
            lambda: self._marian("group_by_length"),
            lambda: self._torch(self._sentence_batches()),
            lambda: self._torch(self._token_batches(), self.batches_a_step),
        )
        self.builders: dict[str, Callable[[], Contender]] = dict(zip(NAMES, builders, strict=True))

    def build(self, name: str) -> Contender:
        """The contender with this name, one of [`NAMES`]."""
        set_seed(1)
        contender = self.builders[name]()
        contender.folder = self.folder
        return contender

    def _glossa_model(self) -> GlossaForConditionalGeneration:
        model = GlossaForConditionalGeneration(self.config)
        model.set_attn_implementation("eager" if self.device == "cpu" else "sdpa")  # as a run sets it
        return model

    def _bare(self) -> BareLoop:
        loader = self._token_batches()
        return BareLoop(self._glossa_model(), self.config, loader, self.bf16, self.batches_a_step, self.device)

    def _glossa(self) -> TrainerLoop:
        model = self._glossa_model()
        processes = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
        arguments = GlossaTrainingArguments(
            batch_tokens=self.batch_tokens,
            gradient_accumulation_steps=self.batches_a_step // processes,
            eval_strategy="no",
            load_best_model_at_end=False,
            **self._arguments(),
        )
        return TrainerLoop(_RecordingGlossaTrainer(**self._trainer(model, arguments)), self.config)

    def _marian(self, strategy: str) -> TrainerLoop:
        model = MarianMTModel(marian_config(self.published))
        arguments = Seq2SeqTrainingArguments(
            per_device_train_batch_size=self.sentences,
            label_smoothing_factor=LABEL_SMOOTHING,
            train_sampling_strategy=strategy,
            **self._arguments(),
        )
        return TrainerLoop(_RecordingSeq2SeqTrainer(**self._trainer(model, arguments)), self.published)

    def _torch(self, loader: DataLoader, batches_a_step: int = 1) -> BareLoop:
        model = TorchTransformer(self.published)
        return BareLoop(model, self.published, loader, self.bf16, batches_a_step, self.device)

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

    def _token_batches(self) -> DataLoader:
        lengths = self.rows["source_length"][:], self.rows["target_length"][:]
        sampler = TokenBatchSampler(*lengths, self.batch_tokens, seed=1, batches_a_step=self.batches_a_step)
        return DataLoader(self._inputs(), batch_sampler=sampler, collate_fn=self._collator())

    def _sentence_batches(self) -> DataLoader:
        return DataLoader(self._inputs(), batch_size=self.sentences, shuffle=True, collate_fn=self._collator())

    def _inputs(self) -> Dataset:
        return self.rows.remove_columns(["source_length", "target_length"])

    def _collator(self) -> DataCollatorForSeq2Seq:
        return DataCollatorForSeq2Seq(self.tokenizer)


def build_contender(
    name: str, data: str | None, language: str, size: str, architecture: str, bf16: bool, threads: int
) -> Contender:
    """The contender with this name, the only one in this process, on the pairs of the folder `data`."""
    # Preparation must start no threads: only training threads count, and training may run in a thread of its own.
    torch.set_num_threads(1)
    corpus = load_corpus(data, language)
    contender = ContenderBuilder(corpus.tokenized["train"], corpus.tokenizer, size, architecture, bf16).build(name)
    torch.set_num_threads(threads)
    return contender
