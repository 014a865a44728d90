"""The layers of a Glossa model: positions, attention, feed-forward, norms and dropout.

Shapes in comments: B sequences, S source tokens, L queries, K keys, D width of the residual stream, H query heads,
G key-value heads, E width of a head, R rank of latent keys and values, P width of their rotary part, N tokens.
"""

import torch
from torch import nn
from transformers.activations import ACT2FN
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.processing_utils import Unpack
from transformers.utils import TransformersKwargs
from transformers.utils.import_utils import is_torchdynamo_compiling

from .configuration_glossa import GlossaConfig


def sinusoids(
    position_ids: torch.Tensor, dim: int, base: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of position x base^(-2i / dim), i < dim / 2: two tensors [*position_ids.shape, dim / 2].

    Computed on every call, in float32 or wider: no table limits the length, takes memory or is cast to half precision.
    """
    precision = torch.promote_types(dtype, torch.float32)
    exponents = torch.arange(0, dim, 2, device=position_ids.device, dtype=precision) / dim
    angles = position_ids.unsqueeze(-1).to(precision) * base**-exponents
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate each pair (i, i + E/2) of `states` [B, heads, L, E]; `cos` and `sin` are [1 or B, 1, L, E/2]."""
    first, second = states.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def repeat_heads(states: torch.Tensor, repeats: int) -> torch.Tensor:
    """[B, G, K, E] to [B, G * repeats, K, E]; each key-value head serves `repeats` neighboring query heads."""
    return states if repeats == 1 else states.repeat_interleave(repeats, dim=1)


def eager_attention_forward(
    module: "GlossaAttention",
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **kwargs,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1); also returns its weights [B, H, L, K]."""
    scores = query @ repeat_heads(key, module.num_key_value_groups).transpose(2, 3) * scaling  # [B, H, L, K]
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = scores.softmax(dim=-1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(query.dtype)
    if dropout:
        weights = nn.functional.dropout(weights, p=dropout)
    output = weights @ repeat_heads(value, module.num_key_value_groups)  # [B, H, L, E]
    return output.transpose(1, 2).contiguous(), weights


def build_norm(config: GlossaConfig) -> nn.Module:
    norm = nn.RMSNorm if config.norm_type == "rms" else nn.LayerNorm
    return norm(config.d_model, eps=config.norm_eps)


class GlossaDropout(nn.Dropout):
    """Dropout (Srivastava et al. 2014) in half the time of torch's on a CPU.

    One 64-bit draw serves four elements, so `p` is rounded to a multiple of 1/65536. Kept elements are divided by the
    probability of being kept. On other devices and when compiled, this is torch's dropout.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return input
        dropped = round(self.p * 2**16)
        if dropped in (0, 2**16) or input.device.type != "cpu" or is_torchdynamo_compiling():
            return super().forward(input)
        numbers = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = numbers[: input.numel()].view(input.shape) >= dropped - 2**15
        return input * kept.to(input.dtype).mul_(2**16 / (2**16 - dropped))


class GlossaAttention(nn.Module):
    """Attention with H query heads and G key-value heads: self-attention, or cross-attention to the source."""

    def __init__(self, config: GlossaConfig, heads: int, is_causal: bool = False, layer_idx: int = 0):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.is_causal = is_causal
        self.head_dim = config.head_dim or config.d_model // heads
        key_value_heads = config.num_key_value_heads or heads
        self.num_key_value_groups = heads // key_value_heads
        self.scaling = self.head_dim**-0.5
        bias = config.query_key_value_bias
        self.q_proj = nn.Linear(config.d_model, heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(config.d_model, key_value_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(config.d_model, key_value_heads * self.head_dim, bias=bias)
        self.out_proj = nn.Linear(heads * self.head_dim, config.d_model, bias=config.attention_output_bias)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        encoder_hidden_states: torch.Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """[B, L, D] to [B, L, D]; with `encoder_hidden_states` [B / k, S, D], keys and values come from the source.

        Cross-attention ignores target order, so the k targets of one source (its beams) are read as one target of k
        times the length and share keys and values.
        """
        rows, length, _ = hidden_states.shape
        if encoder_hidden_states is not None:
            hidden_states = hidden_states.reshape(encoder_hidden_states.shape[0], -1, hidden_states.shape[-1])
        query = self._split_heads(self.q_proj(hidden_states))
        if encoder_hidden_states is None:
            key, value = self._key_value(hidden_states)
            if position_embeddings is not None:
                query, key = rotate(query, *position_embeddings), rotate(key, *position_embeddings)
            if past_key_values is not None:
                key, value = past_key_values.self_attention_cache.update(key, value, self.layer_idx)
        else:
            key, value = self._source_key_value(encoder_hidden_states, past_key_values)

        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        output, weights = attend(
            self,
            query,
            key,
            value,
            attention_mask,
            dropout=self.config.attention_dropout if self.training else 0.0,
            scaling=self.scaling,
            **kwargs,
        )
        if weights is not None and weights.shape[0] != rows:
            weights = weights.unflatten(2, (-1, length)).transpose(1, 2).flatten(0, 1)  # [B, H, L, K] again
        return self.out_proj(output.reshape(rows, length, -1)), weights  # [B, L, H, E] to [B, L, D]

    def _split_heads(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)  # [B, L, H * E] to [B, H, L, E]

    def _key_value(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self._split_heads(self.k_proj(states)), self._split_heads(self.v_proj(states))  # [B, G, K, E] each

    def _source_key_value(self, source: torch.Tensor, past_key_values: EncoderDecoderCache | None):
        """Keys and values of the source, computed at the first step and cached for the others."""
        if past_key_values is None:
            return self._key_value(source)
        cache = past_key_values.cross_attention_cache
        if past_key_values.is_updated.get(self.layer_idx):
            layer = cache.layers[self.layer_idx]
            return layer.keys, layer.values  # type: ignore[union-attr]  # layers of linear attention have neither
        key, value = cache.update(*self._key_value(source), self.layer_idx)
        past_key_values.is_updated[self.layer_idx] = True
        return key, value


class GlossaFeedForward(nn.Module):
    """The position-wise feed-forward network, [B, L, D] to [B, L, D], plain or gated."""

    def __init__(self, config: GlossaConfig, inner_dim: int):
        super().__init__()
        bias = config.feed_forward_bias
        self.gate_proj = nn.Linear(config.d_model, inner_dim, bias=bias) if config.gated_feed_forward else None
        self.up_proj = nn.Linear(config.d_model, inner_dim, bias=bias)
        self.down_proj = nn.Linear(inner_dim, config.d_model, bias=bias)
        # In place: on a CPU, allocating memory for the result takes longer than the ReLU itself.
        relu = config.activation_function == "relu"
        self.activation = nn.ReLU(inplace=True) if relu else ACT2FN[config.activation_function]
        self.dropout = GlossaDropout(config.activation_dropout)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        inner = self.up_proj(hidden_states)
        if self.gate_proj is None:
            inner = self.activation(inner)
        else:
            inner = self.activation(self.gate_proj(hidden_states)) * inner
        return self.down_proj(self.dropout(inner))


class GlossaResidual(nn.Module):
    """The residual connection around a sublayer: norm before or after, dropout, addition."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        pre = config.norm_position == "pre"
        self.norm_before = build_norm(config) if pre else nn.Identity()
        self.norm_after = nn.Identity() if pre else build_norm(config)
        self.dropout = GlossaDropout(config.dropout)

    def forward(self, hidden_states: torch.Tensor, sublayer_output: torch.Tensor) -> torch.Tensor:
        return self.norm_after(hidden_states + self.dropout(sublayer_output))


class GlossaSinusoidalPositions(nn.Module):
    """Fixed position embeddings, [1 or B, L] to [1 or B, L, D]: all sines, then all cosines. No weights."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        self.d_model = config.d_model

    def forward(self, position_ids: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        cos, sin = sinusoids(position_ids, self.d_model, 10000.0, dtype)
        return torch.cat((sin, cos), dim=-1)


class GlossaLearnedPositions(nn.Embedding):
    """Learned position embeddings, [1 or B, L] to [1 or B, L, D], for `num_embeddings` positions."""

    def forward(self, position_ids: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:  # type: ignore[override]
        if not is_torchdynamo_compiling() and position_ids.max() >= self.num_embeddings:
            raise ValueError(
                f"A sequence has {int(position_ids.max()) + 1} tokens; learned positions hold {self.num_embeddings} "
                "(max_source_positions, max_target_positions). Truncate it, or use rotary or sinusoidal positions."
            )
        return super().forward(position_ids)


class GlossaEmbeddings(nn.Module):
    """Token embeddings to the input of the first layer: scale, add positions, norm, dropout."""

    def __init__(self, config: GlossaConfig, heads: int, max_positions: int):
        super().__init__()
        self.scale = config.d_model**0.5 if config.scale_embedding else 1.0
        self.rotary_base = config.rotary_base
        self.rotary_dim = (config.head_dim or config.d_model // heads) if _is_rotary(config) else None
        self.embed_positions: GlossaLearnedPositions | GlossaSinusoidalPositions | None = None
        if config.position_embedding_type == "learned":
            self.embed_positions = GlossaLearnedPositions(max_positions, config.d_model)
        elif config.position_embedding_type == "sinusoidal":
            self.embed_positions = GlossaSinusoidalPositions(config)
        self.norm = build_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = GlossaDropout(config.dropout)

    def forward(self, inputs_embeds: torch.Tensor, position_ids: torch.Tensor):
        """Hidden states [B, L, D] and, for rotary positions, cosines and sines [1 or B, 1, L, E/2]."""
        hidden_states = inputs_embeds * self.scale
        if self.embed_positions is not None:
            hidden_states = hidden_states + self.embed_positions(position_ids, hidden_states.dtype)
        rotary = None
        if self.rotary_dim is not None:
            cos, sin = sinusoids(position_ids, self.rotary_dim, self.rotary_base, hidden_states.dtype)
            rotary = cos.unsqueeze(1), sin.unsqueeze(1)
        return self.dropout(self.norm(hidden_states)), rotary


def _is_rotary(config: GlossaConfig) -> bool:
    return config.position_embedding_type == "rotary"


def positions_of(
    length: int, device: torch.device, attention_mask: torch.Tensor | None, past_length: int = 0
) -> torch.Tensor:
    """Positions [1 or B, L], counted from the first token that is not padding on the left."""
    if attention_mask is None or attention_mask.dim() != 2:
        return (torch.arange(length, device=device) + past_length).unsqueeze(0)
    counts = attention_mask.to(device).long().cumsum(-1) - 1
    return counts.clamp(min=0)[:, -length:]
