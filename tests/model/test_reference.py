"""The same weights give the same results in other implementations."""

import pytest
import torch
from small_models import same
from torch import nn
from transformers import LlamaConfig, MarianConfig, MarianMTModel
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

from glossa.model.configuration_glossa import PUBLISHED_2017
from glossa.model.layers_glossa import sinusoids

SOURCE = torch.tensor([[9, 8, 7, 6, 5, 1], [11, 12, 13, 1, 0, 0]])
MASK = (SOURCE != 0).long()
TARGET = torch.tensor([[2, 20, 21, 22, 23], [2, 30, 31, 32, 33]])
PAPER = PUBLISHED_2017 | {"final_norm": True, "decoder_layers": 3}
PRECISIONS = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


def copy(theirs, ours):
    theirs.load_state_dict(ours.state_dict())


def copy_attention(theirs: nn.MultiheadAttention, ours):
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    theirs.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
    theirs.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
    copy(theirs.out_proj, ours.out_proj)


def norm_of(residual):
    return residual.norm_after if isinstance(residual.norm_before, nn.Identity) else residual.norm_before


def torch_transformer(ours):
    """`torch.nn.Transformer` with the layers of `ours`; it always ends encoder and decoder with a norm."""
    config = ours.config
    theirs = nn.Transformer(
        config.d_model, config.encoder_attention_heads, config.encoder_layers, config.decoder_layers,
        config.encoder_ffn_dim, dropout=0.0, activation=config.activation_function, batch_first=True,
        norm_first=config.norm_position == "pre", dtype=ours.dtype,
    )  # fmt: skip
    theirs.encoder.use_nested_tensor = False  # else torch warns about padding
    for mine, layer in zip(ours.model.encoder.layers, theirs.encoder.layers, strict=True):
        copy_attention(layer.self_attn, mine.self_attn)
        copy(layer.norm1, norm_of(mine.self_attn_residual))
        copy(layer.norm2, norm_of(mine.feed_forward_residual))
        copy(layer.linear1, mine.feed_forward.up_proj)
        copy(layer.linear2, mine.feed_forward.down_proj)
    for mine, layer in zip(ours.model.decoder.layers, theirs.decoder.layers, strict=True):
        copy_attention(layer.self_attn, mine.self_attn)
        copy_attention(layer.multihead_attn, mine.encoder_attn)
        copy(layer.norm1, norm_of(mine.self_attn_residual))
        copy(layer.norm2, norm_of(mine.encoder_attn_residual))
        copy(layer.norm3, norm_of(mine.feed_forward_residual))
        copy(layer.linear1, mine.feed_forward.up_proj)
        copy(layer.linear2, mine.feed_forward.down_proj)
    copy(theirs.encoder.norm, ours.model.encoder.final_norm)
    copy(theirs.decoder.norm, ours.model.decoder.final_norm)
    return theirs.eval()


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["float32", "float64"])
def test_logits_equal_those_of_torch_nn_transformer(tiny_model, norm_position, activation, dtype, tolerance):
    settings = PAPER | {"norm_position": norm_position, "activation_function": activation}
    ours = tiny_model(**settings).to(dtype)
    theirs = torch_transformer(ours)

    def embedded(side, tokens):
        positions = torch.arange(tokens.shape[1])[None]
        cos, sin = sinusoids(positions, 16, 10000.0, dtype)
        return side.embed_tokens(tokens) * 4.0 + torch.cat((sin, cos), -1)  # sqrt(16)

    padding = MASK == 0
    states = theirs(
        embedded(ours.model.encoder, SOURCE), embedded(ours.model.decoder, TARGET),
        tgt_mask=torch.ones(5, 5).triu(1).bool(), src_key_padding_mask=padding, memory_key_padding_mask=padding,
    )  # fmt: skip
    logits = ours(SOURCE, attention_mask=MASK, decoder_input_ids=TARGET).logits
    same(logits, states @ ours.lm_head.weight.T, tolerance)
    assert logits.std() > 0.1  # nearly constant logits would prove little


def marian_name(name):
    for ours, theirs in (
        ("self_attn_residual.norm_after", "self_attn_layer_norm"),
        ("encoder_attn_residual.norm_after", "encoder_attn_layer_norm"),
        ("feed_forward_residual.norm_after", "final_layer_norm"),
        ("feed_forward.up_proj", "fc1"),
        ("feed_forward.down_proj", "fc2"),
    ):
        name = name.replace(ours, theirs)
    return name


@torch.no_grad()
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS, ids=["float32", "float64"])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_logits_equal_those_of_marian(tiny_model, dtype, tolerance, activation):
    settings = PAPER | {"norm_position": "post", "final_norm": False, "activation_function": activation}
    ours = tiny_model(**settings).to(dtype)
    config = MarianConfig(
        vocab_size=50, d_model=16, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24, activation_function=activation,
        scale_embedding=True, max_position_embeddings=32, pad_token_id=0, eos_token_id=1, decoder_start_token_id=2,
    )  # fmt: skip
    theirs = MarianMTModel(config).to(dtype).eval()
    weights = {marian_name(name): weight for name, weight in ours.state_dict().items()}
    weights["model.shared.weight"] = weights["model.decoder.embed_tokens.weight"]
    cos, sin = sinusoids(torch.arange(32), 16, 10000.0, dtype)
    for side in ("encoder", "decoder"):
        # Marian rounds its table from float64. With ours copied, the logits compare only the layers.
        same(theirs.state_dict()[f"model.{side}.embed_positions.weight"], torch.cat((sin, cos), -1), 1e-5)
        weights[f"model.{side}.embed_positions.weight"] = torch.cat((sin, cos), -1)
    weights["final_logits_bias"] = torch.zeros(1, 50)
    theirs.load_state_dict(weights)  # strict: all weights are set
    batch = {"input_ids": SOURCE, "attention_mask": MASK, "decoder_input_ids": TARGET}
    same(ours(**batch).logits, theirs(**batch).logits, tolerance)


@torch.no_grad()
@pytest.mark.parametrize("head_dim", [4, 6])
def test_an_encoder_layer_equals_that_of_llama(tiny_model, head_dim):
    """Rotary positions, RMSNorm, grouped-query attention and SwiGLU; Llama's layer without its causal mask.

    In float32 only: Llama rounds its norms and its angles to that.
    """
    ours = tiny_model(head_dim=head_dim).float()
    config = LlamaConfig(
        hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=head_dim,
        rms_norm_eps=1e-6, attn_implementation="eager",
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )  # fmt: skip
    layer, theirs = ours.model.encoder.layers[1], LlamaDecoderLayer(config, layer_idx=0).eval()
    for projection in ("q_proj", "k_proj", "v_proj"):
        copy(getattr(theirs.self_attn, projection), getattr(layer.self_attn, projection))
    copy(theirs.self_attn.o_proj, layer.self_attn.out_proj)
    for projection in ("gate_proj", "up_proj", "down_proj"):
        copy(getattr(theirs.mlp, projection), getattr(layer.feed_forward, projection))
    copy(theirs.input_layernorm, layer.self_attn_residual.norm_before)
    copy(theirs.post_attention_layernorm, layer.feed_forward_residual.norm_before)

    states = torch.randn(2, 7, 16)
    positions = torch.arange(7)[None]
    _, rotary = ours.model.encoder.embeddings(states, positions)
    expected = theirs(
        states, attention_mask=torch.zeros(1, 1, 7, 7),
        position_embeddings=LlamaRotaryEmbedding(config)(states, positions),
    )  # fmt: skip
    same(layer(states, None, rotary)[0], expected, 1e-5)
    assert (expected - states).abs().max() > 0.1
