"""The benchmark that follows a repository's texts sees what stays, goes and is new, and what is wrong."""

import json
import subprocess

import pytest

from benchmarks import updates
from benchmarks.__main__ import main

TEXTS = [
    {"a": {"b": "A cat", "c": "A dog"}, "d": "Gone"},
    {"a": {"b": "A cat", "c": "A red dog"}, "d": "Gone", "e": "A fox"},
    {"e": "A fox", "a": {"c": "A red dog", "b": "A cat"}, "f": "%s cats"},
]
FRENCH = [{"a": {"b": "Un chat", "c": "Un chien"}, "d": "Parti"}, {"a": {"b": "Chat", "c": "Un chien"}, "e": "Renard"}]


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True)

    git("init", "-q")
    for number, texts in enumerate(TEXTS):
        (tmp_path / "en.json").write_text(json.dumps(texts))
        (tmp_path / "fr.json").write_text(json.dumps(FRENCH[number == 2]))
        git("add", ".")
        git("commit", "-qm", "texts")
    return tmp_path


def follow(repository, capsys):
    main(["updates", str(repository), "--source", "en.json", "--translation", "fr.json", "--commits", "2"])
    return capsys.readouterr().out


def test_what_is_counted(repository, capsys):
    found = follow(repository, capsys)
    assert "by commit: 5 stayed, 1 changed, 2 new, 1 gone\nfaults: none\n" in found
    for words in (
        "1 approved texts kept, people have changed or removed", "1 translated again, people kept theirs",
        "1 gone, as with people", "1 new, of which people translated", "1 new, of which people have none",
    ):  # fmt: skip
        assert words in found


def test_faults_are_seen(repository, capsys, monkeypatch):
    """A job that loses the order and the approved translations, and one that leaves the texts as they are."""
    run = updates.DocumentJob.run

    def shuffled(job, translator):
        run(job, translator)
        found = json.loads(job.target.read_text())
        job.target.write_text(json.dumps({"z": "Y", **dict(reversed(found.items())), "a": {"b": "Autre"}}))

    monkeypatch.setattr(updates.DocumentJob, "run", shuffled)
    found = follow(repository, capsys)
    assert all(words in found for words in ("2 lost", "not gone", "stayed wrongly", "order"))
    monkeypatch.setattr(updates.DocumentJob, "run", lambda job, _: job.target.write_bytes(job.source.read_bytes()))
    assert "stayed wrongly: a.b: 'Un chat' became 'A cat'" in follow(repository, capsys)


def test_other_readers_of_each_format(tmp_path):
    (tmp_path / "a.yml").write_text("# note\nen:\n  a: &x Open\n  b: [One, 'Two']\n")
    (tmp_path / "a.xml").write_text(
        '<resources><!-- note --><string name="a"><!-- in -->Open <b>it</b></string><string name="n" '
        'translatable="false">x</string><plurals name="p"><item quantity="other">Dogs</item></plurals></resources>'
    )
    assert updates.values(tmp_path / "a.yml") == {"a": "Open", "b.0": "One", "b.1": "Two"}
    assert updates.values(tmp_path / "a.xml") == {"a": "Open <b>it</b>", "p.other": "Dogs"}
    assert updates.comments(tmp_path / "a.yml") == ["# note"]
    assert updates.comments(tmp_path / "a.xml") == ["<!-- note -->"]
    assert updates.is_form("p.many", {"p.other": ""}) and not updates.is_form("q.many", {"p.other": ""})
