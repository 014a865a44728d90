"""Limits that the options of a server set: texts and characters of a request, and requests of a client."""

import io
import zipfile

import pytest
import requests
from running_server import running

from glossa.apps.server import limits
from glossa.apps.server.app import build_app
from glossa.apps.server.keys import Keys, add_key
from glossa.apps.server.limits import Clients, Limits
from glossa.apps.server.models import Models
from glossa.apps.server.reading import MAX_FILE, MAX_UNPACKED, check_unpacked
from glossa.apps.server.refusals import Refused
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.cli import serve

FIELDS = {"source": "en", "target": "fr"}


@pytest.fixture
def clock(monkeypatch):
    """Seconds, which only tests advance."""
    now = [1000.0]
    monkeypatch.setattr(limits, "monotonic", lambda: now[0])
    return now


@pytest.fixture(scope="module")
def limited(learned_run, tmp_path_factory):
    """The address of a server with limits, and two keys."""
    path = tmp_path_factory.mktemp("keys") / "keys"
    keys = [add_key(path, name) for name in ("Ann", "Bob")]
    service = Service(Models([f"en-fr={learned_run}"]), keys=Keys(path), limits=Limits(3, 10, 5))
    with running(lambda: build_app(service)) as url:
        yield url, service, keys


@pytest.fixture
def ask(limited):
    url, service, keys = limited
    service.clients.times.clear()

    def ask(path="translate", number=0, **fields):
        given = FIELDS | {"api_key": keys[number]} | fields
        return requests.post(f"{url}/{path}", json=given, timeout=60)

    return ask


@pytest.mark.parametrize("path", ["translate", "translate_stream", "detect", ""])
def test_texts_and_characters_of_a_request(ask, path):
    name, fields = ("q", {}) if path else ("inputs", {"parameters": {"src_lang": "en"}})
    for value, words in (
        (["a"] * 4, f"{name} must be a text or a list of 1 to 3 texts"),
        (["aaaa", "aaaaaaa"], f"{name} has 11 characters in total; at most 10 are allowed"),
        ("a" * 11, "11 characters"),
    ):
        answer = ask(path, **fields, **{name: value})
        assert answer.status_code == 400 and words in answer.json()["error"]
    assert ask(path, **fields, **{name: ["aa k.", "b l."]}).status_code == 200


def test_the_limit_is_in_the_settings_for_pages(limited):
    assert requests.get(f"{limited[0]}/frontend/settings", timeout=60).json()["charLimit"] == 10


def test_requests_of_each_key_in_a_minute(ask, clock):
    answers = [ask(path, q="a k.") for path in ("translate", "detect", "translate", "detect", "translate", "detect")]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[-1].json()["error"].startswith("Slowdown: 5 per 1 minute")
    assert answers[-1].headers["retry-after"] == "60"
    assert ask(number=1, q="a k.").status_code == 200, "another key"
    clock[0] += 60
    assert ask(q="a k.").status_code == 200


def test_requests_without_keys_are_counted_by_address(learned_run, clock):
    service = Service(Models([f"en-fr={learned_run}"]), limits=Limits(requests=1))
    with running(lambda: build_app(service)) as url:
        found = [requests.post(f"{url}/detect", json={"q": "a"}, timeout=60).status_code for _ in range(2)]
        assert found == [200, 429] and list(service.clients.times) == ["127.0.0.1"]
        assert requests.get(f"{url}/languages", timeout=60).status_code == 200, "it costs nothing"


def test_a_minute_slides_and_old_clients_are_forgotten(clock):
    clients = Clients(2)
    for second, wait in ((0, None), (30, None), (50.5, 10), (60, None), (89, 1), (90, None)):
        clock[0] = 1000.0 + second
        if wait is None:
            clients.count("a")
            continue
        with pytest.raises(Refused, match=f"again in {wait} seconds"):
            clients.count("a")
    clients.count("b")
    clock[0] += 60
    clients.count("c")
    assert list(clients.times) == ["c"]


def test_the_options_have_the_names_of_libretranslate(monkeypatch, learned_run):
    found = []
    monkeypatch.setattr(serve, "run", lambda serving, service, arguments: found.append(service.limits))
    serve.main([f"en-fr={learned_run}"])
    serve.main([f"en-fr={learned_run}", "--batch_limit", "7", "--char_limit", "90000", "--req_limit", "3"])
    assert found == [Limits(1000, 20_000, None), Limits(7, 90_000, 3)]
    assert [one.body for one in found] == [1 << 20, 12 * 90_000], "as many bytes as the characters take in JSON"


@pytest.mark.parametrize(
    ("name", "size", "words"),
    [
        ("word/document.xml", MAX_FILE + 1, "The texts of the document unpacked would be 10,485,761 bytes"),
        ("word/media/a.png", MAX_UNPACKED + 1, "The document unpacked would be 52,428,801 bytes"),
        ("word/media/a.png", MAX_FILE + 1, ""),
    ],
)
def test_what_a_document_unpacks_to_is_bounded(name, size, words):
    """The kind of the case `hostile/broken/bomb.docx`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"\0" * size)
    assert len(stream.getvalue()) < 60_000
    if not words:
        return check_unpacked(stream.getvalue())
    with pytest.raises(GlossaError, match=words):
        check_unpacked(stream.getvalue())
