"""What the beams of a source share during a search, and what the caller gets back."""

import inspect

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache

from glossa.model.generation_glossa import CACHE

SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != 0).long()
TARGETS = torch.tensor([[2, 20, 21], [2, 30, 31], [2, 22, 23], [2, 32, 33]])


@torch.no_grad()
@pytest.mark.parametrize(("filled", "rows"), [(False, 2), (True, 6)])
def test_a_cache_that_the_caller_filled_needs_a_source_for_each_row(tiny_model, filled, rows):
    model = tiny_model()
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    if filled:
        cache.self_attention_cache.update(torch.zeros(6, 2, 1, 4), torch.zeros(6, 2, 1, 4), 0)
    encoded = model.get_encoder()(SOURCE, attention_mask=MASK)
    given = {"encoder_outputs": encoded, "attention_mask": MASK, CACHE: cache}
    tokens, expanded = model._expand_inputs_for_generation(3, True, torch.tensor([[2], [3]]), **given)
    assert tokens.flatten().tolist() == [2, 2, 2, 3, 3, 3]
    assert len(expanded["encoder_outputs"].last_hidden_state) == len(expanded["attention_mask"]) == rows


@torch.no_grad()
def test_each_target_of_a_shared_source_has_its_own_attention_weights(tiny_model):
    model = tiny_model()
    model.set_attn_implementation("eager")
    states = model.get_encoder()(SOURCE, attention_mask=MASK).last_hidden_state
    # As many targets as heads: the rows of the weights must be told from their heads.
    given = {"decoder_input_ids": TARGETS, "output_attentions": True}
    shared = model(encoder_outputs=(states,), attention_mask=MASK, **given).cross_attentions
    own = model(
        encoder_outputs=(states.repeat_interleave(2, 0),), attention_mask=MASK.repeat_interleave(2, 0), **given
    ).cross_attentions
    for weights, expected in zip(shared, own, strict=True):
        torch.testing.assert_close(weights, expected, rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_the_cache_has_both_names(tiny_model):
    """`past_key_values` until transformers 5.23, `cache` since 5.24."""
    model, targets = tiny_model(), TARGETS[:2]
    whole = model(SOURCE, decoder_input_ids=targets).logits[:, -1]
    for name in ("past_key_values", "cache"):
        cache = model(SOURCE, decoder_input_ids=targets[:, :-1], use_cache=True)[CACHE]
        for part in (model, model.model, model.get_decoder()):
            assert name in inspect.signature(part.forward).parameters  # `generate` refuses other names
        further = model(SOURCE, decoder_input_ids=targets[:, -1:], **{name: cache}).logits[:, -1]
        torch.testing.assert_close(further, whole, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="not both"):
        model(SOURCE, decoder_input_ids=targets, past_key_values=cache, cache=cache)
