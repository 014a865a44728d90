"""The number of parameters, counted by hand."""

import pytest
import torch

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.model.configuration_glossa import PUBLISHED_2017

# Vaswani et al. 2017, table 3, "base", with the shared vocabulary of 37,000 tokens.
PAPER_BASE = PUBLISHED_2017 | {
    "vocab_size": 37000, "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
    "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048,
}  # fmt: skip
SMALL = {"vocab_size": 100, "decoder_vocab_size": 60, "d_model": 8, "share_encoder_decoder_embeddings": False}


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        # One embedding 8000 x 256. Attention: query and output 256 x 256 each, key and value 256 x 128 each.
        # Feed-forward: three matrices 256 x 704. Norms of 256: 2 per encoder layer, 3 per decoder layer, 2 final.
        ({}, 8000 * 256 + 4 * (196_608 + 3 * 256 * 704 + 2 * 256) + 4 * (2 * 196_608 + 3 * 256 * 704 + 3 * 256)
         + 2 * 256),
        # Attention 4 x (512 x 512 + 512) = 1,050,624; feed-forward 2 x 512 x 2048 + 2048 + 512 = 2,099,712; norm 1024.
        (PAPER_BASE, 18_944_000 + 6 * (1_050_624 + 2_099_712 + 2 * 1024) + 6 * (2_101_248 + 2_099_712 + 3 * 1024)),
        # Untied, learned, multi-query, heads of 6. Embeddings 100 x 8, 60 x 8, output 60 x 8, positions (20 + 30) x 8.
        # Encoder attention: query 8 x 12 + 12, key and value 2 x (8 x 6 + 6), output 12 x 8: 312. Decoder attention:
        # 8 x 24 + 24 + 108 + 24 x 8 = 516. Norms of 16: two of embeddings, two final.
        (
            SMALL | {
                "tie_word_embeddings": False, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2,
                "num_key_value_heads": 1, "head_dim": 6, "encoder_ffn_dim": 10, "decoder_ffn_dim": 12,
                "position_embedding_type": "learned", "max_source_positions": 20, "max_target_positions": 30,
                "norm_type": "layer", "embedding_norm": True, "query_key_value_bias": True,
            },
            800 + 480 + 480 + 400 + 4 * 16 + (312 + 240 + 32) + 2 * (2 * 516 + 288 + 48),
        ),
        # Output tied to the target only. Attention 4 x 8 x 8 = 256, plain feed-forward 2 x 8 x 16 = 256, norms of 8.
        (
            SMALL | {
                "encoder_layers": 1, "decoder_layers": 1, "num_key_value_heads": None, "encoder_ffn_dim": 16,
                "decoder_ffn_dim": 16, "gated_feed_forward": False, "final_norm": False,
            },
            800 + 480 + (256 + 256 + 2 * 8) + (2 * 256 + 256 + 3 * 8),
        ),
        # As the first, with a latent of 100 for keys and values and one of 90 for queries, heads of 64 with 32
        # elements for rotary positions. Self-attention: queries 256 x 90 + 90 + 90 x 4 x 96; latent
        # 256 x (100 + 32) + 100; keys and values 100 x 4 x 128; output 256 x 256: 208,318. Cross-attention has no
        # rotary part: 64 instead of 96, and 100 instead of 132, so 11,520 + 8,192 fewer.
        (
            {"num_key_value_heads": None, "kv_lora_rank": 100, "q_lora_rank": 90},
            8000 * 256 + 4 * (208_318 + 3 * 256 * 704 + 2 * 256)
            + 4 * (208_318 + 188_606 + 3 * 256 * 704 + 3 * 256) + 2 * 256,
        ),
        # As the first, with five experts, one of them shared, and routers of 256 x 4.
        (
            {"num_local_experts": 4, "num_shared_experts": 1},
            8000 * 256 + 4 * (196_608 + 5 * 3 * 256 * 704 + 1024 + 2 * 256)
            + 4 * (2 * 196_608 + 5 * 3 * 256 * 704 + 1024 + 3 * 256) + 2 * 256,
        ),
    ],
    ids=["default", "paper", "untied", "target-tied", "latent", "experts"],
)  # fmt: skip
def test_number_of_parameters_by_hand(settings, parameters):
    with torch.device("meta"):
        model = GlossaForConditionalGeneration(GlossaConfig(**settings))
    model.tie_weights()
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_the_numbers_by_hand_in_full():
    with torch.device("meta"):
        assert GlossaForConditionalGeneration(GlossaConfig()).num_parameters() == 8_738_304
        assert GlossaForConditionalGeneration(GlossaConfig(**PAPER_BASE)).num_parameters() == 63_082_496
