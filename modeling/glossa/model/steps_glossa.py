"""The decoder for one new token of each target: the same results as its `forward`, with fewer and cheaper calls.

One step of a small model takes a few milliseconds, and half of it would be spent in Python: modules that call modules,
masks and outputs that are built again for each token. What a step needs is collected once per search instead.

Shapes in comments: N sources, K targets of each (beams), S source tokens, T target tokens, D width of the model,
H query heads, G key-value heads, E width of a head, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.nn.modules import module as module_hooks
from transformers.cache_utils import EncoderDecoderCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .layers_glossa import (
    GlossaAttention,
    GlossaEmbeddings,
    GlossaFeedForward,
    GlossaLearnedPositions,
    GlossaResidual,
    GlossaSinusoidalPositions,
    Rotary,
    rotate,
)

# Modules whose calls are replaced. Any other, such as an adapter, a quantized layer or experts, needs its own call.
KNOWN = {nn.Linear, nn.RMSNorm, nn.LayerNorm, nn.Identity, nn.Embedding, nn.ModuleList, nn.Dropout, GlossaAttention}
KNOWN |= {GlossaEmbeddings, GlossaFeedForward, GlossaLearnedPositions, GlossaResidual, GlossaSinusoidalPositions}
# Their methods as they are defined: others may replace the method of a class, for a kernel or to look inside.
FORWARD: dict[Any, Any] = {kind: kind.forward for kind in KNOWN}  # type: ignore[attr-defined]


def target_steps(model: Any) -> "TargetSteps | None":
    """The decoder and output layer of `model` for single tokens; None if they are more than these modules compute."""
    base = getattr(model, "model", None)
    decoder = getattr(base, "decoder", None)
    if decoder is None or model.training or decoder.config._attn_implementation != "sdpa":
        return None
    if model.device.type != "cpu":  # the cost of a call of a module is small there
        return None
    inner = [*decoder.modules(), model.lm_head]
    activations = {
        id(layer.feed_forward.activation) for layer in decoder.layers if hasattr(layer.feed_forward, "activation")
    }
    known = all(_is_plain(module) or id(module) in activations for module in inner)
    # Of a quantized layer only the weight may be another: a tensor that cannot be put together with others.
    known = known and all(
        type(weight) is nn.Parameter for module in inner for weight in module.parameters(recurse=False)
    )
    # Hooks, and what replaces `forward`, such as a compiled one, are called by the module only.
    called = bool(module_hooks._global_forward_hooks or module_hooks._global_forward_pre_hooks)
    called = called or ALL_ATTENTION_FUNCTIONS["sdpa"] is not sdpa_attention_forward
    called = called or any(
        module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
        for module in (*inner, base, model)
    )
    return TargetSteps(decoder, model.lm_head) if known and not called else None


def _is_plain(module: nn.Module) -> bool:
    """Whether a module is of a known class whose `forward` nobody has replaced; dropout does nothing here."""
    kind = type(module)
    return isinstance(module, nn.Dropout) or (kind in FORWARD and kind.forward is FORWARD[kind])


class TargetSteps:
    """The decoder and output layer of a model, for targets that begin at the same position.

    Args:
        decoder: A decoder that [`target_steps`] accepts.
        head: The output layer.
    """

    def __init__(self, decoder: Any, head: nn.Linear):
        self.decoder = decoder
        self.layers = [_LayerStep(layer, index) for index, layer in enumerate(decoder.layers)]
        self.norm = _norm(decoder.final_norm)
        self.head = _weights(head)
        self._mask_of: torch.Tensor | None = None
        self._source_mask: torch.Tensor | None = None

    def read(self, source: torch.Tensor, cache: EncoderDecoderCache, attention_mask: torch.Tensor | None) -> None:
        """Put keys and values of the encoder output `source` [N, S, D] into an empty cache."""
        rotary = self.decoder.source_rotary(source, attention_mask)
        for layer in self.decoder.layers:
            layer.encoder_attn._source_to_cache(source, rotary, cache)

    def logits(
        self, tokens: torch.Tensor, cache: EncoderDecoderCache, attention_mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Logits [N * K, V] after `tokens` [N * K, 1]; `cache` holds all earlier tokens and grows.

        `attention_mask` [N, S] is 0 at source padding.
        """
        if attention_mask is not self._mask_of:
            self._mask_of = attention_mask
            padded = attention_mask is not None and not attention_mask.all()
            self._source_mask = attention_mask.bool()[:, None, None] if padded else None  # [N, 1, 1, S]
        position = torch.tensor([[cache.self_attention_cache.get_seq_length()]])
        states, rotary = self.decoder.embeddings.forward(self.decoder.embed_tokens(tokens), position)
        states = states.squeeze(1)  # [N * K, D]
        for layer in self.layers:
            states = layer(states, rotary, cache, self._source_mask)
        return linear(states if self.norm is None else self.norm(states), *self.head)


class _LayerStep:
    """One decoder layer, [N * K, D] to [N * K, D]."""

    def __init__(self, layer: Any, index: int):
        self.index = index
        own = layer.self_attn
        self.target, self.source = _Attention(own), _Attention(layer.encoder_attn)
        together = (own.q_proj, own.k_proj, own.v_proj)  # one multiplication for all three
        biases = [part.bias for part in together if part.bias is not None]
        self.projections = torch.cat([part.weight for part in together]), torch.cat(biases) if biases else None
        heads, groups = (part.out_features // own.head_dim for part in together[:2])
        self.ends = (heads, heads + groups)  # of queries and of keys
        inner = layer.feed_forward
        self.up, self.down, self.activation = _weights(inner.up_proj), _weights(inner.down_proj), inner.activation
        self.gate = None if inner.gate_proj is None else _weights(inner.gate_proj)
        residuals = (layer.self_attn_residual, layer.encoder_attn_residual, layer.feed_forward_residual)
        self.norms = [(_norm(residual.norm_before), _norm(residual.norm_after)) for residual in residuals]

    def __call__(
        self, states: torch.Tensor, rotary: Rotary | None, cache: Any, source_mask: torch.Tensor | None
    ) -> torch.Tensor:
        sublayers: tuple[Callable, ...] = (self._attend_to_target, self._attend_to_source, self._feed_forward)
        for (before, after), sublayer in zip(self.norms, sublayers, strict=True):
            normed = states if before is None else before(states)
            states = states + sublayer(normed, rotary, cache, source_mask)
            states = states if after is None else after(states)
        return states

    def _attend_to_target(self, states: torch.Tensor, rotary: Rotary | None, cache: Any, *_: object) -> torch.Tensor:
        attention, rows = self.target, states.shape[0]
        heads = linear(states, *self.projections).view(rows, -1, 1, attention.head_dim)  # [N * K, H + 2 G, 1, E]
        turned, value = heads.tensor_split(self.ends[1:], dim=1)
        if rotary is not None and attention.is_rotary:
            turned = rotate(turned, *rotary)
        query, key = turned.tensor_split(self.ends[:1], dim=1)
        keys, values = cache.self_attention_cache.layers[self.index].update(key, value)
        return linear(attention(query, keys, values, None).view(rows, -1), *attention.output)

    def _attend_to_source(
        self, states: torch.Tensor, rotary: Rotary | None, cache: Any, mask: torch.Tensor | None
    ) -> torch.Tensor:
        attention, layer = self.source, cache.cross_attention_cache.layers[self.index]
        query = linear(states, *attention.query)
        # The targets of a source are read as one target of K tokens, [N, H, K, E].
        heads = query.shape[1] // attention.head_dim
        query = query.view(layer.keys.shape[0], -1, heads, attention.head_dim).transpose(1, 2)
        if rotary is not None and attention.is_rotary:
            query = rotate(query, *rotary)
        output = attention(query, layer.keys, layer.values, mask)
        return linear(output.transpose(1, 2).reshape(states.shape[0], -1), *attention.output)

    def _feed_forward(self, states: torch.Tensor, *_: object) -> torch.Tensor:
        inner = linear(states, *self.up)
        gate = inner if self.gate is None else linear(states, *self.gate)
        activated = self.activation(gate)
        return linear(activated if self.gate is None else activated * inner, *self.down)


class _Attention:
    """The weights and sizes of an attention; reading them from its modules takes as long as an operation."""

    def __init__(self, attention: GlossaAttention):
        self.query, self.output = _weights(attention.q_proj), _weights(attention.out_proj)
        self.head_dim, self.is_rotary = attention.head_dim, attention.is_rotary
        self.options = {"scale": attention.scaling, "enable_gqa": attention.num_key_value_groups > 1}

    def __call__(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        return scaled_dot_product_attention(query, keys, values, mask, **self.options)


def _weights(layer: nn.Linear) -> tuple[torch.Tensor, torch.Tensor | None]:
    return layer.weight, layer.bias


def _norm(module: Any) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """The norm as one kernel call, or `None` without a norm."""
    if isinstance(module, nn.Identity):
        return None
    shape, weight, eps = module.normalized_shape, module.weight, module.eps
    if isinstance(module, nn.RMSNorm):
        return lambda states: torch.rms_norm(states, shape, weight, eps)
    bias = module.bias
    return lambda states: torch.layer_norm(states, shape, weight, bias, eps)
