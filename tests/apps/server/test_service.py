"""Keys, measures, explanations and the log of a server."""

import json
import logging
import stat
import threading
import time

import pytest
import requests
import torch
from running_server import ask, running

from glossa.apps.server.app import build_app
from glossa.apps.server.corrections import Corrections
from glossa.apps.server.keys import Keys, add_key
from glossa.apps.server.models import Models
from glossa.apps.server.refusals import Refused
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.translate.loading import load_model, load_tokenizer


@pytest.fixture(scope="module")
def guarded(learned_run, tmp_path_factory):
    """The address of a server with a key, and the key."""
    path = tmp_path_factory.mktemp("keys") / "keys"
    key = add_key(path, "Ann's laptop")
    assert key not in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600
    service = Service(Models([f"en-fr={learned_run}"]), keys=Keys(path))
    with running(lambda: build_app(service, ["https://example.org"])) as address:
        yield address, key


def test_keys(guarded):
    url, key = guarded
    assert ask(url, q="a k.").status_code == 400
    assert ask(url, q="a k.", api_key="x").status_code == 403
    assert ask(url, q="a k.", api_key=key).status_code == 200
    bearer = {"Authorization": f"Bearer {key}"}
    assert requests.post(url, json={"inputs": "a k."}, headers=bearer, timeout=60).status_code == 200
    assert ask(url, "suggest", q="a k.", s="b", api_key=key).status_code == 403
    for path in ("/", "/languages", "/health", "/frontend/settings", "/spec"):
        assert requests.get(url + path, timeout=60).ok, path


def test_other_origins(guarded, url):
    allowed = requests.get(f"{guarded[0]}/languages", headers={"Origin": "https://example.org"}, timeout=60)
    assert allowed.headers["access-control-allow-origin"] == "https://example.org"
    for address in (guarded[0], url):
        other = requests.get(f"{address}/languages", headers={"Origin": "https://other.org"}, timeout=60)
        assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Origin": "https://example.org"}, 200), ({"Origin": "https://other.org"}, 403),
        ({"Origin": "null"}, 403), ({"Origin": "https://other.org", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://behind.a.proxy", "Sec-Fetch-Site": "same-origin"}, 200),
    ],
)  # fmt: skip
def test_pages_of_other_origins_may_not_send_anything(guarded, headers, status):
    url, key = guarded
    fields = {"q": "a k.", "source": "en", "target": "fr", "api_key": key}
    for form in ({"json": fields}, {"data": fields}, {"params": fields}):
        answer = requests.post(f"{url}/translate", headers=headers, timeout=60, **form)
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1:1", 200), ("evil.org", 403), ("proxied.org", 200)])
def test_a_server_on_loopback_knows_its_names(host, status, tmp_path):
    app = build_app(Service(Models([])), ["https://proxied.org"], ["127.0.0.1", "localhost"])
    with running(lambda: app) as url:
        assert requests.get(f"{url}/health", headers={"Host": host}, timeout=60).status_code == status


def test_languages_that_are_only_targets_are_listed(learned_run):
    with running(lambda: build_app(Service(Models([f"en-fr={learned_run}"])))) as url:
        found = requests.get(f"{url}/languages", timeout=60).json()
    assert [(one["code"], one["targets"]) for one in found] == [("en", ["fr"]), ("fr", [])]  # case `server-languages`


def test_files_of_keys_that_are_none(tmp_path):
    for text, words in (("", "holds no key"), ("Ann 12\n", "line 1 is not a name and a SHA-256")):
        (tmp_path / "keys").write_text(text)
        with pytest.raises(GlossaError, match=words):
            Keys(tmp_path / "keys")
    with pytest.raises(GlossaError, match="cannot be read"):
        Keys(tmp_path / "absent")


def test_the_log_and_the_measures_have_no_texts(url, caplog):
    secret = "Ann owes Bob nothing"
    with caplog.at_level(logging.INFO, logger="glossa.serve"):
        requests.post(f"{url}/translate", params={"q": secret, "source": "en", "target": "fr"}, timeout=60)
        requests.get(f"{url}/{secret}", timeout=60)
        for _ in range(100):  # lines are logged after the answers; the one for /health may come late
            found = [json.loads(record.message) for record in caplog.records if record.name == "glossa.serve"]
            lines = [line for line in found if line["path"] != "/health"]
            if len(lines) == 2:
                break
            time.sleep(0.1)
    assert [(line["path"], line["status"]) for line in lines] == [("/translate", 200), ("other", 404)]
    measures = requests.get(f"{url}/metrics", timeout=60).text
    assert 'glossa_requests_total{path="/translate",status="200"}' in measures
    assert 'glossa_characters_total{source="en",target="fr"}' in measures
    assert "owes" not in measures + caplog.text


@torch.no_grad()
def test_an_explanation_says_what_the_model_computes(url, learned_run):
    found = ask(url, "explain", q="a k.").json()
    model, tokenizer = load_model(str(learned_run)), load_tokenizer(str(learned_run))
    ids = tokenizer(["a k."], return_tensors="pt")["input_ids"]
    ours = model.generate(ids, num_beams=4, max_length=60, length_penalty=1.0)[0, 1:].tolist()
    assert found["tokens"] == ours
    logits = model(ids, decoder_input_ids=torch.tensor([[model.config.decoder_start_token_id, *ours[:-1]]])).logits[0]
    special = {*tokenizer.all_special_ids} - {tokenizer.eos_token_id}
    for row, (chosen, *others) in enumerate(found["choices"]):
        shares = logits[row].softmax(-1)
        assert chosen["id"] == ours[row] and abs(chosen["probability"] - shares[ours[row]].item()) < 1e-4
        best = [one for one in shares.topk(12).indices.tolist() if one not in (ours[row], *special)]
        assert [one["id"] for one in others] == best[:5]
    assert found["target"]["pieces"][-1] == "</s>" and len(found["target"]["pieces"]) == len(ours)
    layers, heads = model.config.decoder_layers, model.config.decoder_attention_heads
    cross = torch.tensor(found["attention"]["cross"])
    assert cross.shape == (layers, heads, len(ours), ids.shape[1])
    assert (cross.sum(-1) - 1).abs().max() < 1e-2
    # The first step of the beams has the best first tokens with their log-probabilities.
    first = logits[0].log_softmax(-1).topk(8).values.tolist()
    assert [one["score"] for one in found["beams"][0]] == [round(score, 2) for score in first]
    assert all(sum(one["state"] == "kept" for one in rows) <= 4 for rows in found["beams"])


def test_an_explanation_with_another_choice_begins_with_it(url):
    first = ask(url, "explain", q="a k.").json()
    other = first["choices"][0][1]["id"]
    second = ask(url, "explain", q="a k.", prefix=[other]).json()
    assert second["tokens"][0] == other != first["tokens"][0]


LONG_WORK = {
    "hostile/server": {"q": "<a " * 6000}, "server-blocked": {"q": "一个男人在街上睡觉" * 150},
    "an HTML page": {"q": "<p>a k. <b>b l.</b></p>" * 300, "format": "html"},
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_WORK)
def test_short_requests_are_answered_next_to_a_long_one(url, name):
    """The long one is translated in pieces, each of a few sentences, and the short ones come between them."""
    order = []

    def timed(name, fields):
        order.append((name, ask(url, **fields).status_code))

    timed("first", {"q": "a k."})  # the model is loaded
    long = threading.Thread(target=timed, args=("long", LONG_WORK[name]))
    long.start()
    for _ in range(5):
        timed("short", {"q": "b l."})
    long.join()
    assert order.count(("short", 200)) == 5 and ("long", 200) in order


def test_the_health_does_not_wait_for_what_is_loaded(learned_run, monkeypatch):
    """The first explanation and detection import torch and a detector, in a thread of their own."""
    free, begun = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        free.wait(60)
        return [[("en", 100.0)]]

    monkeypatch.setattr(Service, "_ranks", slow)
    with running(lambda: build_app(Service(Models([f"en-fr={learned_run}"])))) as address:
        waiting = threading.Thread(target=requests.post, args=(f"{address}/detect",), kwargs={"json": {"q": "a"}})
        waiting.start()
        assert begun.wait(60) and requests.get(f"{address}/health", timeout=30).json() == {"status": "ok"}
        free.set()
        waiting.join()


def test_a_file_of_corrections_with_cut_lines_is_continued(tmp_path, caplog):
    file = tmp_path / "corrections.jsonl"
    given = {"source": "We find it.", "correction": "Nous le\u2028trouvons.", "from": "en", "to": "fr"}
    line = json.dumps(given, ensure_ascii=False)
    file.write_text(f"{line[:20]}\n{line}\n{line[:30]}", encoding="utf-8")
    corrections = Corrections(file)
    warnings = [record.message for record in caplog.records]
    for number, text in zip((1, 3), warnings, strict=True):
        assert f"{file}, line {number} is not a correction" in text
    with pytest.raises(Refused, match="known already"):
        corrections.add(given)
    corrections.add(given | {"correction": "Nous le trouvons."})
    lines = file.read_text(encoding="utf-8").split("\n")
    assert lines[:3] == [line[:20], line, line[:30]] and json.loads(lines[3])["correction"] == "Nous le trouvons."
    assert lines[4:] == [""]
