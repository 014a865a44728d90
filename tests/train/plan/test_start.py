"""A character vocabulary in a recipe, and a new model with the saved tokenizer of another."""

import json
from pathlib import Path
from shutil import copytree, rmtree

import pytest
import torch
from small_models import QUIET
from tokenizers import Tokenizer, models
from torch import nn
from transformers import PreTrainedTokenizerFast

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import TokenizerArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer, train_tokenizer_pair
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.start import adopt_start, load_start, reused_tokenizer
from glossa.train.run import train
from glossa.translate.loading import load_model, load_tokenizer

FEW = QUIET | {"max_steps": 1, "save_strategy": "no"}
PLAIN = {"vocab_size": 8000}  # the default, instead of that of the fixture
LETTERS = len("abcdefghijklmnopqrstuvwxyzABCD .!")


@pytest.fixture
def recipe(tiny_settings, tmp_path):
    """Settings of a recipe file with these lines, and of the command line."""

    def parse(text, name="run", **changes):
        (tmp_path / "recipe.yaml").write_text(text)
        return parse_settings([str(tmp_path / "recipe.yaml"), *tiny_settings(tmp_path / name, **FEW | changes)])

    return parse


def test_a_run_on_characters_and_one_with_its_tokenizer(recipe):
    first = train(recipe("tokenizer_model: character\nmin_frequency: 1\n", "first"))
    tokenizer, model = load_tokenizer(str(first)), load_model(str(first))
    assert len(tokenizer) == model.config.vocab_size == 4 + LETTERS
    assert tokenizer.convert_ids_to_tokens(tokenizer("b A.")["input_ids"]) == ["b", " ", "A", ".", "</s>"]
    reused = recipe(f"tokenizer: {first}\n", "second", max_source_positions=40, max_target_positions=30, **PLAIN)
    second = train(reused)
    assert load_model(str(second)).config.vocab_size == 4 + LETTERS
    assert json.loads((second / "tokenizer.json").read_text()) == json.loads((first / "tokenizer.json").read_text())
    assert load_tokenizer(str(second)).model_max_length == 40


def test_a_model_in_half_precision_trains_on_in_float32(recipe, tiny_run, tmp_path):
    load_model(str(tiny_run)).bfloat16().save_pretrained(tmp_path / "half")
    load_tokenizer(str(tiny_run)).save_pretrained(tmp_path / "half")
    run = train(recipe(f"init_from: {tmp_path / 'half'}\nlearning_rate: 1.0e-5\n", **PLAIN | {"max_steps": 3}))
    before, after = (load_model(str(folder)).state_dict() for folder in (tmp_path / "half", run))
    assert {weight.dtype for weight in after.values()} == {torch.float32}
    # Steps of this size are lost in bfloat16.
    assert all((weight.float() != after[name]).any() for name, weight in before.items() if ".layers." in name)


def test_a_start_whose_training_failed_is_refused(recipe, tiny_run, tmp_path):
    """The case `hostile/nan-model`."""
    model = load_model(str(tiny_run))
    with torch.no_grad():
        model.lm_head.weight[3, 2] = float("nan")
    model.save_pretrained(tmp_path / "failed")
    load_tokenizer(str(tiny_run)).save_pretrained(tmp_path / "failed")
    with pytest.raises(GlossaError, match=r"failed, whose weight .*weight has values that are not finite"):
        train(recipe(f"init_from: {tmp_path / 'failed'}\n", **PLAIN))


def test_learned_positions_end_translations(recipe):
    table = {"max_source_positions": 14, "max_target_positions": 14, "max_length": 14, "max_new_tokens": 100}
    evaluated = {"eval_strategy": "steps", "eval_steps": 1}
    run = train(recipe("position_embedding_type: learned\n", **table | evaluated))
    model, tokenizer = load_model(str(run)), load_tokenizer(str(run))
    assert model.generation_config.max_length == 15  # the start token, and as many as there are positions
    found = model.generate(**tokenizer("a k.", return_tensors="pt"), min_length=15, num_beams=1)
    assert found.shape == (1, 15)


def test_a_tokenizer_alone_with_two_vocabularies(recipe, tmp_path):
    words = TokenizerArguments(vocab_size=9, target_vocab_size=7, tokenizer_model="word", min_frequency=1)
    train_tokenizer_pair(["a b c d e"], ["k l m"], words).save_pretrained(tmp_path / "words")
    assert not (tmp_path / "words" / "config.json").exists()
    text = f"tokenizer: {tmp_path / 'words'}\nshare_encoder_decoder_embeddings: false\n"
    model = load_model(str(train(recipe(text, **PLAIN))))
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (9, 7)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("vocab_size", 300), ("target_vocab_size", 300), ("tokenizer_model", "word"), ("min_frequency", 1),
     ("normalization", ["nfkc"]), ("split_punctuation", False), ("source_special_tokens", "none")],
)  # fmt: skip
def test_settings_that_would_be_ignored_are_refused(setting, value):
    with pytest.raises(GlossaError, match=f"{setting} is .*, but tokenizer is runs/other, which has its own settings"):
        TokenizerArguments(tokenizer="runs/other", **{setting: value})


@pytest.fixture
def refused(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def message(name="saved", **changes):
        with pytest.raises(GlossaError) as error:
            reused_tokenizer(recipe(f"tokenizer: {name}\n", **PLAIN | changes), str(name))
        return str(error.value)

    return message


def test_what_a_new_model_cannot_use_is_refused(refused, recipe, tmp_path):
    Path("empty").mkdir()
    assert "holds no tokenizer.json" in refused("empty")
    assert "There is no folder missing" in refused("missing")
    plain = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "</s>": 2, "<s>": 3, "<pad>": 4}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="</s>").save_pretrained("saved")
    assert "has no pad_token and no bos_token" in refused()
    roles = {"eos_token": "</s>", "pad_token": "<pad>", "bos_token": "<s>"}
    PreTrainedTokenizerFast(tokenizer_object=plain, **roles).save_pretrained("saved")
    assert "does not put </s> after a target" in refused()
    train_tokenizer(["a b"], 260).save_pretrained("saved")
    assert "lacks <mask>; objective masked_lm with max_length 128" in refused(objective="masked_lm")
    words = TokenizerArguments(vocab_size=9, target_vocab_size=9, tokenizer_model="word", min_frequency=1)
    train_tokenizer_pair(["a b"], ["a b"], words).save_pretrained("saved")
    assert "Set share_encoder_decoder_embeddings to false" in refused()
    with pytest.raises(GlossaError, match="init_from keeps the tokenizer of its model"):
        recipe("tokenizer: saved\n", init_from="runs/other", **PLAIN)


def test_a_start_decides_model_and_vocabulary(tiny_run, tmp_path, caplog):
    (tmp_path / "recipe.yaml").write_text("d_model: 64\ndropout: 0.25\nnum_train_epochs: 3\n")
    settings = parse_settings([str(tmp_path / "recipe.yaml"), "--init_from", str(tiny_run), "--vocab_size", "9999"])
    settings = adopt_start(settings)
    found = settings.recipe()
    assert [found[name] for name in ("d_model", "encoder_ffn_dim", "vocab_size", "min_frequency")] == [16, 32, 280, 2]
    assert (found["dropout"], found["num_train_epochs"]) == (0.25, 3)
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    kept = "init_from keeps the model and vocabulary of"
    assert warning == f"{kept} {tiny_run}: d_model is 16, not 64, vocab_size is 280, not 9999."
    model = load_start(settings)
    assert {module.p for module in model.modules() if isinstance(module, nn.Dropout)} == {0.25, 0.0}


def test_dropout_that_is_not_named_stays_that_of_the_start(tiny_run, tmp_path, caplog):
    changed = load_model(str(tiny_run), dropout=0.45, attention_dropout=0.05)
    changed.save_pretrained(tmp_path / "start")
    settings = parse_settings(["--init_from", str(tmp_path / "start"), "--attention_dropout", "0.15"])
    settings = adopt_start(settings)
    assert (settings.model.dropout, settings.model.attention_dropout) == (0.45, 0.15)
    again = parse_settings(["--init_from", str(tmp_path / "start"), "--kv_lora_rank", "null"])
    again = adopt_start(again)
    assert not caplog.records  # its size of a head follows from the others
    assert load_start(again).config.dropout == 0.45


def test_a_finished_run_needs_its_start_no_more(tiny_run, tiny_train, tmp_path, caplog):
    start = tmp_path / "start"
    copytree(tiny_run, start)
    given = QUIET | {"init_from": start, "d_model": 64, "max_steps": 2}
    run = tiny_train(tmp_path / "run", **given)
    rmtree(start)
    caplog.set_level("INFO")
    assert tiny_train(run, **given, resume_from_checkpoint="true") == run
    assert f"{run} is finished. There is nothing to resume." in caplog.text
    with pytest.raises(GlossaError, match=r"seed was .* and is 5"):
        tiny_train(run, **given, resume_from_checkpoint="true", seed=5)
