"""The settings of a run: dataclasses, read from a recipe (YAML) and the command line."""

import dataclasses
import inspect
import json
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from transformers import HfArgumentParser, SchedulerType, Seq2SeqTrainingArguments
from transformers.integrations import is_trackio_available

from ..configuration_glossa import GlossaConfig
from ..data.arguments import DataArguments, TokenizerArguments
from ..errors import GlossaError
from . import catalog


def _setting(default: Any, meaning: str):
    return field(default=default, metadata={"help": meaning})


@dataclass
class TranslatorArguments:
    """What the run starts from and how its model will translate."""

    _argument_group_name = "translator"

    objective: Literal["translation", "span_corruption", "masked_lm", "causal_lm"] = _setting(
        "translation",
        "What is learned: to translate pairs; or, before that, from texts, to fill in spans (encoder and decoder), "
        "to fill in masked tokens (encoder) or to go on with a text (decoder).",
    )
    init_from: str | None = _setting(
        None, "Folder or Hub name of a trained model to go on from: its tokenizer and architecture are kept."
    )
    num_beams: int = _setting(4, "Beams of the finished model's translations; 1 is greedy.")
    length_penalty: float = _setting(1.0, "Beam scores are divided by the length to this power.")
    max_new_tokens: int = _setting(128, "Longest translation while the model is being validated, in tokens.")


@dataclass
class GlossaTrainingArguments(Seq2SeqTrainingArguments):
    """`Seq2SeqTrainingArguments` with the defaults of translation and what the Trainer lacks.

    The optimizer's defaults are those of Vaswani et al. 2017, section 5.3, with the schedule's peak as
    `learning_rate` instead of a factor.
    """

    _argument_group_name = "training (all settings of transformers' Seq2SeqTrainingArguments, and some of our own)"

    output_dir: str | None = _setting("runs/translator", "The folder of the run: checkpoints, log, finished model.")
    batch_tokens: int = _setting(
        2048, "Most tokens of a batch (on each device) on either side, padding included; in place of a batch size."
    )
    gradient_accumulation_steps: int = _setting(
        2, "Batches a step, on each device. With one, all sentences of a step are of like length: it teaches less."
    )
    average_checkpoints: int = _setting(0, "Average the weights of this many checkpoints into the finished model.")
    average_by: Literal["last", "best"] = _setting("last", "Which checkpoints: the last, or the best by the metric.")
    early_stopping_patience: int | None = _setting(
        None, "Stop after this many evaluations without a better metric. Default: never."
    )
    learning_rate: float = _setting(1e-3, "Highest learning rate.")
    learning_rate_factor: float | None = _setting(
        None,
        "In place of learning_rate, the factor of the schedule of Vaswani et al. 2017 (section 5.3): the rate is "
        "factor x d_model^-0.5 x min(step^-0.5, step x warmup_steps^-1.5). Takes lr_scheduler_type inverse_sqrt.",
    )
    lr_scheduler_type: str = _setting("inverse_sqrt", "How the learning rate falls after warm-up.")
    warmup_steps: float = _setting(1000, "Steps in which the learning rate rises; below 1 a share of all steps.")
    adam_beta2: float = _setting(0.98, "Decay of Adam's second moment.")
    adam_epsilon: float = _setting(1e-9, "Added to Adam's denominator.")
    label_smoothing_factor: float = _setting(0.1, "Label smoothing, inside the model's own loss.")
    num_train_epochs: float = _setting(10.0, "Passes over the training pairs.")
    eval_strategy: str = _setting("epoch", "When to evaluate: no, steps or epoch.")
    save_strategy: str = _setting("epoch", "When to save a checkpoint: no, steps, epoch or best.")
    save_total_limit: int | None = _setting(3, "Checkpoints to keep, the best among them.")
    load_best_model_at_end: bool = _setting(True, "Finish with the best checkpoint, not the last.")
    metric_for_best_model: str | None = _setting("bleu", "The metric that decides: bleu, chrf or loss.")
    predict_with_generate: bool = _setting(True, "Translate the validation split in each evaluation.")
    per_device_eval_batch_size: int = _setting(64, "Sentences in an evaluation batch.")
    eval_samples: int = _setting(3, "Validation sentences printed with their translations after each evaluation.")
    logging_steps: float = _setting(50, "Steps between lines of the log; below 1 a share of all steps.")
    report_to: str = _setting("tensorboard", "Where curves go: tensorboard, trackio, wandb, none.")
    seed: int = _setting(1, "Seed of weights, dropout and batch order.")
    cpu_threads: int | None = _setting(
        None,
        "Threads of a training on the CPU. Default: as many as a short trial at the start finds fastest, or those of "
        "the run that is resumed.",
    )

    def __post_init__(self):
        if self.report_to == "tensorboard" and is_trackio_available():
            self.report_to = ["tensorboard", "trackio"]
        if not torch.accelerator.is_available():
            self.use_cpu = True  # the Trainer refuses bf16 without an accelerator unless it is told so
        if not sys.stderr.isatty():
            self.disable_tqdm = True  # a progress bar would fill a log file
        super().__post_init__()
        for name in ("batch_tokens", "cpu_threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise GlossaError(f"{name} is {value}; it must be at least 1.")
        if self.average_checkpoints > (self.save_total_limit or self.average_checkpoints):
            raise GlossaError(
                f"average_checkpoints is {self.average_checkpoints}, but save_total_limit keeps only "
                f"{self.save_total_limit} checkpoints. Raise save_total_limit."
            )


def _model_arguments() -> type:
    """The fields of GlossaConfig that a recipe may set, as a dataclass; the rest follows from tokenizer and data."""
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
    # `float | int`, which lets a configuration hold 0 as well as 0.0, is two types to the argument parser.
    return float if annotation == float | int else annotation


ModelArguments = _model_arguments()
GROUPS = (DataArguments, TokenizerArguments, ModelArguments, TranslatorArguments, GlossaTrainingArguments)


@dataclass
class Settings:
    """All settings of a run."""

    data: DataArguments
    tokenizer: TokenizerArguments
    model: Any
    translator: TranslatorArguments
    training: GlossaTrainingArguments

    def __post_init__(self):
        self._set_peak()
        if self.translator.objective != "translation":
            self._set_pretraining()
        elif self.data.text_column is not None:
            raise GlossaError(
                f"text_column is {self.data.text_column!r}, but the objective is translation, which takes pairs. Set "
                "objective to one that takes texts, or give source_column and target_column."
            )
        shared = self.model.tie_word_embeddings and self.model.share_encoder_decoder_embeddings
        if self.tokenizer.target_vocab_size is not None and shared:
            raise GlossaError(
                f"target_vocab_size is {self.tokenizer.target_vocab_size}: source and target have a vocabulary each, "
                "so they cannot have one embedding matrix. Set share_encoder_decoder_embeddings to false."
            )

    def _set_pretraining(self) -> None:
        """There are no translations: nothing to generate, no BLEU to go by, and no translator to push."""
        training = self.training
        if training.push_to_hub:
            raise GlossaError(
                f"push_to_hub is true, but objective is {self.translator.objective}: what it leaves is no translator "
                "yet. Push a translator that was trained with init_from."
            )
        if self.tokenizer.target_vocab_size is not None:
            raise GlossaError(
                f"target_vocab_size is {self.tokenizer.target_vocab_size}, but objective is "
                f"{self.translator.objective}, which takes one vocabulary for both languages. Leave it out."
            )
        training.predict_with_generate = False
        if (training.metric_for_best_model or "").removeprefix("eval_") not in ("loss", "token_accuracy"):
            training.metric_for_best_model = "loss"
        training.greater_is_better = not training.metric_for_best_model.endswith("loss")

    def _set_peak(self) -> None:
        training = self.training
        if training.learning_rate_factor is None:
            return
        if training.lr_scheduler_type != "inverse_sqrt" or training.warmup_steps < 1:
            schedule = SchedulerType(training.lr_scheduler_type).value
            raise GlossaError(
                f"learning_rate_factor is {training.learning_rate_factor} with lr_scheduler_type {schedule} and "
                f"warmup_steps {training.warmup_steps}; it takes inverse_sqrt and a number of warm-up steps. Set "
                "these, or give learning_rate."
            )
        # After warm-up the formula falls with step^-0.5, as inverse_sqrt does, so its peak says all.
        training.learning_rate = training.learning_rate_factor * (self.model.d_model * training.warmup_steps) ** -0.5

    def model_settings(self) -> dict:
        """Fields of GlossaConfig as the run sets them."""
        return dataclasses.asdict(self.model) | {"label_smoothing": self.training.label_smoothing_factor}

    def recipe(self) -> dict:
        """Every setting with its value, as a recipe that gives the same run again."""
        values = self.training.to_dict()
        for group in (self.data, self.tokenizer, self.model, self.translator):
            values |= dataclasses.asdict(group)
        for name in ("hub_token", "accelerator_config"):  # a secret; and what every run derives anew
            values.pop(name)
        return {name: value for name, value in values.items() if value is not None and value != "" and value != []}


def parse_settings(argv: list[str], description: str = "") -> Settings:
    """Settings from `[RECIPE] [--name value ...]`; the command line wins over the recipe, a file or the name of one.

    Raises `GlossaError` for a setting that does not exist, naming the nearest that does, and for a value that is
    not allowed.
    """
    parser = HfArgumentParser(GROUPS, description=description, allow_abbrev=False)  # type: ignore[arg-type]
    parser.usage = "%(prog)s [RECIPE] [--setting value ...]"
    parser.error = _refuse  # type: ignore[method-assign]
    argv = [catalog.current_flag(argument) for argument in argv]
    recipe = argv.pop(0) if argv and not argv[0].startswith("-") else None
    values = {} if recipe is None else catalog.read_recipe(recipe)
    parser.set_defaults(**{name: None for name, value in values.items() if value in catalog.EMPTY})
    try:
        *groups, unknown = parser.parse_args_into_dataclasses(
            _as_arguments(values) + argv, return_remaining_strings=True, look_for_args_file=False
        )
    except (TypeError, ValueError) as error:
        raise GlossaError(f"{recipe or 'command line'}: {error}") from error
    if unknown:
        raise GlossaError(f"Command line: {catalog.unknown(unknown[0])}")
    return Settings(*groups)


def _as_arguments(recipe: dict[str, str | list | dict]) -> list[str]:
    """The recipe as command-line arguments, so that both are parsed alike."""
    arguments = []
    for name, value in recipe.items():
        if value not in catalog.EMPTY:
            value = json.dumps({key: _json(text) for key, text in value.items()}) if isinstance(value, dict) else value
            arguments += [f"--{name}", *(value if isinstance(value, list) else [value])]
    return arguments


def _json(text: Any) -> Any:
    """A value of a dictionary, which nothing declares: a number where it reads as one."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _refuse(message: str):
    raise GlossaError(message[:1].upper() + message[1:] + ". `--help` lists every setting and its meaning.")
