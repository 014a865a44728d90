"""The settings of a run as dataclasses, read from a recipe (YAML) and the command line."""

import copy
import dataclasses
import inspect
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import HfArgumentParser, SchedulerType, Seq2SeqTrainingArguments
from transformers.integrations import is_trackio_available

from ..configuration_glossa import GlossaConfig
from ..data.arguments import CHECKS, DataArguments, TokenizerArguments
from ..data.mixture import sources_of
from ..data.ranges import check_ranges
from ..errors import GlossaError
from . import catalog
from .devices import check_deepspeed

logger = logging.getLogger(__name__)


def _setting(default: Any, meaning: str):
    return field(default=default, metadata={"help": meaning})


@dataclass
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

    output_dir: str | None = _setting("runs/translator", "The folder of the run: checkpoints, log, finished model.")
    batch_tokens: int = _setting(
        2048, "Maximum tokens per batch and device on either side, including padding; replaces the batch size."
    )
    gradient_accumulation_steps: int = _setting(
        2,
        "Batches per step and device. With 1, all sentences of a step have similar length and the model learns less.",
    )
    average_checkpoints: int = _setting(0, "Number of checkpoints whose weights are averaged into the finished model.")
    average_by: Literal["last", "best"] = _setting(
        "last", "Checkpoints to average: the last, or the best by the metric."
    )
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
    ema_decay: float | None = _setting(
        None,
        "Evaluate and save an exponential moving average of the weights instead of the weights: its decay per step, "
        "such as 0.999. In the first steps the decay is (1 + step) / (10 + step). Default: no average.",
    )
    num_train_epochs: float = _setting(10.0, "Passes over the training pairs.")
    hours: float | None = _setting(
        None,
        "Time limit for training, in hours: a trial on this machine before training lowers num_train_epochs to what "
        "fits. Default: no limit.",
    )
    eval_strategy: str = _setting("epoch", "When to evaluate: no, steps or epoch.")
    save_strategy: str = _setting("epoch", "When to save a checkpoint: no, steps, epoch or best.")
    save_total_limit: int | None = _setting(3, "Number of checkpoints to keep, including the best.")
    load_best_model_at_end: bool | None = _setting(
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
    publish_samples: bool | None = _setting(
        None, "With push_to_hub: publish some held-out sentences on the card. Default: only if the data is public."
    )
    hub_license: str | None = _setting(
        None, "With push_to_hub: the license that the card names, such as apache-2.0. Default: none."
    )
    cpu_threads: int | None = _setting(
        None,
        "Threads for training on the CPU. Default: the number that is fastest in a short trial at the start, or the "
        "number of the resumed run.",
    )

    def __post_init__(self):
        self.report_to = self.report_to or "none"  # null in a recipe
        if self.report_to == "tensorboard" and is_trackio_available():
            self.report_to = ["tensorboard", "trackio"]
        if not torch.accelerator.is_available():
            self.use_cpu = True  # without it, the Trainer refuses bf16 on a machine without an accelerator
        if not sys.stderr.isatty():
            self.disable_tqdm = True  # a progress bar would fill a log file
        check_ranges(self, [entry.name for entry in fields(self)])
        check_deepspeed(self)
        self._settle_best()
        super().__post_init__()
        if self.hours is not None and self.max_steps > 0:
            raise GlossaError(f"hours is {self.hours} and max_steps {self.max_steps}; set only one of them.")
        # In addition to the last checkpoints the Trainer keeps the best one, and counts it.
        needed = self.average_checkpoints + (self.average_by == "last" and self.average_checkpoints > 0)
        if self.save_total_limit is not None and needed > self.save_total_limit:
            raise GlossaError(
                f"average_checkpoints is {self.average_checkpoints}, but save_total_limit is {self.save_total_limit}. "
                f"Set save_total_limit to {needed} or more: the best checkpoint is kept too."
            )

    def _settle_best(self) -> None:
        """Load the best checkpoint if nobody said so and each has a score; the Trainer's error names its own rule."""
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

    @property
    def order_seed(self) -> int:
        """Seed of the order of batches, of BPE dropout and of the corruption of texts."""
        return self.seed if self.data_seed is None else self.data_seed


def _model_arguments() -> type:
    """A dataclass of the GlossaConfig fields that a recipe can set; tokenizer and data determine the other fields."""
    meanings = catalog.documented(inspect.getdoc(GlossaConfig))
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
    )


def _parsed_type(annotation: Any) -> Any:
    # A configuration accepts 0 as well as 0.0 through `float | int`, but the argument parser takes only one type.
    return float if annotation == float | int else annotation


ModelArguments = _model_arguments()
GROUPS = (DataArguments, TokenizerArguments, ModelArguments, TranslatorArguments, GlossaTrainingArguments)


@dataclass(frozen=True)
class Origin:
    """Where the value of a setting comes from.

    Args:
        kind: "recipe" or "flag" if somebody named it; "resumed" if it comes from the run that is continued, "start"
            if it comes from the model in `init_from`, "chosen" if it follows from the data, "trial" if it was
            measured.
        reason: The recipe, the run, or what the value follows from.
    """

    kind: Literal["recipe", "flag", "resumed", "start", "chosen", "trial"]
    reason: str = ""


@dataclass(frozen=True)
class Settings:
    """All settings of a run. They are never changed; [`Settings.with_values`] gives others.

    `origins` tells where each value comes from, by name; settings that are not in it have their default.
    """

    data: DataArguments
    tokenizer: TokenizerArguments
    model: Any
    translator: TranslatorArguments
    training: GlossaTrainingArguments
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def __post_init__(self):
        for group in (self.model, self.translator):
            check_ranges(group, [entry.name for entry in fields(group)])
        self._set_peak()
        self._check_adapters()
        if self.translator.init_from and self.tokenizer.tokenizer:
            raise GlossaError(
                f"tokenizer is {self.tokenizer.tokenizer}, but init_from keeps the tokenizer of its model. Leave "
                "tokenizer out."
            )
        if self.translator.objective != "translation":
            self._set_pretraining()
        elif self.data.text_column is not None:
            raise GlossaError(
                f"text_column is {self.data.text_column!r}, but the objective is translation, which takes pairs. Set "
                "a pretraining objective, or give source_column and target_column."
            )
        shared = self.model.tie_word_embeddings and self.model.share_encoder_decoder_embeddings
        if self.tokenizer.target_vocab_size is not None and shared:
            raise GlossaError(
                f"target_vocab_size is {self.tokenizer.target_vocab_size}: source and target have separate "
                "vocabularies and cannot share an embedding matrix. Set share_encoder_decoder_embeddings to false."
            )

    def _set_pretraining(self) -> None:
        """Pretraining gives no translations, so nothing is generated, scored by BLEU or pushed."""
        training = self.training
        if training.push_to_hub:
            raise GlossaError(
                f"push_to_hub is true, but objective is {self.translator.objective}: the model does not translate. "
                "Push a translator that was trained from it with init_from."
            )
        if mixed := [source.name for source in sources_of(self.data) if source.weight != 1 or source.tag]:
            raise GlossaError(
                f"sources: {mixed[0]} has a weight or tag, but objective is {self.translator.objective}, which sees "
                "every text once, as it is. Leave them out."
            )
        if self.data.sampling_temperature is not None:
            raise GlossaError(
                f"sampling_temperature is {self.data.sampling_temperature}, but objective is "
                f"{self.translator.objective}, which sees every text once. Leave it out."
            )
        if self.tokenizer.target_vocab_size is not None:
            raise GlossaError(
                f"target_vocab_size is {self.tokenizer.target_vocab_size}, but objective is "
                f"{self.translator.objective}, which uses one vocabulary for both languages. Leave it out."
            )
        if self.tokenizer.bpe_dropout:
            raise GlossaError(
                f"bpe_dropout is {self.tokenizer.bpe_dropout}, but objective is {self.translator.objective}: it is "
                "for translation. Leave it out."
            )
        training.predict_with_generate = False
        if (training.metric_for_best_model or "").removeprefix("eval_") not in ("loss", "token_accuracy"):
            training.metric_for_best_model = "loss"
        training.greater_is_better = not training.metric_for_best_model.endswith("loss")

    def _check_adapters(self) -> None:
        rank = self.training.lora_rank
        if rank and not self.translator.init_from:
            raise GlossaError(f"lora_rank is {rank}, but init_from is empty: adapters need a trained model to adapt.")
        if rank and self.training.ema_decay is not None:
            raise GlossaError(f"lora_rank is {rank} and ema_decay {self.training.ema_decay}; set only one of them.")
        if rank and self.translator.objective != "translation":
            raise GlossaError(
                f"lora_rank is {rank}, but objective is {self.translator.objective}: adapters are for translation."
            )

    def _set_peak(self) -> None:
        training = self.training
        if training.learning_rate_factor is None:
            return
        if training.lr_scheduler_type != "inverse_sqrt" or training.warmup_steps < 1:
            schedule = SchedulerType(training.lr_scheduler_type).value
            raise GlossaError(
                f"learning_rate_factor is {training.learning_rate_factor} with lr_scheduler_type {schedule} and "
                f"warmup_steps {training.warmup_steps}; it requires inverse_sqrt and at least 1 warm-up step. Set "
                "these, or give learning_rate."
            )
        # After warm-up the formula falls with step^-0.5, as inverse_sqrt does, so the peak is enough.
        training.learning_rate = training.learning_rate_factor * (self.model.d_model * training.warmup_steps) ** -0.5

    @property
    def named(self) -> frozenset[str]:
        """Names of the settings in the recipe and on the command line. Others may be chosen, see `sizing`."""
        return frozenset(name for name, origin in self.origins.items() if origin.kind in ("recipe", "flag"))

    def with_values(self, values: Mapping[str, Any], origin: Origin) -> "Settings":
        """Settings that differ in `values`, by name and of their types, which come from `origin`."""
        groups = {
            entry.name: copy.copy(getattr(self, entry.name)) for entry in fields(self) if entry.name != "origins"
        }
        for name, value in values.items():
            for group in groups.values():
                if hasattr(group, name):
                    setattr(group, name, value)
        return replace(self, **groups, origins={**self.origins, **dict.fromkeys(values, origin)})

    def config(self, **tokens: Any) -> GlossaConfig:
        """The configuration of a new model; `tokens` are the fields that follow from its vocabulary.

        Raises `GlossaError` if sizes do not fit together.
        """
        smoothing = self.training.label_smoothing_factor
        try:
            return GlossaConfig(**dataclasses.asdict(self.model), label_smoothing=smoothing, **tokens)
        except StrictDataclassError as error:
            raise GlossaError(str(error.__cause__ or error)) from error

    def recipe(self) -> dict:
        """Every setting with its value, as a recipe that repeats the run."""
        values = self.training.to_dict()
        for group in (self.data, self.tokenizer, self.model, self.translator):
            values |= dataclasses.asdict(group)
        values |= {"report_to": values["report_to"] or "none"}
        for name in ("hub_token", "accelerator_config"):  # a secret, and a value that every run derives
            values.pop(name)
        defaults = {name: setting.default for name, setting in catalog.settings().items()}
        # Empty values are kept if the default is not empty, or a run of the recipe would have the default.
        return {
            name: value
            for name, value in values.items()
            if value not in (None, "", []) or defaults.get(name) not in (None, "", [])
        }


def parse_settings(argv: list[str], description: str = "") -> Settings:
    """Settings from `[RECIPE] [--name value ...]`. The command line overrides the recipe, a file or a recipe name.

    Raises `GlossaError` for an unknown setting, with the nearest known name, and for a value that is not allowed.
    """
    parser = HfArgumentParser(GROUPS, description=description, allow_abbrev=False)  # type: ignore[arg-type]
    parser.usage = "%(prog)s [RECIPE] [--setting value ...]"
    parser.error = _refuse  # type: ignore[method-assign]
    argv = list(argv)
    recipe = argv.pop(0) if argv and not argv[0].startswith("-") else None
    values = {} if recipe is None else catalog.read_recipe(recipe)
    argv, nulls = catalog.take_nulls(catalog.complete(argv))
    origins = dict.fromkeys(values, Origin("recipe", str(recipe)))
    origins |= dict.fromkeys([*catalog.names(argv), *nulls], Origin("flag"))
    values |= dict.fromkeys(nulls, catalog.NULL)
    parser.set_defaults(**{name: None for name, value in values.items() if value in catalog.EMPTY})
    try:
        *groups, unknown = parser.parse_args_into_dataclasses(
            _as_arguments(values) + argv, return_remaining_strings=True, look_for_args_file=False
        )
    except (ImportError, OSError, TypeError, ValueError) as error:
        raise GlossaError(f"{recipe or 'Command line'}: {error}") from error
    if unknown:
        raise GlossaError(f"Command line: {catalog.unknown(unknown[0])}")
    data, tokenizer, model, translator, training = groups
    if data.trust_data == CHECKS:
        logger.warning(
            "trust_data turns off all checks of the data. Name the ones that are wrong: %s.", ", ".join(CHECKS)
        )
    return Settings(data, tokenizer, model, translator, training, origins)


def _as_arguments(recipe: dict[str, str | list | dict]) -> list[str]:
    """The recipe as command-line arguments, so that both are parsed in the same way."""
    arguments = []
    for name, value in recipe.items():
        if value not in catalog.EMPTY:
            value = json.dumps({key: _json(text) for key, text in value.items()}) if isinstance(value, dict) else value
            words = value if isinstance(value, list) else [value]
            # The sources are a list of dictionaries; their own checks convert the texts in them.
            arguments += [f"--{name}", *(json.dumps(word) if isinstance(word, dict) else word for word in words)]
    return arguments


def _json(text: Any) -> Any:
    """A value in a dictionary, whose types are not declared: parsed as JSON if possible, else the text."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _refuse(message: str):
    raise GlossaError(message[:1].upper() + message[1:] + ". `--help` lists all settings.")
