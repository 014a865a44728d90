"""The model sizes that are measured, in one architecture for every contender, and their number of operations."""

from transformers import MarianConfig, PreTrainedTokenizerBase

from glossa.model.configuration_glossa import PUBLISHED_2017, GlossaConfig

# Width, inner width of the feed-forward, layers of encoder and of decoder, heads.
SIZES = {"tiny": (128, 256, 4, 4), "small": (256, 1024, 4, 4), "base": (512, 2048, 6, 8), "big": (1024, 4096, 6, 16)}

DROPOUT = 0.1
LABEL_SMOOTHING = 0.1
POSITIONS = 512


def glossa_config(size: str, tokenizer: PreTrainedTokenizerBase) -> GlossaConfig:
    """A Glossa model of this size, with the architecture of the other models."""
    d_model, ffn, layers, heads = SIZES[size]
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
        dropout=DROPOUT,
        label_smoothing=LABEL_SMOOTHING,
        **PUBLISHED_2017,
    )


def marian_config(config: GlossaConfig) -> MarianConfig:
    """MarianMT with the same dimensions, and 3/2 the inner width if Glossa's feed-forward is gated."""
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

    Padding counts like real tokens, since it is multiplied too. A backward pass takes twice as many operations.
    """
    return rows * (
        config.encoder_layers * _attention(config, config.encoder_attention_heads, source, source)
        + config.encoder_layers * _feed_forward(config, config.encoder_ffn_dim, source)
        + config.decoder_layers * _attention(config, config.decoder_attention_heads, target, target)
        + config.decoder_layers * _attention(config, config.decoder_attention_heads, target, source)
        + config.decoder_layers * _feed_forward(config, config.decoder_ffn_dim, target)
        + 2 * target * config.d_model * config.decoder_vocab_size
    )


def _attention(config: GlossaConfig, heads: int, queries: int, keys: int) -> int:
    """Attention with `heads` query heads, from `queries` tokens to `keys` tokens."""
    head_dim = config.head_dim or config.d_model // heads
    query_width, key_width = heads * head_dim, (config.num_key_value_heads or heads) * head_dim
    # Query and output projections; key and value projections; scores, and the sums weighted by them.
    projections = 4 * queries * config.d_model * query_width + 4 * keys * config.d_model * key_width
    return projections + 4 * queries * keys * query_width


def _feed_forward(config: GlossaConfig, inner: int, tokens: int) -> int:
    return 2 * tokens * config.d_model * inner * (3 if config.gated_feed_forward else 2)
