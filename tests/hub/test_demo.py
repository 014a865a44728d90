"""The page on this machine: `glossa demo` for a model folder that was never staged for a Space."""

import os
import shutil
import socket
import subprocess
import sys
import time

import pytest
import yaml

from glossa.cli import demo
from glossa.errors import GlossaError
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator


def test_without_gradio_it_says_what_to_install(tiny_run, monkeypatch, documented):
    monkeypatch.setitem(sys.modules, "gradio", None)
    monkeypatch.delitem(sys.modules, "app", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(GlossaError, match="needs gradio, which is not installed: pip install") as error:
        demo.main([str(tiny_run)])
    documented("Translating and scoring", error.value)


def test_a_model_that_is_missing_is_named_before_anything_is_loaded():
    with pytest.raises(GlossaError, match="There is no folder nowhere"):
        demo.main(["nowhere"])


@pytest.fixture(scope="module")
def app():
    pytest.importorskip("gradio", reason="glossa demo needs gradio: pip install -e .[demo]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", list(sys.path))
        patch.setitem(sys.modules, "handler", None)
        del sys.modules["handler"]
        yield demo.load_app()
        sys.modules.pop("app")


def test_a_run_has_its_languages_and_examples(app, tiny_run):
    page = demo.build_page(app, str(tiny_run))
    assert page.direction == "English to French" and page.examples == [], "its data is a local file"
    translator = Translator(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)), num_beams=2)
    assert page.run("a k.", 2, 1)[1] == translator.best(["a k."])[0]
    assert page.run("x" * 20_001, 2, 1)[3].startswith("inputs have 20,001 characters"), "the limits of the Space"


def test_held_out_sentences_are_examples_only_if_everyone_can_read_the_data(app, tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    recipe = yaml.safe_load((tmp_path / "run/recipe.yaml").read_text())
    for own, count in (({"dataset": "embedded", "data_path": []}, 5), ({"dataset": "files"}, 0)):
        (tmp_path / "run/recipe.yaml").write_text(yaml.safe_dump(recipe | own))
        assert len(demo.build_page(app, str(tmp_path / "run")).examples) == count


def test_any_saved_model_will_do(app, tiny_run, tmp_path):
    """Without the recipe, the reports and the code that a run or a push leaves beside the weights."""
    model = load_model(str(tiny_run))
    model.config.source_language = model.config.target_language = None
    model.save_pretrained(tmp_path)
    load_tokenizer(str(tiny_run)).save_pretrained(tmp_path)
    for code in tmp_path.glob("*.py"):
        code.unlink()
    page = demo.build_page(app, str(tmp_path))
    assert (page.direction, page.examples) == ("", [])
    assert page.blocks().title == "Translate"
    _, best, heat, message = page.run("a k.", 1, 1)
    assert message == "" and best == Translator(model, load_tokenizer(str(tiny_run)), num_beams=1).best(["a k."])[0]
    assert "<table>" in heat or "up to 60 tokens" in heat


@pytest.mark.slow
def test_the_command_answers_on_this_machine_only(tiny_run, tmp_path):
    client = pytest.importorskip("gradio_client", reason="glossa demo needs gradio: pip install -e .[demo]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "glossa_command", "demo", str(tiny_run), "--port", str(port)]
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        while not connects("127.0.0.1", port):
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
        assert not connects("127.0.0.2", port), "another address of this machine"
        choices, best, _, message = client.Client(f"http://127.0.0.1:{port}", verbose=False).predict(
            "a k.", 2, 1, api_name="/translate"
        )
        translator = Translator(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)), num_beams=2)
        assert (message, best) == ("", translator.best(["a k."])[0]) and choices["value"] == best
    finally:
        process.terminate()
        process.wait(20)


def connects(host, port):
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0
