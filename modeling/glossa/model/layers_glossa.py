"""The layers of a Glossa model: positions, attention, feed-forward, experts, norms and dropout.

Shapes in comments: B sequences, S source tokens, L queries, K keys, D width of the residual stream, H query heads,
G key-value heads, E width of a head, R rank of latent keys and values, P width of their rotary part, N = B * L tokens,
k experts for each token.
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

Rotary = tuple[torch.Tensor, torch.Tensor]  # cosines and sines, [1 or B, 1, L, E/2] each


def sinusoids(position_ids: torch.Tensor, dim: int, base: float, dtype: torch.dtype) -> Rotary:
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
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    output = weights @ repeat_heads(value, module.num_key_value_groups)  # [B, H, L, E]
    return output.transpose(1, 2).contiguous(), weights


def build_norm(config: GlossaConfig, width: int | None = None) -> nn.Module:
    norm = nn.RMSNorm if config.norm_type == "rms" else nn.LayerNorm
    return norm(width or config.d_model, eps=config.norm_eps)


class GlossaAttention(nn.Module):
    """Attention with H query heads and G key-value heads: self-attention, or cross-attention to the source."""

    def __init__(
        self, config: GlossaConfig, heads: int, is_causal: bool = False, is_cross: bool = False, layer_idx: int = 0
    ):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.is_causal = is_causal
        self.is_rotary = config.rotary_cross_attention if is_cross else _is_rotary(config)
        self.is_cross = is_cross
        self.head_dim = config.head_dim or config.d_model // heads
        key_value_heads = config.num_key_value_heads or heads
        self.num_key_value_groups = heads // key_value_heads
        self.scaling = self.head_dim**-0.5
        self._build_projections(config, heads, key_value_heads)
        self.out_proj = nn.Linear(heads * self.head_dim, config.d_model, bias=config.attention_output_bias)

    def _build_projections(self, config: GlossaConfig, heads: int, key_value_heads: int) -> None:
        bias = config.query_key_value_bias
        self.q_proj = nn.Linear(config.d_model, heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(config.d_model, key_value_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(config.d_model, key_value_heads * self.head_dim, bias=bias)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_embeddings: Rotary | None = None,
        encoder_hidden_states: torch.Tensor | None = None,
        source_position_embeddings: Rotary | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple[torch.Tensor | None, ...]:
        """[B, L, D] to [B, L, D]; with `encoder_hidden_states` [B / k, S, D], keys and values come from the source.

        Cross-attention ignores target order, so the k targets of one source (its beams) are read as one target of k
        times the length and share keys and values. `position_embeddings` belong to that joined target.

        The second element has the weights, [B, H, L, K], if the implementation gives them. The third one is for
        cross-attention that aligns words, in training: scores of its first head before mask and softmax, [B, L, S].
        """
        rows, length, _ = hidden_states.shape
        if encoder_hidden_states is None:
            cached = self.to_cache(hidden_states, position_embeddings)
            if past_key_values is not None:
                cached = past_key_values.self_attention_cache.update(*cached, self.layer_idx)
        else:
            hidden_states = hidden_states.reshape(encoder_hidden_states.shape[0], -1, hidden_states.shape[-1])
            cached = self._source_to_cache(encoder_hidden_states, source_position_embeddings, past_key_values)
        query = self._query(hidden_states, position_embeddings)
        key, value = self._from_cache(*cached)

        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        dropout = self.config.attention_dropout if self.training else 0.0
        output, weights = attend(
            self, query, key, value, attention_mask, dropout=dropout, scaling=self.scaling, **kwargs
        )
        if weights is not None and weights.shape[0] != rows:
            weights = weights.unflatten(2, (-1, length)).transpose(1, 2).flatten(0, 1)  # [B, H, L, K] again
        output = self.out_proj(output.reshape(rows, length, -1))  # [B, L, H, E] to [B, L, D]
        scores = None
        if self.training and self.is_cross and self.layer_idx == self.config.alignment_layer:
            scores = query[:, 0] @ key[:, 0].transpose(1, 2) * self.scaling  # fused attention returns no weights
        return output, weights, scores

    def _split_heads(self, states: torch.Tensor, width: int) -> torch.Tensor:
        return states.unflatten(-1, (-1, width)).transpose(1, 2)  # [B, L, H * E] to [B, H, L, E]

    def _query(self, states: torch.Tensor, rotary: Rotary | None) -> torch.Tensor:
        query = self._split_heads(self.q_proj(states), self.head_dim)
        return query if rotary is None else rotate(query, *rotary)

    def to_cache(self, states: torch.Tensor, rotary: Rotary | None) -> tuple[torch.Tensor, torch.Tensor]:
        """What the cache holds of `states` [B, K, D]: keys and values, [B, G, K, E] each."""
        key = self._split_heads(self.k_proj(states), self.head_dim)
        value = self._split_heads(self.v_proj(states), self.head_dim)
        return key if rotary is None else rotate(key, *rotary), value

    def _from_cache(self, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return key, value

    def _source_to_cache(
        self, source: torch.Tensor, rotary: Rotary | None, past_key_values: EncoderDecoderCache | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Like `to_cache`, for the source: computed at the first step and cached for the others."""
        if past_key_values is None:
            return self.to_cache(source, rotary)
        cache = past_key_values.cross_attention_cache
        if past_key_values.is_updated.get(self.layer_idx):
            layer = cache.layers[self.layer_idx]
            return layer.keys, layer.values  # type: ignore[union-attr]  # layers of linear attention have neither
        cached = cache.update(*self.to_cache(source, rotary), self.layer_idx)
        past_key_values.is_updated[self.layer_idx] = True
        return cached


class GlossaLatentAttention(GlossaAttention):
    """Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1).

    Keys and values of all heads are projections of one latent [B, K, R], and a rotary part [B, K, P] of the keys is
    shared by all heads. The cache holds these two; keys and values are projected from them at every step, as in
    transformers. The other form in the paper, which multiplies that projection into the query, would bypass adapters.
    """

    def _build_projections(self, config: GlossaConfig, heads: int, key_value_heads: int) -> None:
        rank: int = config.kv_lora_rank  # type: ignore[assignment]  # this class is used only if it is set
        self.rank = rank
        self.rotary_dim = rotary_width(config, heads) if self.is_rotary else 0
        self.scaling = (self.head_dim + self.rotary_dim) ** -0.5
        bias, query_width = config.query_key_value_bias, heads * (self.head_dim + self.rotary_dim)
        self.compresses_queries = config.q_lora_rank is not None
        if config.q_lora_rank is None:
            self.q_proj = nn.Linear(config.d_model, query_width, bias=bias)
        else:
            self.q_a_proj = nn.Linear(config.d_model, config.q_lora_rank, bias=bias)
            self.q_norm = build_norm(config, config.q_lora_rank)
            self.q_b_proj = nn.Linear(config.q_lora_rank, query_width, bias=False)
        self.kv_a_proj = nn.Linear(config.d_model, rank + self.rotary_dim, bias=bias)
        self.kv_norm = build_norm(config, rank)
        self.kv_b_proj = nn.Linear(rank, heads * 2 * self.head_dim, bias=False)

    def _query(self, states: torch.Tensor, rotary: Rotary | None) -> torch.Tensor:
        compressed = self.compresses_queries
        projected = self.q_b_proj(self.q_norm(self.q_a_proj(states))) if compressed else self.q_proj(states)
        query = self._split_heads(projected, self.head_dim + self.rotary_dim)
        if rotary is None:
            return query
        plain, turned = query.split([self.head_dim, self.rotary_dim], dim=-1)
        return torch.cat((plain, rotate(turned, *rotary)), dim=-1)  # [B, H, L, E + P]

    def to_cache(self, states: torch.Tensor, rotary: Rotary | None) -> tuple[torch.Tensor, torch.Tensor]:
        """What the cache holds of `states` [B, K, D]: the latent [B, 1, K, R] and the rotary key [B, 1, K, P].

        Without rotary positions P is 0.
        """
        latent, key = self.kv_a_proj(states).unsqueeze(1).split([self.rank, self.rotary_dim], dim=-1)
        return self.kv_norm(latent), key if rotary is None else rotate(key, *rotary)

    def _from_cache(self, latent: torch.Tensor, rotary_key: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys [B, H, K, E + P] and values [B, H, K, E]."""
        key, value = self._split_heads(self.kv_b_proj(latent).squeeze(1), 2 * self.head_dim).chunk(2, dim=-1)
        return torch.cat((key, rotary_key.expand(-1, key.shape[1], -1, -1)), dim=-1), value


def build_attention(
    config: GlossaConfig, heads: int, is_causal: bool = False, is_cross: bool = False, layer_idx: int = 0
) -> GlossaAttention:
    kind = GlossaAttention if config.kv_lora_rank is None else GlossaLatentAttention
    return kind(config, heads, is_causal, is_cross, layer_idx)


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
        self.dropout = nn.Dropout(config.activation_dropout)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        inner = self.up_proj(hidden_states)
        if self.gate_proj is None:
            inner = self.activation(inner)
        else:
            inner = self.activation(self.gate_proj(hidden_states)) * inner
        return self.down_proj(self.dropout(inner))


class GlossaRouter(nn.Module):
    """Logits of N tokens [N, D] for each expert, in float32 or wider (Fedus et al. 2021, section 2.4)."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        # Not a linear layer, so that adapters and quantization, which compute in other precisions, leave it alone.
        self.weight = nn.Parameter(torch.empty(config.num_local_experts, config.d_model))  # type: ignore[arg-type]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        precision = torch.promote_types(states.dtype, torch.float32)
        with torch.autocast(states.device.type, enabled=False):
            return states.to(precision) @ self.weight.to(precision).t()


class GlossaExperts(nn.Module):
    """A mixture of experts in place of the feed-forward: a router sends each token to a few of several networks.

    With one expert per token its output is multiplied by the router's probability (Fedus et al. 2021, equation 2),
    with several by their probabilities, which are divided by their sum (Jiang et al. 2024, section 2.1). Shared
    experts read every token and are added (Dai et al. 2024, section 3.2). No token is dropped: experts have no
    capacity.
    """

    def __init__(self, config: GlossaConfig, inner_dim: int):
        super().__init__()
        self.experts_per_token = config.num_experts_per_tok
        self.router = GlossaRouter(config)
        experts: int = config.num_local_experts  # type: ignore[assignment]  # this class is used only if it is set
        self.experts = nn.ModuleList(GlossaFeedForward(config, inner_dim) for _ in range(experts))
        shared = config.num_shared_experts
        self.shared_experts = GlossaFeedForward(config, shared * inner_dim) if shared else None

    def forward(self, hidden_states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[B, L, D] to [B, L, D], and the router's logits [B * L, experts]."""
        tokens = hidden_states.flatten(0, 1)  # [N, D]
        router_logits = self.router(tokens)
        weights, chosen = router_logits.softmax(-1).topk(self.experts_per_token)  # [N, k] each
        if self.experts_per_token > 1:
            weights = weights / weights.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)  # [N * k], the choices sorted by expert
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        rows = order // self.experts_per_token
        parts = zip(self.experts, tokens[rows].split(counts), strict=True)
        # With gradients an expert without tokens runs too: distributed training needs a gradient of every weight.
        outputs = torch.cat([expert(states) for expert, states in parts if len(states) or torch.is_grad_enabled()])
        weighted = outputs * weights.flatten()[order].unsqueeze(-1)  # [N * k, D]
        output = torch.zeros_like(tokens) if self.shared_experts is None else self.shared_experts(tokens)
        output = output.index_add(0, rows, weighted.to(output.dtype))
        return output.view_as(hidden_states), router_logits


def build_feed_forward(config: GlossaConfig, inner_dim: int) -> GlossaFeedForward | GlossaExperts:
    kind = GlossaFeedForward if config.num_local_experts is None else GlossaExperts
    return kind(config, inner_dim)


def apply_feed_forward(
    feed_forward: GlossaFeedForward | GlossaExperts, states: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The output [B, L, D], and the router's logits [B * L, experts] or None."""
    if isinstance(feed_forward, GlossaExperts):
        return feed_forward(states)
    return feed_forward(states), None


class GlossaResidual(nn.Module):
    """The residual connection around a sublayer: norm before or after, dropout, addition."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        pre = config.norm_position == "pre"
        self.norm_before = build_norm(config) if pre else nn.Identity()
        self.norm_after = nn.Identity() if pre else build_norm(config)
        self.dropout = nn.Dropout(config.dropout)

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
        self.rotary_dim = rotary_width(config, heads) if _is_rotary(config) else None
        self.embed_positions: GlossaLearnedPositions | GlossaSinusoidalPositions | None = None
        if config.position_embedding_type == "learned":
            self.embed_positions = GlossaLearnedPositions(max_positions, config.d_model)
        elif config.position_embedding_type == "sinusoidal":
            self.embed_positions = GlossaSinusoidalPositions(config)
        self.norm = build_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, inputs_embeds: torch.Tensor, position_ids: torch.Tensor):
        """Hidden states [B, L, D] and, for rotary positions, cosines and sines [1 or B, 1, L, E/2]."""
        hidden_states = inputs_embeds * self.scale
        if self.embed_positions is not None:
            hidden_states = hidden_states + self.embed_positions(position_ids, hidden_states.dtype)
        rotary = self.rotary(position_ids, hidden_states.dtype)
        return self.dropout(self.norm(hidden_states)), rotary

    def rotary(self, position_ids: torch.Tensor, dtype: torch.dtype) -> Rotary | None:
        """Cosines and sines [1 or B, 1, L, E/2] of `position_ids` [1 or B, L]; None for other positions."""
        if self.rotary_dim is None:
            return None
        cos, sin = sinusoids(position_ids, self.rotary_dim, self.rotary_base, dtype)
        return cos.unsqueeze(1), sin.unsqueeze(1)


def _is_rotary(config: GlossaConfig) -> bool:
    return config.position_embedding_type == "rotary"


def rotary_width(config: GlossaConfig, heads: int) -> int:
    """Elements of each head that rotary positions turn: all of them, or the rotary part of latent attention."""
    head_dim = config.head_dim or config.d_model // heads
    if config.kv_lora_rank is None:
        return head_dim
    return config.qk_rope_head_dim or head_dim // 2


def positions_of(
    length: int, device: torch.device, attention_mask: torch.Tensor | None, past_length: int = 0
) -> torch.Tensor:
    """Positions [1 or B, L], counted from the first token that is not padding on the left."""
    if attention_mask is None or attention_mask.dim() != 2:
        return (torch.arange(length, device=device) + past_length).unsqueeze(0)
    counts = attention_mask.to(device).long().cumsum(-1) - 1
    return counts.clamp(min=0)[:, -length:]
