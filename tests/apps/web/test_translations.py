"""What an exported folder translates: the same texts and scores as Python, with every setting of the search."""

import re
from dataclasses import replace
from itertools import product

import numpy
import pytest
from transformers import GenerationConfig

from glossa.apps.server.explain import explain
from glossa.apps.web.check import compare, smallest
from glossa.apps.web.parts import exported
from glossa.base.errors import GlossaError
from glossa.model.spans_glossa import find_spans
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.interface import Checks, Search
from glossa.translate.translator import Translator

pytestmark = pytest.mark.slow
TEXTS = [
    "The man sleeps in the park.", "THE DOG RUNS IN THE HOUSE! The woman sleeps.\n\n- The man runs",
    "The dog {name} sleeps at https://example.org/a in 12 houses, see a@b.example.",
    "the man sleeps in the park, the woman runs in the house, the dog sleeps in the park, and the man runs", "",
    "  42 \n", "</s> <pad> The man </s>", "🙂 Le parc est grand. 公園で眠る。犬が走る。",
]  # fmt: skip
KINDS = ("shared", "two vocabularies", "several languages")


@pytest.mark.parametrize("kind", KINDS)
def test_translations_are_those_of_python(site, node, kind):
    model, tokenizer, folder = site(kind)
    searches = [{"num_beams": 1}, {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.4}]
    if kind == "shared":  # the search does not depend on the vocabulary
        searches += [{}, {"num_beams": 2, "no_repeat_ngram_size": 2}]
    found = node(folder, [{"texts": TEXTS, "options": options} for options in searches])
    for options, translations in zip(searches, found, strict=True):
        expected = Translator(model, tokenizer, Search(scores=True, **options)).translate(TEXTS)
        for text, own, theirs in zip(TEXTS, translations, expected, strict=True):
            own = own if isinstance(own, list) else [own]
            spans = [text[start:end] for start, end in find_spans(text)]
            # Python alone tries other names and numbers, and finds more places by attention.
            if any(one["problem"] for one in own) and (spans or any(map(str.isdigit, text))):
                assert {one for one in spans if one in own[0]["text"]} <= {
                    one for one in spans if one in theirs[0].text
                }
                continue
            assert [one["text"] for one in own] == [one.text for one in theirs], (text, options)
            for one, other in zip(own, theirs, strict=True):
                assert one["score"] == pytest.approx(other.score, abs=1e-3), (text, options)


def test_a_text_goes_into_the_language_that_is_asked_for(site, node):
    model, tokenizer, folder = site("several languages")
    texts = [text for text in TEXTS if "{" not in text]
    calls = [{"texts": texts, "options": {"num_beams": 1, "target": code}} for code in ("fr", "de", "es")]
    tagged = [{"texts": [f"<2de> {TEXTS[0]}"], "options": {"num_beams": 1}}]
    french, german, spanish, by_tag = node(folder, [*calls, *tagged])
    for code, found in (("fr", french), ("de", german)):
        expected = Translator(model, tokenizer.into(code), Search(1)).best(texts)
        assert [one["text"] for one in found] == expected
    assert french != german and german[0]["text"] == by_tag[0]["text"]
    assert spanish == {"error": "target is es; this model translates into fr, de."}


def test_generation_settings_act_as_in_transformers(site, node):
    model, tokenizer, folder = site("shared")
    [plain] = node(folder, [{"texts": TEXTS[:1], "options": {"num_beams": 1}}])
    first = tokenizer(text_target=plain[0]["text"])["input_ids"][0]
    settings = [
        {"suppress_tokens": [first]}, {"begin_suppress_tokens": [first]}, {"forced_bos_token_id": 20},
        {"min_new_tokens": 30},
    ]  # fmt: skip
    asked = [*product((1, 3), settings)]
    calls = [{"texts": TEXTS[:1], "options": {"num_beams": beams} | options} for beams, options in asked]
    for (beams, options), found in zip(asked, node(folder, calls), strict=True):
        engine = GenerateEngine(model, tokenizer, **options)
        expected = Translator(engine, tokenizer, Search(beams)).best(TEXTS[:1])
        assert [one["text"] for one in found] == expected, options


def test_a_translation_begins_as_asked(site, node):
    _, _, folder = site("shared")
    [found] = node(folder, [{"texts": ["The man sleeps."], "options": {"num_beams": 2, "prefix": "Le chien"}}])
    assert found[0]["text"].startswith("Le chien")


def test_implausible_translations_are_searched_again(site, node):
    model, tokenizer, folder = site("shared")
    [found] = node(folder, [{"texts": TEXTS, "options": {"num_beams": 2, "retry": True}}])
    expected = Translator(model, tokenizer, Search(2), Checks(retry_implausible=True)).translate(TEXTS)
    assert [one["text"] for one in found] == [each[0].text for each in expected]
    assert [one["problem"] for one in found] == [each[0].problem for each in expected]
    assert any(one["problem"] for one in found)


def test_sentences_come_in_order_and_make_the_whole(site, node):
    _, _, folder = site("shared")
    whole, parts = node(folder, [{"texts": TEXTS, "options": {}}, {"texts": TEXTS, "options": {}, "streamed": True}])
    assert parts[0] == {"sentences": len(parts) - 1}
    for number, translation in enumerate(whole):
        own = [part for part in parts[1:] if part["text"] == number]
        assert "".join(part["before"] + part["translatedText"] for part in own) == translation["text"]
    assert [part["text"] for part in parts[1:]] == sorted(part["text"] for part in parts[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_is_the_one_of_the_server(site, node, kind):
    model, tokenizer, folder = site(kind)
    asked = {"sentence": TEXTS[0], "target": "fr"}
    first = explain(model, tokenizer, "fr", TEXTS[0], [])
    prefixes = [[], first["tokens"][:2], [9]]
    found = node(folder, [{"explained": asked | {"prefix": prefix}} for prefix in prefixes])
    for prefix, own in zip(prefixes, found, strict=True):
        expected = explain(model, tokenizer, "fr", TEXTS[0], prefix)
        for name in ("translation", "tokens", "source", "target"):
            assert own[name] == expected[name], name
        assert [[one["id"] for one in row] for row in own["choices"]] == [
            [one["id"] for one in row] for row in expected["choices"]
        ]
        assert own["beams"][0][0].keys() == expected["beams"][0][0].keys()
        states = [[[row["parent"], row["state"]] for row in rows] for rows in own["beams"]]
        assert states == [[[row["parent"], row["state"]] for row in rows] for rows in expected["beams"]]
        for name in ("encoder", "decoder", "cross"):
            numpy.testing.assert_allclose(own["attention"][name], expected["attention"][name], atol=1e-3)
        numpy.testing.assert_allclose(own["links"], expected["links"], atol=1e-3)


def test_a_sentence_that_is_too_long_is_not_explained(site, node):
    [found] = node(site("shared")[2], [{"explained": {"sentence": "zq " * 100, "target": "fr", "prefix": []}}])
    assert re.fullmatch(r"The sentence has \d+ tokens; up to 60 are explained\.", found["error"])


def test_more_translations_than_beams_are_refused(site, node):
    _, _, folder = site("shared")
    [found] = node(folder, [{"texts": TEXTS, "options": {"num_beams": 2, "num_return_sequences": 3}}])
    assert found == {"error": "num_beams is 2 and num_return_sequences 3; give at least as many beams."}


@pytest.mark.parametrize(
    ("setting", "value"), [("repetition_penalty", 1.2), ("do_sample", True), ("bad_words_ids", [[5]])]
)
def test_a_setting_that_the_browser_does_not_know_is_refused(site, setting, value):
    model, tokenizer, _ = site("shared")
    settings = model.generation_config.to_diff_dict() | {setting: value}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "generation_config", GenerationConfig(**settings))
        message = f"cannot be exported to web: {setting} in generation_config.json"
        with pytest.raises(GlossaError, match=message), exported(model, tokenizer):
            pass


def test_precisions_are_compared_in_the_language_of_the_references(site):
    """A model of several languages is asked for one, and rounding to 11 bits changes less than to 8."""
    model, tokenizer, _ = site("several languages")
    texts = [text for text in TEXTS if text.strip() and "{" not in text]
    references = Translator(model, tokenizer.into("de"), Search(1)).best(texts)
    with exported(model, tokenizer) as parts:
        rows = compare(parts, tokenizer, list(zip(texts, references, strict=True)), "de")
    assert [row.precision for row in rows] == ["float32", "float16", "int8"]
    assert rows[0].identical == 1.0 and rows[0].bleu == pytest.approx(100)
    assert rows[0].size > rows[1].size > rows[2].size and rows[1].identical >= rows[2].identical
    best = replace(rows[0], precision="float32", size=40)
    half = replace(best, precision="float16", size=20, bleu=best.bleu - 0.1, identical=0.99)
    assert smallest([best, half, replace(half, precision="int8", size=10, identical=0.97)]) == "float16"
    assert smallest([best, replace(half, bleu=best.bleu - 0.3)]) == "float32"
