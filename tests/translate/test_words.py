"""The probability of each word of a translation."""

import math

import pytest
import torch
from small_models import knows

from glossa.translate.confidence import word_features, word_scores, words_of
from glossa.translate.engines.ctranslate2 import load_engine
from glossa.translate.engines.forced import force
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.export.ctranslate2_model import export_ctranslate2
from glossa.translate.interface import Checks, Engine, Translation
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

SOURCES, TARGETS = ["a k.", "b l. c m.", "d"], ["k a!", "", "zig Zoë 9"]


@torch.no_grad()
def by_hand(model, tokenizer, source, target):
    """The probabilities of the pieces of each word, by a call of the model for each piece."""
    ids = torch.tensor([tokenizer(source)["input_ids"]])
    labels = tokenizer(text_target=target)["input_ids"]
    found = [[] for _ in target.split()]
    word = -1
    for place, token in enumerate(labels[:-1]):
        start = torch.tensor([[model.config.decoder_start_token_id, *labels[:place]]])
        piece = tokenizer.convert_ids_to_tokens(token)
        word += piece.startswith("Ġ") or place == 0
        found[word].append(model(ids, decoder_input_ids=start).logits[0, -1].softmax(-1)[token].item())
    return [sum(own) / len(own) for own in found]


@pytest.mark.parametrize("name", ["torch", "ctranslate2"])
def test_words_have_the_mean_of_their_pieces(learned_run, tmp_path, name):
    model, tokenizer = load_model(str(learned_run)), load_tokenizer(str(learned_run))
    knows(model.config, word_confidence=None)
    engine, own = GenerateEngine(model, tokenizer), tokenizer
    if name == "ctranslate2":
        export_ctranslate2(model, tokenizer, tmp_path / "exported")
        engine, own = load_engine(str(tmp_path / "exported"), "cpu")
    found = word_scores(engine, own, SOURCES, TARGETS)
    assert [[word for word, _ in row] for row in found] == [["k", "a!"], [], ["zig", "Zoë", "9"]]
    for source, target, row in zip(SOURCES, TARGETS, found, strict=True):
        assert [share for _, share in row] == pytest.approx(by_hand(model, tokenizer, source, target), abs=1e-4)
    scores = engine.token_scores([tokenizer("a k.")["input_ids"]], [tokenizer(text_target="k a!")["input_ids"]])
    (whole,) = force(model, tokenizer, ["a k."], ["k a!"])
    assert sum(scores[0]) == pytest.approx(whole.log_probability, abs=1e-3) and len(scores[0]) == whole.tokens


def test_a_model_that_has_learned_it_gives_the_probability_that_they_are_right(learned_run):
    tokenizer = load_tokenizer(str(learned_run))
    engine = Halves(tokenizer)
    plain = word_scores(engine, tokenizer, SOURCES[:1], TARGETS[:1])
    knows(engine, word_confidence={"mean": 2.0, "lowest": 1.0, "sentence": 0.5, "intercept": 1.0})
    ((one, other),) = word_scores(engine, tokenizer, SOURCES[:1], TARGETS[:1])
    logit = 1 + 0.5 * math.log(0.5)  # all tokens have a probability of a half, whose logit is 0
    assert one == ("k", pytest.approx(1 / (1 + math.exp(-logit)))) and other[0] == "a!"
    assert [share for _, share in plain[0]] == pytest.approx([0.5, 0.5])


def test_features_of_words():
    half, fifth = math.log(0.5), math.log(0.2)
    found = word_features([[half, fifth], [], [0.0]])
    sure, sentence = math.log(9999), (half + fifth) / 3
    assert found[0] == pytest.approx([math.log(0.35 / 0.65), math.log(0.25), sentence])
    assert found[1] == pytest.approx([sure, sure, sentence])
    assert word_features([]) == []


def test_words_of_a_text():
    parts = [Translation("x", words=(("one", 0.5), ("two", 0.25))), Translation("y", words=(("three", 0.1),))]
    assert words_of(parts, ["One two", "three four"]) == (("One", 0.5), ("two", 0.25), ("three", None), ("four", None))
    assert words_of([Translation("x"), parts[1]], ["42", "three."]) == (("42", None), ("three.", 0.1))
    assert words_of([Translation("x")], ["x"]) == ()


class Halves(Engine):
    """Translates to upper case; each token has a probability of a half."""

    num_beams = 1

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def translate(self, sources, search):
        texts = self.tokenizer.batch_decode(sources, skip_special_tokens=True)
        return [Translation(text.upper()) for text in texts]

    def token_scores(self, sources, targets):
        return [[math.log(0.5)] * len(target) for target in targets]


def test_a_translator_computes_them_if_asked(learned_run):
    tokenizer = load_tokenizer(str(learned_run))
    lines = ["1. a k. b l.", "", "42"]
    found = Translator(Halves(tokenizer), tokenizer, checks=Checks(words=True)).translate(lines)
    first, blank, number = (best.words for best, *_ in found)
    assert [word for word, _ in first] == found[0][0].text.split() and first[0] == ("1.", None)
    assert [share for _, share in first[1:]] == pytest.approx([0.5] * 4) and blank == number == ()
    plain = Translator(Halves(tokenizer), tokenizer).translate(lines)
    assert [best.words for best, *_ in plain] == [(), (), ()]
