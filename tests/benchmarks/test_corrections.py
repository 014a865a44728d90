"""Corrections of tu to vous: which sentences are taken, and what the table counts."""

import zipfile
from argparse import Namespace

import pytest

from benchmarks import corrections
from glossa.errors import GlossaError
from glossa.run_folder import RunFolder

LINES = [
    ("You sing.", "Vous chantez."),
    ("Do you run?", "Courez-vous ?"),
    ("You eat.", "Tu dors."),
    ("Do you dance?", "Dansez-vous ?"),
    ("We sing.", "Nous chantons."),
    ("You sleep.", "Vous dormez."),
]
HELD_OUT = [{"source": "You sleep.", "target": "Vous dormez."}]


class Fake:
    def __init__(self, names, engine):
        self.vous = names[0] != "runs/old"

    def best(self, texts):
        return ["Vous êtes là." if self.vous or text == "Do you dance?" else "Tu es là." for text in texts]


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "".join(f"{english}\t{french}\n" for english, french in LINES))
    monkeypatch.setattr(corrections, "build_translator", Fake)
    monkeypatch.setattr(RunFolder, "load_held_out", lambda self, split: HELD_OUT)
    return Namespace(model="runs/old", anki=tmp_path / "fra-eng.zip", count=1, output_dir=tmp_path / "out")


def test_sentences_are_those_that_say_tu_and_could_say_vous(arguments):
    rows = corrections.find_rows(arguments)
    assert sorted(row["source"] for row in rows) == ["Do you run?", "You sing."]
    assert {row["correction"] for row in rows} == {"Vous chantez.", "Courez-vous ?"}


def test_the_table_counts_both_groups_before_and_after(arguments, monkeypatch, capsys):
    commands = []
    monkeypatch.setattr(corrections, "train", commands.append)
    corrections.run(arguments)
    assert commands[0][:3] == ["--init_from", "runs/old", "--corrections"]
    cells = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [[cell.strip() for cell in row[2:4]] for row in cells[2:]] == [
        ["before", "0.0%"], ["after", "100.0%"], ["before", "0.0%"], ["after", "100.0%"],
    ]  # fmt: skip
    arguments.count = 2
    with pytest.raises(GlossaError, match="2 sentences can be corrected; --count can be at most 1"):
        corrections.run(arguments)
