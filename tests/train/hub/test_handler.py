"""The Inference Endpoints handler: requests and responses of the Hub's translation widget, and its limits."""

import importlib.util
import itertools
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

PATH = Path(__file__).parents[3] / "model_card/handler.py"


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
    best = Translator(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)), Search(3)).best(["a k.", "b l."])
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
    assert answer({"inputs": "a k. " * 1000, "parameters": {"max_new_tokens": 2}})[0]["translation_text"] is not None


def test_text_that_is_longer_after_its_cleaning_is_cut_to_fit(answer):
    """U+FB2C is one letter of three bytes; its NFC form has three letters of two bytes."""
    longest = answer.translate.tokenizer.model_max_length
    for letters in (longest // 6, longest // 5, longest // 4):
        (found,) = answer({"inputs": "\ufb2c" * letters, "parameters": {"max_new_tokens": 1, "num_beams": 1}})
        assert found.keys() == {"translation_text"}


def test_parameters_of_the_hubs_clients(answer):
    plain = answer({"inputs": "a k."})
    widget = {"src_lang": "en", "tgt_lang": "fr", "clean_up_tokenization_spaces": True, "truncation": "only_first"}
    assert answer({"inputs": "a k.", "parameters": widget, "options": {"use_cache": False}}) == plain
    assert answer({"inputs": "a k.", "parameters": {"num_beams": None, "generate_parameters": None}}) == plain
    assert answer({"inputs": "a k.", "parameters": None}) == plain
    nested = {"generate_parameters": {"num_beams": 3, "num_return_sequences": 3}}
    assert len(answer({"inputs": "a k.", "parameters": nested})) == 3


FORM = 'A request must be {"inputs": text or list of texts, "parameters": {...}}.'
TEXTS = "inputs must be a text or a list of 1 to 64 texts."
BEAMS = "num_beams must be an integer from 1 to 16."
PENALTY = "length_penalty must be a number from -5 to 5."
SCORES = "return_scores must be true or false."
NESTED = "generate_parameters must be an object of names and values."


def deep(levels):
    value = "a"
    for _ in range(levels):
        value = [value]
    return value


def asking(**parameters):
    return {"inputs": "a", "parameters": parameters}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        *((request, FORM) for request in ({}, "text", None, {"inputs": "a", "parameter": {"num_beams": 3}})),
        *(({"inputs": texts}, TEXTS)
          for texts in (5, [], ["a", None], [["a"]], deep(5000), {"text": "a"}, ["a"] * 65)),
        ({"inputs": ["x" * 10_000, "x" * 10_001]},
         "inputs have 20,001 characters in total; at most 20,000 are allowed."),
        # A space, the letters and the end.
        ({"inputs": "x" * 20_000}, "inputs have 20,002 tokens in total; at most 10,000 are allowed."),
        ({"inputs": "a \ud800 b"}, "inputs must be valid Unicode; a text has half of a surrogate pair."),
        ({"inputs": "a", "parameters": ["b"]}, "parameters must be an object of names and values."),
        ({"inputs": "a", "parameters": {1: 2}}, "parameters must be an object of names and values."),
        (asking(beams=3),
         "There is no parameter 'beams'; the parameters are batch_size, length_penalty, max_new_tokens, num_beams, "
         "num_return_sequences, return_scores."),
        *((asking(num_beams=beams), BEAMS) for beams in (99, 0, True, "3", 2.0, 10**5000, deep(5000))),
        (asking(num_return_sequences=17), "num_return_sequences must be an integer from 1 to 16."),
        (asking(num_return_sequences=9), "num_return_sequences must be at most num_beams, which is 2."),
        (asking(max_new_tokens=20_000_000), "max_new_tokens must be an integer from 1 to 512."),
        (asking(batch_size=-1), "batch_size must be an integer from 1 to 64."),
        *((asking(length_penalty=value), PENALTY) for value in (400, float("nan"), float("-inf"), "1", 10**400)),
        (asking(return_scores=1), SCORES), (asking(src_lang=5), "src_lang must be a text."),
        (asking(truncation=5), "truncation must be true, false or a text."),
        (asking(generate_parameters=[5]), NESTED), (asking(generate_parameters={"num_beams": "3"}), BEAMS),
        (asking(num_beams=2, generate_parameters={"num_beams": 3}),
         "num_beams is in parameters and in generate_parameters; give it once."),
    ],
)  # fmt: skip
def test_what_is_not_allowed_gets_an_error_with_the_field_and_its_range(answer, request_, message):
    found = answer(request_)
    assert found == {"error": message}


VALUES = [
    None, True, False, 0, -1, 1, 2.5, 10**4000, float("nan"), -float("inf"), "", "3", "\ud800", [], [1], {}, b"x",
    object(),
]  # fmt: skip


NAMES = "num_beams num_return_sequences length_penalty max_new_tokens batch_size return_scores src_lang max_time"


@pytest.mark.parametrize("name", [*NAMES.split(), "__class__", "\ud800"])
def test_any_value_of_any_parameter_has_an_answer(answer, name):
    """An unexpected error would be answered by "could not be answered"."""
    for value in VALUES:
        found = answer({"inputs": "a k.", "parameters": {"max_new_tokens": 2, "num_beams": 1} | {name: value}})
        assert isinstance(found, list) or (found.keys() == {"error"} and "could not be" not in found["error"]), value


def test_nothing_is_computed_for_a_bad_request(module):
    """A handler without a model would raise another error."""
    empty = object.__new__(module.EndpointHandler)
    assert "max_new_tokens must be" in empty({"inputs": "a", "parameters": {"max_new_tokens": 1e9}})["error"]


def test_the_memory_of_a_batch_is_bounded(answer, monkeypatch):
    """Beams times sentences, whatever `batch_size` is; fewer where the scores of all steps are kept."""
    batches, forward = [], answer.translate._forward
    monkeypatch.setattr(
        answer.translate, "_forward",
        lambda inputs, **kw: batches.append(len(inputs["input_ids"])) or forward(inputs, **kw),
    )  # fmt: skip
    texts = ["a k."] * 20
    for settings, wanted in (
        ({"num_beams": 2}, [20]),
        ({"num_beams": 2, "batch_size": 8}, [8, 8, 4]),
        ({"num_beams": 8, "batch_size": 64}, [8, 8, 4]),
        ({"num_beams": 8, "return_scores": True}, [2] * 10),
        ({"num_beams": 16, "return_scores": True}, [1] * 20),
    ):
        batches.clear()
        assert len(answer({"inputs": texts, "parameters": settings | {"max_new_tokens": 1}})) == 20
        assert batches == wanted


def test_a_request_that_takes_too_long_is_ended(module, answer, monkeypatch):
    clock = itertools.count(0, 7)  # every look at the clock takes seven seconds
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    found = answer({"inputs": ["a k.", "b l."], "parameters": {"max_new_tokens": 50, "batch_size": 1}})
    assert found == {"error": "The request took more than 30 seconds. Send less text, or take fewer beams."}
    assert next(clock) == 42, "the model was called at 7, 14, 21, 28 and 35 seconds"
    monkeypatch.undo()
    assert "translation_text" in answer({"inputs": "a k."})[0], "the next request has its own time"


def test_requests_take_turns_and_a_busy_server_says_so(answer, monkeypatch):
    waited = []
    monkeypatch.setattr(answer, "turn", SimpleNamespace(acquire=lambda timeout: waited.append(timeout)))
    found = answer({"inputs": "a k."})
    assert found == {"error": "The server is busy: no turn within 30 seconds. Send the request again."}
    assert waited == [30]


def test_one_request_at_a_time_is_translated(answer, monkeypatch):
    inside, most, forward = [], [], answer.translate._forward

    def slow(inputs, **settings):
        inside.append(1)
        most.append(len(inside))
        found = forward(inputs, **settings)
        inside.pop()
        return found

    monkeypatch.setattr(answer.translate, "_forward", slow)
    found = {}
    request = {"parameters": {"max_new_tokens": 3}}
    threads = [
        threading.Thread(target=lambda text=text: found.update({text: answer({"inputs": text} | request)}))
        for text in ("a k.", "b l.", "c m.", "d n.")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert max(most) == 1 and found == {text: answer({"inputs": text} | request) for text in found}


def test_an_unexpected_error_is_logged_and_not_shown(answer, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("/home/ann/secret: weights [3, 5] do not fit")

    monkeypatch.setattr(answer.translate, "_forward", fail)
    found = answer({"inputs": "a k."})
    assert found == {"error": "The request could not be answered; the log of the server says why."}
    assert "/home/ann/secret" in caplog.text
    monkeypatch.undo()
    assert "translation_text" in answer({"inputs": "a k."})[0], "the turn was given back"


def test_imports_are_available_in_an_endpoint():
    lines = [line for line in map(str.strip, PATH.read_text().splitlines()) if line.startswith(("import ", "from "))]
    wanted = {"logging", "pathlib", "threading", "time", "typing", "torch", "transformers"}
    assert {line.split()[1].split(".")[0] for line in lines} == wanted
