"""Pretraining: selects the part of the translator that an objective trains, and computes its loss."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import torch
from datasets import DatasetDict
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import Seq2SeqLMOutput

from .data.encoding.corruption import PretrainingCollator
from .data.encoding.encoding import by_length
from .plan.arguments import Settings
from .trainer import GlossaTrainer


def pretraining_collator(settings: Settings, tokenizer: PreTrainedTokenizerBase) -> PretrainingCollator:
    """The collator of the objective, with the seed of the batch order."""
    seed = settings.training.order_seed
    return PretrainingCollator(settings.translator.objective, tokenizer, settings.data.max_length, seed)


def validation_loss(trainer: GlossaTrainer, tokenized: DatasetDict) -> dict[str, dict[str, float]]:
    """Evaluate the final weights: `{"validation": {"loss": ..., "token_accuracy": ...}}`.

    The loss is in nats per token. Returns an empty dictionary without validation texts. All processes must call this.
    """
    if "validation" not in tokenized:
        return {}
    rows = tokenized["validation"]
    measured = trainer.predict(rows.select(by_length(rows))).metrics
    values = {name: round(measured[f"test_{name}"], 4) for name in ("loss", "token_accuracy")}
    if trainer.is_world_process_zero():
        print(f"\nvalidation, {len(rows)} texts: " + ", ".join(f"{name} {value}" for name, value in values.items()))
    return {"validation": values}


@contextmanager
def train_part(model: PreTrainedModel, objective: str) -> Iterator[None]:
    """Within the context, `model` computes the loss of `objective` and unused weights are frozen.

    Span corruption trains the whole model like translation, so nothing changes. `masked_lm` trains the encoder and
    `causal_lm` the decoder without cross-attention, both with embeddings and output layer. Without freezing the other
    weights, distributed training would wait for gradients that are never computed.
    """
    if objective not in ("masked_lm", "causal_lm"):
        yield
        return
    encodes = objective == "masked_lm"
    model.requires_grad_(False)
    part = model.get_encoder() if encodes else model.get_decoder()
    for trained in (part, model.get_output_embeddings()):
        trained.requires_grad_(True)
    for layer in [] if encodes else part.layers:
        layer.encoder_attn.requires_grad_(False)
        layer.encoder_attn_residual.requires_grad_(False)
    # Set on the instance, since checkpoints must have the class of a translator.
    model.forward = MethodType(_encoder_forward if encodes else _decoder_forward, model)
    try:
        yield
    finally:
        del model.forward
        model.requires_grad_(True)


def _encoder_forward(
    self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs
) -> Seq2SeqLMOutput:
    """Logits [B, S, V] at every token of `input_ids` [B, S] from the bidirectional encoder."""
    labels, loss = kwargs.pop("labels", None), _take_loss_options(kwargs)
    encoded = self.model.encoder(input_ids=input_ids, attention_mask=attention_mask, return_dict=True, **kwargs)
    return _output(self, encoded, attention_mask, labels, loss)


def _decoder_forward(
    self, labels: torch.Tensor, input_ids: torch.Tensor | None = None, attention_mask=None, **kwargs
) -> Seq2SeqLMOutput:
    """Logits [B, T, V] from the start token and the previous `labels` [B, T]; sources are ignored."""
    loss = _take_loss_options(kwargs)
    before = self.prepare_decoder_input_ids_from_labels(labels)
    decoded = self.model.decoder(input_ids=before, use_cache=False, return_dict=True, **kwargs)
    return _output(self, decoded, labels != -100, labels, loss)


def _take_loss_options(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the loss among those of a call."""
    names = ("num_items_in_batch", "smoothing", "return_logits")
    return {name: given.pop(name) for name in names if name in given}


def _output(
    model, side, mask: torch.Tensor | None, labels: torch.Tensor | None, options: dict[str, Any]
) -> Seq2SeqLMOutput:
    """Loss and logits from the output of the encoder or decoder, `side`; `mask` is 0 at padding."""
    logits, loss = model.logits_and_loss(side.last_hidden_state, labels, **options)
    if labels is not None and model.training:
        loss = loss + model.balance_loss(side.router_logits, mask, labels, options.get("num_items_in_batch"))
    return Seq2SeqLMOutput(loss=loss, logits=logits)
