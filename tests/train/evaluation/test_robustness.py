"""Pairs that are written in another way, by hand, and the table of what a model keeps."""

import json

import pytest
import sacrebleu
from datasets import Dataset
from translating import Characters, Function

from glossa.base.errors import GlossaError
from glossa.base.pair import Pair
from glossa.base.run_folder import RunFolder
from glossa.cli import score
from glossa.train.evaluation import robustness
from glossa.train.evaluation.robustness import CHANGES, measure_robustness, robustness_cells
from glossa.train.hub.card import build_card
from glossa.translate.interface import Execution
from glossa.translate.translator import Translator

PAIRS = [
    Pair("The dog sees two cats.", "Der Hund sieht zwei Katzen."), Pair("She is here now.", "Sie ist jetzt hier."),
    Pair("Tom sees the old dog.", "Tom sieht den alten Hund."), Pair("Is she here?", "Ist sie hier?"),
    Pair("Yes", "Ja."),
]  # fmt: skip


def changed(name):
    return CHANGES[name](PAIRS, "en")


def test_the_changes_of_single_pairs_by_hand():
    assert [row.pair for row in changed("as it is")] == PAIRS
    assert changed("upper case")[1].pair == ("SHE IS HERE NOW.", "SIE IST JETZT HIER.")
    assert changed("title case")[1].pair == ("She Is Here Now.", "Sie Ist Jetzt Hier.")
    assert changed("lower case")[2].pair == ("tom sees the old dog.", "Tom sieht den alten Hund.")
    assert changed("no final stop")[3].pair == ("Is she here", "Ist sie hier")
    assert changed("no final stop")[4].pair == PAIRS[4]  # only one side has a mark


@pytest.mark.parametrize(("name", "share"), [("5% typing errors", 0.05), ("10% typing errors", 0.1)])
def test_typing_errors_are_on_the_source_and_always_the_same(name, share):
    long = [Pair("o" * 200, "x")]
    (row,) = CHANGES[name](long, "en")
    assert row.pair.target == "x"
    assert sum(letter != "o" for letter in row.pair.source) + 200 - len(row.pair.source) == 200 * share
    assert CHANGES[name](long, "en") == [row]


def test_rows_are_joined_with_their_references():
    twos, fours = changed("joined in twos"), changed("joined in fours")
    assert [len(twos), len(fours)] == [2, 1]
    table = dict(PAIRS)
    for row in twos:
        first = next(source for source in table if row.pair.source.startswith(source))
        second = row.pair.source.removeprefix(f"{first} ")
        assert row.pair.target == f"{table[first]} {table[second]}"


def test_sentences_become_clauses():
    pairs = PAIRS[:3]
    (row,) = CHANGES["two clauses"](pairs[:2], "en")
    expected = {
        ("The dog sees two cats, She is here now.", "Der Hund sieht zwei Katzen, Sie ist jetzt hier."),
        ("She is here now, The dog sees two cats.", "Sie ist jetzt hier, Der Hund sieht zwei Katzen."),
    }
    assert row.pair in expected
    (row,) = CHANGES["four clauses"]([*pairs, Pair("The cats sleep and she sees.", "Die Katzen und sie.")], "en")
    assert row.pair.source.count(",") == row.pair.target.count(",") == 3
    assert "the dog" in row.pair.source or row.pair.source.startswith("The dog")


@pytest.mark.parametrize("name", ["with a URL inside", "with a number inside", "with an emoji inside"])
def test_an_item_stands_before_the_last_mark_of_both_sides(name):
    for row, pair in zip(changed(name), PAIRS, strict=True):
        assert row.item and " " not in row.item
        if pair.source == "Yes":
            assert row.pair == (f"Yes {row.item}", f"Ja. {row.item}")
        else:
            assert row.pair == tuple(f"{side[:-1]} {row.item}{side[-1]}" for side in pair)


def knowing(known):
    """A translator of the sources that it knows; it drops a URL, and nothing else."""
    engine = Function(lambda text: known.get(text, "unbekannt"))
    return Translator(engine, Characters(), execution=Execution(split_sentences=False))


def test_the_table_by_hand():
    pairs = Dataset.from_dict({"source": [p.source for p in PAIRS[:4]], "target": [p.target for p in PAIRS[:4]]})
    known = dict(PAIRS) | {pair.source.upper(): pair.target for pair in PAIRS}  # in upper case the case is lost
    for name in ("with a number inside", "with an emoji inside"):
        known |= {row.pair.source: row.pair.target for row in CHANGES[name](PAIRS[:4], "en")}
    known |= {
        row.pair.source: row.pair.target.replace(row.item, "") for row in CHANGES["with a URL inside"](PAIRS[:4], "en")
    }
    translator = knowing(known)
    rows = {row["change"]: row for row in measure_robustness(translator, pairs)}
    assert list(rows) == [name for name in CHANGES if name in rows]
    assert rows["as it is"] == {
        "change": "as it is", "pairs": 4, "bleu": 100.0, "chrf": 100.0, "possible": 100.0, "kept": 1.0,
        "copied": None,
    }  # fmt: skip
    upper = sacrebleu.corpus_bleu([p.target for p in PAIRS[:4]], [[p.target.upper() for p in PAIRS[:4]]]).score
    assert rows["upper case"]["bleu"] == round(upper, 2) and rows["upper case"]["kept"] == pytest.approx(
        upper / 100, abs=1e-4
    )
    assert [rows[f"with {item} inside"]["copied"] for item in ("a URL", "a number", "an emoji")] == [1.0, 1.0, 1.0]
    assert rows["with a number inside"]["kept"] == 1.0
    assert rows["joined in twos"]["pairs"] == 2 and rows["joined in fours"]["pairs"] == 1
    header, cells = robustness_cells(list(rows.values()))
    assert header == ["change", "pairs", "BLEU", "chrF++", "BLEU possible", "kept", "items copied"]
    assert cells[0] == ["as it is", "4", "100.00", "100.00", "100.00", "100.0%", ""]
    assert cells[-1][-1] == "100.0%"


def test_scores_are_compared_with_the_untouched_translations_after_the_same_change():
    """A model that translates half of the pairs, and half of these without a final stop too."""
    known = {PAIRS[row].source: PAIRS[row].target for row in (0, 1)}
    known[PAIRS[0].source.removesuffix(".")] = PAIRS[0].target
    pairs = Dataset.from_dict({"source": [p.source for p in PAIRS[:4]], "target": [p.target for p in PAIRS[:4]]})
    rows = {row["change"]: row for row in measure_robustness(knowing(known), pairs)}
    untouched = [*(pair.target for pair in PAIRS[:2]), "unbekannt", "unbekannt"]
    stripped = [pair.target.rstrip(".?") for pair in PAIRS[:4]]
    possible = sacrebleu.corpus_bleu([text.rstrip(".") for text in untouched], [stripped]).score
    translated = [PAIRS[0].target.rstrip("."), "unbekannt", "unbekannt", "unbekannt"]
    found = sacrebleu.corpus_bleu(translated, [stripped]).score
    assert rows["no final stop"]["possible"] == round(possible, 2) and rows["no final stop"]["bleu"] == round(found, 2)
    assert rows["no final stop"]["kept"] == pytest.approx(found / possible, abs=1e-4) and found < possible


def test_a_model_without_any_score_is_refused():
    pairs = Dataset.from_dict({"source": ["Good."], "target": ["Gut."]})
    with pytest.raises(GlossaError, match=r"BLEU of the unchanged pairs is 0, so robustness cannot be measured"):
        measure_robustness(knowing({}), pairs)


def test_the_table_is_kept_in_the_run_and_on_the_card(tiny_run, tmp_path, capsys, monkeypatch):
    import shutil

    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    assert "## Robustness" not in str(build_card(run, "someone/tiny"))
    before = RunFolder(run).metrics
    rows = [
        {"change": "as it is", "pairs": 20, "bleu": 40.0, "chrf": 60.0, "possible": 40.0, "copied": None, "kept": 1.0},
        {
            "change": "with a URL inside", "pairs": 20, "bleu": 30.0, "chrf": 50.0, "possible": 40.0, "copied": 0.95,
            "kept": 0.75,
        },
    ]  # fmt: skip
    monkeypatch.setattr(robustness, "measure_robustness", lambda *given: rows)
    score.main([str(run), "--robustness", "--engine", "torch", "--output", str(tmp_path / "out.json")])
    assert "with a URL inside     20  30.00   50.00          40.00   75.0%         95.0%" in capsys.readouterr().out
    found = RunFolder(run).metrics
    assert found.pop("robustness")["rows"] == rows and found == before
    assert json.loads((tmp_path / "out.json").read_text())["rows"] == rows
    card = str(build_card(run, "someone/tiny"))
    assert (
        "| with a URL inside | 20 | 30.00 | 50.00 | 40.00 | 75.0% | 95.0% |" in card
        and "decoded with\n*greedy*" in card
    )
    score.main([str(run), "--robustness", "--engine", "torch", "--split", "validation"])
    assert "Saved in" not in capsys.readouterr().out  # not the test pairs


@pytest.mark.parametrize(
    "option", [["--force"], ["--baseline", "{run}"], ["--metrics", "bleu"], ["--n_bootstrap", "5"]]
)
def test_options_of_single_scores_are_refused(tiny_run, option):
    words = [word.format(run=tiny_run) for word in option]
    with pytest.raises(GlossaError, match=rf"{option[0]} is for one set of scores, but --robustness shows many"):
        score.main([str(tiny_run), "--robustness", *words])
