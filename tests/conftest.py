"""Tiny models, shared by the tests of the model, its generation and its saved folder."""

import pytest
import torch
from glossa import GlossaConfig, GlossaForConditionalGeneration

torch.set_num_threads(1)  # models this small lose more by handing work around than they win

TINY = {
    "vocab_size": 50,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_source_positions": 32,
    "max_target_positions": 32,
    "dropout": 0.0,
}
ARCHITECTURES = {
    "default": {},
    "sinusoidal": {
        "position_embedding_type": "sinusoidal",
        "norm_position": "post",
        "norm_type": "layer",
        "final_norm": False,
        "key_value_heads": None,
        "gated_feed_forward": False,
        "activation_function": "relu",
        "query_key_value_bias": True,
        "attention_output_bias": True,
        "feed_forward_bias": True,
    },
    "learned": {
        "position_embedding_type": "learned",
        "decoder_vocab_size": 37,
        "share_encoder_decoder_embeddings": False,
        "embedding_norm": True,
        "decoder_layers": 1,
    },
    "multi-query": {"key_value_heads": 1, "head_dim": 6, "decoder_attention_heads": 2, "tie_word_embeddings": False},
}


@pytest.fixture
def tiny_config():
    return lambda **settings: GlossaConfig(**(TINY | settings))


@pytest.fixture
def tiny_model(tiny_config):
    def build(**settings):
        """In float64, so that tolerances can be tight, and away from the start, where biases are 0 and norms 1."""
        torch.manual_seed(0)
        model = GlossaForConditionalGeneration(tiny_config(**settings)).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return model

    return build


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    return ARCHITECTURES[request.param]
