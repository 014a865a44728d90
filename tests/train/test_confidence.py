"""A run learns from its validation translations which ones need no correction."""

import json
import logging
from types import SimpleNamespace

import pytest
from small_models import knows

from glossa.base.run_folder import RunFolder
from glossa.model.profile_glossa import TextProfile
from glossa.train.evaluation.calibration import sentence_chrf
from glossa.train.judging import Judged, _learn_from, measure_confidence
from glossa.translate.confidence import FEATURES, INTERCEPT, WITH_MATCH, WORD_FEATURES, confidence, features, learn
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Checks, Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator


@pytest.mark.slow
def test_the_saved_weights_are_those_of_its_own_translations(tmp_path, tiny_train, monkeypatch):
    monkeypatch.setattr("glossa.train.judging.NEEDS_NONE", 30.0)  # a short training
    once = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False, "num_beams": 2}
    learned = {"num_train_epochs": 30, "learning_rate": 1e-2, "validation_size": 110, "test_size": 0}
    learned["split_seed"] = 2  # a draw with which so short a training learns to end its translations
    run = tiny_train(tmp_path / "run", **once, **learned)
    config = json.loads((run / "config.json").read_text())["text_profile"]
    saved = config["confidence"]
    assert set(saved) == {*FEATURES, INTERCEPT} and set(config["word_confidence"]) == {*WORD_FEATURES, INTERCEPT}

    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    assert GenerateEngine(model, tokenizer).profile.confidence == saved
    pairs = RunFolder(run).load_held_out("validation")
    translator = Translator(model, tokenizer, Search(scores=True), Checks(confident=True, words=True))
    rows, right, given = [], [], []
    words, right_ones = [], []
    translated = translator.translate(pairs["source"][:])
    for source, target, found in zip(pairs["source"][:], pairs["target"][:], translated, strict=True):
        if found[0].text:
            pieces = len(tokenizer(source)["input_ids"])
            ratio = TextProfile.of(model.config).length_ratio
            rows.append(features(source, found[0].text, found[0].token_score, pieces, ratio))
            right.append(sentence_chrf([found[0].text], [[target]])[0] >= 30)
            given.append(found[0].confidence)
            words += [share for _, share in found[0].words]
            right_ones += [word.strip(".!") in target.replace("!", "").split() for word in found[0].text.split()]
    expected = learn(rows, right)  # a little different where a text has other tokens than the search found
    assert given == pytest.approx([confidence(expected, row) for row in rows], abs=0.06)
    assert sum(given) / len(given) == pytest.approx(sum(right) / len(right), abs=0.02)
    assert sum(words) / len(words) == pytest.approx(sum(right_ones) / len(right_ones), abs=0.02)


@pytest.mark.parametrize(("right", "learns"), [(89, True), (91, False), (9, False)])
def test_a_run_says_if_it_learns_none(caplog, right, learns):
    """Of a hundred translations at least ten need a correction, and ten need none; the quickstart's are too good."""
    judged = [Judged(-1.0, [float(number), 1.0, 0.0, 0.0], number < right) for number in range(100)]
    model = SimpleNamespace(config=SimpleNamespace())
    with caplog.at_level(logging.INFO):
        _learn_from(judged, model)
    assert bool(TextProfile.of(model.config).confidence) == learns
    said = [text for text in caplog.messages if text.startswith("No confidence is learned")]
    assert len(said) == (not learns) and all(f"Of 100, {right} need none" in text for text in said)


def test_the_reliability_by_hand():
    weights = dict.fromkeys(FEATURES, 0.0) | {INTERCEPT: 0.0}  # one half for all
    judged = [Judged(-1.0, [0.0] * len(WITH_MATCH), number < 14) for number in range(20)]
    found = measure_confidence(weights, judged)
    assert found["bins"] == [[0.5, 1.0, 2]] * 7 + [[0.5, 0.0, 2]] * 3 and found["error"] == 0.5


def test_a_model_that_is_trained_further_forgets_it(tiny_run, tiny_train, tmp_path):
    model = load_model(str(tiny_run))
    knows(model.config, confidence={"score": 1.0})
    model.save_pretrained(tmp_path / "start")
    load_tokenizer(str(tiny_run)).save_pretrained(tmp_path / "start")
    further = tiny_train(tmp_path / "run", init_from=tmp_path / "start", max_steps=1)
    assert "confidence" not in json.loads((further / "config.json").read_text())["text_profile"]
