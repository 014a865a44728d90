"""Matches of a memory in training: which, what a model reads of them, and how often."""

import pytest
from datasets import Dataset, DatasetDict

from glossa.base import matches
from glossa.base.matches import differing_words, memory_suffix
from glossa.base.pair import Pair
from glossa.model.spans_glossa import MARK, MEMORY
from glossa.train.data.arguments import DataArguments
from glossa.train.data.augmentation.augmentation import Augmentation
from glossa.train.data.cleaning.report import DataReport
from glossa.train.data.encoding.augmented import AugmentedRows
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer
from glossa.train.data.matching import with_matches

SOURCES = [f"Open the {color} box number {number}." for number in range(10) for color in ("red", "blue", "gray")]
SOURCES += ["Completely other words.", "Nothing alike here!"]
TARGETS = [text.replace("box", "boîte").replace("Open", "Ouvrez") for text in SOURCES]


@pytest.mark.parametrize(
    ("known", "source", "differing"),
    [
        ("Insert a chart here.", "Insert a table here.", "chart"), ("insert a chart", "Insert a chart", ""),
        ("Insert a new pivot chart in the sheet", "Insert a chart in this sheet", "new pivot the"),
        ("Insert a chart", "Insert a chart and a table", ""), ("插入图表", "插入表格", "图"),
    ],
)  # fmt: skip
def test_words_that_differ(known, source, differing):
    assert differing_words(known, source) == differing


def test_what_a_model_reads_behind_a_source():
    match = Pair("Insert a chart.", "Insérez un graphique.")
    assert memory_suffix("Insert a table.", match) == f"{MEMORY} Insérez un graphique.{MEMORY} chart"
    assert memory_suffix("Insert a chart.", match) == f"{MEMORY} Insérez un graphique."
    # What the source has as a mark is one in the match too.
    linked = Pair("See https://a.org now.", "Voyez https://a.org maintenant.")
    assert memory_suffix(f"See {MARK} later.", linked) == f"{MEMORY} Voyez {MARK} maintenant.{MEMORY} now"


def test_a_training_pair_never_sees_its_own_source_and_others_see_training_pairs_only():
    train = {"source": ["a b c d e", "a b c d e", "a b c d f", "x y"], "target": ["1", "2", "3", "4"]}
    test = {"source": ["a b c d e", "a b c d g"], "target": ["5", "6"]}
    found = with_matches(DatasetDict(train=Dataset.from_dict(train), test=Dataset.from_dict(test)))
    assert found["train"]["match_source"][:] == ["a b c d f", "a b c d f", "a b c d e", ""]
    assert found["train"]["match_target"][:2] == ["3", "3"] and found["train"]["match_target"][2] in ("1", "2")
    assert found["train"]["match_score"][3] == 0
    assert set(found["test"]["match_target"]) <= {"1", "2", "3", "4"}


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([SOURCES, TARGETS], 330, added=AddedTokens(kept=[MEMORY]))


def build(tokenizer, seed=1, shares=None, **limits):
    arguments = DataArguments(augmentation=shares, memory=True, **limits)
    pairs = with_matches(DatasetDict(train=Dataset.from_dict({"source": SOURCES, "target": TARGETS})))
    rows = tokenize_pairs(pairs, tokenizer, arguments, DataReport(splits={"train": {}}))["train"]
    return AugmentedRows(rows, tokenizer, Augmentation(arguments.shares, seed), arguments)


def sources(rows, tokenizer, numbers):
    return [tokenizer.decode(row["input_ids"], skip_special_tokens=True) for row in rows.__getitems__(list(numbers))]


def test_the_pairs_with_a_match_come_once_more_with_it(tokenizer, monkeypatch):
    monkeypatch.setattr(matches, "RANDOM", 0.0)
    rows = build(tokenizer)
    count = len(SOURCES)
    assert len(rows) == count + 30, "30 of 32 pairs have a similar one"
    plain, seen = sources(rows, tokenizer, range(count)), sources(rows, tokenizer, range(count, len(rows)))
    assert plain == SOURCES
    for row, text in enumerate(seen, count):
        source, target, *differing = text.split(MEMORY)
        assert source == SOURCES[row - count]
        known = SOURCES[TARGETS.index(target.strip())]
        assert known != source and " ".join(differing).strip() == differing_words(known, source) != ""
        assert rows[row]["labels"] == tokenizer(TARGETS[SOURCES.index(source)]).input_ids
        assert rows.source_lengths[row] == len(rows[row]["input_ids"]) == len(tokenizer(text).input_ids)


def test_some_see_another_pair_so_that_a_match_is_not_trusted_blindly(tokenizer, monkeypatch):
    monkeypatch.setattr(matches, "RANDOM", 0.5)
    rows = build(tokenizer)
    numbers = range(len(SOURCES), len(rows))
    first = sources(rows, tokenizer, numbers)
    assert len({text.split(MEMORY)[1] for text in first}) > 5
    rows.set_epoch(1)
    second = sources(rows, tokenizer, numbers)
    assert second != first
    again = build(tokenizer)
    again.set_epoch(1)  # as after a resume
    assert sources(again, tokenizer, numbers) == second


def test_a_match_does_not_count_for_the_length_of_a_source(tokenizer):
    longest = max(len(tokenizer(text).input_ids) for text in (*SOURCES, *TARGETS))
    rows = build(tokenizer, max_length=longest)
    assert any(MEMORY in text for text in sources(rows, tokenizer, range(len(SOURCES), len(rows))))
    assert max(rows.source_lengths) > longest


def test_a_pair_with_its_match_is_not_changed_in_another_way(tokenizer):
    rows = build(tokenizer, shares={"lower_case": 1.0})
    count = len(SOURCES)
    assert all(text.islower() for text in sources(rows, tokenizer, range(count)))
    assert [text.split(MEMORY)[0] for text in sources(rows, tokenizer, range(count, len(rows)))] == SOURCES[:30]
