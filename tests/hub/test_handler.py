"""The Inference Endpoints handler: requests and responses of the Hub's translation widget."""

import importlib.util
from pathlib import Path

import pytest

from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator

PATH = Path(__file__).parents[2] / "model_card/handler.py"


@pytest.fixture(scope="module")
def module():
    spec = importlib.util.spec_from_file_location("handler", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def answer(module, tiny_run):
    return module.EndpointHandler(tiny_run)


def test_widget_request_gets_widget_response(answer, tiny_run):
    best = Translator(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)), num_beams=3).best(["a k.", "b l."])
    parameters = {"num_beams": 3, "src_lang": "en"}
    assert answer({"inputs": "a k.", "parameters": parameters}) == [{"translation_text": best[0]}]
    assert answer({"inputs": ["a k.", "b l."], "parameters": parameters}) == [{"translation_text": t} for t in best]
    assert answer({"inputs": ""}) == [{"translation_text": ""}]
    two = {"num_beams": 3, "num_return_sequences": 2, "return_scores": True}
    (found,) = answer({"inputs": ["a k."], "parameters": two})
    assert [set(one) for one in found] == [{"translation_text", "score"}] * 2


def test_long_text_is_translated_sentence_by_sentence(answer):
    one = answer({"inputs": "a k."})[0]["translation_text"]
    text = "A k. " * 3 + "\n" + "a k."
    assert answer({"inputs": text})[0]["translation_text"].endswith(f"\n{one}")
    assert answer({"inputs": "x" * 20_000, "parameters": {"max_new_tokens": 2}})[0]["translation_text"] is not None


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, '"inputs" is missing'),
        ("text", '"inputs" is missing'),
        ({"inputs": 5}, "must be a text or a list of texts"),
        ({"inputs": ["a", None]}, "must be a text or a list of texts"),
        ({"inputs": ["a"] * 65}, "65 texts in one request; at most 64"),
        ({"inputs": "x" * 20_001}, "20,001 characters; at most 20,000"),
        ({"inputs": "a", "parameters": ["b"]}, '"parameters" must be an object'),
        ({"inputs": "a", "parameters": {"beams": 3}}, "There is no parameter 'beams'; the parameters are batch"),
        ({"inputs": "a", "parameters": {"num_beams": 99}}, "num_beams is 99; it must be an integer from 1 to 16"),
        ({"inputs": "a", "parameters": {"num_beams": True}}, "num_beams is True"),
        ({"inputs": "a", "parameters": {"num_return_sequences": 9}}, "num_return_sequences is 9 and num_beams 2"),
    ],
)
def test_invalid_requests_get_an_error(answer, request_, message):
    found = answer(request_)
    assert set(found) == {"error"} and message in found["error"]


def test_imports_are_available_in_an_endpoint():
    lines = [line for line in PATH.read_text().splitlines() if line.startswith(("import", "from"))]
    assert {line.split()[1].split(".")[0] for line in lines} == {"pathlib", "typing", "torch", "transformers"}
