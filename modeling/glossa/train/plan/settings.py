"""The settings of a run as dataclasses, one per group."""

import copy
import sys
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, Self

import torch
from transformers import Seq2SeqTrainingArguments
from transformers.integrations import is_trackio_available

from ...base.errors import GlossaError
from ...base.paths import masked
from ..data.arguments import DataArguments, TokenizerArguments, check_ranges
from .devices import check_deepspeed
from .table import ModelArguments, TrainingSettings, TranslatorArguments

_FROZEN = "_is_frozen"


@dataclass
class GlossaTrainingArguments(TrainingSettings, Seq2SeqTrainingArguments):  # type: ignore[misc]
    """`Seq2SeqTrainingArguments` with the defaults and further settings of [`TrainingSettings`]."""

    _argument_group_name = "training (all settings of transformers' Seq2SeqTrainingArguments, and those of Glossa)"

    def __post_init__(self):
        self.report_to = self.report_to or "none"  # null in a recipe
        if self.ddp_find_unused_parameters is None:
            self.ddp_find_unused_parameters = False  # all weights have gradients in every step
        if self.report_to == "tensorboard" and is_trackio_available():
            self.report_to = ["tensorboard", "trackio"]
        if not torch.accelerator.is_available():
            self.use_cpu = True  # otherwise the Trainer refuses bf16 on a machine without an accelerator
        if not sys.stderr.isatty():
            self.disable_tqdm = True  # a progress bar would fill a log file
        check_ranges(self)
        check_deepspeed(self)
        if "://" in self.output_dir:  # a folder with this name would be created
            raise GlossaError(
                f"output_dir is {masked(self.output_dir)}, but a run is written to a local folder. Give a folder, and "
                "copy the finished run."
            )
        self._resolve_best_model()
        super().__post_init__()
        if self.hours is not None and self.max_steps > 0:
            raise GlossaError(f"hours is {self.hours} and max_steps {self.max_steps}; set only one of them.")
        # The Trainer also keeps the best checkpoint, which counts toward the limit.
        needed = self.average_checkpoints + (self.average_checkpoints > 0)
        if self.save_total_limit is not None and needed > self.save_total_limit:
            raise GlossaError(
                f"average_checkpoints is {self.average_checkpoints}, but save_total_limit is {self.save_total_limit}. "
                f"Set save_total_limit to {needed} or more: the best checkpoint is kept too."
            )

    def _resolve_best_model(self) -> None:
        """Load the best checkpoint by default if every checkpoint has a score; refuse to load it otherwise."""
        evaluates, saves = (getattr(value, "value", value) for value in (self.eval_strategy, self.save_strategy))
        possible = evaluates != "no" and saves in (evaluates, "best")
        if self.load_best_model_at_end is None:
            self.load_best_model_at_end = possible
        if self.load_best_model_at_end and not possible:
            raise GlossaError(
                f"load_best_model_at_end is true, but eval_strategy is {evaluates} and save_strategy {saves}: the "
                "best checkpoint is known only if all checkpoints are evaluated. Set both to epoch or both to steps, "
                "or leave load_best_model_at_end out."
            )

    def frozen(self, **values: Any) -> Self:
        """An immutable copy with these values."""
        made = self.for_trainer()
        for name, value in values.items():
            setattr(made, name, value)
        if "bf16" in values:  # derived as in the Trainer
            made.mixed_precision = "bf16" if made.bf16 else "no"
        made.__dict__[_FROZEN] = True
        return made

    def for_trainer(self) -> Self:
        """A mutable copy for the Trainer, which modifies its arguments."""
        made = copy.copy(self)
        made.__dict__.pop(_FROZEN, None)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get(_FROZEN):
            raise FrozenInstanceError(f"cannot assign to {name}: settings are changed by Settings.with_values")
        super().__setattr__(name, value)

    @property
    def accumulated(self) -> int:
        """Batches per step and process; a share of `gradient_accumulation_steps` if the run started the processes."""
        shared = self.device.type == "cpu" and self.cpu_processes == self.world_size
        return self.gradient_accumulation_steps // self.world_size if shared else self.gradient_accumulation_steps

    @property
    def own_hours(self) -> float | None:
        """The hours of this training; None for no limit."""
        return None if self.hours is None else self.hours * self.hours_share

    @property
    def order_seed(self) -> int:
        """Seed of the batch order and of the corruption of texts."""
        return self.seed if self.data_seed is None else self.data_seed


GROUPS = (DataArguments, TokenizerArguments, ModelArguments, TranslatorArguments, GlossaTrainingArguments)
