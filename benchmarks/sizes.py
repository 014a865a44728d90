"""The sizes that are measured, one architecture for every contender, and the operations that its shapes ask for."""

from transformers import MarianConfig, PreTrainedTokenizerBase

from glossa.configuration_glossa import PUBLISHED_2017, GlossaConfig

# Width, inner width of the feed-forward, layers of encoder and of decoder, heads.
SIZES = {"tiny": (128, 256, 4, 4), "small": (256, 1024, 4, 4), "base": (512, 2048, 6, 8)}
DROPOUT = 0.1
LABEL_SMOOTHING = 0.1
POSITIONS = 512


def glossa_config(size: str, tokenizer: PreTrainedTokenizerBase, architecture: str = "published") -> GlossaConfig:
    """A Glossa model of that size: of the published architecture, or of Glossa's own, the "modern" one.

    Glossa's own has a gated feed-forward of two thirds the inner width, so that both weigh nearly the same.
    """
    d_model, ffn, layers, heads = SIZES[size]
    settings: dict = {"dropout": DROPOUT, "label_smoothing": LABEL_SMOOTHING}
    if architecture == "published":
        settings |= PUBLISHED_2017
    else:
        ffn = -(-ffn * 2 // 3 // 64) * 64
        settings["key_value_heads"] = heads // 2
    return GlossaConfig(
        vocab_size=len(tokenizer),
        d_model=d_model,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=ffn,
        decoder_ffn_dim=ffn,
        max_source_positions=POSITIONS,
        max_target_positions=POSITIONS,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        **settings,
    )


def marian_config(config: GlossaConfig) -> MarianConfig:
    """MarianMT of the same dimensions; of 3/2 the inner width where Glossa's feed-forward is gated."""
    wider = 1.5 if config.gated_feed_forward else 1
    return MarianConfig(
        vocab_size=config.vocab_size,
        d_model=config.d_model,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.encoder_attention_heads,
        decoder_attention_heads=config.decoder_attention_heads,
        encoder_ffn_dim=int(config.encoder_ffn_dim * wider),
        decoder_ffn_dim=int(config.decoder_ffn_dim * wider),
        max_position_embeddings=config.max_source_positions,
        activation_function="relu",
        scale_embedding=True,
        dropout=config.dropout,
        forced_eos_token_id=None,
        pad_token_id=config.pad_token_id,
        eos_token_id=config.eos_token_id,
        bos_token_id=config.bos_token_id,
        decoder_start_token_id=config.decoder_start_token_id,
    )


def forward_flops(config: GlossaConfig, rows: int, source: int, target: int) -> int:
    """Operations of the matrix multiplications in one forward pass of [rows, source] and [rows, target] tokens.

    Padding counts as tokens do: it is multiplied alike. A backward pass asks for twice as many.
    """
    encoder, decoder = config.encoder_layers, config.decoder_layers
    width = _attention_width(config, config.encoder_attention_heads)
    flops = encoder * (_projections(config, width, source, source) + 4 * source * source * width)
    flops += encoder * _feed_forward(config, config.encoder_ffn_dim, source)
    width = _attention_width(config, config.decoder_attention_heads)
    flops += decoder * (_projections(config, width, target, target) + 4 * target * target * width)
    flops += decoder * (_projections(config, width, target, source) + 4 * target * source * width)
    flops += decoder * _feed_forward(config, config.decoder_ffn_dim, target)
    flops += 2 * target * config.d_model * config.decoder_vocab_size
    return rows * flops


def _attention_width(config: GlossaConfig, heads: int) -> int:
    return heads * (config.head_dim or config.d_model // heads)


def _projections(config: GlossaConfig, width: int, queries: int, keys: int) -> int:
    """Query and output projections of `queries` tokens, key and value projections of `keys` tokens."""
    shared = config.encoder_attention_heads // (config.key_value_heads or config.encoder_attention_heads)
    return 4 * queries * config.d_model * width + 4 * keys * config.d_model * width // shared


def _feed_forward(config: GlossaConfig, inner: int, tokens: int) -> int:
    return 2 * tokens * config.d_model * inner * (3 if config.gated_feed_forward else 2)
