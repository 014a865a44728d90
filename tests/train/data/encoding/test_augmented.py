"""Rows that are augmented in each epoch: which ones, their ids and lengths, and what stays."""

import pytest
from datasets import Dataset, DatasetDict
from torch.utils.data import DataLoader

from glossa.train.data.arguments import DataArguments
from glossa.train.data.augmentation.augmentation import Augmentation
from glossa.train.data.cleaning.report import DataReport
from glossa.train.data.encoding import augmented
from glossa.train.data.encoding.augmented import AugmentedRows
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer

SOURCES = [f"{word} dog {number}." for number in range(10) for word in ("One", "Two", "Old", "Big")]


def build(shares, languages=(), sources=SOURCES, seed=1, **limits):
    arguments = DataArguments(augmentation=shares, **limits)
    columns = {"source": sources, "target": [text.replace("dog", "chien") for text in sources]}
    if languages:
        columns["language"] = [languages[row % len(languages)] for row in range(len(sources))]
    tokenizer = train_tokenizer([columns["source"]], 275, added=AddedTokens(languages=languages))
    pairs = DatasetDict(train=Dataset.from_dict(columns))
    rows = tokenize_pairs(pairs, tokenizer, arguments, DataReport(splits={"train": {}}))["train"]
    return AugmentedRows(rows, tokenizer, Augmentation(shares, seed), arguments), tokenizer, columns


def texts(rows, tokenizer):
    return [
        tuple(tokenizer.decode(row[name], skip_special_tokens=True) for name in ("input_ids", "labels"))
        for row in rows
    ]


def test_changed_rows_have_the_ids_and_lengths_of_their_text():
    rows, tokenizer, columns = build({"lower_case": 0.5})
    found = rows.__getitems__(list(range(len(SOURCES))))
    lowered = [row for row, (source, _) in enumerate(texts(found, tokenizer)) if source.islower()]
    assert 10 < len(lowered) < 30 and rows.counts == {"lower_case": len(lowered)}
    for row, (source, target) in enumerate(texts(found, tokenizer)):
        text = columns["source"][row]
        assert (source, target) == (text.lower() if row in lowered else text, columns["target"][row])
        assert rows[row] == found[row] == rows.__getitems__([3, row])[1]
        assert rows.source_lengths[row] == len(found[row]["input_ids"])
        assert rows.target_lengths[row] == len(found[row]["labels"])
        assert found[row]["input_ids"] == tokenizer(source).input_ids
    assert rows.examples["lower_case"][1] == texts(found, tokenizer)[lowered[0]]


def test_every_epoch_has_other_rows_and_always_the_same(monkeypatch):
    rows, _, _ = build({"lower_case": 0.3, "joined": 0.3})
    everything = list(range(len(SOURCES)))
    first = rows.__getitems__(everything)
    rows.set_epoch(1)
    second = rows.__getitems__(everything)
    assert second != first
    again, _, _ = build({"lower_case": 0.3, "joined": 0.3})
    again.set_epoch(1)  # as after a resume
    assert again.__getitems__(everything) == second
    again.set_epoch(0)
    assert again.__getitems__(everything) == first
    monkeypatch.setattr(augmented, "CHUNK", 7)  # only joined rows depend on their neighbors
    small, _, _ = build({"lower_case": 0.3})
    monkeypatch.undo()
    large, _, _ = build({"lower_case": 0.3})
    assert small.__getitems__(everything) == large.__getitems__(everything)


def test_a_changed_row_beyond_the_limits_stays_as_it_is():
    rows, tokenizer, columns = build({"joined": 1.0}, max_length=12)
    assert not rows.counts and texts([rows[0]], tokenizer) == [(columns["source"][0], columns["target"][0])]


def test_each_row_keeps_the_tag_of_its_language():
    rows, tokenizer, _ = build({"lower_case": 0.4, "joined": 0.4}, languages=("fr", "de"))
    tags = [tokenizer.convert_tokens_to_ids(f"<2{language}>") for language in ("fr", "de")]
    assert [row["input_ids"][0] for row in rows.__getitems__(list(range(len(SOURCES))))] == tags * 20


@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_loader_has_the_rows_of_the_epoch_that_begins(workers):
    rows, tokenizer, _ = build({"lower_case": 0.5})
    loader = DataLoader(rows, batch_size=len(SOURCES), collate_fn=list, num_workers=workers)
    for epoch in (0, 1):
        rows.set_epoch(epoch)
        (batch,) = loader
        assert texts(batch, tokenizer) == texts(rows.__getitems__(list(range(len(SOURCES)))), tokenizer)
