"""FSDP: each process keeps a part of the weights, gradients and moments; the files of a run hold whole weights."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch.distributed.fsdp import FSDPModule
from transformers import PreTrainedModel, Seq2SeqTrainer


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


def whole_model(trainer: Seq2SeqTrainer) -> PreTrainedModel | None:
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
