"""The Glossa encoder-decoder Transformer.

Shapes in comments: B sequences, S source tokens, T target tokens, D width of the residual stream, V vocabulary size.
"""

import copy
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import initialization as init
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqLMOutput,
    Seq2SeqModelOutput,
)
from transformers.modeling_utils import PreTrainedModel
from transformers.processing_utils import Unpack
from transformers.utils import TransformersKwargs, cached_file, can_return_tuple, logging
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.import_utils import is_torchdynamo_compiling
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from .configuration_glossa import GlossaConfig
from .generation_glossa import CACHE, GlossaGenerationMixin
from .layers_glossa import (
    GlossaAttention,
    GlossaEmbeddings,
    GlossaResidual,
    GlossaRouter,
    Rotary,
    apply_feed_forward,
    build_attention,
    build_feed_forward,
    build_norm,
    positions_of,
)
from .loss_glossa import alignment_loss, chunked_cross_entropy, load_balancing_loss, smoothed_cross_entropy
from .steps_glossa import FORWARD

logger = logging.get_logger(__name__)


def shift_tokens_right(labels: torch.Tensor, pad_token_id: int, decoder_start_token_id: int) -> torch.Tensor:
    """The decoder's input [B, T] for `labels` [B, T]: the start token and all labels but the last, -100 as padding."""
    shifted = labels.new_full(labels.shape, decoder_start_token_id)
    shifted[:, 1:] = labels[:, :-1]
    return shifted.masked_fill_(shifted == -100, pad_token_id)


@dataclass
class GlossaEncoderOutput(BaseModelOutput):
    """In training with experts, also the logits of each layer's router, [B * S, experts]."""

    router_logits: tuple[torch.Tensor, ...] | None = None


@dataclass
class GlossaDecoderOutput(BaseModelOutputWithPastAndCrossAttentions):
    """In training with experts, also the logits of each layer's router, [B * T, experts].

    In training with a head that aligns words, also its scores, [B, T, S].
    """

    router_logits: tuple[torch.Tensor, ...] | None = None
    alignment_scores: torch.Tensor | None = None


@dataclass
class GlossaModelOutput(Seq2SeqModelOutput):
    """In training with experts, also the logits of each layer's router, [B * S, experts] and [B * T, experts].

    In training with a head that aligns words, also its scores, [B, T, S].
    """

    encoder_router_logits: tuple[torch.Tensor, ...] | None = None
    decoder_router_logits: tuple[torch.Tensor, ...] | None = None
    alignment_scores: torch.Tensor | None = None


def _given(routed: list[torch.Tensor | None]) -> tuple[torch.Tensor, ...] | None:
    return tuple(logits for logits in routed if logits is not None) or None


class GlossaEncoderLayer(GradientCheckpointingLayer):
    """Self-attention over the source, then the feed-forward."""

    def __init__(self, config: GlossaConfig):
        super().__init__()
        self.self_attn = build_attention(config, config.encoder_attention_heads)
        self.self_attn_residual = GlossaResidual(config)
        self.feed_forward = build_feed_forward(config, config.encoder_ffn_dim)
        self.feed_forward_residual = GlossaResidual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None,
        position_embeddings: Rotary | None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """[B, S, D] to [B, S, D], and the logits of the router, if any, [B * S, experts]."""
        normed = self.self_attn_residual.norm_before(hidden_states)
        output, *_ = self.self_attn(normed, attention_mask, position_embeddings, **kwargs)
        hidden_states = self.self_attn_residual(hidden_states, output)

        normed = self.feed_forward_residual.norm_before(hidden_states)
        output, router_logits = apply_feed_forward(self.feed_forward, normed)
        return self.feed_forward_residual(hidden_states, output), router_logits


class GlossaDecoderLayer(GradientCheckpointingLayer):
    """Causal self-attention, cross-attention if there is a source, then the feed-forward."""

    def __init__(self, config: GlossaConfig, layer_idx: int):
        super().__init__()
        heads = config.decoder_attention_heads
        self.self_attn = build_attention(config, heads, is_causal=True, layer_idx=layer_idx)
        self.self_attn_residual = GlossaResidual(config)
        self.encoder_attn = build_attention(config, heads, is_cross=True, layer_idx=layer_idx)
        self.encoder_attn_residual = GlossaResidual(config)
        self.feed_forward = build_feed_forward(config, config.decoder_ffn_dim)
        self.feed_forward_residual = GlossaResidual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None,
        position_embeddings: Rotary | None,
        encoder_hidden_states: torch.Tensor | None,
        encoder_attention_mask: torch.Tensor | None,
        cross_position_embeddings: tuple[Rotary | None, Rotary | None] = (None, None),
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple[torch.Tensor | None, ...]:
        """[B, T, D] to [B, T, D], and the logits of the router, if any, [B * T, experts].

        In training, a layer that aligns words also gives the scores of the head that does so, [B, T, S]; else `None`.
        `cross_position_embeddings` are the embeddings of target and source for cross-attention.
        """
        normed = self.self_attn_residual.norm_before(hidden_states)
        output, *_ = self.self_attn(
            normed, attention_mask, position_embeddings, past_key_values=past_key_values, **kwargs
        )
        hidden_states = self.self_attn_residual(hidden_states, output)

        alignment_scores: torch.Tensor | None = None
        if encoder_hidden_states is not None:
            normed = self.encoder_attn_residual.norm_before(hidden_states)
            output, _, alignment_scores = self.encoder_attn(
                normed,
                encoder_attention_mask,
                cross_position_embeddings[0],
                encoder_hidden_states=encoder_hidden_states,
                source_position_embeddings=cross_position_embeddings[1],
                past_key_values=past_key_values,
                **kwargs,
            )
            hidden_states = self.encoder_attn_residual(hidden_states, output)

        normed = self.feed_forward_residual.norm_before(hidden_states)
        output, router_logits = apply_feed_forward(self.feed_forward, normed)
        return self.feed_forward_residual(hidden_states, output), router_logits, alignment_scores


class GlossaPreTrainedModel(PreTrainedModel):
    """Configuration, initialization and supported features of every Glossa model."""

    config: GlossaConfig
    config_class = GlossaConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _no_split_modules = ["GlossaEncoderLayer", "GlossaDecoderLayer"]
    _skip_keys_device_placement = [CACHE]
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True
    _can_compile_fullgraph = True

    def __init__(self, config: GlossaConfig):
        super().__init__(config)
        # Fields may have been set since the configuration was built, most often `vocab_size` alone.
        rows, target_rows = config.vocab_size, config.decoder_vocab_size
        if config.shares_embeddings and rows != target_rows:
            logger.warning(
                f"decoder_vocab_size was {target_rows} and vocab_size {rows}; shared embeddings have one size, so "
                f"both are now {rows}. Set share_encoder_decoder_embeddings to False for two sizes."
            )
            config.decoder_vocab_size = rows
        config.validate_architecture()
        # How many tokens an expert gets depends on the data, so `torch.compile` breaks the graph there.
        self._can_compile_fullgraph = config.num_local_experts is None

    @torch.no_grad()
    def _init_weights(self, module: nn.Module):
        config = self.config
        xavier = config.initialization == "xavier_uniform"
        if isinstance(module, nn.Linear | GlossaRouter):
            if xavier:
                init.xavier_uniform_(module.weight)
            else:
                init.normal_(module.weight, mean=0.0, std=config.init_std)
            if isinstance(module, nn.Linear) and module.bias is not None:
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

    def save_pretrained(self, save_directory, *args, **kwargs):
        """As in transformers; with the code, also saves the name of its `AutoModel` class, and its pipeline."""
        if self._auto_class is not None:
            names = getattr(self.config, "auto_map", None) or {}
            self.config.auto_map = names | {"AutoModel": "modeling_glossa.GlossaModel"}
            if self.can_generate():
                self._save_pipeline(Path(save_directory))
        own = self.config
        # A state that is given was gathered from processes, each of which holds a part of the weights.
        if kwargs.get("state_dict") is None and hasattr(self, "get_decoder") and self.get_decoder() is not self:
            self.config, kwargs["state_dict"] = self._as_shared()
        try:
            return super().save_pretrained(save_directory, *args, **kwargs)
        finally:
            own.architectures, own.dtype = self.config.architectures, self.config.dtype
            self.config = own

    def _save_pipeline(self, folder: Path) -> None:
        """Copy the files of the pipeline, or leave it out of the configuration if this model came without them.

        This file does not import them: who loads the model alone need neither fetch nor trust them.
        """
        found, wanted = {}, ["pipeline_glossa.py"]
        for name in wanted:
            file: Path | str | None = Path(__file__).with_name(name)
            if not Path(__file__).with_name(name).is_file():
                file = cached_file(self.name_or_path, name, _raise_exceptions_for_missing_entries=False)
            if file is None:
                vars(self.config).pop("custom_pipelines", None)
                return
            found[name] = Path(file).read_bytes()
            imported = re.findall(rb"^from \.(\w+) import", found[name], re.M)
            wanted += [other for each in imported if (other := f"{each.decode()}.py") not in wanted]
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in found.items():
            (folder / name).write_bytes(content)
        task = {"impl": "pipeline_glossa.TranslationPipeline", "pt": ["AutoModelForSeq2SeqLM"]}
        self.config.custom_pipelines = {"translation": task}

    def _as_shared(self) -> tuple[GlossaConfig, dict[str, torch.Tensor]]:
        """The configuration with the sharing that the embeddings have, which adapters change, and the weights to save.

        It can say that the output layer has the target's matrix, and then that the source has it too. Weights that
        share in another way are saved apart.
        """
        config, weights = copy.copy(self.config), self.state_dict()
        output, target = self.get_output_embeddings(), self.get_decoder().get_input_embeddings().weight
        source, declared = self.get_encoder().get_input_embeddings().weight, self.all_tied_weights_keys
        tied = config.tie_word_embeddings if output is None else output.weight is target
        shared = tied and source is target and any(name.endswith("encoder.embed_tokens.weight") for name in declared)
        config.tie_word_embeddings, config.share_encoder_decoder_embeddings = tied, shared
        apart = {"encoder.embed_tokens.weight": source is target and not shared}
        apart["lm_head.weight"] = output is not None and output.weight is source and not tied
        for name in [name for name in weights for end, is_apart in apart.items() if is_apart and name.endswith(end)]:
            weights[name] = weights[name].clone()
        return config, weights


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
    ) -> tuple | GlossaEncoderOutput:
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
        routed = []
        for layer in self.layers:
            hidden_states, router_logits = layer(hidden_states, mask, rotary, **kwargs)
            routed.append(router_logits)
        return GlossaEncoderOutput(
            last_hidden_state=self.final_norm(hidden_states), router_logits=_given(routed) if self.training else None
        )


def _check_latent_cache(past_key_values: EncoderDecoderCache, rank: int) -> None:
    """Refuse keys of heads, which PEFT's prefix tuning puts in the cache; torch would only say that sizes differ."""
    for layer in past_key_values.self_attention_cache.layers[:1]:
        keys = getattr(layer, "keys", None)
        if keys is not None and (keys.shape[1], keys.shape[3]) != (1, rank):
            raise ValueError(
                f"past_key_values hold {keys.shape[1]} keys of {keys.shape[3]} elements for each token; latent "
                f"attention (kv_lora_rank) caches one latent of {rank}. Give a cache that this model filled, and LoRA "
                "instead of prefix tuning."
            )


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
        cache: EncoderDecoderCache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | GlossaDecoderOutput:
        """Decode `input_ids` [B, T] after the cached tokens; `attention_mask` [B, cached + T] is 0 at padding.

        `encoder_hidden_states` have B rows, or B / k rows, each the source of k consecutive targets. Without them the
        layers skip cross-attention, as in a language model. `position_ids` [1 or B, T] default to positions counted
        from the mask. `cache` is the name of `past_key_values` since transformers 5.24, here and in the model.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Give the decoder either decoder_input_ids or decoder_inputs_embeds.")
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        past_key_values = self._cache(past_key_values, cache, use_cache)
        self_cache = None if past_key_values is None else past_key_values.self_attention_cache
        if position_ids is None:
            past_length = 0 if self_cache is None else self_cache.get_seq_length()
            position_ids = positions_of(inputs_embeds.shape[1], inputs_embeds.device, attention_mask, past_length)
        hidden_states, rotary = self.embeddings(inputs_embeds, position_ids)
        mask = create_causal_mask(self.config, inputs_embeds, attention_mask, self_cache)
        encoder_mask = None
        cross_rotary: tuple[Rotary | None, Rotary | None] = (None, None)
        if encoder_hidden_states is not None:
            encoder_mask = self._cross_mask(inputs_embeds, encoder_hidden_states, encoder_attention_mask)
            cross_rotary = self._cross_rotary(rotary, inputs_embeds, encoder_hidden_states, encoder_attention_mask)
        routed = []
        alignment_scores: torch.Tensor | None = None
        for layer in self.layers:
            # Positional arguments: re-entrant checkpointing passes gradients to no keyword argument.
            hidden_states, router_logits, scores = layer(
                hidden_states,
                mask,
                rotary,
                encoder_hidden_states,
                encoder_mask,
                cross_rotary,
                past_key_values=past_key_values,
                **kwargs,
            )
            routed.append(router_logits)
            alignment_scores = scores if alignment_scores is None else alignment_scores
        return GlossaDecoderOutput(
            last_hidden_state=self.final_norm(hidden_states),
            **{CACHE: past_key_values},  # type: ignore[arg-type]
            router_logits=_given(routed) if self.training else None,
            alignment_scores=alignment_scores,
        )

    def _cache(
        self, past_key_values: EncoderDecoderCache | None, cache: EncoderDecoderCache | None, use_cache: bool | None
    ) -> EncoderDecoderCache | None:
        """The cache that was given by one of its two names, or a new one."""
        if past_key_values is not None and cache is not None:
            raise ValueError("Give the decoder cache or past_key_values, which are the same, but not both.")
        given = past_key_values if cache is None else cache
        if given is not None and self.config.kv_lora_rank is not None:
            _check_latent_cache(given, self.config.kv_lora_rank)
        if use_cache and given is None:
            return EncoderDecoderCache(DynamicCache(config=self.config), DynamicCache(config=self.config))
        return given

    def source_rotary(self, states: torch.Tensor, attention_mask: torch.Tensor | None) -> Rotary | None:
        """Cosines and sines for the keys of the source `states` [B, S, D]; None without rotary cross-attention."""
        if not self.config.rotary_cross_attention:
            return None
        return self.embeddings.rotary(positions_of(states.shape[1], states.device, attention_mask), states.dtype)

    def _cross_mask(self, target: torch.Tensor, source: torch.Tensor, source_mask: torch.Tensor | None) -> Any:
        """The mask that cross-attention takes, of its shape: the targets of one source joined into one."""
        grouped = target.reshape(source.shape[0], -1, target.shape[-1])  # [B / k, k * T, D]
        return create_bidirectional_mask(
            config=self.config, inputs_embeds=grouped, attention_mask=source_mask, encoder_hidden_states=source
        )

    def _cross_rotary(
        self, rotary: Rotary | None, target: torch.Tensor, source: torch.Tensor, source_mask: torch.Tensor | None
    ) -> tuple[Rotary | None, Rotary | None]:
        """Rotary positions of the joined targets and of the source in cross-attention; both None without them."""
        of_source = self.source_rotary(source, source_mask)
        if rotary is None or of_source is None:
            return None, None
        cos, sin = (
            table.expand(target.shape[0], -1, -1, -1).reshape(source.shape[0], 1, -1, table.shape[-1])
            for table in rotary
        )  # [B, 1, T, E/2] to [B / k, 1, k * T, E/2]
        return (cos, sin), of_source


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
            decoder_new_num_tokens: Rows of the target embedding. If not given, as many as `new_num_tokens`, or, of two
                vocabularies of different sizes, as many more as the source gets: a tokenizer adds tokens to both.

        Raises:
            ValueError: if source and target share one matrix but the sizes differ; or if the vocabularies have
                different sizes and `new_num_tokens` alone would cut the source's.
        """
        source, target = self.encoder.embed_tokens, self.decoder.embed_tokens
        if decoder_new_num_tokens is None:
            decoder_new_num_tokens, rows = new_num_tokens, target.num_embeddings
            if new_num_tokens is not None and rows != source.num_embeddings:
                more = new_num_tokens - source.num_embeddings
                if more < 0:
                    raise ValueError(
                        f"new_num_tokens is {new_num_tokens}, which cuts the source vocabulary of "
                        f"{source.num_embeddings}, and the target vocabulary has {rows} rows. Give its size too: "
                        f"decoder_new_num_tokens={rows} keeps it."
                    )
                decoder_new_num_tokens = rows + more
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
        cache: EncoderDecoderCache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | GlossaModelOutput:
        """Source [B, S] and target [B, T] to hidden states of the decoder [B, T, D]; masks are 0 at padding."""
        encoded = encoder_outputs
        if encoder_outputs is None:
            source = {"input_ids": input_ids, "attention_mask": attention_mask, "inputs_embeds": inputs_embeds}
            encoded = self.encoder(**source, return_dict=True, **kwargs)
        elif not isinstance(encoder_outputs, BaseModelOutput):
            encoded = BaseModelOutput(*encoder_outputs)
        decoder_outputs = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            encoder_hidden_states=encoded.last_hidden_state,
            encoder_attention_mask=attention_mask,
            past_key_values=past_key_values,
            cache=cache,
            inputs_embeds=decoder_inputs_embeds,
            position_ids=decoder_position_ids,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        return GlossaModelOutput(
            last_hidden_state=decoder_outputs.last_hidden_state,
            **{CACHE: decoder_outputs.get(CACHE)},
            decoder_hidden_states=decoder_outputs.hidden_states,
            decoder_attentions=decoder_outputs.attentions,
            cross_attentions=decoder_outputs.cross_attentions,
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.hidden_states,
            encoder_attentions=encoded.attentions,
            encoder_router_logits=getattr(encoded, "router_logits", None),
            decoder_router_logits=decoder_outputs.router_logits,
            alignment_scores=decoder_outputs.alignment_scores,
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
        """Like [`GlossaModel.resize_token_embeddings`]; the output layer follows the target embedding."""
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
        cache: EncoderDecoderCache | None = None,
        alignments: torch.Tensor | None = None,
        smoothing: float = 0.0,
        return_logits: bool = True,
        return_dict: bool | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> tuple | Seq2SeqLMOutput:
        """Logits [B, T, V] and, with `labels` [B, T], the loss.

        Args:
            input_ids: Source [B, S], or `inputs_embeds` [B, S, D], or `encoder_outputs`.
            attention_mask: [B, S], 0 at source padding.
            decoder_input_ids: Target [B, T], or `decoder_inputs_embeds` [B, T, D]; made from `labels` if not given.
            decoder_attention_mask: [B, cached + T], 0 at target padding; needed only for padding on the left.
            decoder_position_ids: [1 or B, T]; counted from that mask if not given.
            labels: [B, T], not shifted; -100 is ignored.
            logits_to_keep: Compute logits only for this many last positions, or for these positions; 0 means all.
            num_items_in_batch: Number of labels in all batches of one optimizer step; the loss is divided by it.
            alignments: [B, T, S], for each label the shares of the source tokens that it translates, or zeros; used in
                training if the model has an `alignment_layer`.
            smoothing: Probability that the loss moves from the label to other tokens (Szegedy et al. 2016,
                section 7), as `label_smoothing_type` says. Trainers take an argument with "label" for a label.
            return_logits: `False` lets training leave out the logits: the loss is computed at the labels, in chunks
                ([`chunked_cross_entropy`]), which takes less time and memory.
            return_dict: `False` for a tuple.
        """
        return_dict = self.config.return_dict if return_dict is None else return_dict
        use_cache = use_cache if labels is None else False
        if labels is not None and decoder_input_ids is None and decoder_inputs_embeds is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values,
            cache=cache,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            decoder_position_ids=decoder_position_ids,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        states = outputs.last_hidden_state[:, kept]
        logits, loss = self.logits_and_loss(states, labels, num_items_in_batch, smoothing, return_logits)
        if labels is not None and self.training:
            loss = self._training_loss(loss, outputs, attention_mask, labels, alignments, num_items_in_batch)
        return _output(outputs, logits, loss, return_dict)

    def _training_loss(
        self,
        loss: torch.Tensor,
        outputs: GlossaModelOutput,
        attention_mask: torch.Tensor | None,
        labels: torch.Tensor,
        alignments: torch.Tensor | None,
        items: torch.Tensor | int | None,
    ) -> torch.Tensor:
        """`loss` with what training adds: for the load of experts, and for the head that aligns."""
        loss = loss + self.balance_loss(outputs.encoder_router_logits, attention_mask, labels, items)
        loss = loss + self.balance_loss(outputs.decoder_router_logits, labels != -100, labels, items)
        scores = outputs.alignment_scores
        if alignments is None or scores is None:
            return loss
        return loss + alignment_loss(scores, alignments, attention_mask, labels, items)

    def balance_loss(
        self,
        router_logits: tuple[torch.Tensor, ...] | None,
        mask: torch.Tensor | None,
        labels: torch.Tensor,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> torch.Tensor | float:
        """The term of the training loss for the load of one side's experts, summed over its layers; 0 without experts.

        It is multiplied by `router_aux_loss_coef`, and by the batch's share of the labels of all batches of an
        optimizer step.

        Args:
            router_logits: [N, experts] of each layer.
            mask: [B, L], 0 at padding, which does not count.
            labels: [B, T], -100 if there is none.
            num_items_in_batch: Number of labels in all batches of one optimizer step.
        """
        if router_logits is None:
            return 0.0
        each = [load_balancing_loss(logits, self.config.num_experts_per_tok, mask) for logits in router_logits]
        total = self.config.router_aux_loss_coef * torch.stack(each).sum()
        if num_items_in_batch is None:
            return total
        return total * (labels != -100).sum() / num_items_in_batch

    def logits_and_loss(
        self,
        states: torch.Tensor,
        labels: torch.Tensor | None,
        num_items_in_batch: torch.Tensor | int | None = None,
        smoothing: float = 0.0,
        return_logits: bool = True,
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Logits [B, T, V] of hidden states [B, T, D] and, with `labels` [B, T], the loss; see [`forward`]."""
        if labels is None:
            return self.lm_head(states), None
        excludes_padding = self.config.label_smoothing_type == "exclude_padding"
        excluded = self.config.pad_token_id if excludes_padding else None
        options = smoothing, excluded, num_items_in_batch
        # Adapters, quantized layers and biases are more than states times weight; a compiler fuses on its own.
        head = self.lm_head
        plain = type(head) is nn.Linear and head.bias is None and not is_torchdynamo_compiling()
        if self.training and plain and not return_logits:
            return None, chunked_cross_entropy(states, head.weight, labels, *options)
        logits = self.lm_head(states)
        return logits, smoothed_cross_entropy(logits, labels, *options)


def _output(
    outputs: GlossaModelOutput, logits: torch.Tensor | None, loss: torch.Tensor | None, return_dict: bool
) -> Seq2SeqLMOutput | tuple:
    """Logits and loss with what the model has returned, but for what only training needs."""
    output = Seq2SeqLMOutput(
        loss=loss,
        logits=logits,
        **{CACHE: outputs.get(CACHE)},
        decoder_hidden_states=outputs.decoder_hidden_states,
        decoder_attentions=outputs.decoder_attentions,
        cross_attentions=outputs.cross_attentions,
        encoder_last_hidden_state=outputs.encoder_last_hidden_state,
        encoder_hidden_states=outputs.encoder_hidden_states,
        encoder_attentions=outputs.encoder_attentions,
    )
    return output if return_dict else output.to_tuple()


FORWARD.update({kind: kind.forward for kind in (GlossaDecoder, GlossaDecoderLayer)})

# A saved folder carries this code, for `trust_remote_code=True` without Glossa installed.
GlossaModel.register_for_auto_class("AutoModel")
GlossaForConditionalGeneration.register_for_auto_class("AutoModelForSeq2SeqLM")

__all__ = ["GlossaForConditionalGeneration", "GlossaModel", "GlossaPreTrainedModel"]
