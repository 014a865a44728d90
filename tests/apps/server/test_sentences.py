"""Sentences that are sent as they are translated."""

import json
import re
import threading

import pytest
import requests
from running_server import ask, until

from glossa.model.profile_glossa import TextProfile
from glossa.model.segments_glossa import join_segments, model_texts, segment_text
from glossa.translate.build import build_translator
from glossa.translate.interface import Checks, Translation
from glossa.translate.texts.tags import Tagged
from glossa.translate.texts.text import Sentence, Text
from glossa.translate.translator import Translator

LONG = "\n".join(f"{first} {second}." for first in "abcd" for second in "klmno")  # twenty sentences


def stream(url, **fields):
    fields = {"source": "en", "target": "fr"} | fields
    return requests.post(f"{url}/translate_stream", json=fields, timeout=60, stream=True)


def lines(answer):
    return [json.loads(line) for line in answer.iter_lines()]


def translate(text):
    """Upper case; Chinese for English, and the reverse, so that spaces between sentences change."""
    return "".join("他们." if ord(letter) < 0x3000 else "They. " for letter in text[:1]).strip() or text.upper()


@pytest.mark.parametrize("engine", [str.upper, translate], ids=["upper", "script"])
@pytest.mark.parametrize(
    "text",
    [
        "One. Two!  Three\nFour", "1. One. 2", "", "  One.", "42", "他们在这里。他们在那里。", "One, two; three.",
        "Ein Satz, der lang ist, und noch einer, der länger ist. Schluss", "✓ One 🙂\n\n- Two.", "HELLO WORLD. ok",
    ],
)  # fmt: skip
@pytest.mark.parametrize("longest", [8, 1000])
def test_sentences_join_to_the_translation_of_the_text(text, engine, longest):
    profile = TextProfile(lower_capitals=True, mask_items=True, add_stops=True)
    segments = segment_text(text, profile, lambda part: len(part) <= longest)
    whole = iter([engine(part) for part in model_texts(segments)])
    expected = join_segments(segments, [part.text if part.copied else next(whole) for part in segments])
    read = iter(model_texts(segments))
    sentences = [Sentence(segment) for segment in segments]
    whole = Text(Tagged.plain(text), sentences)
    written = ""
    for place, sentence in enumerate(sentences):  # those after it are not known yet
        sentence.write([Translation(sentence.source if sentence.segment.copied else engine(next(read)))])
        written += "".join(whole.part(place))
    lead = len(text) - len(text.lstrip())
    assert written == (text[:lead] + expected if expected else "")


def test_the_answer_is_that_of_the_whole_text(own_url):
    texts = ["1. a k. b l.\nc m.", "d n.", ""]
    whole = requests.post(
        f"{own_url}/translate", json={"q": texts, "source": "en", "target": "fr", "confidence": True}, timeout=60
    ).json()
    answer = stream(own_url, q=texts, confidence=True)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    head, *found = lines(answer)
    assert head == {"sentences": len(found)} and [one["source"] for one in found[:4]] == ["1.", "a k.", "b l.", "c m."]
    for number, text in enumerate(whole["translatedText"]):
        own = [one for one in found if one["text"] == number]
        assert "".join(one["before"] + one["translatedText"] for one in own) == text
    assert found[0]["confidence"] is None and found[4]["confidence"] == whole["confidence"][1]
    for one in found[1:]:
        assert [word for word, _ in one["words"]] == one["translatedText"].split()
        assert all(0 <= share <= 1 for _, share in one["words"])
    assert found[0]["words"] == [] and not lines(stream(own_url, q="a k."))[1].keys() & {"confidence", "words"}


def test_languages_are_those_of_all_texts_together(own_url):
    head, *_ = lines(stream(own_url, q=["The house is on the hill.", "Nobody lives in it."], source="auto"))
    assert head["detectedLanguage"]["language"] == "en"
    head, one = lines(stream(own_url, q="a k.", target="en"))
    assert one["translatedText"] == "a k."
    through = ask(own_url, q="a k.", target="de")
    head, one = lines(stream(own_url, q="a k.", target="de"))
    assert head == {"pivot": "fr", "sentences": 1} and one["translatedText"] == through.json()["translatedText"]


class Gate:
    """Holds the model back after some pieces, until it may go on, and keeps the sentences of each."""

    def __init__(self, service, free, monkeypatch):
        self.free, self.pieces, self.go = free, [], threading.Event()
        translate = Translator.translate_segments

        def held(translator, sentences, progress=False):
            self.pieces.append([sentence.source for sentence in sentences])
            assert len(self.pieces) <= self.free or self.go.wait(60)
            translate(translator, sentences, progress)

        monkeypatch.setattr(Translator, "translate_segments", held)


def test_the_first_sentence_is_there_before_the_last_is_done(own_url, own_service, monkeypatch):
    gate = Gate(own_service, 1, monkeypatch)
    found = stream(own_url, q=LONG).iter_lines()
    assert json.loads(next(found)) == {"sentences": 20}
    assert json.loads(next(found))["source"] == "a k." and not gate.go.is_set()
    gate.go.set()
    assert [json.loads(line)["source"] for line in found] == LONG.split("\n")[1:]
    assert [len(piece) for piece in gate.pieces][:3] == [1, 1, 2]
    assert [text for piece in gate.pieces for text in piece] == LONG.split("\n")


def test_who_leaves_is_translated_no_more(own_url, own_service, monkeypatch):
    gate = Gate(own_service, 1, monkeypatch)
    answer = stream(own_url, q=LONG)
    rows = answer.iter_lines()  # which would close the connection if nothing held it
    next(rows)
    until(lambda: len(gate.pieces) == 2)
    answer.close()
    until(lambda: own_service.queue.jobs[0].canceled)
    assert len(own_service.queue.jobs) == 1, "its place is not free while a thread works for it"
    gate.go.set()
    until(lambda: not own_service.queue.jobs)
    assert len(gate.pieces) == 2


def test_a_later_refusal_is_the_last_line(own_url, own_service, monkeypatch):
    calls, translate = [], Translator.translate_segments

    def failing(translator, sentences, progress=False):
        calls.append(sentences)
        if len(calls) > 1:
            raise RuntimeError("a fault")
        translate(translator, sentences, progress)

    monkeypatch.setattr(Translator, "translate_segments", failing)
    head, first, last = lines(stream(own_url, q=LONG))
    assert head == {"sentences": 20} and first["source"] == "a k."
    assert last.keys() == {"error"} and "log of the server" in last["error"]
    until(lambda: not own_service.queue.jobs)
    assert stream(own_url, q=LONG).status_code == 500


def test_a_full_server_refuses(own_url, monkeypatch):
    monkeypatch.setattr("glossa.apps.server.queue.MAX_REQUESTS", 0)
    assert stream(own_url, q="a k.").status_code == 429


TEXTS = ["a k.", "b l. c m.", "42"]


def test_it_is_the_one_of_the_command(own_url, confident_run):
    translator = build_translator([str(confident_run)], "auto", checks=Checks("copy", confident=True))
    ours = [best.confidence for best, *_ in translator.translate(TEXTS)]
    found = ask(own_url, q=TEXTS, confidence=True).json()
    assert found["confidence"] == [round(one, 4) for one in ours]
    assert ours[2] == 1 and 0 < ours[1] < ours[0] < 1
    assert ask(own_url, q=TEXTS[0], confidence="true").json()["confidence"] == round(ours[0], 4)


def test_it_is_only_there_where_it_is_asked_for_and_known(own_url):
    assert "confidence" not in ask(own_url, q="a k.").json()
    assert "confidence" not in ask(own_url, q="a k.", confidence=False).json()
    for ways in ({"source": "fr", "target": "en"}, {"target": "de"}, {"target": "en"}):  # none, by French, the same
        found = ask(own_url, q="a k.", confidence=True, **ways).json()
        assert found["confidence"] is None and found["translatedText"]


def test_texts_that_a_request_and_a_server_keep(own_service, own_url):
    text = "a [[k]] o."
    own_service.models.kept = (re.compile(r"\[\[.*?\]\]"),)
    try:
        streamed = " ".join(each.get("translatedText", "") for each in lines(stream(own_url, q=text)))
        assert "[[k]]" in streamed and "[[k]]" in ask(own_url, q=text).json()["translatedText"]
    finally:
        own_service.models.kept = ()
    for keep in ("[[k]]", ["x", "[[k]]"]):
        assert "[[k]]" in ask(own_url, q=text, keep=keep).json()["translatedText"]
    assert ask(own_url, q=text, keep="[[.*").json() == ask(own_url, q=text).json()  # a text, no pattern
    file = {"file": ("a.json", json.dumps({"a": text}))}
    fields = {"source": "en", "target": "fr", "keep": "[[k]]"}
    answer = requests.post(f"{own_url}/translate_file", data=fields, files=file, timeout=60).json()
    assert "[[k]]" in requests.get(answer["translatedFileUrl"], timeout=60).text
    for keep in ("", "x" * 101, ["x"] * 101, [1], 5):
        refused = ask(own_url, q=text, keep=keep)
        assert (refused.status_code, refused.json()["error"][:25]) == (400, "keep must be a text of 1 ")
