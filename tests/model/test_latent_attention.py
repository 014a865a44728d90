"""Multi-head latent attention (arXiv 2405.04434, section 2.1) and rotary positions in cross-attention."""

from pathlib import Path

import pytest
import torch
from small_models import same
from transformers import DeepseekV2Config
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Attention, DeepseekV2RotaryEmbedding

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.model.layers_glossa import GlossaLatentAttention, sinusoids

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != 0).long()
TARGETS = torch.tensor([[2, 20, 21, 22], [2, 30, 31, 32], [2, 23, 24, 25], [2, 33, 34, 35]])
LATENT = {"num_key_value_heads": None, "kv_lora_rank": 6}
KINDS = {
    "rotary": LATENT, "compressed queries": LATENT | {"q_lora_rank": 10, "qk_rope_head_dim": 4},
    "rotary cross-attention": LATENT | {"rotary_cross_attention": True},
    "sinusoidal": LATENT | {"position_embedding_type": "sinusoidal", "norm_type": "layer"},
    "heads of each side": LATENT | {"decoder_attention_heads": 2, "head_dim": 8},
    "not latent, rotary cross-attention": {"rotary_cross_attention": True},
}  # fmt: skip


def interleaved(weight, heads, plain, turned):
    """Rows of `heads` queries with the rotary part as DeepSeek has it: pairs (2i, 2i + 1), not (i, i + P/2)."""
    rows = weight.unflatten(0, (heads, plain + turned))
    rotary = rows[:, plain:].unflatten(1, (2, turned // 2)).transpose(1, 2).flatten(1, 2)
    return torch.cat((rows[:, :plain], rotary), dim=1).flatten(0, 1)


@torch.no_grad()
@pytest.mark.parametrize("rank", [None, 10])
@pytest.mark.parametrize("rotary_dim", [2, 6])
def test_the_output_equals_that_of_deepseek(rank, rotary_dim):
    settings = {"num_key_value_heads": None, "kv_lora_rank": 12, "q_lora_rank": rank, "qk_rope_head_dim": rotary_dim}
    ours = GlossaLatentAttention(GlossaConfig(d_model=32, head_dim=8, **settings), heads=4, is_causal=True)
    ours.config._attn_implementation = "eager"
    for parameter in ours.parameters():
        parameter.normal_(std=0.3)
    config = DeepseekV2Config(
        hidden_size=32, num_attention_heads=4, kv_lora_rank=12, q_lora_rank=rank, qk_nope_head_dim=8, v_head_dim=8,
        qk_rope_head_dim=rotary_dim, attn_implementation="eager",
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )  # fmt: skip
    theirs = DeepseekV2Attention(config, layer_idx=0).eval()
    weights = {
        "kv_a_proj_with_mqa.weight": torch.cat(
            (ours.kv_a_proj.weight[:12], interleaved(ours.kv_a_proj.weight[12:], 1, 0, rotary_dim))
        ),
        "kv_a_layernorm.weight": ours.kv_norm.weight,
        "kv_b_proj.weight": ours.kv_b_proj.weight,
        "o_proj.weight": ours.out_proj.weight,
    }
    if rank is None:
        weights["q_proj.weight"] = interleaved(ours.q_proj.weight, 4, 8, rotary_dim)
    else:
        weights["q_a_proj.weight"], weights["q_a_layernorm.weight"] = ours.q_a_proj.weight, ours.q_norm.weight
        weights["q_b_proj.weight"] = interleaved(ours.q_b_proj.weight, 4, 8, rotary_dim)
    theirs.load_state_dict(weights)  # strict: all weights are set

    states, positions = torch.randn(2, 7, 32), torch.arange(7)[None]
    mask = torch.full((7, 7), -torch.inf).triu(1)[None, None]
    cos, sin = sinusoids(positions, rotary_dim, 10000.0, torch.float32)
    output, weights, _ = ours(states, mask, (cos.unsqueeze(1), sin.unsqueeze(1)))
    turns = DeepseekV2RotaryEmbedding(config)(states, positions)
    expected, expected_weights = theirs(states, mask, position_embeddings=turns)
    same(output, expected, 1e-5)
    same(weights, expected_weights, 1e-5)
    assert expected.std() > 0.1
    unturned, *_ = ours(states, mask, (torch.ones_like(cos).unsqueeze(1), torch.zeros_like(sin).unsqueeze(1)))
    assert (unturned - expected).abs().max() > 1e-2, "the rotary part matters"


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_cached_equals_uncached_where_targets_share_a_source(tiny_model, kind):
    model = tiny_model(**KINDS[kind])
    states = model.get_encoder()(SOURCE, attention_mask=MASK).last_hidden_state
    own = {"encoder_outputs": (states.repeat_interleave(2, 0),), "attention_mask": MASK.repeat_interleave(2, 0)}
    expected = model(**own, decoder_input_ids=TARGETS).logits
    assert (expected[0] - expected[1]).abs().max() > 1e-3
    cache = None
    for step in range(4):
        outputs = model(
            encoder_outputs=(states,),  # one for two targets
            attention_mask=MASK,
            decoder_input_ids=TARGETS[:, step : step + 1],
            past_key_values=cache,
            use_cache=True,
        )
        cache = outputs.past_key_values
        same(outputs.logits[:, 0], expected[:, step])
    assert cache.cross_attention_cache.layers[0].keys.shape[0] == 2


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_padding_on_the_left_changes_nothing(tiny_model, kind):
    model = tiny_model(**KINDS[kind])
    expected = model(SOURCE[1:], decoder_input_ids=TARGETS[2:3]).logits
    source = torch.tensor([[0, 0, *SOURCE[1].tolist()]])
    target = torch.tensor([[0, 0, 0, *TARGETS[2].tolist()]])
    outputs = model(
        source, attention_mask=(source != 0).long(), decoder_input_ids=target,
        decoder_attention_mask=(target != 0).long(),
    )  # fmt: skip
    same(outputs.logits[:, 3:], expected)


def bytes_per_token(cache, tokens):
    """Bytes of keys and values, or what stands for them, that a one-layer cache of one row holds for each token."""
    (layer,) = cache.layers
    return sum(states.numel() * states.element_size() for states in (layer.keys, layer.values)) / tokens


# Eight heads of 64 in float32. Keys and values of G heads: 2 x G x 64 x 4. Latent of 256 and rotary key of 32, which
# cross-attention has only with `rotary_cross_attention`: (256 + 32) x 4.
MEMORY = {
    "multi-head": ({"num_key_value_heads": 8}, 4096, 4096),
    "grouped-query": ({"num_key_value_heads": 2}, 1024, 1024),
    "multi-query": ({"num_key_value_heads": 1}, 512, 512),
    "latent": ({"num_key_value_heads": None, "kv_lora_rank": 256}, 1152, 1024),
}


@torch.no_grad()
@pytest.mark.parametrize("kind", MEMORY)
def test_bytes_per_token_of_the_cache_are_those_of_the_documentation(kind):
    settings, of_target, of_source = MEMORY[kind]
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 1) | {"encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 8)
    model = GlossaForConditionalGeneration(GlossaConfig(vocab_size=40, d_model=512, **sizes, **heads, **settings))
    cache = model.eval()(SOURCE[1:], decoder_input_ids=TARGETS[:1], use_cache=True).past_key_values
    assert bytes_per_token(cache.self_attention_cache, 4) == of_target
    assert bytes_per_token(cache.cross_attention_cache, 6) == of_source
    name = "latent, `kv_lora_rank: 256`" if kind == "latent" else kind
    assert f"| {name} | {of_target:,} | {of_source:,} |" in DOCUMENTED


@torch.no_grad()
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_search_equals_that_with_a_static_cache_and_without_one(tiny_model, kind, beams):
    model = tiny_model(**KINDS[kind])
    settings = {"attention_mask": MASK, "max_new_tokens": 8, "num_beams": beams, "eos_token_id": [1, 9, 17, 25]}
    expected = model.generate(SOURCE, **settings)
    assert model.generate(SOURCE, use_cache=False, **settings).equal(expected)
    assert model.generate(SOURCE, cache_implementation="static", disable_compile=True, **settings).equal(expected)


@torch.no_grad()
def test_rotary_cross_attention_turns_queries_and_keys_by_their_own_positions(tiny_model):
    """Against complex numbers, with the pair (i, i + E/2) as one of them (Su et al. 2021, equation 12)."""
    model = tiny_model(rotary_cross_attention=True, num_key_value_heads=4)
    attention = model.model.decoder.layers[0].encoder_attn
    target, source = torch.randn(1, 3, 16, dtype=torch.float64), torch.randn(1, 5, 16, dtype=torch.float64)
    past, shift = 7, torch.tensor([0, 0, 0, 1, 2])  # two tokens of padding on the left of the source
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    rotary = model.model.decoder.embeddings.rotary(torch.arange(past, past + 3)[None], torch.float64)
    of_target, of_source = model.model.decoder._cross_rotary(rotary, target, source, mask)
    output, *_ = attention(target, None, of_target, encoder_hidden_states=source, source_position_embeddings=of_source)

    def turned(states, projection, positions):
        heads = projection(states).view(1, -1, 4, 4).transpose(1, 2)
        frequencies = torch.tensor([1.0, 10000.0 ** (-2 / 4)], dtype=torch.float64)
        turns = torch.exp(1j * positions[:, None] * frequencies)
        return torch.complex(heads[..., :2], heads[..., 2:]) * turns

    query = turned(target, attention.q_proj, torch.arange(past, past + 3))
    key = turned(source, attention.k_proj, shift)
    scores = (query @ key.conj().transpose(2, 3)).real / 2  # sqrt(4)
    values = attention.v_proj(source).view(1, 5, 4, 4).transpose(1, 2)
    expected = attention.out_proj((scores.softmax(-1) @ values).transpose(1, 2).reshape(1, 3, 16))
    same(output, expected)


@torch.no_grad()
def test_only_rotary_cross_attention_sees_the_order_of_the_source(tiny_model):
    states = torch.randn(1, 5, 16, dtype=torch.float64)
    for rotary in (False, True):
        model = tiny_model(rotary_cross_attention=rotary)
        forward, backward = (
            model(encoder_outputs=(given,), decoder_input_ids=TARGETS[:1]).logits for given in (states, states.flip(1))
        )
        assert ((forward - backward).abs().max() > 1e-3) == rotary


@pytest.mark.parametrize(
    ("settings", "width", "rotary"),
    [
        ({}, None, None),
        (LATENT, 64 + 32, 32),
        (LATENT | {"qk_rope_head_dim": 6}, 64 + 6, 6),
        (LATENT | {"head_dim": 20}, 20 + 10, 10),
        (LATENT | {"position_embedding_type": "learned"}, 64, None),
        (LATENT | {"decoder_attention_heads": 2}, 128 + 64, None),  # the encoder's is another
    ],
    ids=str,
)
def test_the_configuration_has_the_width_of_queries_and_keys(settings, width, rotary):
    config = GlossaConfig(**settings)
    assert (config.qk_head_dim, config.qk_rope_head_dim) == (width, rotary)
    if width is not None:
        attention = GlossaLatentAttention(config, config.decoder_attention_heads, is_causal=True)
        assert attention.q_proj.out_features == config.decoder_attention_heads * width
