"""Forced decoding against the model's loss and a calculation by hand."""

import math

import pytest
import torch

from glossa.data.vocabulary import train_tokenizer
from glossa.inference.ensemble import Ensemble
from glossa.inference.forced import ForcedScore, force, perplexity

TEXTS = ["a k.", "b l. c m. d n.", "e", "f o."]
TARGETS = ["k a!", "l b!", "", "o f! o f! o f!"]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS * 4 + TARGETS * 4, 266)


@pytest.fixture
def model(tiny_model, tokenizer):
    return tiny_model(vocab_size=len(tokenizer))


def test_a_score_is_the_loss_of_the_translation(model, tokenizer):
    scores = force(model, tokenizer, TEXTS, TARGETS, batch_tokens=30)
    for text, target, score in zip(TEXTS, TARGETS, scores, strict=True):
        batch = tokenizer(text, text_target=target, return_tensors="pt")
        with torch.no_grad():
            loss = model(**batch).loss
        assert score.tokens == batch["labels"].shape[1]
        assert score.log_probability == pytest.approx(-loss.item() * score.tokens, rel=1e-5)
    total = -sum(score.log_probability for score in scores) / sum(score.tokens for score in scores)
    assert perplexity(scores) == pytest.approx(math.exp(total))


def test_an_ensemble_scores_by_the_mean(model, tokenizer):
    once, twice = (force(each, tokenizer, TEXTS, TARGETS) for each in (model, Ensemble([model, model])))
    for one, other in zip(once, twice, strict=True):
        assert one.tokens == other.tokens and one.log_probability == pytest.approx(other.log_probability, rel=1e-5)


def test_perplexity_by_hand():
    assert perplexity([ForcedScore(-4.0, 2), ForcedScore(-2.0, 4)]) == pytest.approx(math.e)
    assert perplexity([]) == 1.0
