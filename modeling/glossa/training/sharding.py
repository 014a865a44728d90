"""FSDP: each process keeps a part of the weights, gradients and moments; the files of a run hold whole weights.

DeepSpeed, which also splits them, is left to Accelerate; here are the checks.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from accelerate.utils import is_deepspeed_available
from torch.distributed.fsdp import FSDPModule
from transformers import PreTrainedModel

from ..errors import GlossaError

if TYPE_CHECKING:
    from .arguments import GlossaTrainingArguments, Settings
    from .trainer import GlossaTrainer

# What changes or averages weights by hand, and would see only its process's part of them.
UNSHARDED = ("ema_decay", "lora_rank", "muon_learning_rate", "average_checkpoints")


def is_sharded(training: "GlossaTrainingArguments") -> bool:
    """Whether the run uses FSDP, by the setting `fsdp` or by the launch file of Accelerate."""
    return bool(training.fsdp) or os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"


def uses_deepspeed(training: "GlossaTrainingArguments") -> bool:
    """Whether the run uses DeepSpeed, by the setting `deepspeed` or by the launch file of Accelerate."""
    return bool(training.deepspeed) or os.environ.get("ACCELERATE_USE_DEEPSPEED", "").lower() == "true"


def check_deepspeed(training: "GlossaTrainingArguments") -> None:
    """Raise `GlossaError` where the run uses DeepSpeed and it is not installed."""
    if uses_deepspeed(training) and not is_deepspeed_available():
        raise GlossaError(
            "The run uses DeepSpeed, which is not installed. Install it with `pip install deepspeed`, or use "
            "configuration/accelerate/fsdp.yaml, which needs no other library."
        )


def check_sharding(settings: "Settings") -> None:
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
