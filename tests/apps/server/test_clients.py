"""Clients that others wrote, and the published interface of LibreTranslate."""

import json

import pytest
import requests
from deep_translator import LibreTranslator
from huggingface_hub import InferenceClient
from libretranslatepy import LibreTranslateAPI
from running_server import ask

TEXTS = ["a k.", "b l. c m.", "d n."]


def test_libretranslatepy(url, expected):
    client = LibreTranslateAPI(f"{url}/")
    assert [client.translate(text, "en", "fr") for text in TEXTS] == expected.best(TEXTS)
    assert {one["code"]: set(one["targets"]) for one in client.languages()} == {
        "en": {"fr", "de"}, "fr": {"en", "de"}, "de": set(),
    }  # fmt: skip
    assert client.detect("The house is on the hill, and nobody lives in it.")[0]["language"] == "en"


def test_weblate(url, expected):
    """It asks for the languages, and sends up to a hundred texts at once, with an empty key."""
    codes = [one["code"] for one in requests.get(f"{url}/languages", timeout=60).json()]
    assert {"en", "fr"} <= set(codes)
    texts = [f"{TEXTS[number % 3]} {number}" for number in range(100)]
    assert ask(url, q=texts, api_key="").json()["translatedText"] == expected.best(texts)  # the case `server-lengths`


def test_discourse(url, expected):
    """Everything is a form. The texts are HTML, whose language is detected first, without the tags."""
    codes = [one["code"] for one in requests.get(f"{url}/languages", timeout=60).json()]
    assert "en" in codes and "fr" in codes
    form = {"q": "The house is on the hill, and nobody lives in it.", "api_key": ""}
    assert requests.post(f"{url}/detect", data=form, timeout=60).json()[0]["language"] == "en"
    form = {"q": "<p>a k.</p>", "source": "en", "target": "fr", "format": "html", "api_key": ""}
    found = requests.post(f"{url}/translate", data=form, timeout=60).json()
    assert found == {"translatedText": f"<p>{expected.best(['a k.'])[0]}</p>"}


def test_nextcloud(url, expected):
    """It makes a pair of any two languages that are listed, and translates in the address."""
    codes = [one["code"] for one in requests.get(f"{url}/languages", timeout=60).json()]
    assert ("en", "fr") in [(source, target) for source in codes for target in codes if source != target]
    form = {"q": "a k.", "source": "en", "target": "fr"}
    found = requests.post(f"{url}/translate", data=form, timeout=60).json()
    assert found["translatedText"] == expected.best(["a k."])[0]


def test_the_page_of_libretranslate(url, expected):
    """Each target of a language is itself listed; texts and documents come as multipart forms."""
    settings = requests.get(f"{url}/frontend/settings", timeout=60).json()
    assert settings.keys() >= {
        "language", "charLimit", "suggestions", "supportedFilesFormat", "filesTranslation", "frontendTimeout",
        "keyRequired", "apiKeys",
    }  # fmt: skip
    known = {one["code"]: one["targets"] for one in requests.get(f"{url}/languages", timeout=60).json()}
    source, target = (settings["language"][side]["code"] for side in ("source", "target"))
    assert target in known[source] and all(code in known for targets in known.values() for code in targets)
    form = {"q": "a k.", "source": source, "target": target, "format": "text", "alternatives": "3", "api_key": ""}
    answer = requests.post(f"{url}/translate", files={name: (None, value) for name, value in form.items()}, timeout=60)
    found = answer.json()
    assert found["translatedText"] == expected.best(["a k."])[0] and len(found["alternatives"]) == 3
    files = {"file": ("a.txt", b"a k."), **{name: (None, form[name]) for name in ("source", "target", "api_key")}}
    address = requests.post(f"{url}/translate_file", files=files, timeout=60).json()["translatedFileUrl"]
    assert requests.get(address, timeout=60).text == expected.best(["a k."])[0]


@pytest.mark.parametrize("path", ["translate", "translate_file", "detect", "suggest"])
def test_what_is_sent_cannot_be_fetched(url, path):
    answer = requests.get(f"{url}/{path}", params={"q": "a", "source": "en", "target": "fr"}, timeout=60)
    assert answer.status_code == 405 and answer.json() == {"error": "Method Not Allowed"}


@pytest.mark.parametrize("path", ["languages", "frontend/settings", "health", "download_file/x"])
def test_what_is_fetched_cannot_be_sent(url, path):
    assert requests.post(f"{url}/{path}", timeout=60).status_code == 405


def test_the_language_of_each_text_is_detected(url, expected):
    english, french = "The house is on the hill, and nobody lives in it.", "La maison est sur la colline, et vide."
    ranks = ask(url, "detect", q=[english, french]).json()
    assert [ranked[0]["language"] for ranked in ranks] == ["en", "fr"]
    for form in ("text", "html"):
        found = ask(url, q=[english, french], source="auto", format=form).json()
        assert [one["language"] for one in found["detectedLanguage"]] == ["en", "fr"]
        assert found["translatedText"] == [*expected.best([english]), french]


def test_a_suggestion_is_saved_once(url, corrections):
    fields = {"q": "The cat is here.", "s": "Le chat est là."}
    assert ask(url, "suggest", **fields).json() == {"success": True}
    saved = json.loads(corrections.read_text().splitlines()[-1])
    kept = {name: saved[name] for name in ("source", "correction", "from", "to")}
    assert kept == {"source": "The cat is here.", "correction": "Le chat est là.", "from": "en", "to": "fr"}
    again = ask(url, "suggest", **fields)
    assert again.status_code == 400 and "known already" in again.json()["error"]


def test_deep_translator(url, expected):
    """It sends the text in the query string, with an empty body."""
    client = LibreTranslator(api_key="none", custom_url=f"{url}/", source="en", target="fr")
    assert client.translate_batch(TEXTS) == expected.best(TEXTS)


def test_the_client_of_the_hub(url, expected):
    client = InferenceClient(base_url=url)
    assert client.translation("a k.").translation_text == expected.best(["a k."])[0]
    both = requests.post(url, json={"inputs": TEXTS[:2]}, timeout=60).json()
    assert both == [{"translation_text": text} for text in expected.best(TEXTS[:2])]


@pytest.mark.parametrize("send", ["json", "data", "params"])
def test_fields_come_as_json_as_a_form_and_in_the_address(url, expected, send):
    fields = {"q": "a k.", "source": "en", "target": "fr", "format": "text"}
    answer = requests.post(f"{url}/translate", **{send: fields}, timeout=60)
    assert answer.json() == {"translatedText": expected.best(["a k."])[0]}


def test_several_texts_have_lists(url, expected):
    found = ask(url, q=TEXTS, alternatives=1).json()
    assert found.keys() == {"translatedText", "alternatives"}
    assert found["translatedText"] == expected.best(TEXTS)
    assert [len(others) for others in found["alternatives"]] == [1, 1, 1]
    for best, (other,) in zip(found["translatedText"], found["alternatives"], strict=True):
        assert best != other


def test_one_text_has_one_value(url):
    found = ask(url, q="The house is on the hill.", source="auto", alternatives=2).json()
    assert isinstance(found["translatedText"], str) and len(found["alternatives"]) == 2
    assert found["detectedLanguage"]["language"] == "en" and 50 < found["detectedLanguage"]["confidence"] <= 100


def test_a_missing_direction_goes_through_another_language(url, expected):
    found = ask(url, q="a k.", target="de").json()
    assert found == {"translatedText": expected.best(expected.best(["a k."]))[0], "pivot": "fr"}


def test_a_text_in_the_wanted_language_stays(url):
    assert ask(url, q="a k.", target="en").json() == {"translatedText": "a k."}


def test_settings_for_a_page(url):
    found = requests.get(f"{url}/frontend/settings", timeout=60).json()
    assert found["charLimit"] == 20_000 and found["keyRequired"] is False and found["suggestions"] is True
    assert found["language"]["source"] == {"code": "en", "name": "English"}


@pytest.mark.parametrize(
    ("path", "fields", "status", "words"),
    [
        ("translate", {"source": "en", "target": "fr"}, 400, "Invalid request: missing q parameter"),
        ("translate", {"q": "a", "source": "en"}, 400, "Invalid request: missing target parameter"),
        ("translate", {"q": 5, "target": "fr"}, 400, "q must be a text or a list of texts"),
        ("translate", {"q": ["a"] * 1_001, "target": "fr"}, 400, "q must be a text or a list of 1 to 1,000 texts"),
        ("translate", {"q": "a" * 20_001, "target": "fr"}, 400, "at most 20,000 are allowed"),
        ("translate", {"q": "\ud800", "target": "fr"}, 400, "half of a surrogate pair"),
        ("translate", {"q": "a", "source": "xx", "target": "fr"}, 400, "xx is not supported: source may be auto, en"),
        ("translate", {"q": "a", "source": "en", "target": "xx"}, 400, "xx is not supported: target may be"),
        ("translate", {"q": "a", "source": "de", "target": "fr"}, 400,
         "French (fr) is not available as a target language from German (de), which is translated into no language"),
        ("translate", {"q": "a", "source": "en", "target": "fr", "format": "pdf"}, 400, "format must be text or html"),
        ("translate", {"q": "a", "source": "en", "target": "fr", "alternatives": 16}, 400, "from 0 to 15"),
        ("translate", {"q": "a", "source": "en", "target": "fr", "alternatives": True}, 400, "from 0 to 15"),
        ("translate", {"q": "a", "source": ["en"], "target": "fr"}, 400, "source must be a text"),
        ("translate", {"q": "a", "target": "fr", "confidence": "perhaps"}, 400, "confidence must be true or false"),
        ("translate", {"q": "a", "target": "fr", "confidence": 1}, 400, "confidence must be true or false"),
        ("translate", {"q": "a", "target": "fr", "confidence": True, "format": "html"}, 400,
         "confidence is for texts without tags"),
        ("translate_stream", {"q": 5, "target": "fr"}, 400, "q must be a text"),
        ("translate_stream", {"q": "a", "source": "xx", "target": "fr"}, 400, "xx is not supported"),
        ("translate_stream", {"q": "a", "source": "en", "target": "xx"}, 400, "xx is not supported: target may be"),
        ("translate_stream", {"q": "a", "target": "fr", "confidence": 3}, 400, "confidence must be true or false"),
        ("detect", {"q": ["a", 5]}, 400, "q must be a text or a list of texts"),
        ("suggest", {"q": ["a"], "s": "b", "source": "en", "target": "fr"}, 400, "q must be one text"),
        ("suggest", {"q": "The cat.", "s": "The cat.", "source": "en", "target": "fr"}, 400, "equal to the text"),
        ("suggest", {"q": "The cat.", "s": "!!", "source": "en", "target": "fr"}, 400, "has no words"),
        ("suggest", {"q": "The cat.", "s": "x" * 500, "source": "en", "target": "fr"}, 400, "much shorter or longer"),
        ("", {"inputs": "a", "parameters": {"num_beams": 99}}, 400, "num_beams must be an integer from 1 to 16"),
        ("explain", {"q": "a", "source": "en", "target": "fr", "prefix": [-1]}, 400, "prefix must be a list"),
        ("explain", {"q": "a", "source": "en", "target": "fr", "prefix": [10**6]}, 400, "prefix has an unknown token"),
        ("explain", {"q": "a " * 100, "source": "en", "target": "fr"}, 400, "up to 60 are explained"),
        ("explain", {"q": "a", "source": "en", "target": "de"}, 400, "no pivot language is used"),
        ("nothing", {}, 404, "Not Found"),
    ],
)  # fmt: skip
def test_errors_have_a_status_and_a_message(url, path, fields, status, words):
    answer = requests.post(f"{url}/{path}", json=fields, timeout=60)
    assert answer.status_code == status and answer.json().keys() == {"error"}
    assert words in answer.json()["error"]


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_bodies_that_are_no_fields(url, body):
    answer = requests.post(f"{url}/translate", data=body, headers={"content-type": "application/json"}, timeout=60)
    assert answer.status_code == 400 and "JSON" in answer.json()["error"]


def test_a_body_is_bounded_while_it_comes(url):
    def endless():
        while True:
            yield b"x" * 65_536

    try:
        answer = requests.post(f"{url}/translate", data=endless(), timeout=60)
    except requests.ConnectionError:
        return  # the server closed the connection before everything was sent
    assert answer.status_code == 400 and "more than 1,048,576 bytes" in answer.json()["error"]
