"""Sentences that are sent as they are translated."""

import asyncio
import json
import threading
import time

import pytest
import requests

from glossa.inference.engines.engine import Translation
from glossa.segments_glossa import join_segments, model_texts, segment_text
from glossa.serving.refusals import Refused, too_many
from glossa.serving.sentences import MOST, Plan, groups

LONG = "\n".join(f"{first} {second}." for first in "abcd" for second in "klmno")  # twenty sentences


def ask(url, **fields):
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
    segments = segment_text(text, fits=lambda part: len(part) <= longest, lower=True, mask=True, stops=True)
    whole = iter([engine(part) for part in model_texts(segments)])
    expected = join_segments(segments, [part.text if part.copied else next(whole) for part in segments])
    plan = Plan(0, segments)
    parts = [plan.add(None if asked is None else Translation(engine(asked))) for asked in plan.asked]
    assert "".join(one.before + one.translation.text for one in parts) == expected


def test_the_first_sentence_comes_alone():
    plans = [Plan(0, segment_text(LONG)), Plan(1, segment_text("1. x k."))]
    found = [[text for _, text in group] for group in groups(plans)]
    assert [len(group) for group in found] == [1, 2, 4, MOST, 5 + 2] and found[-1][-2:] == [None, "x k."]


def test_the_answer_is_that_of_the_whole_text(own_url):
    texts = ["1. a k. b l.\nc m.", "d n.", ""]
    whole = requests.post(
        f"{own_url}/translate", json={"q": texts, "source": "en", "target": "fr", "confidence": True}, timeout=60
    ).json()
    answer = ask(own_url, q=texts, confidence=True)
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
    assert found[0]["words"] == [] and not lines(ask(own_url, q="a k."))[1].keys() & {"confidence", "words"}


def test_languages_are_those_of_all_texts_together(own_url):
    head, *_ = lines(ask(own_url, q=["The house is on the hill.", "Nobody lives in it."], source="auto"))
    assert head["detectedLanguage"]["language"] == "en"
    head, one = lines(ask(own_url, q="a k.", target="en"))
    assert one["translatedText"] == "a k."
    through = requests.post(f"{own_url}/translate", json={"q": "a k.", "source": "en", "target": "de"}, timeout=60)
    head, one = lines(ask(own_url, q="a k.", target="de"))
    assert head == {"pivot": "fr", "sentences": 1} and one["translatedText"] == through.json()["translatedText"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"q": 5}, "q must be a text"),
        ({"q": "a", "source": "xx"}, "source is xx, which is not served"),
        ({"q": "a", "target": "xx"}, "en is translated into"),
        ({"q": "a", "confidence": 3}, "confidence must be true or false"),
    ],
)
def test_what_is_refused_at_once_has_a_status(own_url, fields, words):
    answer = ask(own_url, **fields)
    assert answer.status_code == 400 and words in answer.json()["error"]


class Gate:
    """Holds the queue back after some calls, until it may go on, and counts the calls."""

    def __init__(self, queue, free):
        self.translate_now, self.free, self.calls, self.go = queue.translate, free, [], threading.Event()
        self.canceled = threading.Event()

    async def translate(self, translator, texts, deadline):
        self.calls.append(texts)
        try:
            while len(self.calls) > self.free and not self.go.is_set():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.canceled.set()
            raise
        return await self.translate_now(translator, texts, deadline)


def test_the_first_sentence_is_there_before_the_last_is_done(own_url, own_service, monkeypatch):
    gate = Gate(own_service.queue, free=1)
    monkeypatch.setattr(own_service.queue, "translate", gate.translate)
    found = ask(own_url, q=LONG).iter_lines()
    assert json.loads(next(found)) == {"sentences": 20}
    assert json.loads(next(found))["source"] == "a k." and not gate.go.is_set()
    gate.go.set()
    assert [json.loads(line)["source"] for line in found] == LONG.split("\n")[1:]
    assert [len(texts) for texts in gate.calls] == [1, 2, 4, 8, 5]


def test_who_leaves_is_translated_no_more(own_url, own_service, monkeypatch):
    gate = Gate(own_service.queue, free=1)
    monkeypatch.setattr(own_service.queue, "translate", gate.translate)
    answer = ask(own_url, q=LONG)
    next(answer.iter_lines())
    for _ in range(300):
        if len(gate.calls) == 2:
            break
        time.sleep(0.1)
    answer.close()
    assert gate.canceled.wait(30)
    for _ in range(100):
        if not own_service.running:
            break
        time.sleep(0.1)
    assert [len(texts) for texts in gate.calls] == [1, 2] and own_service.running == 0


def test_a_later_refusal_is_the_last_line(own_url, own_service, monkeypatch):
    calls = []

    async def translate(translator, texts, deadline):
        calls.append(texts)
        if len(calls) > 1:
            raise too_many("too much text waits for translation.")
        return [[Translation(text)] for text in texts]

    monkeypatch.setattr(own_service.queue, "translate", translate)
    head, first, last = lines(ask(own_url, q=LONG))
    assert head == {"sentences": 20} and first["translatedText"] == "a k."
    assert last.keys() == {"error"} and "busy" in last["error"] and own_service.running == 0
    calls.append(1)
    assert ask(own_url, q=LONG).status_code == 429


def test_a_full_server_refuses(own_url, own_service, monkeypatch):
    monkeypatch.setattr(own_service, "running", 256)
    assert ask(own_url, q="a k.").status_code == 429
    with pytest.raises(Refused):
        asyncio.run(anext(own_service.stream([Plan(0, segment_text("a k."))], "en", "fr")))
