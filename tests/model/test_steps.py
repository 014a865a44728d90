"""The decoder for single tokens: the logits of the model's `forward`, and what it leaves to the model."""

import pytest
import torch
from torch import nn
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from glossa.model import generation_glossa
from glossa.model.layers_glossa import GlossaAttention
from glossa.model.modeling_glossa import GlossaDecoder, GlossaDecoderLayer
from glossa.model.steps_glossa import TargetSteps, target_steps

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
PLAIN = {
    "default": {},
    "learned, post-norm": {"position_embedding_type": "learned", "norm_position": "post", "norm_type": "layer"},
    "sinusoidal, biases": {
        "position_embedding_type": "sinusoidal", "query_key_value_bias": True, "attention_output_bias": True,
        "gated_feed_forward": False, "feed_forward_bias": True, "activation_function": "relu",
    },
    "shared keys, rotary source": {
        "num_key_value_heads": 1, "head_dim": 6, "decoder_attention_heads": 4, "rotary_cross_attention": True,
    },
}  # fmt: skip


@pytest.mark.parametrize("mask", [MASK, torch.ones_like(MASK), None], ids=["padded", "full", "none"])
@pytest.mark.parametrize("name", PLAIN)
def test_each_step_has_the_logits_of_the_whole_target(tiny_model, name, mask):
    model = tiny_model(**PLAIN[name])
    steps = target_steps(model)
    source, target = torch.randint(4, 50, (2, 5)), torch.randint(4, 50, (6, 4))  # three targets of each source
    with torch.no_grad():
        states = model.get_encoder()(input_ids=source, attention_mask=mask, return_dict=True).last_hidden_state
        rows = [0, 0, 0, 1, 1, 1]
        each = None if mask is None else mask[rows]
        whole = model(encoder_outputs=(states[rows],), attention_mask=each, decoder_input_ids=target).logits
        cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
        steps.read(states, cache, mask)
        for position in range(target.shape[1]):
            logits = steps.logits(target[:, position : position + 1], cache, mask)
            torch.testing.assert_close(logits, whole[:, position], rtol=0, atol=1e-12)


class Adapter(nn.Linear):
    """A layer that is more than its weight."""

    def forward(self, states):
        return 2 * super().forward(states)


def hooked(model):
    model.model.decoder.layers[0].feed_forward.register_forward_hook(lambda module, inputs, output: 2 * output)


def adapted(model):
    attention = model.model.decoder.layers[0].self_attn
    old, attention.q_proj = attention.q_proj, Adapter(16, attention.q_proj.out_features, bias=False)
    attention.q_proj.to(torch.float64).weight = old.weight


def replaced(model):
    decoder, forward = model.model.decoder, model.model.decoder.forward
    decoder.forward = lambda *args, **kwargs: forward(*args, **kwargs)


CHANGES = {
    "hook": hooked, "adapter": adapted, "another forward": replaced,
    "eager attention": lambda model: model.set_attn_implementation("eager"),
    "training": lambda model: model.train(),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_added_to_the_model_is_computed(tiny_model, monkeypatch, change):
    model = tiny_model()
    assert target_steps(model) is not None
    CHANGES[change](model)
    assert target_steps(model) is None
    if change == "training":
        return
    source = torch.randint(4, 50, (2, 5))
    found = model.generate(source, num_beams=2, max_new_tokens=6)
    monkeypatch.setattr(generation_glossa, "target_steps", lambda model: None)
    assert found.equal(model.generate(source, num_beams=2, max_new_tokens=6))


@pytest.mark.parametrize("beams", [1, 3])
def test_generate_uses_the_steps_and_finds_the_same(tiny_model, monkeypatch, beams):
    model = tiny_model()
    source = torch.randint(4, 50, (3, 5))
    calls, logits = [], TargetSteps.logits
    monkeypatch.setattr(TargetSteps, "logits", lambda *args: calls.append(1) or logits(*args))
    found = model.generate(source, num_beams=beams, max_new_tokens=8)
    assert len(calls) > 1
    monkeypatch.setattr(generation_glossa, "target_steps", lambda model: None)
    before = len(calls)
    assert found.equal(model.generate(source, num_beams=beams, max_new_tokens=8)) and len(calls) == before


@pytest.mark.parametrize("kind", [GlossaAttention, GlossaDecoderLayer, GlossaDecoder, nn.RMSNorm, nn.Linear])
def test_a_class_whose_method_is_replaced_is_called(tiny_model, monkeypatch, kind):
    """The case `class-patch-ignored`: kernels and tools for looking inside replace methods of classes."""
    model, calls, forward = tiny_model(), [], kind.forward
    source = torch.randint(4, 50, (1, 5))
    monkeypatch.setattr(kind, "forward", lambda *args, **kwargs: calls.append(1) or forward(*args, **kwargs))
    own = sum(type(module) is kind for module in model.model.decoder.modules()) + isinstance(model.lm_head, kind)
    model.generate(source, max_new_tokens=4, min_new_tokens=4)
    inside = sum(type(module) is kind for module in model.model.encoder.modules())
    # Keys and values of the source are computed once.
    assert len(calls) >= inside + 4 * (own - 2 * model.config.decoder_layers * (kind is nn.Linear))


def test_global_hooks_and_another_attention_are_called(tiny_model, monkeypatch):
    model, seen = tiny_model(), []
    with nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(type(module))):
        assert target_steps(model) is None
        model.generate(torch.randint(4, 50, (1, 5)), max_new_tokens=3, min_new_tokens=3)
    assert seen.count(GlossaDecoderLayer) == 3 * model.config.decoder_layers
    assert target_steps(model) is not None
    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", lambda *args, **kwargs: None)
    assert target_steps(model) is None
