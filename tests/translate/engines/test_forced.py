"""Forced decoding against the model's loss and a calculation by hand."""

import json
import math
import shutil

import pytest
import torch
from refusals import refused
from safetensors.torch import load_file, save_file

from glossa.cli import score as score_command
from glossa.cli import translate
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.translate.build import load_reranker
from glossa.translate.engines.ensemble import Ensemble
from glossa.translate.engines.forced import ForcedScore, Reranker, force, perplexity
from glossa.translate.interface import Checks, Engine, Search, Translation
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

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


class FixedReranker:
    """Gives each pair a log-probability by its translation."""

    def __init__(self, values):
        self.values = values

    def log_probabilities(self, sources, targets, batch_tokens, shared):
        return [self.values[target] for target in targets]


class Lists(Engine):
    num_beams, split_sentences = 3, False

    def translate(self, sources, search):
        assert search.scores and search.num_return_sequences == 3
        return [Translation("x", -1.0), Translation("y", -2.0), Translation("", 0.0)] * len(sources)


def test_reranking_adds_both_log_probabilities(tokenizer):
    for values, order in (
        ({"x": -5.0, "y": -1.0, "": 0.0}, ["y", "x", ""]),
        ({"x": 0, "y": 0, "": 9}, ["x", "y", ""]),
    ):
        translator = Translator(Lists(), tokenizer, Search(num_return_sequences=3), reranker=FixedReranker(values))
        assert [translation.text for translation in translator.translate(["a k."])[0]] == order


def test_what_is_searched_again_is_reranked(tokenizer):
    source = "the dogs bark at all of the other dogs"  # a copy of it is implausible

    class Retried(Lists):
        num_beams = 2

        def translate(self, sources, search):
            texts = ("Der Hund bellt.", "Die Hunde bellen.") if search.no_repeat_ngram_size else (source, "")
            return [Translation(text, -score) for _ in sources for score, text in enumerate(texts, 1)]

    values = {source: 0.0, "": 0.0, "Der Hund bellt.": -9.0, "Die Hunde bellen.": 0.0}
    search, checks = Search(num_return_sequences=2), Checks(retry_implausible=True)
    found = Translator(Retried(), tokenizer, search, checks, reranker=FixedReranker(values)).translate([source])[0]
    assert [translation.text for translation in found] == ["Die Hunde bellen", "Der Hund bellt"]


def test_pairs_beyond_the_positions_of_the_model_are_left_out(tiny_model, tokenizer, caplog):
    learned = {"position_embedding_type": "learned", "max_source_positions": 8, "max_target_positions": 6}
    model = tiny_model(vocab_size=len(tokenizer), **learned)
    lengths = (
        [len(ids) for ids in tokenizer(TEXTS)["input_ids"]],
        [len(tokenizer(text)["input_ids"]) for text in TARGETS],
    )
    fits = [first <= 8 and second <= 6 for first, second in zip(*lengths, strict=True)]
    assert fits == [True, False, True, False]
    scores = force(model, tokenizer, TEXTS, TARGETS)
    assert [score.tokens > 0 for score in scores] == fits
    assert [score == ForcedScore(-math.inf, 0) for score in scores] == [not fit for fit in fits]
    alone = force(model, tokenizer, TEXTS[:1], TARGETS[:1])
    assert scores[0].log_probability == pytest.approx(alone[0].log_probability, rel=1e-5)
    assert force(model, tokenizer, TEXTS[1:2], TARGETS[1:2]) == [ForcedScore(-math.inf, 0)]


def test_a_reversed_model_scores_the_source(model, tokenizer):
    forward = Reranker(model, tokenizer).log_probabilities(TEXTS, TARGETS)
    backward = Reranker(model, tokenizer, reverse=True).log_probabilities(TARGETS, TEXTS)
    assert forward == backward == [score.log_probability for score in force(model, tokenizer, TEXTS, TARGETS)]


def command(module, *arguments):
    module.main([str(argument) for argument in arguments])


def test_the_commands_take_several_models(tiny_run, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("a k.\nb l.\n")
    files = ("--input", tmp_path / "in.txt", "--output")
    command(translate, tiny_run, *files, tmp_path / "one.txt")
    command(translate, tiny_run, tiny_run, *files, tmp_path / "two.txt")
    assert (tmp_path / "one.txt").read_text() == (tmp_path / "two.txt").read_text()
    reranked = ("--num_return_sequences", 2, "--rerank", tiny_run)
    command(translate, tiny_run, *files, tmp_path / "reranked.txt", *reranked)
    assert (tmp_path / "reranked.txt").read_text().count("\n") == 2
    capsys.readouterr()
    command(score_command, tiny_run, tiny_run, "--force", "--output", tmp_path / "forced.json")
    report = json.loads((tmp_path / "forced.json").read_text())
    assert len(report["pairs"]) == 20
    total = sum(pair["log_probability"] for pair in report["pairs"])
    tokens = sum(pair["tokens"] for pair in report["pairs"])
    assert report["perplexity"] == pytest.approx(math.exp(-total / tokens))
    assert f"perplexity {report['perplexity']:.3f}" in capsys.readouterr().out
    for options, message in (
        ((tiny_run, "--engine", "ctranslate2"), "--engine ctranslate2 takes one model"),
        (("--rerank", tiny_run), "--rerank chooses among several translations"),
    ):
        refused(message, command, translate, tiny_run, *options, *files, tmp_path / "no.txt")


def test_scores_of_what_both_models_find_probable(tiny_run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_run, other, ignore=shutil.ignore_patterns("checkpoint-*"))
    weights = load_file(other / "model.safetensors")
    save_file({name: -weight for name, weight in weights.items()}, other / "model.safetensors", {"format": "pt"})
    reranked = ("--rerank", other, "--num_beams")
    command(score_command, tiny_run, *reranked, 1, 4, "--n_bootstrap", 0, "--output", tmp_path / "scores.json")
    results = json.loads((tmp_path / "scores.json").read_text())["results"]
    greedy, found = results["greedy"]["translations"], results["beam 4"]["translations"]

    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    second_model, sources = load_model(str(other)), results["beam 4"]["sources"]
    assert greedy == Translator(model, tokenizer, Search(1)).best(sources)
    lists = Translator(model, tokenizer, Search(4, 4, scores=True)).translate(sources)
    for source, translations, chosen in zip(sources, lists, found, strict=True):
        texts = [translation.text for translation in translations]
        second = force(second_model, tokenizer, [source] * 4, texts)
        sums = [first.score + found.log_probability for first, found in zip(translations, second, strict=True)]
        assert chosen == texts[sums.index(max(sums))]
    assert found != [translations[0].text for translations in lists]

    refused("--rerank needs beam search", command, score_command, tiny_run, *reranked, 1)


def test_a_reranker_needs_the_same_languages(tiny_run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_run, other, ignore=shutil.ignore_patterns("checkpoint-*"))
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"source_language": "fr", "target_language": "en"}))
    assert load_reranker(str(tiny_run), str(other)).reverse
    assert not load_reranker(str(tiny_run), str(tiny_run)).reverse
    (other / "config.json").write_text(json.dumps(config | {"source_language": "en", "target_language": "de"}))
    refused("translates from en to de", load_reranker, str(tiny_run), str(other))


def test_no_texts_have_no_scores(tiny_run):
    assert force(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)), [], []) == []
