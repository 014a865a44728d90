"""The settings of a run as dataclasses, one for each group."""

import copy
import dataclasses
import inspect
import sys
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import Any, Literal, Self

import torch
from transformers import Seq2SeqTrainingArguments
from transformers.integrations import is_trackio_available

from ...base.errors import GlossaError
from ...base.paths import masked
from ...model.configuration_glossa import GlossaConfig
from ..data.arguments import DataArguments, TokenizerArguments, check_ranges
from . import catalog
from .devices import check_deepspeed

_FROZEN = "_is_frozen"


def _setting(default: Any, meaning: str):
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class TranslatorArguments:
    """The objective, the start and the decoding settings of a run."""

    _argument_group_name = "translator"

    objective: Literal["translation", "span_corruption", "masked_lm", "causal_lm"] = _setting(
        "translation",
        "What to train: translation of pairs; or pretraining on texts, which fills in spans (encoder and decoder), "
        "fills in masked tokens (encoder) or continues a text (decoder).",
    )
    init_from: str | None = _setting(
        None,
        "Folder or Hub name of a trained model to start from; its tokenizer and architecture are kept, and its "
        "dropout unless another is given.",
    )
    add_language: str | None = _setting(
        None,
        "Code of a target language that the model of init_from lacks. It gets a token, whose embedding begins as the "
        "mean of those of the other languages. For models of several target languages, and NLLB.",
    )
    add_vocabulary: int | None = _setting(
        None,
        "Number of pieces to add to the vocabulary of init_from, learned from the targets of the training pairs. Each "
        "begins as the mean of the old pieces that it consists of. For byte-pair encoding.",
    )
    num_beams: int = _setting(4, "Number of beams of the finished model; 1 is greedy decoding.")
    length_penalty: float = _setting(1.0, "Beam scores are divided by the length to this power.")
    bleu_tokenizer: Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"] = (
        _setting("auto", "sacreBLEU's tokenizer. auto: 13a, or what the target language needs.")
    )
    max_new_tokens: int = _setting(128, "Maximum length of translations during validation, in tokens.")


@dataclass
class GlossaTrainingArguments(Seq2SeqTrainingArguments):
    """`Seq2SeqTrainingArguments` with defaults for translation and settings that the Trainer lacks.

    The optimizer defaults are from Vaswani et al. 2017, section 5.3. `learning_rate` is the peak of the schedule
    instead of a factor.
    """

    _argument_group_name = "training (all settings of transformers' Seq2SeqTrainingArguments, and those of Glossa)"

    output_dir: str = _setting(  # type: ignore[assignment]
        "runs/translator", "The folder of the run: checkpoints, log, finished model."
    )
    batch_tokens: int = _setting(
        2048, "Maximum tokens per batch and device on either side, including padding; replaces the batch size."
    )
    gradient_accumulation_steps: int = _setting(
        2,
        "Batches per step and device. With 1, all sentences of a step have similar length and the model learns less.",
    )
    average_checkpoints: int = _setting(0, "Number of checkpoints whose weights are averaged into the finished model.")
    early_stopping_patience: int | None = _setting(
        None, "Stop after this many evaluations without a better metric. Default: never."
    )
    learning_rate: float = _setting(1e-3, "Peak learning rate.")
    muon_learning_rate: float | None = _setting(
        None,
        "Train the matrices of the layers with Muon, with this peak learning rate; the other weights keep optim and "
        "learning_rate. Default: no Muon.",
    )
    learning_rate_factor: float | None = _setting(
        None,
        "Factor of the schedule of Vaswani et al. 2017 (section 5.3), instead of learning_rate: the rate is "
        "factor x d_model^-0.5 x min(step^-0.5, step x warmup_steps^-1.5). Requires lr_scheduler_type inverse_sqrt.",
    )
    lr_scheduler_type: str = _setting("inverse_sqrt", "Schedule of the learning rate after warm-up.")
    warmup_steps: float = _setting(
        0.1, "Steps in which the learning rate rises; a value below 1 is a fraction of all steps."
    )
    adam_beta2: float = _setting(0.98, "Decay of Adam's second moment.")
    adam_epsilon: float = _setting(1e-9, "Added to Adam's denominator.")
    label_smoothing_factor: float = _setting(0.1, "Label smoothing in the loss of the model.")
    num_train_epochs: float = _setting(10.0, "Passes over the training pairs.")
    hours: float | None = _setting(
        None,
        "Time limit for the steps of training, in hours: a trial on this machine lowers num_train_epochs to what "
        "fits. Preparing the data, and scoring and saving at the end, take more time. Default: no limit.",
    )
    eval_strategy: str = _setting("epoch", "When to evaluate: no, steps or epoch.")
    save_strategy: str = _setting("epoch", "When to save a checkpoint: no, steps, epoch or best.")
    save_total_limit: int | None = _setting(3, "Number of checkpoints to keep, including the best.")
    load_best_model_at_end: bool | None = _setting(  # type: ignore[assignment]
        None,
        "Load the best checkpoint at the end instead of keeping the last weights. Default: where checkpoints are "
        "saved when the model is evaluated.",
    )
    metric_for_best_model: str | None = _setting(
        "bleu", "Metric that selects the best checkpoint: bleu, chrf or loss."
    )
    predict_with_generate: bool = _setting(True, "Translate the validation split at each evaluation.")
    per_device_eval_batch_size: int = _setting(64, "Sentences in an evaluation batch.")
    eval_samples: int = _setting(3, "Validation sentences printed with their translations after each evaluation.")
    logging_steps: float = _setting(50, "Steps between log lines; a value below 1 is a fraction of all steps.")
    report_to: str = _setting("tensorboard", "Where to report curves: tensorboard, trackio, wandb, none.")
    seed: int = _setting(1, "Seed of weights, dropout and batch order.")
    lora_rank: int = _setting(
        0,
        "With init_from: train LoRA adapters of this rank (Hu et al. 2021), such as 16, instead of all weights. The "
        "finished model has them merged in; they are also saved alone. 0: train all weights.",
    )
    alignment_head: bool = _setting(
        False,
        "Train a head of the last but one decoder layer to align words (Garg et al. 2019); the words of the training "
        "pairs are aligned by Eflomal (sil-thot) first.",
    )
    bf16: bool = _setting(
        False,
        "Compute in bfloat16, with weights in float32. Default: on an NVIDIA GPU that computes in it; on a CPU with "
        "instructions and memory for it if a short trial at the start shows that it is faster; or as the resumed run.",
    )
    cpu_threads: int | None = _setting(
        None,
        "Threads for training on the CPU. Default: OMP_NUM_THREADS if it is set; or the number of the resumed run; or "
        "the number that is fastest in a short trial at the start.",
    )
    cpu_processes: int | None = _setting(
        None,
        "Processes for training on the CPU, which share the batches of a step: a divisor of "
        "gradient_accumulation_steps. Default: as many as cores and memory allow; 1 if threads are given; or the "
        "number of the resumed run.",
    )

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
        check_ranges(self, [entry.name for entry in fields(self)])
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


def _model_arguments() -> type:
    """A dataclass of the GlossaConfig fields that a recipe can set; tokenizer and data determine the other fields."""
    meanings = catalog.documented(inspect.getdoc(GlossaConfig) or "")
    own = GlossaConfig.__annotations__
    return dataclasses.make_dataclass(
        "ModelArguments",
        [
            (
                entry.name,
                _parsed_type(own[entry.name]),
                _setting(entry.default, meanings.get(entry.name, "")),
            )
            for entry in dataclasses.fields(GlossaConfig)
            if entry.name in own and entry.name not in catalog.DERIVED and not entry.name.endswith("token_id")
        ],
        namespace={"_argument_group_name": "model (its architecture)"},
        frozen=True,
    )


def _parsed_type(annotation: Any) -> Any:
    # A configuration accepts 0 as well as 0.0 through `float | int`, but the argument parser takes only one type.
    return float if annotation == float | int else annotation


ModelArguments = _model_arguments()
GROUPS = (DataArguments, TokenizerArguments, ModelArguments, TranslatorArguments, GlossaTrainingArguments)
