"""FSDP: each process keeps a part of the weights, gradients and moments; the files of a run hold whole weights."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch.distributed.fsdp import FSDPModule
from transformers import PreTrainedModel

from ..errors import GlossaError
from .arguments import GlossaTrainingArguments, Settings

if TYPE_CHECKING:
    from .trainer import GlossaTrainer

# What changes or averages weights by hand, and would see only its process's part of them.
UNSHARDED = ("ema_decay", "lora_rank", "muon_learning_rate", "average_checkpoints")


def is_sharded(training: GlossaTrainingArguments) -> bool:
    """Whether the run uses FSDP, by the setting `fsdp` or by the launch file of Accelerate."""
    return bool(training.fsdp) or os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def check_sharding(settings: Settings) -> None:
    """Raise `GlossaError` for a setting that does not work with FSDP."""
    training = settings.training
    if not is_sharded(training):
        return
    for name in UNSHARDED:
        if value := getattr(training, name):
            raise GlossaError(
                f"{name} is {value}, but the run uses FSDP, which splits the weights. Leave {name} out, or train "
                "without FSDP."
            )
    if settings.translator.objective != "translation":
        raise GlossaError(
            f"objective is {settings.translator.objective}, but the run uses FSDP, which trains translators only. "
            "Train without FSDP."
        )
    kind = os.environ.get("FSDP_STATE_DICT_TYPE") or (training.fsdp_config or {}).get("state_dict_type")
    if kind not in (None, "FULL_STATE_DICT"):
        raise GlossaError(
            f"fsdp_state_dict_type is {kind}; it must be FULL_STATE_DICT, so that every checkpoint is a model that "
            "loads anywhere."
        )


@contextmanager
def embeddings_in_root(model: PreTrainedModel) -> Iterator[None]:
    """Inside the context, Accelerate's FSDP leaves embeddings and output layer together, in the outermost group.

    On their own they could not be tied, and the loss, which reads the weight of the output layer without calling the
    layer, would find only a part of it.
    """
    model.get_input_embeddings = model.get_output_embeddings = lambda: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        del model.get_input_embeddings, model.get_output_embeddings


def whole_model(trainer: "GlossaTrainer") -> PreTrainedModel | None:
    """The trainer's model with all its weights; with FSDP, None on all processes but the main one.

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
