"""Export to two ONNX graphs, for ONNX Runtime and other runtimes.

    encoder.onnx    input_ids [B, S], attention_mask [B, S]                  -> source [layers, 2, B, G, S, E]
    decoder.onnx    input_ids [B, 1], attention_mask [B, S], source, target  -> logits [B, V], new target

`source` holds the keys and values of the source for every decoder layer, computed once per sentence. `target`
[layers, 2, B, G, T, E] holds the keys and values of the target so far: T is 0 at the start and grows by one at every
step.
"""

import copy
import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from ...base.errors import GlossaError, require
from ...model.modeling_glossa import GlossaForConditionalGeneration
from .families import save_tokenizer, unsupported

OPSET = 18
BATCH, SOURCE, WRITTEN = "batch_size", "source_length", "target_length"  # axes of any length


class SourceGraph(nn.Module):
    """The encoder, followed by the key and value projections of the decoder's cross-attention."""

    def __init__(self, model: GlossaForConditionalGeneration):
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.model.get_encoder()(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        decoder = self.model.get_decoder()
        rotary = decoder.source_rotary(states, attention_mask)
        layers = [layer.encoder_attn for layer in decoder.layers]
        return torch.stack([torch.stack(attention.to_cache(states, rotary)) for attention in layers])


class StepGraph(nn.Module):
    """One step of the decoder: one token of each sequence."""

    def __init__(self, model: GlossaForConditionalGeneration):
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, source: torch.Tensor, target: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        cache = EncoderDecoderCache(DynamicCache(list(target)), DynamicCache(list(source)))
        # Keys and values are cached, so only the shape of the states is used.
        states = source.new_zeros(*attention_mask.shape, self.model.config.d_model)
        outputs = self.model(
            decoder_input_ids=input_ids,
            encoder_outputs=(states,),
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
        )
        layers: list[Any] = cache.self_attention_cache.layers
        return outputs.logits[:, -1], torch.stack([torch.stack((layer.keys, layer.values)) for layer in layers])


class AttentionGraph(nn.Module):
    """A whole translation at once: log-probabilities of its tokens, and all attention weights."""

    def __init__(self, model: GlossaForConditionalGeneration):
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, target_ids: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        outputs = self.model(
            input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=target_ids, output_attentions=True
        )
        kinds = (outputs.encoder_attentions, outputs.decoder_attentions, outputs.cross_attentions)
        return outputs.logits.log_softmax(-1), *(torch.stack(kind) for kind in kinds)


def export_onnx(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, folder: str | Path) -> None:
    """Write encoder.onnx and decoder.onnx in float32, the tokenizer and generation_config.json.

    Raises `GlossaError` if the packages for it are missing, and for latent attention, whose two cached tensors differ
    in width, and experts, whose number of tokens depends on the data.
    """
    check_graphs(model)
    export_graphs(model, Path(folder))
    save_tokenizer(tokenizer, Path(folder))
    model.generation_config.save_pretrained(folder)


def check_graphs(model: GlossaForConditionalGeneration) -> None:
    """Raise `GlossaError` if the graphs cannot express the model, or the packages for them are missing."""
    if problems := unsupported(model.config, kv_lora_rank=None, num_local_experts=None):
        raise GlossaError(f"This model cannot be exported to onnx: {'; '.join(problems)}.")
    require("onnxscript", "engine")  # torch.onnx needs it


@torch.no_grad()
def export_graphs(model: GlossaForConditionalGeneration, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx in float32. The model is not changed."""
    folder.mkdir(parents=True, exist_ok=True)
    exported = traceable(model)
    ids = torch.zeros((2, 5), dtype=torch.long)
    mask = torch.ones_like(ids)
    source = SourceGraph(exported)(ids, mask)
    inputs = {"input_ids": (ids, {0: BATCH, 1: SOURCE}), "attention_mask": (mask, {0: BATCH, 1: SOURCE})}
    export_graph(SourceGraph(exported), inputs, ["source"], folder / "encoder.onnx")
    inputs["input_ids"] = (ids[:, :1], {0: BATCH})
    inputs["source"] = (source, {2: BATCH, 4: SOURCE})
    inputs["target"] = (source[..., :3, :].clone(), {2: BATCH, 4: WRITTEN})
    export_graph(StepGraph(exported), inputs, ["logits", "new_target"], folder / "decoder.onnx")


@torch.no_grad()
def export_attention(model: GlossaForConditionalGeneration, path: Path) -> None:
    """Write a graph that explains a translation, in float32.

    `input_ids` and `attention_mask` [B, S] and `target_ids` [B, T], which begin with the start token, give
    `log_probabilities` [B, T, V] and the weights `encoder` [layers, B, heads, S, S], `decoder` [..., T, T] and `cross`
    [..., T, S].
    """
    exported = traceable(model)
    ids = torch.zeros((2, 5), dtype=torch.long)
    axes = {0: BATCH, 1: SOURCE}
    inputs = {"input_ids": (ids, axes), "attention_mask": (torch.ones_like(ids), axes)}
    inputs["target_ids"] = (ids[:, :3].clone(), {0: BATCH, 1: WRITTEN})
    export_graph(AttentionGraph(exported), inputs, ["log_probabilities", "encoder", "decoder", "cross"], path)


def traceable(model: GlossaForConditionalGeneration) -> GlossaForConditionalGeneration:
    """A copy in float32 whose attention is made of plain operators, and returns its weights."""
    exported = copy.deepcopy(model).float().eval()
    exported.set_attn_implementation("eager")
    return exported


def export_graph(
    graph: nn.Module,
    inputs: dict[str, tuple[torch.Tensor, dict]],
    outputs: list[str],
    path: Path,
    named: int | None = None,
) -> None:
    """Trace `graph` with these inputs; their named axes may have any length. Those after the first `named` are `*`."""
    for chatty in ("onnxscript", "onnx_ir", "torch.onnx"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    tensors, shapes = zip(*inputs.values(), strict=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*axis name")  # of shared axis names, which are intended
        warnings.filterwarnings("ignore", category=FutureWarning)  # of torch about its own code
        torch.onnx.export(
            graph.eval(),
            tensors,
            path,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes=shapes if named is None else (*shapes[:named], shapes[named:]),
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
