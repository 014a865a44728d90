"""Glossa's own search on a GPU: where its tensors are, and the same translations as by transformers' search."""

import pytest
import torch
from transformers import GenerationConfig
from transformers.generation import StoppingCriteriaList
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria

from glossa.model import generation_glossa
from glossa.model.generation_glossa import _BeamSearch, _GreedySearch

pytestmark = pytest.mark.gpu

PAD, EOS, START = 0, 1, 2
SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1], [20, 21, 1, 0, 0, 0]])


@pytest.mark.parametrize(("kind", "beams"), [(_GreedySearch, 1), (_BeamSearch, 2)])
def test_the_tensors_of_a_search_are_where_its_prompts_are(kind, beams):
    """Every tensor that names no device would be made on `meta` here, which cannot be mixed with others."""
    config = GenerationConfig(num_beams=beams, max_length=3, length_penalty=1.0, num_return_sequences=1)
    config.eos_token_id, config.pad_token_id = EOS, 7
    criteria = StoppingCriteriaList([MaxLengthCriteria(3), EosTokenCriteria(torch.tensor([EOS]))])
    prompts = torch.full((2 * beams, 1), START)
    logits = torch.zeros(2 * beams, 8)
    logits[:beams, EOS] = 9.0  # the first source ends at once
    logits[beams:, 5] = 9.0
    with torch.device("meta"):
        search = kind(prompts, config)
        parents, unfinished = search.advance(logits, criteria)
        # Greedy search drops the first source, which has ended; a beam search still looks for a second hypothesis.
        assert (None if unfinished is None else unfinished.tolist()) == ([False, True] if beams == 1 else None)
        search.advance(logits[parents], criteria)
        assert search.done()
        found = search.result()
    assert found.tolist() == [[START, EOS, 7], [START, 5, 5]]


@pytest.mark.parametrize("beams", [1, 4])
def test_both_searches_find_the_same(device, tiny_model, beams, monkeypatch):
    model = tiny_model().to(device)
    source = SOURCE.to(device)
    used = []
    search = type(model)._search
    monkeypatch.setattr(type(model), "_search", lambda *args, **kwargs: used.append(1) or search(*args, **kwargs))
    found = []
    for devices in ((), (device.type,)):
        monkeypatch.setattr(generation_glossa, "SEARCHED", devices)
        options = {"attention_mask": (source != PAD).long(), "num_beams": beams, "max_new_tokens": 12}
        found.append(model.generate(source, **options, do_sample=False))
        assert len(used) == len(devices)
    assert found[0].equal(found[1])
