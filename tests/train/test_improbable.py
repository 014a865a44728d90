"""A run learns how probable its own translations of validation pairs are, and reports less probable ones."""

import json

import numpy
import pytest
import torch
from small_models import knows

from glossa.base.run_folder import RunFolder
from glossa.model.sentences_glossa import clean_text
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Execution, Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_train):
    output = tmp_path_factory.mktemp("runs") / "run"
    once = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False}
    learned = {"num_train_epochs": 30, "learning_rate": 1e-2, "validation_size": 110, "test_size": 0}
    return tiny_train(output, **once, **learned)


def token_scores(run, sources):
    """The log-probability per token of the translations, one at a time and without our scoring."""
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    found = []
    for source, text in zip(sources, map(clean_text, Translator(model, tokenizer).best(sources)), strict=True):
        batch = tokenizer(source, text_target=text, return_tensors="pt")
        labels = batch["labels"]
        with torch.no_grad():
            logits = model(**batch).logits
        each = logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        if text:
            found.append(each.mean().item())
    return found


def test_the_limit_is_that_of_one_validation_translation_in_a_hundred(run):
    config = json.loads((run / "config.json").read_text())["text_profile"]
    own = token_scores(run, RunFolder(run).load_held_out("validation")["source"][:])
    assert len(own) > 100
    assert config["improbable_score"] == pytest.approx(numpy.quantile(own, 0.01), abs=2e-4)
    model = load_model(str(run))
    assert GenerateEngine(model, load_tokenizer(str(run))).profile.improbable_score == config["improbable_score"]


def test_less_probable_translations_are_reported(run):
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    sources = RunFolder(run).load_held_out("validation")["source"][:]
    translator = Translator(model, tokenizer, Search(1, scores=True), execution=Execution(split_sentences=False))
    limits = {"none": -100.0, "all": -1e-9}
    counts = {}
    for name, limit in limits.items():
        knows(translator.engine, improbable_score=limit)
        found = [translations[0] for translations in translator.translate(sources)]
        counts[name] = sum(translation.problem == "improbable" for translation in found)
    assert counts["none"] == 0 and counts["all"] > 0


def test_too_few_translations_and_a_model_that_is_trained_further(run, tiny_run, tiny_train, tmp_path):
    assert "improbable_score" not in json.loads((tiny_run / "config.json").read_text())["text_profile"]
    further = tiny_train(tmp_path / "run", init_from=run, max_steps=1)
    profile = json.loads((further / "config.json").read_text())["text_profile"]
    assert "improbable_score" not in profile  # not that of its start
