"""`glossa prepare --back_translate`: text in the target language becomes one more source."""

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from refusals import refused

from glossa.base.jobs.pool import in_this_process
from glossa.cli.prepare import main
from glossa.translate import sentences

# The run translates from English to French, so it is a teacher of sources for a model from French to English.
LANGUAGES = ["--source_language", "fr", "--target_language", "en", "--trust_data", "language"]
HELD_OUT = ["--validation_path", "validation.tsv", "--test_size", "0"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("glossa.base.jobs.pool.in_processes", lambda load, items, **_: in_this_process(load, items))
    monkeypatch.setattr(sentences, "find_problem", lambda *_: "")  # the tiny model repeats words
    Path("pairs.tsv").write_text("x y\ta k.\nz\tb l.\n")
    Path("validation.tsv").write_text("w\tc m.\n")
    Path("text.txt").write_text("d n.\ne o.\nb l.\nc m.\n")


def prepare(*options):
    main(["--data_path", "pairs.tsv", *LANGUAGES, "--processes", "1", *options])


def test_text_becomes_a_source(tiny_run, here, capsys):
    given = [*HELD_OUT, "--back_translate", "text.txt", "--teacher", str(tiny_run), "--tag", "<bt> "]
    prepare(*given, "--output", "out")
    own, made = json.loads(Path("out/prepared.json").read_text())["sources"]
    assert (own["name"], own["tag"], own["pairs"]) == ("pairs", "", 2)
    assert (made["name"], made["tag"]) == ("back-translations", "<bt> ")
    rows = pyarrow.parquet.read_table(Path("out", *made["files"])).to_pylist()
    # c m. is held out.
    assert {row["target"] for row in rows} == {"d n.", "e o.", "b l."} and all(row["source"] for row in rows)
    assert "4 texts gave 4 new pairs" in capsys.readouterr().out
    prepare(*given, "--output", "again", "--parts", "out.parts")
    assert "texts gave" not in capsys.readouterr().out
    assert Path("again/prepared.json").read_bytes() == Path("out/prepared.json").read_bytes()
    Path("text.txt").write_text("d n.\n")
    prepare(*given, "--output", "other", "--parts", "out.parts")
    assert "1 texts gave 1 new pairs" in capsys.readouterr().out


def test_what_is_refused(tiny_run, here, monkeypatch):
    refused("need each other", prepare, "--output", "out", "--back_translate", "text.txt")
    both = ["--output", "out", "--back_translate", "text.txt", "--teacher", str(tiny_run)]
    refused(r"held-out pairs could be back-translations\. Give validation_path", prepare, *both)
    refused(r"Give test_path, .* or set test_size to 0", prepare, *both, *HELD_OUT[:2])
    refused(r"text\.tsv", prepare, *both[:3], "text.tsv", *both[4:], *HELD_OUT)
    monkeypatch.setattr(sentences, "find_problem", lambda *_: "empty")
    refused("No translation of .* can be used .* for texts such as text.txt", prepare, *both, *HELD_OUT)
