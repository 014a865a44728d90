"""Terms that a request asks for."""

import json

import pytest
import requests
from running_server import ask, send

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.glossary import Glossary, terms_of_lines
from glossa.apps.server.models import Models
from glossa.apps.server.refusals import MAX_GLOSSARY, MAX_TERMS
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.translate.build import build_translator
from glossa.translate.export.ctranslate2_model import export_ctranslate2
from glossa.translate.interface import Checks
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.search.constrained import ConstrainedEngine
from glossa.translate.search.terms import Wording

TERMS = "a => q\n\nb\tr\tnote"
TEXTS = ["a k.", "b l. c m."]


@pytest.fixture(scope="module")
def ours(confident_run):
    """What `glossa translate --glossary` gives."""
    glossary = Glossary([("a", "q"), ("b", "r")], LanguagePair("en", "fr"))
    translator = build_translator(
        [str(confident_run)], "auto", checks=Checks(confident=True), wording=Wording(glossary)
    )
    return [best for best, *_ in translator.translate(TEXTS)]


def test_lines():
    assert terms_of_lines("a => q\n\nb\tr\tnote\n ice  cream=>sorbet => x ") == [
        ("a", "q"), ("b", "r"), ("ice cream", "sorbet => x"),
    ]  # fmt: skip
    for text, words in (("a => b\nc d", "line 2: write a term"), ("a =>", "line 1: the target of 'a' has no word"),
                        ("\n=> b", "line 2: the source of 'b'"), ("\tb", "line 1: the source of 'b'"),
                        ("a => " + "b " * 41, "line 1: the target of 'a' has 41")):  # fmt: skip
        with pytest.raises(GlossaError, match=f"Glossary, {words}"):
            terms_of_lines(text)


def test_translations_have_them_as_those_of_the_command(own_url, ours):
    assert "q" in ours[0].text and "r" in ours[1].text
    plain = ask(own_url, q=TEXTS).json()
    assert plain.keys() == {"translatedText"} and plain["translatedText"] != [one.text for one in ours]
    found = ask(own_url, q=TEXTS, glossary=TERMS, confidence=True).json()
    assert found["translatedText"] == [one.text for one in ours] and found["missingTerms"] == [[], []]
    assert found["confidence"] == [round(one.confidence, 4) for one in ours]
    assert ask(own_url, q=TEXTS).json() == plain  # nobody else gets them


def test_sentences_have_them(own_url, ours):
    answer = ask(own_url, "translate_stream", q=TEXTS, glossary=TERMS)
    _, *found = map(json.loads, answer.text.splitlines())
    assert [one["translatedText"] for one in found[:1]] == [ours[0].text]
    assert "".join(one["before"] + one["translatedText"] for one in found[1:]) == ours[1].text
    assert [one["missingTerms"] for one in found] == [[], [], []]


def test_documents_have_them(own_url, ours):
    answer = send(own_url, "strings.json", json.dumps({"title": "a k."}), glossary=TERMS).json()
    assert answer["missingTerms"] == []
    title = ours[0].text.rstrip("!.") + "."  # a string of a program ends as its source does
    assert requests.get(answer["translatedFileUrl"], timeout=60).json() == {"title": title}
    assert "missingTerms" not in send(own_url, "strings.json", "{}").json()
    found = ask(own_url, q="<p>a k.</p>", format="html", glossary=TERMS).json()
    assert found == {"translatedText": f"<p>{ours[0].text}</p>", "missingTerms": []}


def test_terms_that_do_not_get_in_are_said(own_url, monkeypatch):
    monkeypatch.setattr(ConstrainedEngine, "find", lambda self, sources, *_: [[] for _ in sources])
    term = "a -> z"
    assert ask(own_url, q="a k.", glossary="a => z").json()["missingTerms"] == [term]
    found = ask(own_url, q=["<p>a k.</p>"], format="html", glossary="a => z").json()
    assert found["missingTerms"] == [[term]]
    answer = send(own_url, "strings.json", json.dumps({"title": "a k."}), glossary="a => z").json()
    assert answer["missingTerms"] == [term]


@pytest.mark.parametrize("path", ["translate", "translate_stream"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"glossary": ["a => b"]}, "glossary must be a text whose lines are"),
        ({"glossary": "a => b\nc"}, "Glossary, line 2: write a term"),
        ({"glossary": "a => b\n" * (MAX_TERMS + 1)}, "glossary has 201 terms; at most 200"),
        ({"glossary": "a" * (MAX_GLOSSARY + 1)}, "glossary has 10,001 characters; at most 10,000"),
        ({"glossary": "a => b", "target": "de"}, "A glossary needs a model from en to de"),
    ],
)
def test_what_is_no_glossary(own_url, path, fields, words):
    answer = ask(own_url, path, q="a k.", **fields)
    assert answer.status_code == 400 and words in answer.json()["error"]


def test_long_texts_go_by_sentences(own_url):
    text = "\n".join(["a k."] * 500)
    answer = ask(own_url, q=text, glossary=TERMS)
    assert answer.status_code == 400 and "2,000 characters, and it has 2,499. /translate_stream takes" in answer.text
    assert ask(own_url, q=text).status_code == 200


def test_a_model_without_a_search_for_them_says_so(learned_run, tmp_path, caplog):
    import asyncio

    from glossa.apps.server.models import RequestOptions
    from glossa.apps.server.refusals import Refused

    export_ctranslate2(load_model(str(learned_run)), load_tokenizer(str(learned_run)), tmp_path / "exported")
    service = Service(Models([f"en-fr={tmp_path / 'exported'}"], engine="ctranslate2"))
    with pytest.raises(Refused, match="takes no glossary"):
        asyncio.run(service.translate(["a k."], "en", "fr", RequestOptions(glossary=(("a", "q"),))))
    assert "CTranslate2 has no search for terms" in caplog.text
    service.queue.close()
