"""The configuration of a Glossa model: its architecture and loss, but not decoding or training."""

from typing import Any, Literal

from huggingface_hub.dataclasses import strict
from transformers.activations import ACT2FN
from transformers.configuration_utils import PreTrainedConfig

# The architecture of Vaswani et al. 2017 without its sizes: `GlossaConfig(**PUBLISHED_2017, d_model=512, ...)`.
# Post-norm and no norm after the last layer (section 3.1), as many key-value heads as query heads (section 3.2.2),
# a feed-forward with ReLU (section 3.3), sinusoidal positions (section 3.5). The paper does not give the biases of
# attention or the epsilon of the norm: both are as in `torch.nn.Transformer` and MarianMT.
PUBLISHED_2017 = {
    "position_embedding_type": "sinusoidal", "norm_position": "post", "norm_type": "layer", "norm_eps": 1e-5,
    "final_norm": False, "num_key_value_heads": None, "gated_feed_forward": False, "activation_function": "relu",
    "query_key_value_bias": True, "attention_output_bias": True, "feed_forward_bias": True,
}  # fmt: skip


@strict
class GlossaConfig(PreTrainedConfig):
    """Configuration of [`GlossaModel`] and [`GlossaForConditionalGeneration`].

    The defaults give a small modern translation model: pre-norm, RMSNorm, rotary positions, grouped-query attention,
    SwiGLU and one embedding matrix for source, target and output.

    Args:
        vocab_size (`int`, defaults to 8000): Rows of the source embedding, or of all embeddings if they are shared.
        decoder_vocab_size (`int`, *optional*): Rows of the target embedding and of the output layer; `vocab_size`
            if not given.
        d_model (`int`, defaults to 256): Width of the residual stream.
        encoder_layers (`int`, defaults to 4): Layers of the encoder.
        decoder_layers (`int`, defaults to 4): Layers of the decoder.
        encoder_attention_heads (`int`, defaults to 4): Query heads of each encoder layer.
        decoder_attention_heads (`int`, defaults to 4): Query heads of each decoder layer.
        num_key_value_heads (`int`, *optional*, defaults to 2): Key and value heads of every attention; must divide the
            number of query heads (Ainslie et al. 2023). 1 is multi-query attention, `None` one for each query head.
        head_dim (`int`, *optional*): Width of a head; `d_model` divided by the number of heads if not given. It and
            `num_key_value_heads` are filled in if they are the same for encoder and decoder.
        kv_lora_rank (`int`, *optional*): Width of the latent that keys and values of all heads are projected from, in
            self-attention and cross-attention; the cache holds the latent (multi-head latent attention, DeepSeek-AI
            2024, arXiv 2405.04434, section 2.1). It needs `num_key_value_heads` `None`, or the number of query heads.
            The latents are normalized like all states (`norm_type`).
        q_lora_rank (`int`, *optional*): Width of the latent of the queries in latent attention; `None` projects
            queries from the states.
        qk_rope_head_dim (`int`, *optional*): Elements of each query, and of one key for all heads, that latent
            attention adds for rotary positions; half of `head_dim` if not given (section 3.1.2 of the same paper).
        encoder_ffn_dim (`int`, defaults to 704): Inner width of the encoder's feed-forward. 704 is two thirds of
            4 x 256, rounded up to a multiple of 64: three gated matrices then have as many parameters as two plain
            ones (Shazeer 2020, section 2).
        decoder_ffn_dim (`int`, defaults to 704): Inner width of the decoder's feed-forward.
        activation_function (`str`, defaults to `"silu"`): Name of any activation in transformers.
        gated_feed_forward (`bool`, defaults to `True`): `down(act(gate(x)) * up(x))` instead of
            `down(act(up(x)))`; with `silu` this is SwiGLU (Shazeer 2020).
        num_local_experts (`int`, *optional*): Networks in every feed-forward, each with the inner width of the
            feed-forward; a router chooses among them for each token (mixture of experts). `None` is one network.
        num_experts_per_tok (`int`, defaults to 2): Experts that the router chooses for each token: 1 as in Fedus et
            al. 2021 (Switch), 2 as in Jiang et al. 2024 (Mixtral).
        num_shared_experts (`int`, defaults to 0): Experts that read every token in addition to the experts chosen by
            the router (Dai et al. 2024, section 3.2).
        router_aux_loss_coef (`float`, defaults to 0.01): Factor of the loss that balances the load of the experts
            (Fedus et al. 2021, section 2.2). It is part of the training loss, but not of the evaluation loss.
        position_embedding_type (`str`, defaults to `"rotary"`): `"rotary"` (Su et al. 2021; in self-attention),
            `"sinusoidal"` (Vaswani et al. 2017, section 3.5; all sines, then all cosines) or `"learned"`.
        rotary_base (`float`, defaults to 10000.0): Base of the rotary wavelengths (Su et al. 2021, section 3.2.2).
        rotary_cross_attention (`bool`, defaults to `False`): Rotary positions in cross-attention too: queries are
            rotated by their position in the target, keys by their position in the source.
        max_source_positions (`int`, defaults to 512): Longest source in tokens. Only learned positions
            enforce it; rotary and sinusoidal positions have no limit.
        max_target_positions (`int`, defaults to 512): Longest target in tokens, likewise.
        dropout (`float`, defaults to 0.1): Dropout of embeddings and of each sublayer's output (Vaswani et al.
            2017, section 5.4).
        attention_dropout (`float`, defaults to 0.0): Dropout of attention weights.
        activation_dropout (`float`, defaults to 0.0): Dropout inside the feed-forward.
        norm_type (`str`, defaults to `"rms"`): `"rms"` (Zhang and Sennrich 2019) or `"layer"` (Ba et al. 2016).
        norm_position (`str`, defaults to `"pre"`): `"pre"` (before each sublayer) or `"post"` (after each residual
            addition); compared by Xiong et al. 2020.
        norm_eps (`float`, defaults to 1e-6): Added to the variance (or mean square) in norms.
        final_norm (`bool`, defaults to `True`): A norm at the end of encoder and decoder, as pre-norm needs.
        embedding_norm (`bool`, defaults to `False`): A norm on the sum of token and position embedding.
        query_key_value_bias (`bool`, defaults to `False`): Biases on the three input projections of attention.
        attention_output_bias (`bool`, defaults to `False`): Bias on the output projection of attention.
        feed_forward_bias (`bool`, defaults to `False`): Biases in the feed-forward.
        scale_embedding (`bool`, defaults to `True`): Multiply token embeddings by sqrt(d_model) (Vaswani et al.
            2017, section 3.4).
        tie_word_embeddings (`bool`, defaults to `True`): Output layer and target embedding share one matrix (Press
            and Wolf 2017). `False` keeps all matrices separate.
        share_encoder_decoder_embeddings (`bool`, defaults to `True`): The source embedding shares that matrix
            too; needs one vocabulary and `tie_word_embeddings`.
        initialization (`str`, defaults to `"xavier_uniform"`): `"xavier_uniform"` (linear layers; embeddings
            are normal with standard deviation d_model^-0.5, or 1 if they are neither scaled nor tied) or `"normal"`
            (everything, with standard deviation `init_std`).
        init_std (`float`, defaults to 0.02): Standard deviation of `"normal"` initialization.
        label_smoothing_type (`str`, defaults to `"uniform"`): Where a loss that is asked for label smoothing moves the
            probability: `"uniform"` over the whole vocabulary, as torch does; `"exclude_padding"` over all tokens
            except the label and padding.
        text_profile (`dict`, *optional*): What the model has learned about texts, which pipelines read: see
            `TextProfile` in `profile_glossa.py`. Training writes it.
        alignment_layer (`int`, *optional*): Decoder layer, from 0, whose first cross-attention head was trained to
            align words (Garg et al. 2019): what it attends to where a token is predicted is what the token translates.
            Training sets it with `alignment_head`.
        source_language (`str`, *optional*): Code of the language that it translates, such as `"en"`. Training sets it.
        target_language (`str` or `list[str]`, *optional*): Code of the language that it translates into, or codes of
            several; a source then begins with the token of the wanted one. Training sets it.
        use_cache (`bool`, defaults to `True`): Return keys and values, so that a decoding step reads only the
            new token.
        pad_token_id (`int`, defaults to 0): Padding.
        eos_token_id (`int`, defaults to 1): End of a sentence.
        bos_token_id (`int`, defaults to 2): Start of a sentence.
        decoder_start_token_id (`int`, defaults to 2): The decoder's first input.

    Raises:
        ValueError: if sizes do not fit together; the message names the field, its value and what is allowed.
    """

    model_type = "glossa"
    keys_to_ignore_at_inference = ["past_key_values", "cache"]  # before and since transformers 5.24
    attribute_map = {
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
        "key_value_heads": "num_key_value_heads",  # the name in older folders
    }

    vocab_size: int = 8000
    decoder_vocab_size: int | None = None
    d_model: int = 256
    encoder_layers: int = 4
    decoder_layers: int = 4
    encoder_attention_heads: int = 4
    decoder_attention_heads: int = 4
    num_key_value_heads: int | None = 2
    head_dim: int | None = None
    kv_lora_rank: int | None = None
    q_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    encoder_ffn_dim: int = 704
    decoder_ffn_dim: int = 704
    activation_function: str = "silu"
    gated_feed_forward: bool = True
    num_local_experts: int | None = None
    num_experts_per_tok: int = 2
    num_shared_experts: int = 0
    router_aux_loss_coef: float | int = 0.01
    position_embedding_type: Literal["rotary", "sinusoidal", "learned"] = "rotary"
    rotary_base: float | int = 10000.0
    rotary_cross_attention: bool = False
    max_source_positions: int = 512
    max_target_positions: int = 512
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    norm_type: Literal["rms", "layer"] = "rms"
    norm_position: Literal["pre", "post"] = "pre"
    norm_eps: float | int = 1e-6
    final_norm: bool = True
    embedding_norm: bool = False
    query_key_value_bias: bool = False
    attention_output_bias: bool = False
    feed_forward_bias: bool = False
    scale_embedding: bool = True
    tie_word_embeddings: bool = True
    share_encoder_decoder_embeddings: bool = True
    initialization: Literal["xavier_uniform", "normal"] = "xavier_uniform"
    init_std: float | int = 0.02
    label_smoothing_type: Literal["uniform", "exclude_padding"] = "uniform"
    text_profile: dict[str, Any] | None = None
    alignment_layer: int | None = None
    source_language: str | None = None
    target_language: str | list[str] | None = None
    use_cache: bool = True
    is_encoder_decoder: bool = True
    pad_token_id: int | None = 0
    eos_token_id: int | list[int] | None = 1
    bos_token_id: int | None = 2
    decoder_start_token_id: int | None = 2

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs):
        """As in transformers, but fields in `kwargs` are checked with the others; transformers would only set them."""
        given = {name: kwargs.pop(name) for name in list(kwargs) if cls._current(name) in cls.__annotations__}
        settings = {cls._current(name): value for name, value in [*config_dict.items(), *given.items()]}
        return super().from_dict(settings, **kwargs)

    @classmethod
    def _current(cls, name: str) -> str:
        return cls.attribute_map.get(name, name)

    def __post_init__(self, **kwargs):
        for name in self.attribute_map.keys() & kwargs.keys():
            setattr(self, self._current(name), kwargs.pop(name))
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        if self.encoder_attention_heads == self.decoder_attention_heads:
            self._fill_heads(self.encoder_attention_heads)
        super().__post_init__(**kwargs)

    def _fill_heads(self, heads: int):
        """Fill in the shape of cached keys and values, which transformers and PEFT read from the configuration."""
        if self.num_key_value_heads is None:
            self.num_key_value_heads = heads
        if self.head_dim is None and heads > 0 and self.d_model % heads == 0:
            self.head_dim = self.d_model // heads
        rotary = self.kv_lora_rank is not None and self.position_embedding_type == "rotary"
        if rotary and self.qk_rope_head_dim is None and self.head_dim is not None and self.head_dim % 4 == 0:
            self.qk_rope_head_dim = self.head_dim // 2

    def validate_architecture(self):
        """Check that the sizes fit together; `@strict` calls it."""
        positive = ("vocab_size", "decoder_vocab_size", "d_model", "encoder_layers", "decoder_layers")
        positive += ("encoder_ffn_dim", "decoder_ffn_dim", "max_source_positions", "max_target_positions")
        positive += ("encoder_attention_heads", "decoder_attention_heads")
        for field in positive:
            if getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}; it must be at least 1.")
        for field in ("num_key_value_heads", "head_dim", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"):
            if getattr(self, field) is not None and getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}; it must be at least 1, or None.")
        for field in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0 <= getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}; it must be at least 0 and below 1.")
        for field in ("encoder_attention_heads", "decoder_attention_heads"):
            self._validate_heads(field)
        self._validate_positions()
        self._validate_latents()
        self._validate_experts()
        self._validate_token_ids()
        if self.alignment_layer is not None and not 0 <= self.alignment_layer < self.decoder_layers:
            raise ValueError(
                f"alignment_layer is {self.alignment_layer}; it must be at least 0 and below decoder_layers "
                f"({self.decoder_layers}), or None."
            )
        if self.activation_function not in ACT2FN:
            names = ", ".join(sorted(ACT2FN))
            raise ValueError(f"activation_function is {self.activation_function!r}; it must be one of {names}.")
        if self.shares_embeddings and self.vocab_size != self.decoder_vocab_size:
            raise ValueError(
                f"decoder_vocab_size is {self.decoder_vocab_size} and vocab_size {self.vocab_size}; shared "
                "embeddings need one size. Set share_encoder_decoder_embeddings to False."
            )

    @property
    def shares_embeddings(self) -> bool:
        """Whether source, target and output have one embedding matrix."""
        return self.tie_word_embeddings and self.share_encoder_decoder_embeddings

    def _validate_heads(self, field: str):
        heads = getattr(self, field)
        if self.head_dim is None and self.d_model % heads:
            raise ValueError(f"{field} is {heads}; it must divide d_model ({self.d_model}) unless head_dim is given.")
        if self.num_key_value_heads is not None and heads % self.num_key_value_heads:
            raise ValueError(f"num_key_value_heads is {self.num_key_value_heads}; it must divide {field} ({heads}).")
        head_dim = self.head_dim or self.d_model // heads
        if self.position_embedding_type != "rotary":
            return
        if self.kv_lora_rank is None and head_dim % 2:
            raise ValueError(f"The head size is {head_dim} ({field} {heads}); rotary positions need an even number.")
        if self.kv_lora_rank is not None and self.qk_rope_head_dim is None and head_dim % 4:
            raise ValueError(
                f"The head size is {head_dim} ({field} {heads}), and half of it is odd; the rotary part "
                "of latent attention needs an even number. Give qk_rope_head_dim."
            )

    def _validate_positions(self):
        if self.position_embedding_type == "sinusoidal" and self.d_model % 2:
            raise ValueError(f"d_model is {self.d_model}; sinusoidal positions need an even number.")
        if self.rotary_cross_attention and self.position_embedding_type != "rotary":
            raise ValueError(
                f"rotary_cross_attention is True and position_embedding_type {self.position_embedding_type!r}; it "
                "must be 'rotary', or rotary_cross_attention False."
            )

    def _validate_latents(self):
        if self.kv_lora_rank is None:
            for field in ("q_lora_rank", "qk_rope_head_dim"):
                if getattr(self, field) is not None:
                    raise ValueError(
                        f"{field} is {getattr(self, field)} and kv_lora_rank None; {field} is a setting of latent "
                        "attention. Set kv_lora_rank too, or neither."
                    )
            return
        for field in ("encoder_attention_heads", "decoder_attention_heads"):
            if self.num_key_value_heads not in (None, getattr(self, field)):
                raise ValueError(
                    f"num_key_value_heads is {self.num_key_value_heads} and {field} {getattr(self, field)}; latent "
                    "attention (kv_lora_rank) has a key and a value for every query head. Set num_key_value_heads to "
                    "the number of heads, or to None where encoder and decoder differ in it."
                )
        if self.qk_rope_head_dim is not None and self.position_embedding_type != "rotary":
            raise ValueError(
                f"qk_rope_head_dim is {self.qk_rope_head_dim} and position_embedding_type "
                f"{self.position_embedding_type!r}; it must be None without rotary positions."
            )
        if self.qk_rope_head_dim is not None and self.qk_rope_head_dim % 2:
            raise ValueError(f"qk_rope_head_dim is {self.qk_rope_head_dim}; rotary positions need an even number.")

    def _validate_experts(self):
        if self.router_aux_loss_coef < 0:
            raise ValueError(f"router_aux_loss_coef is {self.router_aux_loss_coef}; it must be at least 0.")
        if self.num_shared_experts < 0:
            raise ValueError(f"num_shared_experts is {self.num_shared_experts}; it must be at least 0.")
        if self.num_local_experts is None:
            if self.num_shared_experts:
                raise ValueError(
                    f"num_shared_experts is {self.num_shared_experts} and num_local_experts None; shared experts "
                    "are added to others. Set num_local_experts too, or num_shared_experts to 0."
                )
            return
        if self.num_local_experts < 2:
            raise ValueError(f"num_local_experts is {self.num_local_experts}; it must be at least 2, or None.")
        if not 1 <= self.num_experts_per_tok <= self.num_local_experts:
            raise ValueError(
                f"num_experts_per_tok is {self.num_experts_per_tok}; it must be at least 1 and at most "
                f"num_local_experts ({self.num_local_experts})."
            )

    def _validate_token_ids(self):
        rows = {"pad_token_id": min(self.vocab_size, self.decoder_vocab_size)}
        rows |= dict.fromkeys(("eos_token_id", "decoder_start_token_id"), self.decoder_vocab_size)
        for field, size in rows.items():
            value = getattr(self, field)
            for token in value if isinstance(value, list) else [value]:
                if token is not None and token >= size:
                    raise ValueError(
                        f"{field} is {token}; it must be below the number of embeddings ({size}, the size of the "
                        "vocabulary)."
                    )

    @property
    def target_languages(self) -> list[str]:
        """The codes of several target languages; empty if there is one."""
        return list(self.target_language) if isinstance(self.target_language, list) else []

    @property
    def qk_head_dim(self) -> int | None:
        """Width of queries and keys in latent attention; transformers reads it to recognize such models."""
        if self.kv_lora_rank is None:
            return None
        head_dim = self.head_dim or self.d_model // self.decoder_attention_heads
        if self.position_embedding_type != "rotary":
            return head_dim
        return head_dim + (self.qk_rope_head_dim or head_dim // 2)


# A saved folder carries this code, for `trust_remote_code=True` without Glossa installed.
GlossaConfig.register_for_auto_class()

__all__ = ["PUBLISHED_2017", "GlossaConfig"]
