"""Export to the layout that stock transformers.js reads, as of its version 4.3.

That library knows no custom models, so the folder says that the model is BART, and its two graphs take and give what
the library expects of BART:

    onnx/encoder_model.onnx         input_ids [B, S], attention_mask [B, S]   -> last_hidden_state [B, S, X]
    onnx/decoder_model_merged.onnx  input_ids [B, 1], encoder_attention_mask [B, S], encoder_hidden_states [B, S, X],
                                    past_key_values.N.decoder.key and .value [B, G, T, E] of each layer N
                                    -> logits [B, 1, V], present.N.decoder.key and .value

X holds the keys and values of the source for every decoder layer. The folder is of no use to transformers in Python.
"""

import json
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from ...base.errors import GlossaError
from ...base.tokens import target_vocabulary
from ...model.modeling_glossa import GlossaForConditionalGeneration
from .decoding import not_supported
from .families import save_tokenizer
from .onnx_model import BATCH, SOURCE, WRITTEN, SourceGraph, StepGraph, check_graphs, export_graph, traceable

SUPPORTED = {"num_beams", "length_penalty", "early_stopping", "eos_token_id", "decoder_start_token_id"}
SUPPORTED |= {"forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens"}
CONFIG: tuple[str, ...] = (
    "d_model",
    "encoder_layers",
    "decoder_layers",
    "encoder_attention_heads",
    "decoder_attention_heads",
)
CONFIG += ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


class LibraryEncoder(SourceGraph):
    """The encoder with the keys and values of the source as one vector for each token."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return super().forward(input_ids, attention_mask).permute(2, 4, 0, 1, 3, 5).flatten(2)


class LibraryDecoder(StepGraph):
    """One step of the decoder, with a key and a value of each layer as separate tensors."""

    def forward(  # type: ignore[override]
        self,
        input_ids: torch.Tensor,
        encoder_attention_mask: torch.Tensor,
        encoder_hidden_states: torch.Tensor,
        *past: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        layers, (_, heads, _, width) = len(past) // 2, past[0].shape
        source = encoder_hidden_states.unflatten(2, (layers, 2, heads, width)).permute(2, 3, 0, 4, 1, 5)
        target = torch.stack([torch.stack(past[2 * layer : 2 * layer + 2]) for layer in range(layers)])
        logits, present = super().forward(input_ids, encoder_attention_mask, source, target)
        return logits.unsqueeze(1), *present.flatten(0, 1)


def export_transformers_js(
    model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, folder: Path
) -> None:
    """Write config.json, generation_config.json, the tokenizer, and onnx/ with two graphs in float32.

    The library searches greedily, and translates one sentence. Raises `GlossaError` for two vocabularies, since the
    layout has one tokenizer.json, and for what the graphs or the library's search cannot express.
    """
    problems = not_supported(model.generation_config, SUPPORTED)
    if target_vocabulary(tokenizer) is not tokenizer.backend_tokenizer:
        problems.append("it has two vocabularies, and the layout has one")
    if problems:
        raise GlossaError(f"This model cannot be exported to transformers.js: {'; '.join(problems)}.")
    check_graphs(model)
    (folder / "onnx").mkdir(parents=True)
    _export(model, folder / "onnx")
    save_tokenizer(tokenizer, folder)
    config = {name: getattr(model.config, name) for name in CONFIG}
    config |= {"model_type": "bart", "architectures": ["BartForConditionalGeneration"], "is_encoder_decoder": True}
    # In a browser the library asks for graphs in 8 bits by default; these are in float32.
    config["transformers.js_config"] = {"dtype": "fp32"}
    decoding = model.generation_config.to_diff_dict() | {"num_beams": 1}
    for name, content in (("config.json", config), ("generation_config.json", decoding)):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


@torch.no_grad()
def _export(model: GlossaForConditionalGeneration, folder: Path) -> None:
    exported = traceable(model)
    ids = torch.zeros((2, 5), dtype=torch.long)
    mask = torch.ones_like(ids)
    encoder: nn.Module = LibraryEncoder(exported)
    shapes = {0: BATCH, 1: SOURCE}
    inputs = {"input_ids": (ids, shapes), "attention_mask": (mask, shapes)}
    export_graph(encoder, inputs, ["last_hidden_state"], folder / "encoder_model.onnx")
    source = SourceGraph(exported)(ids, mask)
    inputs = {
        "input_ids": (ids[:, :1], {0: BATCH}),
        "encoder_attention_mask": (mask, shapes),
        "encoder_hidden_states": (encoder(ids, mask), shapes),
    }
    names = [f"{layer}.decoder.{kind}" for layer in range(len(source)) for kind in ("key", "value")]
    for name, past in zip(names, source.flatten(0, 1)[..., :3, :], strict=True):
        inputs[f"past_key_values.{name}"] = (past.clone(), {0: BATCH, 2: WRITTEN})
    outputs = ["logits", *(f"present.{name}" for name in names)]
    export_graph(LibraryDecoder(exported), inputs, outputs, folder / "decoder_model_merged.onnx", named=3)
