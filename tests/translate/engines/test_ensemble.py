"""Ensembles: the mean of log-probabilities, any search, members of different shapes."""

import pytest
import torch

from glossa.base.errors import GlossaError
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.translate.engines.ensemble import Ensemble, load_models
from glossa.translate.translator import Translator

SOURCE = torch.tensor([[5, 6, 7, 8, 1], [9, 10, 1, 0, 0], [4, 4, 4, 1, 0]])
MASK = (SOURCE != 0).long()
TARGET = torch.tensor([[2, 5, 6], [2, 7, 8], [2, 9, 4]])


@pytest.fixture
def members(tiny_config):
    from glossa import GlossaForConditionalGeneration

    shapes = [{}, {"d_model": 24, "decoder_layers": 1, "num_key_value_heads": 1}, {"norm_position": "post"}]
    models = []
    for seed, shape in enumerate(shapes):
        torch.manual_seed(seed)
        model = GlossaForConditionalGeneration(tiny_config(**shape)).double().eval()
        for weight in model.parameters():
            weight.data.add_(0.2 * torch.randn_like(weight))
        models.append(model)
    return models


def test_the_logits_are_the_mean_of_the_log_probabilities(members):
    inputs = {"input_ids": SOURCE, "attention_mask": MASK, "decoder_input_ids": TARGET}
    with torch.no_grad():
        expected = sum(member(**inputs).logits.log_softmax(-1) for member in members) / 3
    torch.testing.assert_close(Ensemble(members)(**inputs).logits.double(), expected, rtol=1e-5, atol=1e-5)


def greedy_by_hand(members, steps):
    tokens = torch.full((len(SOURCE), 1), 2)
    ended = torch.zeros(len(SOURCE), dtype=torch.bool)
    for _ in range(steps):
        with torch.no_grad():
            inputs = {"input_ids": SOURCE, "attention_mask": MASK, "decoder_input_ids": tokens}
            mean = sum(member(**inputs).logits[:, -1].log_softmax(-1) for member in members)
        following = mean.argmax(-1).masked_fill(ended, 0)
        ended |= following == 1
        tokens = torch.cat((tokens, following[:, None]), dim=1)
        if ended.all():
            break
    return tokens


def test_greedy_search_with_the_cache_equals_a_search_without(members):
    generated = Ensemble(members).generate(SOURCE, attention_mask=MASK, max_new_tokens=9, num_beams=1)
    assert generated.equal(greedy_by_hand(members, 9))


@pytest.mark.parametrize("beams", [1, 3])
def test_an_ensemble_of_one_model_twice_is_that_model(members, beams):
    options = {"attention_mask": MASK, "max_new_tokens": 9, "num_beams": beams}
    model = members[0]
    alone = model.generate(SOURCE, **options)
    assert Ensemble([model, model]).generate(SOURCE, **options).equal(alone)
    # transformers' own search, which a logits processor asks for
    options["no_repeat_ngram_size"] = 2
    assert Ensemble([model, model]).generate(SOURCE, **options).equal(model.generate(SOURCE, **options))


def test_beam_search_equals_that_of_transformers(members):
    ensemble = Ensemble(members)
    options = {"attention_mask": MASK, "max_new_tokens": 9, "num_beams": 4}
    listed = ensemble.generate(SOURCE, **options, return_dict_in_generate=True, output_scores=True)
    assert ensemble.generate(SOURCE, **options).equal(listed.sequences)


def test_models_of_one_vocabulary_load_as_an_ensemble(tiny_run, tmp_path):
    model, tokenizer = load_models([str(tiny_run), str(tiny_run)])
    alone, _ = load_models([str(tiny_run)])
    texts = ["a k.", "b l. c m."]
    assert Translator(model, tokenizer).best(texts) == Translator(alone, tokenizer).best(texts)
    other = tmp_path / "other"
    alone.save_pretrained(other)
    train_tokenizer(["other words"] * 9, 265).save_pretrained(other)
    with pytest.raises(GlossaError, match="have different vocabularies"):
        load_models([str(tiny_run), str(other)])
