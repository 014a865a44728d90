"""The Glossa encoder-decoder Transformer.

Shapes in comments: B sequences, S source tokens, T target tokens, L queries, K keys, D width of the residual stream,
H query heads, G key-value heads, E width of a head, V vocabulary size.
"""

from typing import Any

import torch
from torch import nn
from transformers import initialization as init
from transformers.activations import ACT2FN
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqLMOutput,
    Seq2SeqModelOutput,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, PreTrainedModel
from transformers.processing_utils import Unpack
from transformers.utils import TransformersKwargs, can_return_tuple
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.import_utils import is_torchdynamo_compiling
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from .configuration_glossa import GlossaConfig
from .generation_glossa import GlossaGenerationMixin
from .loss_glossa import chunked_cross_entropy, smoothed_cross_entropy


def shift_tokens_right(labels: torch.Tensor, pad_token_id: int, decoder_start_token_id: int) -> torch.Tensor:
    """The decoder's input [B, T] for `labels` [B, T]: the start token and all labels but the last, -100 as padding."""
    shifted = labels.new_full(labels.shape, decoder_start_token_id)
    shifted[:, 1:] = labels[:, :-1]
    return shifted.masked_fill_(shifted == -100, pad_token_id)


def twice(tensor: Any) -> Any:
    """[B, ...] to [2B, ...]: all rows, then all rows again; None stays None."""
    return None if tensor is None else torch.cat((tensor, tensor))


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


class GlossaEncoderLayer(GradientCheckpointingLayer):
    """Self-attention over the source, then the feed-forward."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        self.self_attn = GlossaAttention(config, config.encoder_attention_heads)
        self.self_attn_residual = GlossaResidual(config)
        self.feed_forward = GlossaFeedForward(config, config.encoder_ffn_dim)
        self.feed_forward_residual = GlossaResidual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> torch.Tensor:
        normed = self.self_attn_residual.norm_before(hidden_states)
        output, _ = self.self_attn(normed, attention_mask, position_embeddings, **kwargs)
        hidden_states = self.self_attn_residual(hidden_states, output)

        output = self.feed_forward(self.feed_forward_residual.norm_before(hidden_states))
        return self.feed_forward_residual(hidden_states, output)


class GlossaDecoderLayer(GradientCheckpointingLayer):
    """Causal self-attention, cross-attention if there is a source, then the feed-forward."""

    def __init__(self, config: GlossaConfig, layer_idx: int):
        super().__init__()
        heads = config.decoder_attention_heads
        self.self_attn = GlossaAttention(config, heads, is_causal=True, layer_idx=layer_idx)
        self.self_attn_residual = GlossaResidual(config)
        self.encoder_attn = GlossaAttention(config, heads, layer_idx=layer_idx)
        self.encoder_attn_residual = GlossaResidual(config)
        self.feed_forward = GlossaFeedForward(config, config.decoder_ffn_dim)
        self.feed_forward_residual = GlossaResidual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None,
        encoder_hidden_states: torch.Tensor | None,
        encoder_attention_mask: torch.Tensor | None,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> torch.Tensor:
        normed = self.self_attn_residual.norm_before(hidden_states)
        output, _ = self.self_attn(
            normed, attention_mask, position_embeddings, past_key_values=past_key_values, **kwargs
        )
        hidden_states = self.self_attn_residual(hidden_states, output)

        if encoder_hidden_states is not None:
            normed = self.encoder_attn_residual.norm_before(hidden_states)
            output, _ = self.encoder_attn(
                normed,
                encoder_attention_mask,
                encoder_hidden_states=encoder_hidden_states,
                past_key_values=past_key_values,
                **kwargs,
            )
            hidden_states = self.encoder_attn_residual(hidden_states, output)

        output = self.feed_forward(self.feed_forward_residual.norm_before(hidden_states))
        return self.feed_forward_residual(hidden_states, output)


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


class GlossaPreTrainedModel(PreTrainedModel):
    """Configuration, initialization and supported features of every Glossa model."""

    config: GlossaConfig
    config_class = GlossaConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _no_split_modules = ["GlossaEncoderLayer", "GlossaDecoderLayer"]
    _skip_keys_device_placement = ["past_key_values"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True

    @torch.no_grad()
    def _init_weights(self, module: nn.Module):
        config = self.config
        xavier = config.initialization == "xavier_uniform"
        if isinstance(module, nn.Linear):
            if xavier:
                init.xavier_uniform_(module.weight)
            else:
                init.normal_(module.weight, mean=0.0, std=config.init_std)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            # Token embeddings enter the first layer with variance 1, like positions. A matrix that is also the output
            # layer starts smaller, or the logits would be far too large.
            scaled = config.scale_embedding or config.tie_word_embeddings
            deviation = config.d_model**-0.5 if scaled else 1.0
            init.normal_(module.weight, mean=0.0, std=deviation if xavier else config.init_std)
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, nn.RMSNorm | nn.LayerNorm):
            init.ones_(module.weight)
            if isinstance(module, nn.LayerNorm):
                init.zeros_(module.bias)

    def save_pretrained(self, *args, **kwargs):
        """As in transformers; when the code is saved too, also registers its `AutoModel` class and its pipeline."""
        if self._auto_class is not None:
            # transformers copies the files that this one imports, so the import makes it copy the pipeline.
            from .pipeline_glossa import custom_pipelines

            names = getattr(self.config, "auto_map", None) or {}
            self.config.auto_map = names | {"AutoModel": "modeling_glossa.GlossaModel"}
            if self.can_generate():
                self.config.custom_pipelines = custom_pipelines()
        # PEFT's merge sets this to False when the source has its own matrix; tied weights must stay tied when loaded.
        output = self.get_output_embeddings()
        if output is not None and output.weight is self.get_decoder().get_input_embeddings().weight:
            self.config.tie_word_embeddings = True
        return super().save_pretrained(*args, **kwargs)


class GlossaEncoder(GlossaPreTrainedModel):
    """Source tokens [B, S] to hidden states [B, S, D]."""

    _can_record_outputs = {
        "hidden_states": GlossaEncoderLayer,
        "attentions": GlossaAttention,
    }

    def __init__(self, config: GlossaConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.d_model, config.pad_token_id)
        self.embeddings = GlossaEmbeddings(config, config.encoder_attention_heads, config.max_source_positions)
        self.layers = nn.ModuleList(GlossaEncoderLayer(config) for _ in range(config.encoder_layers))
        self.final_norm = build_norm(config) if config.final_norm else nn.Identity()
        self.gradient_checkpointing = False
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | BaseModelOutput:
        """`input_ids` [B, S] or `inputs_embeds` [B, S, D] to [B, S, D]; `attention_mask` [B, S] is 0 at padding."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Give the encoder either input_ids or inputs_embeds.")
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        position_ids = positions_of(inputs_embeds.shape[1], inputs_embeds.device, attention_mask)
        hidden_states, rotary = self.embeddings(inputs_embeds, position_ids)
        mask = create_bidirectional_mask(
            config=self.config, inputs_embeds=inputs_embeds, attention_mask=attention_mask
        )
        for layer in self.layers:
            hidden_states = layer(hidden_states, mask, rotary, **kwargs)
        return BaseModelOutput(last_hidden_state=self.final_norm(hidden_states))


class GlossaDecoder(GlossaPreTrainedModel):
    """Target tokens [B, T] and encoder states [B, S, D] to hidden states [B, T, D]."""

    _can_record_outputs = {
        "hidden_states": GlossaDecoderLayer,
        "attentions": OutputRecorder(GlossaAttention, index=1, layer_name="self_attn"),
        "cross_attentions": OutputRecorder(GlossaAttention, index=1, layer_name="encoder_attn"),
    }

    def __init__(self, config: GlossaConfig):
        super().__init__(config)
        rows: int = config.decoder_vocab_size  # type: ignore[assignment]  # `__post_init__` has filled it in
        self.embed_tokens = nn.Embedding(rows, config.d_model, config.pad_token_id)
        self.embeddings = GlossaEmbeddings(config, config.decoder_attention_heads, config.max_target_positions)
        self.layers = nn.ModuleList(GlossaDecoderLayer(config, index) for index in range(config.decoder_layers))
        self.final_norm = build_norm(config) if config.final_norm else nn.Identity()
        self.gradient_checkpointing = False
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(  # type: ignore[misc]  # TransformersKwargs too names position_ids
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        encoder_hidden_states: torch.FloatTensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        position_ids: torch.Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | BaseModelOutputWithPastAndCrossAttentions:
        """Decode `input_ids` [B, T] after the cached tokens; `attention_mask` [B, cached + T] is 0 at padding.

        `encoder_hidden_states` have B rows, or B / k rows, each the source of k consecutive targets. Without them the
        layers skip cross-attention, as in a language model. `position_ids` [1 or B, T] default to positions counted
        from the mask.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Give the decoder either decoder_input_ids or decoder_inputs_embeds.")
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if use_cache and past_key_values is None:
            past_key_values = EncoderDecoderCache(DynamicCache(config=self.config), DynamicCache(config=self.config))
        self_cache = None if past_key_values is None else past_key_values.self_attention_cache
        if position_ids is None:
            past_length = 0 if self_cache is None else self_cache.get_seq_length()
            position_ids = positions_of(inputs_embeds.shape[1], inputs_embeds.device, attention_mask, past_length)
        hidden_states, rotary = self.embeddings(inputs_embeds, position_ids)
        mask = create_causal_mask(
            config=self.config,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            past_key_values=self_cache,
        )
        encoder_mask = None
        if encoder_hidden_states is not None:
            # The mask has the shape that cross-attention sees: the targets of one source joined into one.
            grouped = inputs_embeds.reshape(encoder_hidden_states.shape[0], -1, inputs_embeds.shape[-1])
            encoder_mask = create_bidirectional_mask(
                config=self.config,
                inputs_embeds=grouped,
                attention_mask=encoder_attention_mask,
                encoder_hidden_states=encoder_hidden_states,
            )
        for layer in self.layers:
            # Positional arguments: re-entrant checkpointing passes gradients to no keyword argument.
            hidden_states = layer(
                hidden_states,
                mask,
                rotary,
                encoder_hidden_states,
                encoder_mask,
                past_key_values=past_key_values,
                **kwargs,
            )
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=self.final_norm(hidden_states), past_key_values=past_key_values
        )


class GlossaModel(GlossaPreTrainedModel):
    """Encoder and decoder without the output layer."""

    def __init__(self, config: GlossaConfig):
        super().__init__(config)
        self.encoder = GlossaEncoder(config)
        self.decoder = GlossaDecoder(config)
        if config.share_encoder_decoder_embeddings:
            self._tied_weights_keys = {"encoder.embed_tokens.weight": "decoder.embed_tokens.weight"}
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: nn.Embedding):  # type: ignore[override]
        self.encoder.embed_tokens = value
        if self.config.tie_word_embeddings and self.config.share_encoder_decoder_embeddings:
            self.decoder.embed_tokens = value

    def resize_token_embeddings(
        self,
        new_num_tokens: int | None = None,
        pad_to_multiple_of: int | None = None,
        mean_resizing: bool = True,
        decoder_new_num_tokens: int | None = None,
    ) -> nn.Embedding:
        """Resize both embeddings; transformers alone would resize the source's only.

        Args:
            new_num_tokens: Rows of the source embedding; unchanged if not given.
            pad_to_multiple_of: Round rows up to a multiple of this.
            mean_resizing: Draw new rows around the mean of the old ones instead of initializing them.
            decoder_new_num_tokens: Rows of the target embedding; `new_num_tokens` if not given.

        Raises:
            ValueError: if source and target share one matrix but the sizes differ; or if the sizes differ and
                `new_num_tokens` alone would cut the target vocabulary.
        """
        source, target = self.encoder.embed_tokens, self.decoder.embed_tokens
        if decoder_new_num_tokens is None:
            rows, shared = target.num_embeddings, target.weight is source.weight
            if new_num_tokens is not None and not shared and source.num_embeddings != rows > new_num_tokens:
                raise ValueError(
                    f"new_num_tokens is {new_num_tokens}, and the target vocabulary has {rows} rows, which would be "
                    f"cut. Give its size too: decoder_new_num_tokens={rows} keeps it."
                )
            decoder_new_num_tokens = new_num_tokens
        if target.weight is source.weight and decoder_new_num_tokens != new_num_tokens:
            raise ValueError(
                f"decoder_new_num_tokens is {decoder_new_num_tokens} and new_num_tokens {new_num_tokens}; embeddings "
                "that are shared need one size."
            )
        source = self._get_resized_embeddings(source, new_num_tokens, pad_to_multiple_of, mean_resizing)
        target = self._get_resized_embeddings(target, decoder_new_num_tokens, pad_to_multiple_of, mean_resizing)
        self.vocab_size = self.config.vocab_size = source.num_embeddings
        self.config.decoder_vocab_size = target.num_embeddings
        return source

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_outputs: tuple | BaseModelOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        decoder_inputs_embeds: torch.FloatTensor | None = None,
        decoder_position_ids: torch.Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | Seq2SeqModelOutput:
        """Source [B, S] and target [B, T] to hidden states of the decoder [B, T, D]; masks are 0 at padding."""
        if encoder_outputs is None:
            encoded = self.encoder(
                input_ids=input_ids,
                attention_mask=attention_mask,
                inputs_embeds=inputs_embeds,
                return_dict=True,
                **kwargs,
            )
        elif isinstance(encoder_outputs, BaseModelOutput):
            encoded = encoder_outputs
        else:
            encoded = BaseModelOutput(*encoder_outputs)
        decoder_outputs = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            encoder_hidden_states=encoded.last_hidden_state,
            encoder_attention_mask=attention_mask,
            past_key_values=past_key_values,
            inputs_embeds=decoder_inputs_embeds,
            position_ids=decoder_position_ids,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=decoder_outputs.last_hidden_state,
            past_key_values=decoder_outputs.past_key_values,
            decoder_hidden_states=decoder_outputs.hidden_states,
            decoder_attentions=decoder_outputs.attentions,
            cross_attentions=decoder_outputs.cross_attentions,
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.hidden_states,
            encoder_attentions=encoded.attentions,
        )


class GlossaForConditionalGeneration(GlossaPreTrainedModel, GlossaGenerationMixin):
    """The translation model: encoder, decoder and output layer over the target vocabulary."""

    def __init__(self, config: GlossaConfig):
        super().__init__(config)
        self.model = GlossaModel(config)
        self.lm_head = nn.Linear(config.d_model, self.model.decoder.embed_tokens.num_embeddings, bias=False)
        self._tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}
        if config.share_encoder_decoder_embeddings:
            self._tied_weights_keys["model.encoder.embed_tokens.weight"] = "model.decoder.embed_tokens.weight"
        self.post_init()

    def resize_token_embeddings(
        self,
        new_num_tokens: int | None = None,
        pad_to_multiple_of: int | None = None,
        mean_resizing: bool = True,
        decoder_new_num_tokens: int | None = None,
    ) -> nn.Embedding:
        """As [`GlossaModel.resize_token_embeddings`]; the output layer follows the target embedding."""
        embeddings = self.model.resize_token_embeddings(
            new_num_tokens, pad_to_multiple_of, mean_resizing, decoder_new_num_tokens
        )
        head = self._get_resized_lm_head(self.lm_head, self.config.decoder_vocab_size, mean_resizing=mean_resizing)
        self.lm_head = head.requires_grad_(self.lm_head.weight.requires_grad)
        self.vocab_size = self.config.vocab_size
        self.tie_weights()
        return embeddings

    def prepare_inputs_for_generation(self, input_ids: torch.LongTensor, **kwargs) -> dict:  # type: ignore[override]
        """As in transformers, plus positions: a static cache makes the mask 4-D, and the model cannot count them."""
        inputs = super().prepare_inputs_for_generation(input_ids, **kwargs)  # type: ignore[misc]
        mask, tokens = kwargs.get("decoder_attention_mask"), inputs["decoder_input_ids"]
        if mask is not None and mask.dim() == 2 and "decoder_position_ids" not in inputs:
            inputs["decoder_position_ids"] = positions_of(tokens.shape[1], tokens.device, mask)
        return inputs

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """The decoder's input [B, T] for `labels` [B, T]; called by data collators."""
        padding, start = self.config.pad_token_id, self.config.decoder_start_token_id
        if padding is None or start is None:
            raise ValueError(
                f"pad_token_id is {padding} and decoder_start_token_id {start}; labels need both to become the "
                "decoder's input. Set them, or give decoder_input_ids."
            )
        return shift_tokens_right(labels, padding, start)

    @can_return_tuple
    def forward(  # type: ignore[misc]  # TransformersKwargs too names num_items_in_batch
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_outputs: tuple | BaseModelOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        decoder_inputs_embeds: torch.FloatTensor | None = None,
        decoder_position_ids: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        num_items_in_batch: torch.Tensor | int | None = None,
        r_drop_alpha: float = 0.0,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | Seq2SeqLMOutput:
        """Logits [B, T, V] and, with `labels` [B, T], the loss; in training the loss only (`chunked_cross_entropy`).

        Args:
            input_ids: Source [B, S], or `inputs_embeds` [B, S, D], or `encoder_outputs`.
            attention_mask: [B, S], 0 at source padding.
            decoder_input_ids: Target [B, T], or `decoder_inputs_embeds` [B, T, D]; made from `labels` if not given.
            decoder_attention_mask: [B, cached + T], 0 at target padding; needed only for padding on the left.
            decoder_position_ids: [1 or B, T]; counted from that mask if not given.
            labels: [B, T], not shifted; -100 is ignored.
            logits_to_keep: Compute logits only for this many last positions, or for these positions; 0 means all.
            num_items_in_batch: Number of labels in all batches of one optimizer step; the loss is divided by it.
            r_drop_alpha: In training with labels, run the batch twice and add the divergence of the two predictions
                with this weight (R-Drop, Liang et al. 2021; they use 5 for translation). 0: run it once.

        Raises:
            ValueError: for R-Drop with `encoder_outputs`, in which both passes would have the same dropout.
        """
        r_drop_alpha = r_drop_alpha if self.training and labels is not None else 0.0
        if r_drop_alpha:
            if encoder_outputs is not None:
                raise ValueError("r_drop_alpha needs input_ids instead of encoder_outputs: the encoder runs twice.")
            input_ids, attention_mask, inputs_embeds = twice(input_ids), twice(attention_mask), twice(inputs_embeds)
            decoder_input_ids, decoder_inputs_embeds = twice(decoder_input_ids), twice(decoder_inputs_embeds)
            decoder_attention_mask, labels = twice(decoder_attention_mask), twice(labels)
            if decoder_position_ids is not None and decoder_position_ids.shape[0] > 1:
                decoder_position_ids = twice(decoder_position_ids)
        if labels is not None:
            use_cache = False
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            decoder_position_ids=decoder_position_ids,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        states = outputs.last_hidden_state[:, kept]
        logits, loss = self._logits_and_loss(states, labels, num_items_in_batch, r_drop_alpha)
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            decoder_hidden_states=outputs.decoder_hidden_states,
            decoder_attentions=outputs.decoder_attentions,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=outputs.encoder_last_hidden_state,
            encoder_hidden_states=outputs.encoder_hidden_states,
            encoder_attentions=outputs.encoder_attentions,
        )

    def _logits_and_loss(
        self, states: torch.Tensor, labels: torch.Tensor | None, items: torch.Tensor | int | None, r_drop_alpha: float
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        if labels is None:
            return self.lm_head(states), None
        excludes_padding = self.config.label_smoothing_type == "exclude_padding"
        smoothing = self.config.label_smoothing if self.training else 0.0
        excluded = self.config.pad_token_id if excludes_padding else None
        # Adapters, quantized layers and biases are more than states times weight; a compiler fuses on its own.
        head = self.lm_head
        if self.training and type(head) is nn.Linear and head.bias is None and not is_torchdynamo_compiling():
            return None, chunked_cross_entropy(states, head.weight, labels, smoothing, excluded, items, r_drop_alpha)
        logits = self.lm_head(states)
        return logits, smoothed_cross_entropy(logits, labels, smoothing, excluded, items, r_drop_alpha)


__all__ = ["GlossaForConditionalGeneration", "GlossaModel", "GlossaPreTrainedModel"]
