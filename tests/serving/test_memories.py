"""Translation memories of a server: whose they are, who writes them, and what is seen of them."""

import contextlib
import json

import pytest
import requests
from running_server import running

from glossa.cli.serve import main, parse
from glossa.errors import GlossaError
from glossa.memory.store import Memory, Unit
from glossa.serving.app import build_app
from glossa.serving.keys import Keys, add_key
from glossa.serving.memories import Memories
from glossa.serving.models import Models
from glossa.serving.service import Service

LONG = "a b c d e f g h k l m n!"
NEAR = "a b c d e f g h k l m o!"  # one of its 24 characters differs


@pytest.fixture(scope="module")
def model(learned_run):
    return f"en-fr={learned_run}"


@contextlib.contextmanager
def serving(model, keys=None, **options):
    models = Models([model])
    given = {"path": None, "folder": None, "writers": (), "shows": False} | options
    models.memories = Memories.opened(pairs=models.steps, **given)
    with running(lambda: build_app(Service(models, keys=keys))) as url:
        yield url


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys"
    secrets = {name: add_key(path, name) for name in ("ann", "bo")}
    return Keys(path), secrets


def post(url, path, key="", **fields):
    given = {"source": "en", "target": "fr"} | fields | ({"api_key": key} if key else {})
    return requests.post(f"{url}/{path}", json=given, timeout=60)


def translated(url, key, text, **fields):
    return post(url, "translate", key, q=text, **fields).json()


def test_a_suggestion_counts_at_once_for_its_key_only_and_after_a_restart(model, keys, tmp_path):
    known, secret = keys
    with serving(model, known, folder=tmp_path / "own") as url:
        before = translated(url, secret["ann"], LONG)["translatedText"]
        versions = [post(url, "memory_version", secret[name]).json()["version"] for name in secret]
        found = post(url, "suggest", secret["ann"], q=LONG, s="quite another text")
        assert found.json() == {"success": True, "remembered": True}
        answer = translated(url, secret["ann"], LONG)
        assert answer["translatedText"] == "quite another text"
        assert answer["matches"] == [{"score": 100, "use": "copied", "source": LONG, "target": "quite another text"}]
        assert translated(url, secret["ann"], LONG, memory=False)["translatedText"] == before
        assert translated(url, secret["bo"], LONG)["translatedText"] == before
        now = [post(url, "memory_version", secret[name]).json()["version"] for name in secret]
        assert now[0] != versions[0] and now[1] == versions[1]
    with (
        serving(model, known, folder=tmp_path / "own") as first,
        serving(model, known, folder=tmp_path / "own") as url,
    ):
        assert translated(url, secret["ann"], LONG)["translatedText"] == "quite another text"
        post(first, "suggest", secret["ann"], q=LONG, s="yet another text")  # by another process
        assert translated(url, secret["ann"], LONG)["translatedText"] == "yet another text"
        assert post(url, "take_back", secret["bo"], q=LONG).status_code == 400
        assert post(url, "take_back", secret["ann"], q=LONG).json() == {"success": True}
        assert translated(url, secret["ann"], LONG)["translatedText"] == "quite another text"


def test_a_stream_says_the_match_of_each_sentence(model, keys, tmp_path):
    known, secret = keys
    with serving(model, known, folder=tmp_path / "own") as url:
        post(url, "suggest", secret["ann"], q=LONG, s="quite another text")
        lines = post(url, "translate_stream", secret["ann"], q=f"{LONG} Kk!").text.splitlines()
        head, first, second = map(json.loads, lines)
        assert head["sentences"] == 2 and first["match"]["score"] == 100 and "match" not in second


def test_only_named_keys_write_the_shared_memory_and_others_see_no_text_of_it(model, keys, tmp_path):
    known, secret = keys
    path = tmp_path / "shared.memory"
    Memory.create(path, "en", "fr").close()
    options = {"path": path, "folder": tmp_path / "own", "writers": ["ann"]}
    with serving(model, known, **options) as url:
        post(url, "suggest", secret["ann"], q=LONG, s="quite another text")
        post(url, "suggest", secret["bo"], q="b k l.", s="for bo alone")
        answer = translated(url, secret["bo"], LONG)
        assert answer["translatedText"] == "quite another text"
        assert answer["matches"] == [{"score": 100, "use": "copied"}]
        assert translated(url, secret["ann"], "b k l.")["translatedText"] != "for bo alone"
        assert post(url, "take_back", secret["bo"], q=LONG).status_code == 400
    with serving(model, known, **options, shows=True) as url:
        assert translated(url, secret["bo"], LONG)["matches"][0]["source"] == LONG


def test_a_threshold_of_the_request(model, keys, tmp_path, learned_run):
    known, secret = keys
    with serving(model, known, folder=tmp_path / "own") as url:
        post(url, "suggest", secret["ann"], q=LONG, s="quite another text")
        assert "matches" not in translated(url, secret["ann"], NEAR), "this model does not read matches"
        assert post(url, "translate", secret["ann"], q=NEAR, memory_threshold=20).status_code == 400


def test_without_keys_nothing_is_written(model, tmp_path):
    path = tmp_path / "shared.memory"
    with Memory.create(path, "en", "fr") as memory, serving(model, path=path) as url:
        assert post(url, "suggest", q=LONG, s="quite another text").status_code == 403
        assert memory.exact(LONG) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memories", "m"], "--memories is for keys"),
        (["--memory_writer", "ann"], "--memory_writer is for keys"),
        (["--show_memory"], "--show_memory is about the memory of --memory FILE"),
    ],
)
def test_options_that_need_others(options, message):
    parse(["a", *options])
    with pytest.raises(GlossaError, match=message):
        main(["en-fr=a", *options])


def test_a_suggestion_counts_more_than_an_older_file(model, keys, tmp_path):
    known, secret = keys
    path = tmp_path / "shared.memory"
    with Memory.create(path, "en", "fr") as memory:
        memory.add([Unit(LONG, "of a file", "2026-01-31T00:00:00Z", "a.tmx")])
    with serving(model, known, path=path, writers=["ann"]) as url:
        assert translated(url, secret["bo"], LONG)["translatedText"] == "of a file"
        post(url, "suggest", secret["ann"], q=LONG, s="quite another text")
        assert translated(url, secret["bo"], LONG)["translatedText"] == "quite another text"
