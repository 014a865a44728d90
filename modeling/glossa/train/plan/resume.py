"""Resuming a run: choose the checkpoint, and check that settings and data are unchanged."""

import logging
from pathlib import Path
from typing import Any

from transformers.trainer_callback import TrainerState

from ...base.checkpoints import CHECKPOINT_STATE, count_processes, find_damage, stream_file, was_sharded
from ...base.errors import GlossaError
from ...base.run_folder import RunFolder, without_secrets
from ..data.filters import enabled_filters, flatten_filters, nest_filters
from ..data.streaming.streams import is_stream
from . import catalog
from .arguments import Settings
from .devices import is_sharded

logger = logging.getLogger(__name__)

# Settings besides those of model and tokenizer that determine the weights, so a resumed run must keep them. Limits,
# logging, evaluation, checkpoints, hardware and the location of the data may change, and the number of processes
# together with gradient_accumulation_steps, see `_check_step`.
FIXED = (
    "objective", "source_language", "target_language", "split_seed", "validation_size", "test_size",
    "max_train_samples", "streaming", "max_length", "split_sentences", "keep_out", "sources", "augmentation",
    "placeholder_augmentation", "memory", "sampling_temperature", "repair_text", "replay_size", "both_directions",
    "batch_tokens", "learning_rate", "muon_learning_rate", "learning_rate_factor",
    "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "weight_decay", "adam_beta1", "adam_beta2",
    "adam_epsilon", "optim", "optim_args", "max_grad_norm", "label_smoothing_factor",
    "lora_rank", "alignment_head", "seed", "data_seed",
)  # fmt: skip
# Settings that take effect after the last step. If one changes, the end of a finished run is repeated.
FINAL = (
    "average_checkpoints", "load_best_model_at_end", "num_beams", "length_penalty",
    "max_new_tokens", "watch_loss",
)  # fmt: skip
LENGTH = ("num_train_epochs", "max_steps")
# Settings with the location of a source's data.
PLACES = ("name", "dataset", "dataset_config", "data_path", "source_column", "target_column")


def starting_point(settings: Settings) -> Path | None:
    """The checkpoint from which the run resumes; None for a new run.

    `resume_from_checkpoint: true` selects the last usable checkpoint in the run's folder, or starts from scratch.
    Raises `GlossaError` if the folder already has a run that is not resumed, or a checkpoint is missing or damaged.
    """
    run, wanted = RunFolder(settings.training.output_dir), settings.training.resume_from_checkpoint
    if wanted is None or str(wanted).lower() in ("false", "no"):
        if run.holds_work():
            raise GlossaError(
                f"{run.path} already holds a run. Give another --output_dir, continue with --resume_from_checkpoint "
                "true, or remove the folder."
            )
        return None
    if str(wanted).lower() in ("true", "yes", "last"):
        return _last_usable(run)
    if not Path(wanted).is_dir():
        raise GlossaError(f"resume_from_checkpoint is {wanted!r}, which is not a folder. Give a checkpoint, or true.")
    if damage := find_damage(Path(wanted)):
        raise GlossaError(
            f"{wanted} cannot be continued: {damage}. Give --resume_from_checkpoint true, which takes the newest "
            "usable checkpoint, or start a new run with --init_from."
        )
    return Path(wanted)


def _last_usable(run: RunFolder) -> Path | None:
    """The newest usable checkpoint; None if there is no checkpoint.

    The state is the last file of a checkpoint. If a run was killed while it wrote the state of its first checkpoint,
    there is no usable checkpoint either.
    """
    whole = run.checkpoints(whole=True)
    if not whole and any(run.path.glob("*.safetensors")):
        raise GlossaError(
            f"{run.path} contains a finished model, but no checkpoint to resume. Give another --output_dir, with "
            "--init_from to start from its weights."
        )
    if len(whole) == 1 and find_damage(whole[0]) == f"{CHECKPOINT_STATE} is damaged":
        logger.warning("%s, the only checkpoint, is incomplete. The run starts again.", whole[0])
        return None
    for checkpoint in reversed(whole):
        damage = find_damage(checkpoint)
        if not damage:
            return checkpoint
        logger.warning("%s cannot be continued: %s. Trying an older checkpoint.", checkpoint, damage)
    if whole:
        raise GlossaError(
            f"No checkpoint in {run.path} can be continued: {whole[-1].name}: {find_damage(whole[-1])}. Start a new "
            "run with another --output_dir."
        )
    return None


def is_finished(settings: Settings) -> bool:
    """Whether there is nothing left to resume: the run is complete and matches `settings`."""
    run = RunFolder(settings.training.output_dir)
    if str(settings.training.resume_from_checkpoint).lower() not in ("true", "yes", "last") or not run.is_complete():
        return False
    saved = run.recipe
    return all(saved.get(name) == value for name, value in settings.recipe().items() if name in FINAL + LENGTH)


def final_state(checkpoint: Path, settings: Settings) -> TrainerState | None:
    """The state of a checkpoint at the last step; None if steps remain. The Trainer would train one step more."""
    if not (checkpoint / CHECKPOINT_STATE).is_file() or not _same_length(RunFolder(checkpoint.parent), settings):
        return None
    state = TrainerState.load_from_json(str(checkpoint / CHECKPOINT_STATE))
    return state if state.global_step >= state.max_steps else None


def _same_length(run: RunFolder, settings: Settings) -> bool:
    saved, own = run.recipe, settings.recipe()
    return all(saved.get(name) == own.get(name) for name in LENGTH)


def check_checkpoint(checkpoint: Path, settings: Settings) -> None:
    """Raise `GlossaError` if `checkpoint` cannot be continued with the settings."""
    saved = check_settings(RunFolder(checkpoint.parent), settings)
    if not saved:
        return
    _check_step(checkpoint, saved, settings)
    if is_stream(settings.data):
        _check_places(checkpoint, settings)


def check_settings(run: RunFolder, settings: Settings) -> dict[str, Any]:
    """Return the settings of `run`. Raises `GlossaError`, with all differences, if settings that must stay differ."""
    saved, current = nest_filters(run.recipe), settings.recipe()
    if not saved:
        logger.warning("%s has no recipe to compare the settings with.", run.path)
        return saved
    fixed = [
        name
        for name, setting in catalog.settings().items()
        if setting.group in ("model", "tokenizer") or name in FIXED
    ]
    # Recipes of earlier versions lack newer settings, which were off.
    off: dict[str, Any] = dict.fromkeys(("repair_text", "alignment_head", "memory", "both_directions"), False)
    off["placeholder_augmentation"] = 0.0
    both = [
        {name: _fixed_part(name, recipe.get(name, off.get(name))) for name in fixed}
        | flatten_filters(enabled_filters(recipe.get("filters")) | {"exclude": None})  # whose files may move
        for recipe in (saved, current)
    ]
    differences = [
        f"{name} was {before!r} and is {both[1][name]!r}"
        for name, before in both[0].items()
        if before != both[1][name]
    ]
    if differences:
        raise GlossaError(
            f"{run.path} was trained with other settings: {'; '.join(differences)}. Give the settings of its "
            "recipe.yaml, or start a new run, with --init_from to start from its weights."
        )
    return saved


def _check_step(checkpoint: Path, saved: dict[str, Any], settings: Settings) -> None:
    """Raise `GlossaError` if the number of batches per step has changed, since batches would differ.

    Also raises it if only one of the two runs uses FSDP, which saves the optimizer in other files.
    """
    if was_sharded(checkpoint) != is_sharded(settings.training):
        ways = ("with", "without") if was_sharded(checkpoint) else ("without", "with")
        raise GlossaError(
            f"{checkpoint} was saved by a training {ways[0]} FSDP and would be continued {ways[1]} it. Continue "
            f"{ways[0]} FSDP, or start a new run with --init_from."
        )
    training = settings.training
    before, processes = count_processes(checkpoint), training.world_size
    saved_steps = saved.get("gradient_accumulation_steps", 1)
    batches = saved_steps * (1 if saved.get("cpu_processes") == before else before)
    now = processes * training.accumulated
    if batches == now:
        return
    advice = f"Continue with {before} and gradient_accumulation_steps {saved_steps}"
    if batches % processes == 0:
        advice = f"Set gradient_accumulation_steps to {batches // processes}"
    raise GlossaError(
        f"{checkpoint.parent} was trained with {batches} batches a step (processes: {before}, "
        f"gradient_accumulation_steps: {saved_steps}) and would be continued with {now} (processes: {processes}, "
        f"gradient_accumulation_steps: {training.gradient_accumulation_steps}). {advice}."
    )


def _check_places(checkpoint: Path, settings: Settings) -> None:
    """Raise `GlossaError` if the places in the stream do not belong to as many processes as there are now."""
    before, processes = count_processes(checkpoint), settings.training.world_size
    if before != processes:
        raise GlossaError(
            f"{checkpoint} holds the places of {before} processes in the stream of training rows, and there are "
            f"{processes} now. Continue with {before}."
        )
    missing = [file.name for number in range(before) if not (file := stream_file(checkpoint, number)).is_file()]
    if missing:
        raise GlossaError(
            f"{checkpoint} cannot be continued: {missing[0]} is missing. Continue from an older checkpoint, or start "
            "a new run with --init_from."
        )


def _fixed_part(name: str, value: Any) -> Any:
    """The part of a setting that must not change; data may move, since fingerprints identify them."""
    if name == "sources" and value:
        return [
            {key: without_secrets(own) for key, own in nest_filters(entry).items() if key not in PLACES}
            for entry in value
        ]
    return value


def check_data(checkpoint: Path, current: dict[str, str]) -> None:
    """Raise `GlossaError` if the data differ from the data of the run of `checkpoint`."""
    changed = RunFolder(checkpoint.parent).changed_data(current)
    if changed is None:
        logger.warning("%s has no fingerprints to compare the data with.", checkpoint.parent)
    elif changed:
        raise GlossaError(
            f"The {' and '.join(changed)} data are not those that {checkpoint.parent} was trained with: held-out "
            "pairs could be among those that it has seen. Give the same files, or start a new run."
        )
