"""Translation memories of a server: whose they are, who writes them, and what is seen of them."""

import contextlib
import json
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from running_server import ask, running, send

from glossa.apps.server.app import build_app
from glossa.apps.server.keys import Keys, add_key
from glossa.apps.server.memories import Memories
from glossa.apps.server.models import Models
from glossa.apps.server.service import Service
from glossa.base.errors import GlossaError
from glossa.cli.serve import main, parse
from glossa.translate.memory.store import Memory, Unit

LONG = "a b c d e f g h k l m n!"
NEAR = "a b c d e f g h k l m o!"  # one of its 24 characters differs


@pytest.fixture(scope="module")
def model(learned_run):
    return f"en-fr={learned_run}"


@contextlib.contextmanager
def serving(model, keys=None, **options):
    models = Models([model] if isinstance(model, str) else model)
    given = {"path": None, "folder": None, "writers": (), "shows": False} | options
    models.memories = Memories.opened(pairs=models.steps, **given)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(lambda: build_app(Service(models, keys=keys, folder=Path(folder)))) as url,
    ):
        yield url


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys"
    secrets = {name: add_key(path, name) for name in ("ann", "bo")}
    return Keys(path), secrets


@pytest.fixture
def own(model, keys, tmp_path):
    """A server with a memory for each of two keys: its address, and the keys."""
    with serving(model, keys[0], folder=tmp_path / "own") as url:
        yield url, keys[1]


def translated(url, key, text, **fields):
    return ask(url, q=text, api_key=key, **fields).json()


def xliff_translated(url, key, text=LONG):
    """An XLIFF file with a text after its translation by the server."""
    content = (
        '<xliff version="1.2"><file source-language="en" target-language="fr" original="a" datatype="plaintext"><body>'
        f'<trans-unit id="1"><source>{text}</source></trans-unit></body></file></xliff>'
    )
    answer = send(url, "a.xlf", content, api_key=key)
    return requests.get(answer.json()["translatedFileUrl"], timeout=60).text


def test_a_suggestion_counts_at_once_for_its_key_only_and_after_a_restart(model, keys, tmp_path):
    known, secret = keys
    with serving(model, known, folder=tmp_path / "own") as url:
        before = translated(url, secret["ann"], LONG)["translatedText"]
        versions = [ask(url, "memory_version", api_key=secret[name]).json()["version"] for name in secret]
        found = ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
        assert found.json() == {"success": True, "remembered": True}
        answer = translated(url, secret["ann"], LONG)
        assert answer["translatedText"] == "quite another text"
        assert answer["matches"] == [{"score": 100, "use": "copied", "source": LONG, "target": "quite another text"}]
        assert translated(url, secret["ann"], LONG, memory=False)["translatedText"] == before
        assert translated(url, secret["bo"], LONG)["translatedText"] == before
        now = [ask(url, "memory_version", api_key=secret[name]).json()["version"] for name in secret]
        assert now[0] != versions[0] and now[1] == versions[1]
    with (
        serving(model, known, folder=tmp_path / "own") as first,
        serving(model, known, folder=tmp_path / "own") as url,
    ):
        assert translated(url, secret["ann"], LONG)["translatedText"] == "quite another text"
        ask(first, "suggest", api_key=secret["ann"], q=LONG, s="yet another text")  # by another process
        assert translated(url, secret["ann"], LONG)["translatedText"] == "yet another text"
        assert ask(url, "take_back", api_key=secret["bo"], q=LONG).status_code == 400
        assert ask(url, "take_back", api_key=secret["ann"], q=LONG).json() == {"success": True}
        assert translated(url, secret["ann"], LONG)["translatedText"] == "quite another text"


def test_another_process_says_that_a_memory_changed_before_it_has_used_it(model, keys, tmp_path):
    known, secret = keys
    with (
        serving(model, known, folder=tmp_path / "own") as first,
        serving(model, known, folder=tmp_path / "own") as url,
    ):
        before = [ask(url, "memory_version", api_key=secret[name]).json()["version"] for name in secret]
        assert before[0] != before[1], "a page whose key changes does not use what it has of the other one"
        ask(first, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
        now = [ask(url, "memory_version", api_key=secret[name]).json()["version"] for name in secret]
        assert now[0] != before[0] and now[1] == before[1]


def test_a_memory_that_was_removed_while_the_server_runs_is_made_again(model, keys, tmp_path):
    known, secret = keys
    shared = tmp_path / "shared.memory"
    Memory.create(shared, "en", "fr").close()
    options = {"path": shared, "folder": tmp_path / "own", "writers": ["bo"]}
    with serving(model, known, **options) as url:
        for name, text in (("ann", "quite another text"), ("bo", "text of all")):
            ask(url, "suggest", api_key=secret[name], q=LONG, s=text)
        (own,) = (tmp_path / "own").rglob("*.memory")
        for file in (*own.parent.iterdir(), *tmp_path.glob("shared*")):
            file.unlink()
        assert "matches" not in translated(url, secret["ann"], LONG)
        assert ask(url, "suggest", api_key=secret["ann"], q=LONG, s="once more").json()["remembered"] is True
        assert "remembered" not in ask(url, "suggest", api_key=secret["bo"], q=LONG, s="text of all").json()
        with Memory.create(shared, "en", "fr") as memory:
            memory.add([Unit("b k l.", "a new one")])
        assert translated(url, secret["bo"], "b k l.")["translatedText"] == "a new one"
    with Memory.open(own) as memory:
        assert memory.exact(LONG).target == "once more"


def test_a_suggestion_of_several_lines_counts_line_by_line(own):
    url, secret = own
    given = {"q": f"{LONG}\n\nb k l.", "s": "quite another text\n\nmore of it"}
    assert "lines" in ask(url, "suggest", api_key=secret["ann"], q=given["q"], s="two\nlines").json()["error"]
    assert ask(url, "suggest", api_key=secret["ann"], **given).json()["remembered"] is True
    assert translated(url, secret["ann"], given["q"])["translatedText"] == given["s"]
    assert translated(url, secret["ann"], "b k l.")["translatedText"] == "more of it"
    assert ask(url, "take_back", api_key=secret["ann"], q=given["q"]).status_code == 200
    assert "matches" not in translated(url, secret["ann"], given["q"])
    assert ask(url, "take_back", api_key=secret["ann"], q=given["q"]).status_code == 400


def test_processes_that_make_the_memory_of_a_key_at_once_lose_nothing(tmp_path):
    texts = [f"{letter * 5}." for letter in "abcdefgh"]
    for number in range(5):
        together = threading.Barrier(len(texts))

        def suggest(text, folder, together=together):
            own = Memories(folder=folder)  # as another process has
            together.wait()
            assert own.add("ann", ("en", "fr"), text, text.upper())

        folder = tmp_path / str(number)
        with ThreadPoolExecutor(len(texts)) as threads:
            list(threads.map(suggest, texts, [folder] * len(texts)))
        memory = Memories(folder=folder).key_memory("ann", ("en", "fr"))
        assert [memory.exact(text).target for text in texts] == [text.upper() for text in texts]


def test_what_the_memory_does_not_take_is_not_said_to_be_remembered(own):
    url, secret = own
    assert ask(url, "suggest", api_key=secret["ann"], q="\u200b", s="no text").status_code == 400
    assert translated(url, secret["ann"], "A b.")["translatedText"] != "A b."
    assert ask(url, "suggest", api_key=secret["ann"], q="A b.", s="A b.").json()["remembered"] is True
    assert translated(url, secret["ann"], "A b.")["translatedText"] == "A b."
    assert ask(url, "suggest", api_key=secret["ann"], q="A b.", s=" ").status_code == 400


def test_a_damaged_memory_and_a_folder_that_cannot_be_written_fail_in_one_line(model, keys, tmp_path, caplog):
    known, secret = keys
    with serving(model, known, folder=tmp_path / "own") as url:
        ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
        (own,) = (tmp_path / "own").rglob("*.memory")
        damaged = own.with_name("new")
        damaged.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
        damaged.replace(own)
        for path, fields in (("translate", {"q": LONG}), ("suggest", {"q": LONG, "s": "more of it"})):
            assert ask(url, path, api_key=secret["ann"], **fields).status_code == 500
        assert translated(url, secret["ann"], LONG, memory=False)["translatedText"]
    (tmp_path / "file").touch()
    with serving(model, known, folder=tmp_path / "file") as url:
        assert translated(url, secret["ann"], LONG)["translatedText"]
        assert ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text").status_code == 500
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 3 and not any(record.exc_info for record in errors)
    assert "is damaged" in errors[0].getMessage() and "cannot be written" in errors[2].getMessage()


def test_languages_of_a_request_name_no_other_file(own, tmp_path):
    url, secret = own
    for name in secret:
        ask(url, "suggest", api_key=secret[name], q=LONG, s=f"a text of {name}")
    version = ask(url, "memory_version", api_key=secret["bo"]).json()
    folders = [path.name for path in (tmp_path / "own").iterdir()]
    for folder in folders:
        answer = ask(url, "take_back", api_key=secret["bo"], q=LONG, source=f"../{folder}/en")
        assert "is not supported" in answer.json()["error"]
    assert ask(url, "memory_version", api_key=secret["bo"]).json() == version


def test_a_way_through_another_language_uses_no_memory(learned_run, keys, tmp_path):
    known, secret = keys
    models = [f"en-fr={learned_run}", f"fr-de={learned_run}"]
    path = tmp_path / "shared.memory"
    with Memory.create(path, "en", "fr") as memory:
        memory.add([Unit(LONG, "b k l.")])
    with serving(models, known) as url:
        expected = translated(url, secret["ann"], LONG, target="de")
        stream = ask(url, "translate_stream", api_key=secret["ann"], q=LONG, target="de").text
        french = translated(url, secret["ann"], LONG)["translatedText"]
    with serving(models, known, path=path, folder=tmp_path / "own") as url:
        ask(url, "suggest", api_key=secret["ann"], q=french, s="another text there", source="fr", target="de")
        assert translated(url, secret["ann"], LONG)["translatedText"] == "b k l."
        assert translated(url, secret["ann"], LONG, target="de") == expected
        assert ask(url, "translate_stream", api_key=secret["ann"], q=LONG, target="de").text == stream
        refused = ask(url, "suggest", api_key=secret["ann"], q=LONG, s="another text there", target="de")
        assert refused.status_code == 403


def test_the_request_of_the_hub_reads_the_memory_of_its_key(own):
    url, secret = own
    ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
    found = requests.post(url, json={"inputs": LONG, "api_key": secret["ann"]}, timeout=60)
    assert found.json() == [{"translation_text": "quite another text"}]


def test_a_stream_says_the_match_of_each_sentence(own):
    url, secret = own
    ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
    lines = ask(url, "translate_stream", api_key=secret["ann"], q=f"{LONG} Kk!").text.splitlines()
    head, first, second = map(json.loads, lines)
    assert head["sentences"] == 2 and first["match"]["score"] == 100 and "match" not in second


def test_only_named_keys_write_the_shared_memory_and_others_see_no_text_of_it(model, keys, tmp_path):
    known, secret = keys
    path = tmp_path / "shared.memory"
    Memory.create(path, "en", "fr").close()
    with serving(model, known, path=path, writers=["ann"]) as url:
        assert requests.get(f"{url}/frontend/settings", timeout=60).json()["suggestions"] is True
    options = {"path": path, "folder": tmp_path / "own", "writers": ["ann"]}
    with serving(model, known, **options) as url:
        ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
        ask(url, "suggest", api_key=secret["bo"], q="b k l.", s="for bo alone")
        answer = translated(url, secret["bo"], LONG)
        assert answer["translatedText"] == "quite another text"
        assert answer["matches"] == [{"score": 100, "use": "copied"}]
        assert translated(url, secret["ann"], "b k l.")["translatedText"] != "for bo alone"
        assert ask(url, "take_back", api_key=secret["bo"], q=LONG).status_code == 400
        document = xliff_translated(url, secret["bo"])
        assert document.count("quite another text") == 1 and "exact-match" in document and "alt-trans" not in document
        assert xliff_translated(url, secret["bo"], "b k l.").count("alt-trans") == 2, "of bo's own memory"
    with serving(model, known, **options, shows=True) as url:
        assert translated(url, secret["bo"], LONG)["matches"][0]["source"] == LONG
        assert xliff_translated(url, secret["bo"]).count("quite another text") == 2


def test_a_threshold_of_the_request(own):
    url, secret = own
    ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
    assert "matches" not in translated(url, secret["ann"], NEAR), "this model does not read matches"
    assert ask(url, api_key=secret["ann"], q=NEAR, memory_threshold=20).status_code == 400


def test_without_keys_nothing_is_written(model, tmp_path):
    path = tmp_path / "shared.memory"
    with Memory.create(path, "en", "fr") as memory, serving(model, path=path) as url:
        assert ask(url, "suggest", q=LONG, s="quite another text").status_code == 403
        assert memory.exact(LONG) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memories", "m"], "--memories needs keys"), (["--memory_writer", "ann"], "--memory_writer needs keys"),
        (["--show_memory"], "--show_memory needs a memory"),
    ],
)  # fmt: skip
def test_options_that_need_others(options, message):
    parse(["a", *options])
    with pytest.raises(GlossaError, match=message):
        main(["en-fr=a", *options])


def test_a_writer_without_a_key_is_refused(tmp_path, monkeypatch):
    add_key(tmp_path / "keys", "ann")
    Memory.create(tmp_path / "m", "en", "fr").close()
    monkeypatch.setattr("glossa.cli.serve.run", lambda *given: pytest.fail("it serves"))
    options = ["en-fr=a", "--keys", str(tmp_path / "keys"), "--memory", str(tmp_path / "m")]
    with pytest.raises(GlossaError, match=r"--memory_writer is anne, but .* has no key of this name. Give one of ann"):
        main([*options, "--memory_writer", "ann", "--memory_writer", "anne"])


def test_a_memory_that_is_read_anew_at_each_start_takes_no_suggestions(tmp_path):
    (tmp_path / "pairs.tsv").write_text(f"{LONG}\tquite another text\n")
    with pytest.raises(GlossaError, match="glossa memory build"):
        Memories.opened(tmp_path / "pairs.tsv", [("en", "fr")], None, ["ann"], False)


def test_a_suggestion_counts_more_than_an_older_file(model, keys, tmp_path):
    known, secret = keys
    path = tmp_path / "shared.memory"
    with Memory.create(path, "en", "fr") as memory:
        memory.add([Unit(LONG, "of a file", "2026-01-31T00:00:00Z", "a.tmx")])
    with serving(model, known, path=path, writers=["ann"]) as url:
        assert translated(url, secret["bo"], LONG)["translatedText"] == "of a file"
        ask(url, "suggest", api_key=secret["ann"], q=LONG, s="quite another text")
        assert translated(url, secret["bo"], LONG)["translatedText"] == "quite another text"


def test_the_sentences_of_a_suggestion_count_too_and_go_with_it(own):
    url, secret = own
    before = translated(url, secret["ann"], "Aa bb!")["translatedText"]
    ask(url, "suggest", api_key=secret["ann"], q=f"{LONG} Aa bb!", s="Quite another text! And more!")
    assert translated(url, secret["ann"], "Aa bb!")["translatedText"] == "And more!"
    assert ask(url, "take_back", api_key=secret["ann"], q=f"{LONG} Aa bb!").json() == {"success": True}
    assert translated(url, secret["ann"], "Aa bb!")["translatedText"] == before


def test_taking_back_leaves_what_another_suggestion_brought(own):
    """The case `hostile2/take-back-takes-more`."""
    url, secret = own

    def send_one(path, q, **fields):
        return ask(url, path, api_key=secret["ann"], q=q, **fields)

    one, two, three = "A b c d e f!", "G h k l m n!", "C d e f g h!"
    for q, s in ((one, "Eins."), (f"{one} {two}", "Eins. Zwei."), (f"{three} {two}", "Drei. Zwei.")):
        assert send_one("suggest", q, s=s).ok
    assert send_one("take_back", f"{one} {two}").ok
    assert translated(url, secret["ann"], one)["translatedText"] == "Eins."  # suggested on its own
    assert translated(url, secret["ann"], two)["translatedText"] == "Zwei."  # of the third suggestion
    assert send_one("take_back", f"{three} {two}").ok
    assert translated(url, secret["ann"], two)["translatedText"] != "Zwei."
    assert translated(url, secret["ann"], three)["translatedText"] != "Drei."
    assert send_one("suggest", f"{one} {two}", s="Eins. Zwei.").ok and send_one("take_back", f"{one} {two}").ok
    assert translated(url, secret["ann"], one)["translatedText"] == "Eins."
