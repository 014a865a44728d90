"""The noise that is put into pairs, and what is measured of the filters."""

import gzip
import random

import pytest

from benchmarks.__main__ import main
from benchmarks.noise import KINDS, measure, noisy
from glossa.data.cleaning import alignment
from glossa.data.embedded.patterns import Patterns


@pytest.fixture(scope="module")
def rows():
    """600 rows of English, "German" (French) and a third column."""
    patterns = Patterns(random.Random(1))
    drawn = dict.fromkeys((pair.en, pair.fr) for pair, _ in (patterns.draw() for _ in range(2000)))
    return [(english, french, "Ceci est une phrase en français.") for english, french in list(drawn)[:600]]


def test_a_fifth_of_the_pairs_is_noisy_in_equal_parts(rows):
    found = noisy(rows, 1)
    kinds = [kind for *_, kind in found]
    counts = {kind: kinds.count(kind) for kind in KINDS}
    assert {counts[kind] for kind in KINDS if kind != "wrong encoding"} == {20}
    assert 10 <= counts["wrong encoding"] <= 20, "text without accents does not change"
    assert found == noisy(rows, 1) != noisy(rows, 2)
    for (english, german, french), (source, target, kind) in zip(rows, found, strict=True):
        expected = {
            "": (english, german), "French target": (english, french), "copied": (english, english),
            "HTML": (f'<td class="en">{english}</td>', f'<td class="de">{german}</td>'),
            "truncated": (english, german[: len(german) // 3].strip()),
        }  # fmt: skip
        assert (source, target) == expected.get(kind, (source, target))
        if kind == "misaligned":
            assert source == english and target != german and target in {row[1] for row in rows}
        if kind == "wrong encoding":
            assert {"Ã", "Â", "â"} & set(target) and len(target) > len(german)


def test_recall_and_precision_by_hand(tmp_path):
    rows = [("A <b>dog</b>", "Ein Hund", "HTML"), ("A cat", "Ein <i>Tier</i>", ""), ("A cow", "A cow", "copied")]
    rows += [(f"A bird {number}", f"Ein Vogel {number}", "") for number in range(3)]
    rows += [("x", "y", kind) for kind in KINDS if kind not in ("HTML", "copied")]
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target, _ in rows))
    found = measure(path, rows, "filter_html", True)
    assert found == dict.fromkeys(KINDS, 0) | {"HTML": 1.0, "precision": 0.5, "clean": 0.25}
    assert measure(path, rows, "filter_copied", True)["copied"] == 1.0


def test_the_table_is_printed(tmp_path, capsys, rows, monkeypatch):
    monkeypatch.setattr(alignment, "FEWEST", 10)  # the other filters take nearly all: the targets are French
    for column, language in enumerate(("en", "de", "fr")):
        with gzip.open(tmp_path / f"train.{language}.gz", "wt", encoding="utf-8") as file:
            file.write("".join(f"{row[column]}\n" for row in rows))
    main(["noise", "--multi30k", str(tmp_path), "--output_dir", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    (line,) = (line for line in printed.splitlines() if "filter_html" in line)
    assert line.split(" | ")[6:] == ["100.0%", "100.0%", "0.00% |"]
    assert "600 pairs, 1" in printed and "all of them" in printed
