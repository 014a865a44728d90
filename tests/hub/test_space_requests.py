"""What the functions of the Space answer to requests that its page would not send; its API takes any."""

import importlib.util
import json
import sys

import pytest

from glossa.hub.push import stage, stage_space

pytest.importorskip("gradio", reason="the Space needs gradio: pip install -e .[dev]")


@pytest.fixture(scope="module")
def app(tiny_run, tmp_path_factory):
    """The page of the Space, staged as for a push."""
    folder = tmp_path_factory.mktemp("space")
    stage(tiny_run, "someone/en-fr", folder / "model")
    stage_space("someone/en-fr", tiny_run, folder / "space")
    assert json.loads((folder / "space/settings.json").read_text())["examples"] == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODEL_ID", str(folder / "model"))
        patch.syspath_prepend(str(folder / "space"))
        patch.setitem(sys.modules, "handler", None)
        del sys.modules["handler"]
        spec = importlib.util.spec_from_file_location("app", folder / "space/app.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module.space_page()


def test_a_translation_with_its_attention(app):
    choices, best, heat, message = app.run("a k.", 2.0, 8)
    assert message == "" and ("<table>" in heat or "up to 60 tokens" in heat)
    assert choices["value"] == best and 1 <= len(choices["choices"]) <= 2
    assert app.choose("a k.", best)[0] == best
    assert app.blocks() is not None, "a page without examples"


@pytest.mark.parametrize(
    ("text", "beams", "count", "message"),
    [
        ("", 4, 3, "Type some text first."),
        (None, 4, 3, "Type some text first."),
        ("x" * 20_001, 4, 3, "inputs have 20,001 characters in total; at most 20,000 are allowed."),
        ("a\ud800", 4, 3, "inputs must be valid Unicode; a text has half of a surrogate pair."),
        (["a", 5], 4, 3, "inputs must be a text or a list of 1 to 64 texts."),
        ("a", float("nan"), 3, "num_beams must be an integer from 1 to 16."),
        ("a", 4000, 3, "num_beams must be an integer from 1 to 16."),
        ("a", "4", 3, "num_beams must be an integer from 1 to 16."),
        ("a", 4, 0, "num_return_sequences must be an integer from 1 to 16."),
    ],
)
def test_what_is_not_allowed_gets_the_message_of_the_handler(app, text, beams, count, message):
    choices, best, heat, shown = app.run(text, beams, count)
    assert (choices["choices"], best, heat, shown) == ([], "", "", message)


def test_a_chosen_translation_is_checked_too(app):
    assert app.choose("a", "") == ("", "")
    assert app.choose("a", "x" * 20_000) == (
        "", "<p>inputs have 20,001 characters in total; at most 20,000 are allowed.</p>"
    )  # fmt: skip
    assert "texts" in app.choose("a", {"b": 5})[1]
