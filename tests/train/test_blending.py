"""Blends of a tuned model with its start: the weights, LoRA, other families, and what is refused."""

import json
import shutil

import pytest
import torch
from peft import PeftModel
from published_models import publish
from small_models import UNSIZED, weights
from transformers import AutoModelForSeq2SeqLM

from glossa import GlossaForConditionalGeneration
from glossa.base.errors import GlossaError
from glossa.cli import blend as command
from glossa.train.blending import blend_into, scale_adapter
from glossa.translate.build import build_translator
from glossa.translate.languages import Languages
from glossa.translate.loading import load_model


@pytest.fixture
def moved(tmp_path, tiny_run):
    """A copy of the tiny run whose weights are one higher."""
    folder = shutil.copytree(tiny_run, tmp_path / "moved", ignore=shutil.ignore_patterns("checkpoint-*"))
    model = load_model(str(folder))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)
    model.save_pretrained(folder)
    return folder


def run(start, tuned, output, share="0.25"):
    command.main([str(start), str(tuned), "--share", share, "--output", str(output)])
    return output


def test_a_share_of_the_change_is_kept(tmp_path, tiny_run, moved, capsys):
    blend = weights(run(tiny_run, moved, tmp_path / "blend"))
    for name, weight in weights(tiny_run).items():
        torch.testing.assert_close(blend[name], weight + 0.25, rtol=0, atol=1e-6)
    assert "blend has 25% of" in capsys.readouterr().out


@pytest.mark.parametrize(("share", "which"), [("0", 0), ("1", 1)])
def test_the_ends_are_the_models_themselves(tmp_path, tiny_run, moved, share, which):
    blend, whole = weights(run(tiny_run, moved, tmp_path / "blend", share)), weights((tiny_run, moved)[which])
    assert blend.keys() == whole.keys() and all(weight.equal(blend[name]) for name, weight in whole.items())


def test_a_blend_translates_between_the_same_languages(tmp_path, tiny_run, moved):
    folder = str(run(tiny_run, moved, tmp_path / "blend"))
    assert len(build_translator([folder]).best(["a k.", "b l."])) == 2
    assert Languages.of(folder).pair == ("en", "fr")


def test_a_start_in_another_precision_is_blended():
    model = torch.nn.Linear(1, 1, bias=False, dtype=torch.bfloat16)
    blend_into(model, {"weight": torch.tensor([[1.0]])}, {"weight": torch.tensor([[2.0]]).bfloat16()}, 0.5)
    assert model.weight.item() == 1.5


@pytest.fixture(scope="module")
def adapted(tmp_path_factory, tiny_train, tiny_run):
    settings = UNSIZED | {"init_from": tiny_run, "lora_rank": 2, "max_steps": 2, "eval_strategy": "no"}
    settings |= {"save_strategy": "no", "load_best_model_at_end": False, "learning_rate": 0.1}
    return tiny_train(tmp_path_factory.mktemp("lora") / "run", **settings)


def test_the_share_of_an_adapter_is_its_scale(tmp_path, tiny_run, adapted):
    merged, alone = (
        run(tiny_run, adapted / part, tmp_path / str(number)) for number, part in enumerate(("", "adapter"))
    )
    scaled = PeftModel.from_pretrained(load_model(str(tiny_run)), adapted / "adapter")
    for module in scaled.modules():
        if hasattr(module, "scale_layer"):
            module.scale_layer(0.25)
    scaled.merge_and_unload().save_pretrained(tmp_path / "scaled")
    own = shutil.copytree(adapted / "adapter", tmp_path / "adapter")
    scale_adapter(own, 0.25)
    found = PeftModel.from_pretrained(load_model(str(tiny_run)), own).merge_and_unload()
    found.save_pretrained(tmp_path / "own")
    start = weights(tiny_run)
    expected = weights(tmp_path / "scaled")
    assert any((weight - start[name]).abs().max() > 1e-3 for name, weight in expected.items())
    for folder in (merged, alone, tmp_path / "own"):
        for name, weight in weights(folder).items():
            torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    """A small MarianMT with random weights."""
    texts = [f"{a} {b}." for a in "abcdefgh" for b in "klmnopqrst"]
    return publish("opus-mt", tmp_path_factory.mktemp("marian"), texts, texts)


def test_another_family_is_blended_too(tmp_path, marian):
    tuned = shutil.copytree(marian, tmp_path / "tuned")
    model = AutoModelForSeq2SeqLM.from_pretrained(tuned)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)
    model.save_pretrained(tuned)
    found = AutoModelForSeq2SeqLM.from_pretrained(run(marian, tuned, tmp_path / "blend")).state_dict()
    for name, weight in AutoModelForSeq2SeqLM.from_pretrained(marian).named_parameters():
        if "positions" not in name:  # computed, not saved
            torch.testing.assert_close(found[name], weight.detach() + 0.25, rtol=0, atol=1e-5)


def refused(message, *arguments):
    with pytest.raises(GlossaError, match=message):
        run(*arguments)


def test_models_that_do_not_belong_together_are_refused(tmp_path, tiny_run, adapted, marian):
    wider = tmp_path / "wider"
    config = load_model(str(tiny_run)).config
    config.d_model = 32
    GlossaForConditionalGeneration(config).save_pretrained(wider)
    for file in tiny_run.glob("tokenizer*.json"):
        shutil.copy(file, wider)
    refused("is a model of the family glossa, and .* of marian", tiny_run, marian, tmp_path / "a")
    refused(
        r"was not tuned from .*: the weight .* is \(280, 16\) in .* and \(280, 32\)", tiny_run, wider, tmp_path / "a"
    )
    refused("is not an adapter of .*size mismatch", wider, adapted / "adapter", tmp_path / "a")
    refused("already holds files", tiny_run, tiny_run, tiny_run)
    assert not (tmp_path / "a").exists()


def test_another_vocabulary_is_refused(tmp_path, tiny_run):
    other = shutil.copytree(tiny_run, tmp_path / "other", ignore=shutil.ignore_patterns("checkpoint-*"))
    file = other / "tokenizer.json"
    settings = json.loads(file.read_text())
    vocabulary = settings["model"]["vocab"]
    first, second = [token for token in vocabulary if len(token) == 1][:2]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    file.write_text(json.dumps(settings))
    refused("vocabularies differ in 2 tokens", tiny_run, other, tmp_path / "a")


def test_the_share_is_from_0_to_1(tiny_run, capsys):
    with pytest.raises(SystemExit):
        run(tiny_run, tiny_run, "x", "1.5")
    assert "got 1.5; it must be from 0 to 1" in capsys.readouterr().err
