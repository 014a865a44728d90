"""A complete run: from settings to a folder with a trained and scored translator."""

import logging
from contextlib import nullcontext
from pathlib import Path

from datasets import DatasetDict
from transformers import set_seed
from transformers.trainer_callback import TrainerState

from ..base.run_folder import RunFolder
from .averaging import average_into, choose_checkpoints
from .building import build_model, build_trainer, choose_vocabulary
from .dial import can_turn, tell, turn
from .evaluation.verdict import count_pairs
from .finishing import finish
from .inputs import describe, load_inputs, tokenize
from .monitoring import TrainingTime
from .plan.arguments import Settings
from .plan.precision import resolve_precision
from .plan.preflight import check_before_data
from .plan.resume import check_checkpoint, check_data, check_settings, final_state, is_finished, starting_point
from .plan.sizing import adopt_choices, show_choices
from .plan.start import adopt_start, adopt_vocabulary
from .pretraining import train_part, validation_loss
from .progress import augmentation_preview, preview
from .restore import RestoreCallbacks, restore_callbacks
from .stages.last import adopt_stages
from .streaming import StreamTrainer
from .trainer import GlossaTrainer
from .trial import choose_precision, run_trials
from .verdict import forecast

logger = logging.getLogger(__name__)


def train(settings: Settings) -> Path:
    """Train or pretrain, score and save the model of `settings`; returns the folder of the run.

    Raises `GlossaError` before training starts if settings or data are invalid.
    """
    run = RunFolder(settings.training.output_dir)
    settings = resolve_precision(adopt_start(adopt_choices(adopt_vocabulary(adopt_stages(settings)))))
    if is_finished(settings):
        check_settings(run, settings)
        logger.info("%s is finished. There is nothing to resume.", run.path)
        return run.path
    check_before_data(settings)
    with run.lock() if settings.training.should_save else nullcontext():
        _train(run, settings)
    return run.path


def _train(run: RunFolder, settings: Settings) -> None:
    checkpoint = starting_point(settings)
    ended = None
    if checkpoint is not None:
        check_checkpoint(checkpoint, settings)
        ended = final_state(checkpoint, settings)
    set_seed(settings.training.seed)
    inputs = load_inputs(settings)
    if checkpoint is not None:
        if settings.training.should_save:  # by now all processes have chosen their checkpoint
            for unusable, reason in run.remove_unusable_checkpoints(checkpoint).items():
                logger.warning("%s %s and is removed.", unusable, reason)
        check_data(checkpoint, inputs.report.fingerprints)
    settings, tokenizer = choose_vocabulary(settings, inputs.splits, inputs.report, checkpoint)
    model = build_model(settings, tokenizer)
    pretrains = settings.translator.objective != "translation"
    tokenized, collator = tokenize(settings, inputs, model, tokenizer)
    with train_part(model, settings.translator.objective):
        settings = choose_precision(settings, model, tokenized["train"], collator)
        trainer = build_trainer(settings, model, tokenizer, inputs.splits, tokenized, collator, inputs.stream)
        if isinstance(trainer, StreamTrainer) and checkpoint is not None:
            trainer.load_place(checkpoint)
        wanted = settings.training.num_train_epochs
        settings = run_trials(settings, trainer, checkpoint)
        if checkpoint is None:
            show_choices(settings)
        if not pretrains:
            describe(settings, inputs, model, tokenizer)
        if settings.training.should_save:
            run.write_setup(settings.recipe(), inputs.report.to_dict(), inputs.splits)
            pairs = count_pairs(inputs.report.to_dict())
            for line in [] if pretrains or run.is_stage else forecast(settings, pairs, wanted):
                print(line)
            print(preview(model, tokenizer, trainer.example_batch()), flush=True)
            if trainer.augmented is not None:
                print(augmentation_preview(trainer.augmented), flush=True)
        seconds = fit(settings, trainer, checkpoint, ended)
        start = build_model(settings, tokenizer) if can_turn(settings, trainer) else None
        blend = turn(settings, trainer, start) if start else None
        trainer.remove_autocast()
        losses = validation_loss(trainer, tokenized) if pretrains else {}
    if isinstance(trainer, StreamTrainer):
        trainer.count_rows(inputs.report)
        if settings.training.should_save:
            run.write_data_report(inputs.report.to_dict())
    if start and blend:
        tell(blend, settings, start, model, tokenizer, inputs.splits)
    finish(run, settings, trainer, DatasetDict() if pretrains else inputs.splits, losses, seconds, wanted, blend)


def fit(
    settings: Settings, trainer: GlossaTrainer, checkpoint: Path | None = None, ended: TrainerState | None = None
) -> float:
    """Train, and load the final weights into the trainer's model.

    Returns the seconds of training, including those before `checkpoint`.

    Args:
        settings: The settings of the run.
        trainer: The trainer of the run.
        checkpoint: The checkpoint to continue from.
        ended: The state of `checkpoint` if no steps remain.
    """
    arguments = settings.training
    clock = TrainingTime()
    trainer.add_callback(clock)
    trainer.add_callback(RestoreCallbacks(trainer))
    if checkpoint is not None:
        trainer.args.eval_on_start = False  # its scores are already in the log
    if checkpoint is not None and ended is not None:
        trainer.state = ended
        restore_callbacks(trainer, ended)
        best = ended.best_model_checkpoint if arguments.load_best_model_at_end else None
        trainer.load_weights(Path(best) if best and Path(best).is_dir() else checkpoint)
    else:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    seconds = clock.seconds
    if arguments.average_checkpoints:
        chosen = choose_checkpoints(Path(arguments.output_dir), arguments.average_checkpoints)
        if chosen:
            logger.info("averaging %s", ", ".join(path.name for path in chosen))
            average_into(trainer.model, chosen)
    return seconds
