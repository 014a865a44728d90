"""What the sentence before is worth: whole documents are held out, and each way of reading is measured."""

import zipfile

import pytest

from benchmarks import context
from benchmarks.__main__ import main
from glossa.segments_glossa import BEFORE

UNIT = '<tu tuid="{0}:{1}"><tuv xml:lang="en"><seg>{2}</seg></tuv><tuv xml:lang="fr"><seg>{3}</seg></tuv></tu>'


@pytest.fixture
def tico19(tmp_path):
    """Four documents of ten sentences in one file."""
    units = "".join(
        UNIT.format(name, number, f"it {name} {number} .", f"le {name} {number} .")
        for name in "abcd"
        for number in range(10)
    )
    with zipfile.ZipFile(tmp_path / "all.en-fr.tmx.zip", "w") as archive:
        archive.writestr("all.en-fr.tmx", f'<tmx version="1.4"><body>{units}</body></tmx>')
    return tmp_path / "all.en-fr.tmx.zip"


def test_documents_stay_whole(tico19, monkeypatch):
    units = context.read(tico19)
    assert [unit.before for unit in units[9:12]] == ["it a 8 .", "", "it b 0 ."]
    monkeypatch.setattr(context, "HELD_OUT", {"validation": 5, "test": 11})
    parts = context.split(units)
    assert {name: len(own) for name, own in parts.items()} == {"validation": 10, "test": 20, "train": 10}
    documents = [{unit.document for unit in own} for own in parts.values()]
    assert len(set.union(*documents)) == sum(map(len, documents)) == 4


def test_another_sentence_is_of_another_document(tico19):
    units = context.read(tico19)
    read = {way: context.read_by_model(units, way) for way in context.WAYS}
    assert read["none"] == [unit.source for unit in units] and read["before"][1] == f"it a 0 .{BEFORE} it a 1 ."
    for unit, text in zip(units, read["other"], strict=True):
        before = text.split(f"{BEFORE} ")[:-1]
        assert before == [] if not unit.before else unit.document not in before[0].split()


def test_the_table_has_a_row_for_each_way(tico19, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(context, "HELD_OUT", {"validation": 5, "test": 5})
    with zipfile.ZipFile(tmp_path / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "".join(f"I see {number}.\tJe vois {number}.\n" for number in range(40)))
    small = "--vocab_size 280 --d_model 16 --encoder_layers 1 --decoder_layers 1 --max_steps 1 --num_beams 1 "
    small += "--max_new_tokens 4 --cpu_threads 1 --batch_tokens 200 --gradient_accumulation_steps 1"
    files = ["--tico19", str(tico19), "--anki", str(tmp_path / "fra-eng.zip"), "--output_dir", str(tmp_path / "runs")]
    main(["context", *files, *small.split()])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| context ")]
    rows = rows[-4:]  # of the last table
    assert [row[:2] for row in rows] == [
        ["| context 0, seed 1", "none"], *(["| context 1, seed 1", way] for way in context.WAYS)
    ]  # fmt: skip
    assert all(float(row[3]) > 0 for row in rows) and rows[1][3] != rows[2][3]
