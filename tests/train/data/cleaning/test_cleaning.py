import json
from dataclasses import replace

import pytest
from datasets import Dataset, DatasetDict
from small_corpus import pairs_of

from glossa.base.errors import GlossaError
from glossa.model.sentences_glossa import clean_text
from glossa.readers.rows import FEATURES
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.cleaning import clean
from glossa.train.data.sources import load_source

TRUSTED = DataArguments(trust_data=True)  # few rows, of which many are malformed


def raw(*rows):
    """Rows of (source, target) or (source, target, problem), numbered from 1."""
    rows = [
        dict(zip(FEATURES, (*row[:2], line, *(row[2:] or ("",)), "a.tsv" if row[2:] else ""), strict=True))
        for line, row in enumerate(rows, 1)
    ]
    return Dataset.from_list(rows, features=FEATURES)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  a \t\n b  ", "a b"), ("e\u0301te\u0301", "été"), ("\ufeffCours\u202f!", "Cours\u202f!"),
        ("Qui\u00a0?\u00a0", "Qui\u00a0?"), ("a \u00a0 b", "a \u00a0 b"), ("\u2028a\u2009b\u3000", "a\u2009b"),
        ("½ ﬁ", "½ ﬁ"), (" \ufeff ", ""), ("\u200b", ""), ("\0", ""), (" \u200b\u200f \u2060\x07", ""),
        ("a\u200bb", "a\u200bb"), ("\u200d.", "\u200d."),
    ],
)  # fmt: skip
def test_clean_text(text, cleaned):
    assert clean_text(text) == cleaned


def test_reasons_are_counted_and_order_is_kept():
    train = raw(
        ("z", "Z"), ("\u200b", "x"), ("x", "\0"), ("a\tb", "", "no tab"), (" \u00a0", "x"), ("z ", " Z"),
        ("same", "same"), ("a", "Z"), ("", "", "not UTF-8: byte 0xe9 at column 1"), ("same", "same"),
    )  # fmt: skip
    dataset, report = clean(DatasetDict(train=train), TRUSTED)
    assert dataset["train"].column_names == ["source", "target"]
    assert pairs_of(dataset["train"]) == [("z", "Z"), ("same", "same"), ("a", "Z")]
    counts = {"read": 10, "malformed": 2, "empty": 3, "identical": 0, "duplicates": 2, "kept": 3}
    assert report.splits == {"train": counts}
    assert report.malformed_rows == [
        {"file": "a.tsv", "line": 4, "reason": "no tab", "excerpt": "a\tb"},
        {"file": "a.tsv", "line": 9, "reason": "not UTF-8: byte 0xe9 at column 1", "excerpt": ""},
    ]
    assert json.loads(json.dumps(report.to_dict()))["splits"]["train"] == counts


def test_sides_are_not_confused_when_joined():
    dataset, _ = clean(DatasetDict(train=raw(("a b", "c"), ("a", "b c"))), DataArguments())
    assert len(dataset["train"]) == 2


def test_identical_sides_are_dropped_from_training_only():
    rows = raw(("OK", " OK"), ("a", "b"))
    dataset, report = clean(
        DatasetDict(train=rows, test=rows), DataArguments(filters={"identical": True}, keep_overlap=True)
    )
    assert pairs_of(dataset["train"]) == [("a", "b")] and pairs_of(dataset["test"]) == [("OK", "OK"), ("a", "b")]
    assert [report.splits[split]["identical"] for split in ("train", "test")] == [1, 0]


def test_rows_are_split_if_both_sides_have_the_same_number_of_sentences():
    rows = raw(
        ("Go. Run!", "Va. Cours !"), ("I see. Really?", "Vraiment ?"), ("Mr. Smith is here.", "M. Smith est là."),
        ("bad row. Really.", "", "no tab"), ("Go.", "Va."),
    )  # fmt: skip
    dataset, report = clean(
        DatasetDict(train=rows, test=rows), replace(TRUSTED, split_sentences=True, keep_overlap=True)
    )
    assert pairs_of(dataset["train"]) == [
        ("Go.", "Va."), ("Run!", "Cours !"), ("I see. Really?", "Vraiment ?"),
        ("Mr. Smith is here.", "M. Smith est là."),
    ]  # fmt: skip
    counts = {"read": 5, "split": 1, "malformed": 1, "empty": 0, "identical": 0, "duplicates": 1, "kept": 4}
    assert report.splits["train"] == counts
    assert pairs_of(dataset["test"])[0] == ("Go. Run!", "Va. Cours !"), "evaluation pairs are not split"
    assert report.malformed_rows[0]["line"] == 4


def test_sentences_to_keep_out_are_in_no_split_in_any_spelling():
    rows = raw(("J'aime la guitare !", "I love the guitar."), ("Ah.", "I love it."), ("Oh.", "i LOVE it"), ("a", "b"))
    kept_out = ["j’aime la guitare", "I love it!"]
    dataset, report = clean(DatasetDict(train=rows, test=rows), DataArguments(keep_out=kept_out, keep_overlap=True))
    assert pairs_of(dataset["train"]) == pairs_of(dataset["test"]) == [("a", "b")]
    assert report.splits["train"]["kept_out"] == 3
    everything, report = clean(DatasetDict(train=rows), DataArguments())
    assert len(everything["train"]) == 4 and "kept_out" not in report.splits["train"]


def test_evaluation_splits_drop_malformed_empty_and_repeated_rows():
    test = raw(("a", "b"), ("bad", "", "no tab"), ("", "x"), ("a", "b"), ("a", "c"))
    dataset, report = clean(DatasetDict(train=raw(("t", "u")), test=test), TRUSTED)
    assert pairs_of(dataset["test"]) == [("a", "b"), ("a", "c")]
    assert report.splits["test"] == {
        "read": 5, "malformed": 1, "empty": 1, "identical": 0, "duplicates": 1, "kept": 2,
    }  # fmt: skip


def test_strict_stops_at_the_first_malformed_row():
    train = raw(("a", "b"), ("x" * 100, "", "no tab"), ("y", "", "other"))
    with pytest.raises(GlossaError, match=r"a\.tsv, line 2: no tab: 'x{80}'\. Correct the row"):
        clean(DatasetDict(train=train), DataArguments(strict=True))
    clean(DatasetDict(train=raw(("a", "b"), ("", ""))), DataArguments(strict=True))


def test_an_empty_result_is_an_error_with_counts():
    with pytest.raises(GlossaError, match=r"train split is left of 2 rows \(1 malformed, 1 with an empty.*'no tab'"):
        clean(DatasetDict(train=raw(("x", "", "no tab"), ("", "b"))), DataArguments())


def test_every_line_of_a_file_is_in_the_counts(tmp_path):
    lines = ["english;french", "Go;Va", ' "so;la', '"a', 'b";c', "", "Go;Va", "x;y;z;w", '"open;x', "OK;OK"]
    lines += ["i;j"] * 90
    (tmp_path / "a.csv").write_text("\n".join(lines))
    settings = DataArguments(data_path=[str(tmp_path / "a.csv")], filters={"identical": True}, keep_out=["so"])
    _, report = clean(load_source(settings), settings)
    counts = {
        "read": 100, "header": 1, "continued": 1, "malformed": 2, "empty": 1, "identical": 1, "kept_out": 1,
        "duplicates": 90, "kept": 3,
    }  # fmt: skip
    assert report.splits["train"] == counts
    assert counts.pop("read") == sum(counts.values())
