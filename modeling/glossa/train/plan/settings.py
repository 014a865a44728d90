"""The settings of a run as dataclasses, one for each group."""

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
            self.ddp_find_unused_parameters = False  # every weight of the models has a gradient in each step
        if self.report_to == "tensorboard" and is_trackio_available():
            self.report_to = ["tensorboard", "trackio"]
        if not torch.accelerator.is_available():
            self.use_cpu = True  # without it, the Trainer refuses bf16 on a machine without an accelerator
        if not sys.stderr.isatty():
            self.disable_tqdm = True  # a progress bar would fill a log file
        check_ranges(self)
        check_deepspeed(self)
        if "://" in self.output_dir:  # it would become a folder with this name
            raise GlossaError(
                f"output_dir is {masked(self.output_dir)}, but a run is written to a folder of this machine. Give a "
                "folder, and copy the finished run."
            )
        self._settle_best()
        super().__post_init__()
        if self.hours is not None and self.max_steps > 0:
            raise GlossaError(f"hours is {self.hours} and max_steps {self.max_steps}; set only one of them.")
        # In addition to the last checkpoints the Trainer keeps the best one, and counts it.
        needed = self.average_checkpoints + (self.average_checkpoints > 0)
        if self.save_total_limit is not None and needed > self.save_total_limit:
            raise GlossaError(
                f"average_checkpoints is {self.average_checkpoints}, but save_total_limit is {self.save_total_limit}. "
                f"Set save_total_limit to {needed} or more: the best checkpoint is kept too."
            )

    def _settle_best(self) -> None:
        """Load the best checkpoint by default if each has a score; the Trainer's error names its own rule."""
        evaluates, saves = (getattr(value, "value", value) for value in (self.eval_strategy, self.save_strategy))
        possible = evaluates != "no" and saves in (evaluates, "best")
        if self.load_best_model_at_end is None:
            self.load_best_model_at_end = possible
        if self.load_best_model_at_end and not possible:
            raise GlossaError(
                f"load_best_model_at_end is true, but eval_strategy is {evaluates} and save_strategy {saves}: the "
                "best checkpoint is known only if each is evaluated. Set both to epoch or both to steps, or leave "
                "load_best_model_at_end out."
            )

    def frozen(self, **values: Any) -> Self:
        """A copy with these values, which nothing changes any more."""
        made = self.for_trainer()
        for name, value in values.items():
            setattr(made, name, value)
        if "bf16" in values:  # as the Trainer derives it
            made.mixed_precision = "bf16" if made.bf16 else "no"
        made.__dict__[_FROZEN] = True
        return made

    def for_trainer(self) -> Self:
        """A copy for the Trainer, which changes its own."""
        made = copy.copy(self)
        made.__dict__.pop(_FROZEN, None)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get(_FROZEN):
            raise FrozenInstanceError(f"cannot assign to {name}: settings are changed by Settings.with_values")
        super().__setattr__(name, value)

    @property
    def accumulated(self) -> int:
        """Batches that each process has in a step: its share, if the run itself started the processes."""
        shared = self.device.type == "cpu" and self.cpu_processes == self.world_size
        return self.gradient_accumulation_steps // self.world_size if shared else self.gradient_accumulation_steps

    @property
    def order_seed(self) -> int:
        """Seed of the order of batches and of the corruption of texts."""
        return self.seed if self.data_seed is None else self.data_seed


GROUPS = (DataArguments, TokenizerArguments, ModelArguments, TranslatorArguments, GlossaTrainingArguments)
