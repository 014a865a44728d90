"""The benchmark of translation memories: its synthetic units, its comparison with all, and its table."""

import gzip
import json

from benchmarks import memory as module
from benchmarks.__main__ import main
from benchmarks.memory import synthetic
from glossa.translate.memory.store import Memory

PAIRS = [("the cat is on the mat", "a"), ("the dogs are not on it", "b"), ("a cat", "c")]


def test_synthetic_units(monkeypatch):
    monkeypatch.setattr(module, "FREQUENT", 1)
    made = list(synthetic(PAIRS, 8))
    assert made[:3] == PAIRS, "the first copy is not changed"
    assert [target for _, target in made] == list("abcabcab") and made == list(synthetic(PAIRS, 8))
    monkeypatch.setattr(module, "CHANGED", 0)
    for source, _ in list(synthetic(PAIRS, 6))[3:]:
        assert source not in dict(PAIRS)
    first = next(source for source, _ in list(synthetic(PAIRS, 6))[3:])
    assert first.split()[0] == first.split()[4] == "the" and list(map(len, first.split())) == [3, 3, 2, 2, 3, 3]


def test_the_true_best_is_another_source():
    with Memory.temporary([("abcdefghij", "x"), ("abcdefghiX", "x"), ("abcdefgYYY", "x")]) as memory:
        assert module.true_best(memory, ["abcdefghij", "abcdefgYYY", "zz"]) == [90, 70, 0]


def test_a_row_and_its_table(tmp_path, capsys):
    file, results = tmp_path / "en-de.tsv.gz", tmp_path / "results.json"
    with gzip.open(file, "wt") as lines:
        for number in range(150):
            lines.write(f"page\tThis is the sentence with the name {number * 7919:x}\tSatz {number}\n")
    main(["memory", "--pairs", str(file), "--queries", "20", "--results", str(results)])
    (row,) = json.loads(results.read_text())
    assert row["metrics"]["units"] == 150 and row["metrics"]["with_match"] == row["metrics"]["found"] == 20
    assert "| 150 |" in capsys.readouterr().out
