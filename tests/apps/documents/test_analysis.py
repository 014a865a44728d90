"""`glossa memory analyze`: how much of documents a memory knows, and how much is repeated; `glossa memory export`."""

import json

import pytest
from refusals import refused

from glossa.apps.documents.analysis import amount_of
from glossa.cli.memory import main
from glossa.readers.columns import Columns
from glossa.readers.reading import read_rows
from glossa.translate.memory.store import Memory
from glossa.translate.memory.units import Unit


@pytest.mark.parametrize(
    ("text", "words", "characters"),
    [
        ("Don't open 1,000.5 well-known files!", 5, 32), ("a_b -- (c)", 2, 8), ("日本 das", 3, 5), ("e.g. x", 2, 5),
        ("and/or", 2, 6),
    ],
)  # fmt: skip
def test_words_and_characters(text, words, characters):
    assert amount_of(text) == (1, words, characters)


def test_segments_are_counted_by_band_file_and_repetition(tmp_path, capsys):
    memory = tmp_path / "m"
    with Memory.create(memory, "en", "de") as new:
        new.add([Unit("Save the file now.", "x"), Unit("The old dog sleeps in the garden.", "y")])
    (tmp_path / "a.json").write_text(
        json.dumps({
            "a": "Save the file now.", "b": "Save the file now.", "c": "The old cat sleeps in the garden.",
            "d": "Nobody knows. Nobody knows.", "e": "42",
        })
    )  # fmt: skip
    (tmp_path / "b.json").write_text(json.dumps({"a": "Nobody knows.", "b": "Something else entirely"}))
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    main(["analyze", *files, "--memory", str(memory), "--json"])
    counted = json.loads(capsys.readouterr().out)

    def bands(row):
        return {band: (own["segments"], own["words"]) for band, own in row.items() if own["segments"]}

    assert bands(counted["files"][files[0]]) == {
        "exact": (2, 8), "85-94": (1, 7), "new": (1, 2), "repeated in the file": (1, 2), "all": (5, 19),
    }  # fmt: skip
    assert bands(counted["files"][files[1]]) == {"new": (1, 3), "repeated from other files": (1, 2), "all": (2, 5)}
    assert bands(counted["all"])["all"] == (7, 24)
    main(["analyze", *files])
    rows = capsys.readouterr().out.splitlines()
    assert rows[-1].split() == ["all", "7", "24", str(sum(counted["all"]["all"]["characters"] for _ in "a"))]


@pytest.mark.parametrize("ending", ["tmx", "tsv"])
def test_an_exported_memory_is_read_again(tmp_path, ending, capsys):
    texts = [("Ein Hund & <b>eine</b> Katze", 'A "dog" & a cat'), ('"Zitat" am Anfang', '"quote" at the start')]
    with Memory.create(tmp_path / "m", "de", "en") as memory:
        memory.add([Unit("Ein Hund & <b>eine</b> Katze", "replaced", date="2025-01-01T00:00:00Z")])
        memory.add([Unit(*pair, date="2026-01-02T03:04:05Z", context="menu") for pair in texts])
        memory.remove([1])
    output = tmp_path / f"out.{ending}"
    main(["export", str(tmp_path / "m"), "--output", str(output)])
    assert "2 units" in capsys.readouterr().err
    rows = [row for row in read_rows((output,), Columns((("de", "en"),)), None) if row[3] != "header"]
    assert [row[:2] for row in rows] == texts
    assert ("20260102T030405Z" in output.read_text()) == (ending == "tmx")
    refused("exists. Give another --output", main, ["export", str(tmp_path / "m"), "--output", str(output)])
    refused("neither .tmx nor .tsv", main, ["export", str(tmp_path / "m"), "--output", "m.docx"])
