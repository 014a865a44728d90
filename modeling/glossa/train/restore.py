"""State of resumed runs: epochs, callbacks, checksums and complete weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.distributed.fsdp import FSDPModule
from transformers import PreTrainedModel, Seq2SeqTrainer, Trainer, TrainerCallback
from transformers.trainer_callback import ExportableState, TrainerState

from ..base.checkpoints import write_checksums
from .data.encoding.corruption import PretrainingCollator


class EpochOrder(TrainerCallback):
    """Sets the epoch of batch sampler and collator, also for a run resumed in the middle of an epoch."""

    def __init__(self, trainer: Any):
        self.trainer = trainer

    def on_epoch_begin(self, args, state, control, **kwargs):
        # After e complete epochs, state.epoch is e up to rounding; within an epoch it is larger.
        epoch = int((state.epoch or 0) + 1e-6)
        self.trainer.set_epoch(epoch)
        if isinstance(self.trainer.data_collator, PretrainingCollator):
            self.trainer.data_collator.set_epoch(epoch)


class WriteChecksums(TrainerCallback):
    """Writes the checksums of a checkpoint after all of its files."""

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
    """Restore the callbacks' state from the checkpoint of `state`, such as the patience used so far.

    The Trainer's `restore_callback_states_from_checkpoint` would also restore their settings, which may have changed.
    Without this, the Trainer cannot save if a callback is missing in the checkpoint.
    """
    states: Any = state.stateful_callbacks
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, ExportableState):
            saved = states.setdefault(type(callback).__name__, callback.state())
            for name, value in saved["attributes"].items():
                setattr(callback, name, value)


@contextmanager
def embeddings_in_root(model: PreTrainedModel) -> Iterator[None]:
    """Within the context, Accelerate's FSDP keeps embeddings and output layer in the root group.

    In separate groups they could not be tied, and the loss, which reads the weight of the output layer without calling
    the layer, would see only one shard of it.
    """
    model.get_input_embeddings = model.get_output_embeddings = lambda: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        del model.get_input_embeddings, model.get_output_embeddings


def whole_model(trainer: Seq2SeqTrainer) -> PreTrainedModel | None:
    """The trainer's model with complete weights; with FSDP, None on all processes but the main one.

    All processes must call this.
    """
    if not trainer.is_fsdp_enabled:
        return trainer.accelerator.unwrap_model(trainer.model)
    trainer.save_model(_internal_call=True)
    if not trainer.args.should_save:
        return None
    whole = next(kind for kind in type(trainer.model).__mro__ if not issubclass(kind, FSDPModule))
    model = whole.from_pretrained(  # type: ignore[attr-defined]
        trainer.args.output_dir, attn_implementation=trainer.model.config._attn_implementation
    )
    return model.to(trainer.args.device)
