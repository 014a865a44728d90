"""Export to CTranslate2: the same translations, computed faster in C++.

CTranslate2 supports every architecture of a Glossa model except latent attention, experts and rotary positions in
cross-attention, and most activation functions. This module only maps the weights to CTranslate2's model specification.
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import GenerationConfig, PreTrainedTokenizerBase

from ...base.errors import GlossaError, require
from ...base.tokens import target_vocabulary
from ...model.batches_glossa import max_target_length
from ...model.configuration_glossa import GlossaConfig
from ...model.layers_glossa import GlossaAttention, GlossaFeedForward, GlossaLearnedPositions, GlossaResidual
from ...model.modeling_glossa import GlossaDecoder, GlossaEncoder, GlossaForConditionalGeneration
from ...model.profile_glossa import TextProfile
from .decoding import not_supported
from .families import save_tokenizer, unsupported

ctranslate2 = require("ctranslate2", "engine")
specs = ctranslate2.specs
common_spec = specs.common_spec

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "silu": common_spec.Activation.SWISH,
    "swish": common_spec.Activation.SWISH,
    "gelu": common_spec.Activation.GELU,
    "gelu_python": common_spec.Activation.GELU,
    "gelu_new": common_spec.Activation.GELUTanh,
    "gelu_fast": common_spec.Activation.GELUTanh,
    "gelu_accurate": common_spec.Activation.GELUTanh,
    "gelu_python_tanh": common_spec.Activation.GELUTanh,
    "gelu_pytorch_tanh": common_spec.Activation.GELUTanh,
    "quick_gelu": common_spec.Activation.GELUSigmoid,
    "tanh": common_spec.Activation.Tanh,
    "sigmoid": common_spec.Activation.Sigmoid,
}
LONGEST_TABLE = 100_000  # rows of sinusoidal positions

# Settings of generation_config.json that the engine uses. `repetition_penalty` is not one of them: CTranslate2 applies
# it before the softmax, transformers in beam search after it.
DECODING = {"num_beams", "length_penalty", "early_stopping", "eos_token_id", "decoder_start_token_id"}


def export_ctranslate2(
    model: GlossaForConditionalGeneration,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | Path,
    quantization: str | None = None,
) -> None:
    """Write a folder for CTranslate2: model, vocabularies, tokenizer and decoding defaults.

    Args:
        model: A Glossa model without latent attention, experts and rotary cross-attention.
        tokenizer: Its tokenizer.
        folder: Its previous content is deleted.
        quantization: Type of the stored weights: int8, int8_float32, int8_float16, int8_bfloat16, int16, float16,
            bfloat16 or float32. `None` means float32.

    Raises:
        GlossaError: for settings that CTranslate2 does not support (all are named).
    """
    if problems := _problems(model.config, model.generation_config, tokenizer):
        raise GlossaError(f"This model cannot be exported to ctranslate2: {'; '.join(problems)}.")
    GlossaConverter(model, tokenizer).convert(str(folder), quantization=quantization, force=True)
    save_tokenizer(tokenizer, Path(folder))
    model.generation_config.save_pretrained(folder)


class GlossaConverter(ctranslate2.converters.Converter):  # type: ignore[name-defined, misc]
    """CTranslate2's converter for Glossa models; `_load` returns the filled specification."""

    def __init__(self, model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase):
        self.model = model
        self.tokenizer = tokenizer

    @torch.no_grad()
    def _load(self):
        config, model = self.model.config, self.model.model
        longest = self.tokenizer.model_max_length
        encoder = _build(specs.TransformerEncoderSpec, config, config.encoder_layers, config.encoder_attention_heads)
        _fill_side(encoder, encoder.embeddings[0], model.encoder, longest)
        decoder = _decoder_spec(config)
        _fill_side(decoder, decoder.embeddings, model.decoder, max_target_length(longest))
        _fill_linear(decoder.projection, self.model.lm_head)

        spec = specs.TransformerSpec(encoder, decoder)
        source = _tokens(self.tokenizer.backend_tokenizer, config.vocab_size)
        target = _tokens(target_vocabulary(self.tokenizer), config.decoder_vocab_size)
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
        start = self.model.generation_config.decoder_start_token_id
        spec.config.bos_token = spec.config.decoder_start_token = target[start]
        ends = self.model.generation_config.eos_token_id
        spec.config.eos_token = target[ends[0] if isinstance(ends, list | tuple) else ends]
        spec.config.unk_token = self.tokenizer.unk_token or target[config.pad_token_id]
        spec.config.layer_norm_epsilon = config.norm_eps
        if config.position_embedding_type == "learned":
            spec.config.add_attribute("max_target_positions", config.max_target_positions)
        spec.config.add_attribute("text_profile", TextProfile.of(config).to_dict())
        return spec


def _problems(config: GlossaConfig, decoding: GenerationConfig, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    problems = unsupported(config, kv_lora_rank=None, num_local_experts=None, rotary_cross_attention=False)
    if config.activation_function not in ACTIVATIONS:
        names = ", ".join(ACTIVATIONS)
        problems.append(f"activation_function is {config.activation_function!r}, it must be one of {names}")
    if config.position_embedding_type == "sinusoidal" and tokenizer.model_max_length > LONGEST_TABLE:
        problems.append(
            f"the tokenizer's model_max_length is {tokenizer.model_max_length}, with sinusoidal positions it must be "
            f"at most {LONGEST_TABLE:,}"
        )
    problems += not_supported(decoding, DECODING)
    if decoding.early_stopping not in (None, False, True):
        problems.append(f"early_stopping is {decoding.early_stopping!r}, it must be True or False")
    if decoding.eos_token_id is None or decoding.decoder_start_token_id is None:
        problems.append("eos_token_id and decoder_start_token_id must be set in generation_config.json")
    return problems


def _tokens(vocabulary, rows: int) -> list[str]:
    """The tokens by id; embedding rows without a token get a placeholder name."""
    names = {index: token for token, index in vocabulary.get_vocab(with_added_tokens=True).items()}
    if names and max(names) >= rows:
        raise GlossaError(
            f"The tokenizer has {max(names) + 1:,} tokens and the model {rows:,}. Give its own tokenizer."
        )
    return [names.get(index, f"<unused{index}>") for index in range(rows)]


def _decoder_spec(config: GlossaConfig):
    # What `return_attention` gives: the mean of the first heads of a layer. The trained head is the first one; without
    # it, the last layer aligns words best.
    heads = config.decoder_attention_heads
    trained = config.alignment_layer
    aligned = {"alignment_heads": heads} if trained is None else {"alignment_layer": trained, "alignment_heads": 1}
    return _build(specs.TransformerDecoderSpec, config, config.decoder_layers, heads, **aligned)


def _build(spec_class, config: GlossaConfig, layers: int, heads: int, **options: int):
    spec = spec_class(
        layers,
        heads,
        **options,
        # Only a pre-norm specification has a final norm, but the runtime supports it with both.
        pre_norm=True,
        no_final_norm=not config.final_norm,
        activation=ACTIVATIONS[config.activation_function],
        layernorm_embedding=config.embedding_norm,
        ffn_glu=config.gated_feed_forward,
        rms_norm=config.norm_type == "rms",
        num_heads_kv=config.num_key_value_heads,
        head_dim=config.head_dim,
        rotary_dim=0 if config.position_embedding_type == "rotary" else None,  # 0 means the whole head
        rotary_interleave=False,
        rotary_base=config.rotary_base,
    )
    spec.pre_norm = config.norm_position == "pre"
    spec.scale_embeddings = config.scale_embedding
    return spec


def _fill_side(spec, embeddings_spec, side: GlossaEncoder | GlossaDecoder, longest: int) -> None:
    """Fill the specification of encoder or decoder; sinusoidal positions become a table of `longest` rows."""
    config = side.config
    embeddings_spec.weight = _copy(side.embed_tokens.weight)
    positions = side.embeddings.embed_positions
    if isinstance(positions, GlossaLearnedPositions):
        spec.position_encodings.encodings = _copy(positions.weight)
    elif positions is not None:
        spec.position_encodings.encodings = positions(torch.arange(longest), torch.float32)
    if config.embedding_norm:
        _fill_norm(spec.layernorm_embedding, side.embeddings.norm)
    if config.final_norm:
        _fill_norm(spec.layer_norm, side.final_norm)
    layers: Any = side.layers  # the type of a ModuleList hides the type of its elements
    for layer_spec, layer in zip(spec.layer, layers, strict=True):
        _fill_self_attention(layer_spec.self_attention, layer.self_attn, layer.self_attn_residual)
        if isinstance(side, GlossaDecoder):
            _fill_cross_attention(layer_spec.attention, layer.encoder_attn, layer.encoder_attn_residual)
        _fill_feed_forward(layer_spec.ffn, layer.feed_forward, layer.feed_forward_residual)


def _fill_self_attention(spec, attention: GlossaAttention, residual: GlossaResidual) -> None:
    _fill_fused(spec.linear[0], attention.q_proj, attention.k_proj, attention.v_proj)
    _fill_linear(spec.linear[1], attention.out_proj)
    _fill_residual_norm(spec.layer_norm, residual)


def _fill_cross_attention(spec, attention: GlossaAttention, residual: GlossaResidual) -> None:
    _fill_linear(spec.linear[0], attention.q_proj)
    _fill_fused(spec.linear[1], attention.k_proj, attention.v_proj)
    _fill_linear(spec.linear[2], attention.out_proj)
    _fill_residual_norm(spec.layer_norm, residual)


def _fill_feed_forward(spec, feed_forward: GlossaFeedForward, residual: GlossaResidual) -> None:
    if feed_forward.gate_proj is None:
        _fill_linear(spec.linear_0, feed_forward.up_proj)
    else:
        _fill_linear(spec.linear_0, feed_forward.gate_proj)
        _fill_linear(spec.linear_0_noact, feed_forward.up_proj)
    _fill_linear(spec.linear_1, feed_forward.down_proj)
    _fill_residual_norm(spec.layer_norm, residual)


def _fill_fused(spec, *layers: nn.Linear) -> None:
    parts = [common_spec.LinearSpec() for _ in layers]
    for part, layer in zip(parts, layers, strict=True):
        _fill_linear(part, layer)
    ctranslate2.converters.utils.fuse_linear(spec, parts)


def _fill_linear(spec, layer: nn.Linear) -> None:
    spec.weight = _copy(layer.weight)
    if layer.bias is not None:
        spec.bias = _copy(layer.bias)


def _fill_residual_norm(spec, residual: GlossaResidual) -> None:
    _fill_norm(spec, residual.norm_after if isinstance(residual.norm_before, nn.Identity) else residual.norm_before)


def _fill_norm(spec, norm) -> None:
    spec.gamma = _copy(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _copy(norm.bias)


def _copy(weight: torch.Tensor) -> torch.Tensor:
    # CTranslate2 quantizes in place.
    return weight.detach().to("cpu", torch.float32, copy=True)
