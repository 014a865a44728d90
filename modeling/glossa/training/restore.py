"""State that checkpoints keep for resumed runs: epochs, callbacks, checksums."""

from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import ExportableState, TrainerState

from ..data.encoding.corruption import PretrainingCollator
from ..run_folder import write_checksums


class EpochOrder(TrainerCallback):
    """Sets the epoch of batch sampler and collator, also when a run resumes in the middle of an epoch."""

    def __init__(self, trainer: Any):
        self.trainer = trainer

    def on_epoch_begin(self, args, state, control, **kwargs):
        # After e whole epochs, state.epoch is e up to rounding; in the middle of an epoch it is larger.
        epoch = int((state.epoch or 0) + 1e-6)
        self.trainer.set_epoch(epoch)
        if isinstance(self.trainer.data_collator, PretrainingCollator):
            self.trainer.data_collator.set_epoch(epoch)


class WriteChecksums(TrainerCallback):
    """Writes the checksums of a checkpoint's files, after all of them."""

    def on_save(self, args, state, control, **kwargs):
        checkpoint = Path(args.output_dir, f"checkpoint-{state.global_step}")
        if args.should_save and checkpoint.is_dir():
            write_checksums(checkpoint)


class RestoreCallbacks(TrainerCallback):
    """Calls [`restore_callbacks`] at the start of training."""

    def __init__(self, trainer: Trainer):
        self.trainer = trainer

    def on_train_begin(self, args, state, control, **kwargs):
        restore_callbacks(self.trainer, state)


def restore_callbacks(trainer: Trainer, state: TrainerState) -> None:
    """Restore the callbacks' state from the checkpoint of `state`, such as the patience already used.

    The Trainer's own `restore_callback_states_from_checkpoint` would bring back their settings too, which may have
    changed. Without this, it cannot save with a callback that the checkpoint lacks.
    """
    states: Any = state.stateful_callbacks
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, ExportableState):
            saved = states.setdefault(type(callback).__name__, callback.state())
            for name, value in saved["attributes"].items():
                setattr(callback, name, value)
