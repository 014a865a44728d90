"""All settings of a run with their origins, read from a recipe (YAML) and the command line."""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from huggingface_hub.errors import StrictDataclassError
from transformers import SchedulerType

from ...base.errors import GlossaError
from ...base.jobs.pool import environment_threads
from ...model.configuration_glossa import GlossaConfig
from ..data.arguments import CHECKS, DataArguments, TokenizerArguments, check_ranges
from ..data.mixture import sources_of
from . import catalog
from .settings import GROUPS, GlossaTrainingArguments, TranslatorArguments

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """The origin of a setting's value, and the reason for it.

    Args:
        kind: "recipe" or "flag" if set explicitly, "resumed" for the value of the resumed run, "start" for that of the
            model in `init_from`, "prepared" for that of prepared token ids, "stages" for the last training of several
            stages, "chosen" if it depends on the data, "device" if it depends on the device, "trial" if measured,
            "environment" for an environment variable.
        reason: The recipe, the run, the variable, or what determines the value.
    """

    kind: Literal[
        "recipe", "flag", "resumed", "start", "prepared", "stages", "chosen", "device", "trial", "environment"
    ]
    reason: str = ""


@dataclass(frozen=True)
class Settings:
    """All settings of a run. Immutable; [`Settings.with_values`] returns a modified copy.

    `origins` has the origin of each value by name; settings without origin have their default.
    """

    data: DataArguments
    tokenizer: TokenizerArguments
    model: Any
    translator: TranslatorArguments
    training: GlossaTrainingArguments
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def __post_init__(self):
        for group in (self.model, self.translator):
            check_ranges(group)
        self._check_adapters()
        if self.data.memory and self.tokenizer.target_vocab_size is not None:
            raise GlossaError(
                f"memory is true, and target_vocab_size is {self.tokenizer.target_vocab_size}: a match is text of the "
                "target language among the sources, so both need one vocabulary. Leave one of the two out."
            )
        if (self.data.shares or self.data.memory) and self.training.dataloader_persistent_workers:
            raise GlossaError(
                "dataloader_persistent_workers is true, but augmentation or memory changes the rows in each epoch, "
                "and such workers keep those of the first. Leave one of the two out."
            )
        if self.translator.init_from and self.tokenizer.tokenizer:
            raise GlossaError(
                f"tokenizer is {self.tokenizer.tokenizer}, but init_from keeps the tokenizer of its model. Leave "
                "tokenizer out."
            )
        if self.translator.objective != "translation":
            self._check_pretraining()
        elif self.data.text_column is not None:
            raise GlossaError(
                f"source_column and target_column are both {self.data.text_column!r}, but the objective is "
                "translation, which takes pairs. Give two columns, or set a pretraining objective."
            )
        shared = self.model.tie_word_embeddings and self.model.share_encoder_decoder_embeddings
        if self.tokenizer.target_vocab_size is not None and shared:
            raise GlossaError(
                f"target_vocab_size is {self.tokenizer.target_vocab_size}: source and target have separate "
                "vocabularies and cannot share an embedding matrix. Set share_encoder_decoder_embeddings to false."
            )

    def _check_pretraining(self) -> None:
        """Raise `GlossaError` for settings that do not work with pretraining, which does not translate."""
        training = self.training
        if training.push_to_hub:
            raise GlossaError(
                f"push_to_hub is true, but objective is {self.translator.objective}: the model does not translate. "
                "Push a translator that was trained from it with init_from."
            )
        if self.data.watch:
            raise GlossaError(
                f"watch is {self.data.watch[0]}, but objective is {self.translator.objective}: nothing is translated. "
                "Leave it out."
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
        if self.data.shares or self.data.memory:
            names = ("augmentation", "placeholder_augmentation", "memory")
            name = next(name for name in names if getattr(self.data, name))
            raise GlossaError(
                f"{name} is set, but objective is {self.translator.objective}: it changes pairs. Leave it out."
            )
        if self.tokenizer.target_vocab_size is not None:
            raise GlossaError(
                f"target_vocab_size is {self.tokenizer.target_vocab_size}, but objective is "
                f"{self.translator.objective}, which uses one vocabulary for both languages. Leave it out."
            )

    def _check_adapters(self) -> None:
        rank = self.training.lora_rank
        if rank and not self.translator.init_from:
            raise GlossaError(f"lora_rank is {rank}, but init_from is empty: adapters need a trained model to adapt.")
        if rank and self.translator.objective != "translation":
            raise GlossaError(
                f"lora_rank is {rank}, but objective is {self.translator.objective}: adapters are for translation."
            )

    @property
    def named(self) -> frozenset[str]:
        """Names of the settings in the recipe and on the command line. Others may be chosen, see [`sizing`]."""
        return frozenset(name for name, origin in self.origins.items() if origin.kind in ("recipe", "flag"))

    def with_values(self, values: Mapping[str, Any], origin: Origin) -> "Settings":
        """A copy of the settings with `values` by name, which must have the right types and come from `origin`."""
        groups: dict[str, Any] = {
            name: replace(group, **_own(group, values))
            for name in ("data", "tokenizer", "model", "translator")
            for group in [getattr(self, name)]
        }
        training = self.training.frozen(**_own(self.training, values))
        groups["training"] = completed(training, groups["model"], groups["translator"])
        return replace(self, **groups, origins={**self.origins, **dict.fromkeys(values, origin)})

    def config(self, **tokens: Any) -> GlossaConfig:
        """The configuration of a new model; `tokens` are the fields that depend on its vocabulary.

        Raises `GlossaError` if sizes are inconsistent.
        """
        try:
            return GlossaConfig(**dataclasses.asdict(self.model), **tokens)
        except StrictDataclassError as error:
            raise GlossaError(str(error.__cause__ or error)) from error

    def recipe(self) -> dict:
        """All settings with their values, as a recipe that repeats the run."""
        values = self.training.to_dict()
        for group in (self.data, self.tokenizer, self.model, self.translator):
            values |= dataclasses.asdict(group)
        values |= {"report_to": values["report_to"] or "none"}
        for name in ("hub_token", "accelerator_config"):  # a secret, and a value that every run derives
            values.pop(name)
        defaults = {name: setting.default for name, setting in catalog.settings().items()}
        # Keep empty values with a non-empty default, which a run of the recipe would use otherwise.
        return {
            name: value
            for name, value in values.items()
            if value not in (None, "", []) or defaults.get(name) not in (None, "", [])
        }


def completed(
    training: GlossaTrainingArguments, model: Any, translator: TranslatorArguments
) -> GlossaTrainingArguments:
    """Derive settings from others: the learning rate from `learning_rate_factor`, and the metric of pretraining.

    Pretraining does not translate, so nothing is generated or scored by BLEU. Raises `GlossaError` for a factor with
    an unsuitable schedule.
    """
    values: dict[str, Any] = {}
    if training.learning_rate_factor is not None:
        if training.lr_scheduler_type != "inverse_sqrt" or training.warmup_steps < 1:
            schedule = SchedulerType(training.lr_scheduler_type).value
            raise GlossaError(
                f"learning_rate_factor is {training.learning_rate_factor} with lr_scheduler_type {schedule} and "
                f"warmup_steps {training.warmup_steps}; it requires inverse_sqrt and at least 1 warm-up step. Set "
                "these, or give learning_rate."
            )
        # After warm-up the rate falls with step^-0.5, as in inverse_sqrt, so the peak determines the schedule.
        values["learning_rate"] = training.learning_rate_factor * (model.d_model * training.warmup_steps) ** -0.5
    if translator.objective != "translation":
        metric = training.metric_for_best_model or ""
        if metric.removeprefix("eval_") not in ("loss", "token_accuracy"):
            metric = "loss"
        values |= {"predict_with_generate": False, "metric_for_best_model": metric}
        values["greater_is_better"] = not metric.endswith("loss")
    return training.frozen(**values)


def _own(group: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if hasattr(group, name)}


def parse_settings(given: catalog.Given | Sequence[str]) -> Settings:
    """Parse settings from a recipe and a command line, or from its words `[RECIPE] [--name value ...]`.

    Raises `GlossaError` for an unknown setting, with the most similar known name, and for an invalid value.
    """
    if not isinstance(given, catalog.Given):
        given = catalog.parse(given)
    origins = dict.fromkeys(given.values, Origin("recipe", str(given.recipe))) | dict.fromkeys(
        given.flags, Origin("flag")
    )
    groups: list[Any] = []
    try:
        for kind in GROUPS:
            names = {entry.name for entry in fields(kind) if entry.init}
            groups.append(kind(**{name: value for name, value in given.values.items() if name in names}))
    except (ImportError, OSError, TypeError, ValueError) as error:
        raise GlossaError(f"{given.recipe or 'Command line'}: {error}") from error
    data, tokenizer, model, translator, training = groups
    if data.trust_data == CHECKS:
        logger.warning(
            "trust_data turns off all checks of the data. Name only the checks that fail: %s.", ", ".join(CHECKS)
        )
    threads = environment_threads()
    # Launchers of several processes set the variable themselves.
    if threads and training.cpu_threads is None and training.device.type == "cpu" and training.world_size == 1:
        training = training.frozen(cpu_threads=threads)
        origins["cpu_threads"] = Origin("environment", "OMP_NUM_THREADS")
    return Settings(data, tokenizer, model, translator, completed(training, model, translator), origins)
