"""Checks before any data is read, for errors that would otherwise stop a run after hours."""

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import SchedulerType, Trainer, get_scheduler
from transformers.integrations import get_reporting_integration_callbacks
from transformers.training_args import OptimizerNames

from ...base.errors import GlossaError, require
from ...base.metrics import bleu_tokenizer
from ...base.tokens import target_vocabulary
from ...model.modeling_glossa import GlossaForConditionalGeneration
from ...translate.languages import Languages
from ...translate.loading import load_config, load_tokenizer
from ..data.mixture import sources_of, target_languages
from ..data.prepared import tokens_of
from ..data.streaming.streams import REFUSED, is_stream
from ..hub.push import check_account
from .arguments import Settings
from .devices import is_sharded, uses_deepspeed
from .settings import GlossaTrainingArguments
from .start import check_family, reused_tokenizer, with_languages

logger = logging.getLogger(__name__)

METRICS = ("bleu", "chrf", "loss", "token_accuracy")  # of an evaluation
GIB = 2**30
# Settings that need complete weights, of which a process has only a part.
UNSHARDED = ("lora_rank", "muon_learning_rate", "average_checkpoints")
# Endings of the files in a run's folder.
FILES = {".json", ".md", ".png", ".py", ".safetensors", ".yaml"}


def check_before_data(settings: Settings) -> None:
    """Raise `GlossaError` if the run lacks a metric, library, account, folder or disk space that it will need."""
    training = settings.training
    _check_metric(training)
    _check_ignored(settings)
    _check_reporters(training)
    check_sharding(settings)
    if settings.translator.objective == "translation":
        for language in target_languages(settings.data) or [settings.data.target_language]:
            bleu_tokenizer(language, settings.translator.bleu_tokenizer)
    if settings.translator.init_from:
        check_family(settings)
        _check_languages(settings.translator.init_from, settings)
    _check_positions(settings)
    _check_alignment(settings)
    _check_directions(settings)
    _check_memory(settings)
    model = _outline(settings)
    _check_optimizer(training, model)
    if training.push_to_hub:
        check_account(training.hub_model_id or Path(training.output_dir).name, training.hub_token)
    _check_places(Path(training.output_dir))
    _check_disk(training, sum(parameter.numel() for parameter in model.parameters()))


def check_sharding(settings: Settings) -> None:
    """Raise `GlossaError` for a setting that does not work with FSDP or DeepSpeed."""
    training = settings.training
    if not is_sharded(training) and not uses_deepspeed(training):
        return
    way, parts = ("FSDP", "the weights") if is_sharded(training) else ("DeepSpeed", "the optimizer")
    for name in UNSHARDED:
        if value := getattr(training, name):
            raise GlossaError(
                f"{name} is {value}, but the run uses {way}, which splits {parts}. Leave {name} out, or train "
                f"without {way}."
            )
    if settings.translator.objective != "translation":
        raise GlossaError(
            f"objective is {settings.translator.objective}, but the run uses {way}, which trains translators only. "
            f"Train without {way}."
        )
    kind = os.environ.get("FSDP_STATE_DICT_TYPE") or (training.fsdp_config or {}).get("state_dict_type")
    if kind not in (None, "FULL_STATE_DICT"):
        raise GlossaError(
            f"fsdp_state_dict_type is {kind}; it must be FULL_STATE_DICT, so that every checkpoint is a model that "
            "loads anywhere."
        )


def _outline(settings: Settings) -> GlossaForConditionalGeneration:
    """The model without weights; with `init_from`, only approximately of the right size."""
    sizes = {"vocab_size": settings.tokenizer.vocab_size, "decoder_vocab_size": settings.tokenizer.target_vocab_size}
    if settings.tokenizer.tokenizer:
        tokenizer = with_languages(reused_tokenizer(settings, settings.tokenizer.tokenizer), settings)
        target = target_vocabulary(tokenizer)
        sizes = {"vocab_size": len(tokenizer), "decoder_vocab_size": target.get_vocab_size()}
    with torch.device("meta"):
        return GlossaForConditionalGeneration(settings.config(**sizes))


def _check_languages(start: str, settings: Settings) -> None:
    own = Languages.of(start)
    if target_languages(settings.data) or own.tagged:
        with_languages(load_tokenizer(start), settings)
        return
    theirs = own.pair
    ours = (settings.data.source_language, settings.data.target_language)
    if theirs in (ours, (None, None)):
        return
    message = (
        f"init_from is {start}, which translates from {theirs[0]} to {theirs[1]}; the data are {ours[0]} to {ours[1]}"
    )
    if "start" not in settings.data.trust_data:
        raise GlossaError(f"{message}. Give a model of these languages. To train anyway, set trust_data to start.")
    logger.warning("%s.", message)


def _check_metric(training: GlossaTrainingArguments) -> None:
    metric = (training.metric_for_best_model or "loss").removeprefix("eval_")
    if metric not in METRICS:
        raise GlossaError(f"metric_for_best_model is {metric!r}; it must be one of {', '.join(METRICS)}.")
    if metric in METRICS[:2] and not training.predict_with_generate and training.load_best_model_at_end:
        raise GlossaError(
            f"metric_for_best_model is {metric!r}, but predict_with_generate is false: without translations there is "
            "no such score. Set metric_for_best_model to loss."
        )


def _check_ignored(settings: Settings) -> None:
    """Raise `GlossaError` for settings that would be ignored, or that do not work together."""
    training = settings.training
    if training.generation_num_beams not in (None, 1):
        raise GlossaError(
            f"generation_num_beams is {training.generation_num_beams}, but validation during training is greedy. "
            "Leave it out; num_beams is for the finished model."
        )
    if training.per_device_train_batch_size != GlossaTrainingArguments.per_device_train_batch_size:
        raise GlossaError(
            f"per_device_train_batch_size is {training.per_device_train_batch_size}, but batches are limited by "
            "tokens. Leave it out, and set batch_tokens."
        )
    if "schedule_free" in training.optim:
        raise GlossaError(
            f"optim is {OptimizerNames(training.optim).value}, which Glossa does not support: it gave worse models "
            "than a schedule (docs/decisions.md). Leave optim out."
        )
    if training.lora_rank and training.average_checkpoints:
        raise GlossaError(
            f"lora_rank is {training.lora_rank} and average_checkpoints {training.average_checkpoints}, but the saved "
            "adapters would not be averaged. Set only one of them."
        )
    _check_replay(settings)


def _check_replay(settings: Settings) -> None:
    """Raise `GlossaError` if `replay` is set without a start that could forget, or its size without itself."""
    data, problem = settings.data, ""
    for name, needed in (("watch_loss", data.watch), ("replay_size", data.replay or data.watch)):
        if name in settings.named and not needed:
            raise GlossaError(f"{name} is {getattr(data, name)}, but watch and replay are empty. Leave {name} out.")
    if not data.replay:
        return
    if not settings.translator.init_from:
        problem = "init_from is empty: a new model has nothing to forget"
    elif settings.translator.objective != "translation":
        problem = f"objective is {settings.translator.objective}, which takes texts"
    elif is_stream(data):
        problem = f"streaming is true, and {REFUSED['replay']}"
    elif several := target_languages(data):
        problem = f"the data have several target languages ({', '.join(several)})"
    if problem:
        raise GlossaError(f"replay is {data.replay[0]}, but {problem}. Leave replay out.")


def _check_positions(settings: Settings) -> None:
    """Raise `GlossaError` if training texts may exceed the learned positions."""
    model, longest = settings.model, settings.data.max_length
    table = min(model.max_source_positions, model.max_target_positions)
    if model.position_embedding_type == "learned" and longest > table:
        raise GlossaError(
            f"max_length is {longest}, but the learned positions of the model hold {table} tokens. Set max_length to "
            f"{table} or less, or raise max_source_positions and max_target_positions."
        )


def _check_alignment(settings: Settings) -> None:
    """Raise `GlossaError` if `alignment_head` is set, but there are no pairs to align or it cannot be trained."""
    if not settings.training.alignment_head:
        return
    start, objective = settings.translator.init_from, settings.translator.objective
    problem = ""
    if objective != "translation":
        problem = f"objective is {objective}, which has no pairs to align"
    elif is_stream(settings.data):
        problem = f"streaming is true, and {REFUSED['alignment_head']}"
    elif start and load_config(start).model_type != "glossa":
        problem = f"init_from is {start}, whose family has no such head"
    if problem:
        raise GlossaError(f"alignment_head is true, but {problem}. Leave one of the two out.")
    require("thot.alignment", "documents", "sil-thot")


def _check_directions(settings: Settings) -> None:
    """Raise `GlossaError` if `both_directions` is set for what cannot be exchanged."""
    data, problem = settings.data, ""
    if not data.both_directions:
        return
    sources = sources_of(data)
    if settings.translator.objective != "translation":
        problem = f"objective is {settings.translator.objective}, which has one side"
    elif is_stream(data):
        problem = f"streaming is true, and {REFUSED['both_directions']}"
    elif several := target_languages(data):
        problem = f"the data have several target languages ({', '.join(several)})"
    elif settings.tokenizer.target_vocab_size:
        problem = f"target_vocab_size is {settings.tokenizer.target_vocab_size}: both languages need one vocabulary"
    elif settings.training.alignment_head:
        problem = "alignment_head is true, which links words in one direction"
    elif tagged := [source.name for source in sources if source.tag]:
        problem = f"the source {tagged[0]} has a tag, which only sources of one direction have"
    elif tokens_of(sources) is not None:
        problem = "the pairs were prepared with the token ids of one direction. Prepare them without"
    if problem:
        raise GlossaError(f"both_directions is true, but {problem}. Leave one of the two out.")


def _check_memory(settings: Settings) -> None:
    """Raise `GlossaError` if `memory` is set for a stream, or its package is not installed."""
    if not settings.data.memory:
        return
    if is_stream(settings.data):
        raise GlossaError(f"memory is true, but streaming is true, and {REFUSED['memory']}. Leave one of the two out.")
    require("rapidfuzz", "memory")


def _check_reporters(training: GlossaTrainingArguments) -> None:
    try:
        for callback in get_reporting_integration_callbacks(training.report_to):
            callback()
    except (ImportError, RuntimeError, ValueError) as error:
        raise GlossaError(
            f"report_to is {', '.join(training.report_to)}: {_first_line(error)} Install it, or set report_to to none."
        ) from error


def _check_optimizer(training: GlossaTrainingArguments, model: GlossaForConditionalGeneration) -> None:
    try:
        Trainer.get_optimizer_cls_and_kwargs(training, model)
    except (ImportError, ValueError) as error:
        raise GlossaError(f"optim is {OptimizerNames(training.optim).value}: {_first_line(error)}") from error
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    options: Any = training.lr_scheduler_kwargs
    try:
        get_scheduler(training.lr_scheduler_type, optimizer, training.get_warmup_steps(100), 100, options)
    except (TypeError, ValueError) as error:
        raise GlossaError(
            f"lr_scheduler_type is {SchedulerType(training.lr_scheduler_type).value} with lr_scheduler_kwargs "
            f"{training.lr_scheduler_kwargs}: {_first_line(error)}"
        ) from error


def _check_places(run: Path) -> None:
    """Raise `GlossaError` for a folder with the name of a file that the run writes at the end of training."""
    for path in sorted(run.glob("*")):
        if path.is_dir() and path.suffix in FILES:
            raise GlossaError(f"{path} is a folder, but the run writes a file of this name. Rename or remove it.")


def _check_disk(training: GlossaTrainingArguments, parameters: int) -> None:
    folder = Path(training.output_dir).absolute()
    existing = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    moments = 2 if "adam" in training.optim and "8bit" not in training.optim else 0
    checkpoint = parameters * 4 * (1 + moments)
    count = 0 if training.save_strategy == "no" else (training.save_total_limit or 1) + 1  # one is being written
    there = sum(file.stat().st_size for file in folder.glob("checkpoint-*/*") if file.is_file())
    needed = checkpoint * count + parameters * 4 - there
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise GlossaError(
            f"{existing} has {free / GIB:.1f} GiB of free space; the run needs about {needed / GIB:.1f} GiB for "
            f"{count} checkpoints of {checkpoint / GIB:.2f} GiB and the finished model. Free some space, set another "
            "output_dir, or lower save_total_limit."
        )


def _first_line(error: Exception) -> str:
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if line.endswith((".", "!")) else f"{line}."
