"""Loading a folder runs no code in it and asks nothing."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from published_models import publish

from glossa import GlossaConfig
from glossa.base.errors import GlossaError
from glossa.train.hub.facts import Run
from glossa.train.plan import catalog
from glossa.translate.languages import Languages
from glossa.translate.loading import load_model, load_tokenizer


@pytest.mark.parametrize("load", [load_model, load_tokenizer])
def test_code_in_a_folder_is_neither_run_nor_asked_about(tmp_path, monkeypatch, load):
    code = {"AutoConfig": "own.OwnConfig", "AutoModelForSeq2SeqLM": "own.OwnModel", "AutoTokenizer": ["own.Own", None]}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": code}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": code}))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    asked = []
    monkeypatch.setattr("builtins.input", lambda *question: asked.append(question) or "y")
    with pytest.raises(GlossaError, match=r"brings code of its own.* give --trust_remote_code\."):
        load(str(tmp_path))
    assert not asked and not (tmp_path / "run").exists()


def test_a_run_writes_its_languages_into_model_and_tokenizer(tiny_run):
    config = json.loads((tiny_run / "config.json").read_text())
    tokenizer = json.loads((tiny_run / "tokenizer_config.json").read_text())
    assert (config["source_language"], config["target_language"]) == ("en", "fr")
    assert (tokenizer["src_lang"], tokenizer["tgt_lang"]) == ("en", "fr")
    assert catalog.settings()["source_language"].group == "data", "one setting, not a second one of the model"


@pytest.fixture
def model_folder(tmp_path):
    def write(name="model", recipe="", **settings):
        GlossaConfig(**settings).save_pretrained(tmp_path / name)
        if recipe:
            (tmp_path / name / "recipe.yaml").write_text(recipe)
        return tmp_path / name

    return write


RECIPE = "objective: translation\nsource_language: de\ntarget_language: en\n"


def test_the_languages_of_the_config_count_before_those_of_the_recipe(model_folder):
    folder = model_folder(recipe=RECIPE, source_language="it", target_language="pt_BR")
    assert Languages.of(str(folder)).pair == ("it", "pt_BR")
    facts = Run(folder)
    assert facts.languages == ["it", "pt"] and facts.direction == "Italian to Portuguese (BR)"


def test_an_older_folder_has_the_languages_of_its_recipe(model_folder):
    folder = model_folder(recipe=RECIPE)
    config = json.loads((folder / "config.json").read_text())
    assert config.pop("source_language", None) is config.pop("target_language", None) is None
    (folder / "config.json").write_text(json.dumps(config))
    assert Languages.of(str(folder)).pair == ("de", "en")
    assert Run(folder).direction == "German to English"
    checkpoint = folder / "checkpoint-5"
    checkpoint.mkdir()
    shutil.copyfile(folder / "config.json", checkpoint / "config.json")
    assert Languages.of(str(checkpoint)).pair == ("de", "en")


def test_a_pretrained_model_and_one_without_a_recipe_have_no_languages(model_folder):
    pretrained = RECIPE.replace("translation", "causal_lm")
    for folder in (model_folder("a", pretrained), model_folder("b")):
        assert Languages.of(str(folder)) == Languages()
    assert Run(model_folder("c")).direction == ""


CODE = """
from pathlib import Path
from transformers import BartConfig, BartForConditionalGeneration
Path({mark!r}).touch()
class OwnConfig(BartConfig):
    model_type = "own"
class OwnModel(BartForConditionalGeneration):
    config_class = OwnConfig
"""


@pytest.fixture
def with_code(tmp_path):
    """A model with code that leaves a mark."""
    texts = ["a b c d e"] * 20
    folder = publish("bart", tmp_path / "own", texts, texts)
    (folder / "modeling_own.py").write_text(CODE.format(mark=str(tmp_path / "mark")))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "architectures": ["OwnModel"], "auto_map": {
        "AutoConfig": "modeling_own.OwnConfig", "AutoModelForSeq2SeqLM": "modeling_own.OwnModel"}}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.slow
def test_with_permission_a_command_runs_it_and_says_so(with_code, tmp_path):
    command = [sys.executable, "-m", "glossa_command", "translate", str(with_code), "--trust_remote_code"]
    environment = {"HF_MODULES_CACHE": str(tmp_path / "modules")}
    done = subprocess.run(
        command, input="a b\n", env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mark").exists()
    assert f"The code in {with_code} is run, as --trust_remote_code allows." in done.stderr
