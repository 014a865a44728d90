"""Pairs to token ids: both sides, limits for training only, caching."""

import pytest
from datasets import Dataset, DatasetDict, load_from_disk

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.report import DataReport
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer

ROWS = [("a b c", "d e f"), ("a", "a b c d e f g h"), ("a b c d e f g h i j", "a b c d e f g h i j"), ("b", "c")]


@pytest.fixture(scope="module")
def tokenizer():
    # The merges join letters with the space before them.
    return train_tokenizer(["a b c d e f g h i j"] * 2, vocab_size=270)


def pairs(**splits):
    return DatasetDict({name: Dataset.from_dict({"source": [s for s, _ in rows], "target": [t for _, t in rows]})
                        for name, rows in splits.items()})  # fmt: skip


def report():
    return DataReport(splits={"train": {}})


def test_ids_lengths_and_end_token(tokenizer):
    rows = tokenize_pairs(pairs(train=ROWS[:1]), tokenizer, DataArguments(), report())["train"]
    assert rows[0]["input_ids"] == tokenizer("a b c").input_ids
    assert rows[0]["labels"] == tokenizer("d e f").input_ids
    assert rows[0]["labels"][-1] == tokenizer.eos_token_id
    assert (rows[0]["source_length"], rows[0]["target_length"]) == (4, 4)


def test_limits_drop_training_pairs_only_and_count_them(tokenizer):
    counts = report()
    limits = DataArguments(max_length=10, filters={"length_ratio": 3.0})
    rows = tokenize_pairs(pairs(train=ROWS, test=ROWS), tokenizer, limits, counts)
    # 2 against 9 tokens exceeds the ratio of 3; 11 tokens exceed the limit of 10.
    assert counts.splits["train"] == {"too_long": 1, "length_ratio": 1}
    assert [len(row["input_ids"]) for row in rows["train"]] == [4, 2]
    assert len(rows["test"]) == 4
    assert counts.sizes["train"] == 2


def test_limits_apply_to_a_selection_of_rows(tokenizer):
    chosen = pairs(train=ROWS)["train"].select([3, 2, 0])
    rows = tokenize_pairs(DatasetDict(train=chosen), tokenizer, DataArguments(max_length=10), report())["train"]
    assert [row["source_length"] for row in rows] == [2, 4]


def test_each_source_has_its_own_ratio(tokenizer):
    own = [{"data_path": "a.tsv", "filters": {"length_ratio": 5}}, {"data_path": "b.tsv"}]
    counts = report()
    counts.sources = {"a": {"seen": 2}, "b": {"seen": 2}}
    tokenize_pairs(pairs(train=[*ROWS[:2], *ROWS[:2]]), tokenizer, DataArguments(sources=own), counts)
    assert counts.sources == {
        "a": {"seen": 2, "too_long": 0, "length_ratio": 0},
        "b": {"seen": 1, "too_long": 0, "length_ratio": 1},
    }


def test_an_empty_result_is_an_error_that_names_the_limits(tokenizer):
    with pytest.raises(GlossaError, match=r"max_length\s+\(2\).*filters\.length_ratio \(3\)"):
        tokenize_pairs(pairs(train=ROWS[:1]), tokenizer, DataArguments(max_length=2), report())


def test_the_second_time_comes_from_the_cache(tmp_path, tokenizer, monkeypatch):
    path = tmp_path / "pairs.parquet"
    pairs(train=ROWS)["train"].to_parquet(path)
    load = lambda: DatasetDict(train=Dataset.from_parquet(str(path), cache_dir=str(tmp_path / "cache")))  # noqa: E731
    first = tokenize_pairs(load(), tokenizer, DataArguments(), report())["train"]
    monkeypatch.setattr(type(tokenizer), "__call__", lambda *a, **k: pytest.fail("not cached"))
    second = tokenize_pairs(load(), tokenizer, DataArguments(), report())["train"]
    assert second.to_list() == first.to_list()


def test_each_row_has_the_tag_of_its_language(tmp_path):
    several = train_tokenizer(["a b c d e f g h i j"] * 2, vocab_size=272, added=AddedTokens(languages=["de", "fr"]))
    rows = {"source": ["a b", "a b", "c"], "target": ["d", "e", "<2de>"], "language": ["fr", "de", "fr"]}
    found = tokenize_pairs(
        DatasetDict(train=Dataset.from_dict(rows)), several, DataArguments(filters={"length_ratio": 9}), report()
    )["train"]
    a, b, c = several.convert_tokens_to_ids(["Ġa", "Ġb", "Ġc"])
    assert found["input_ids"][:] == [[5, a, b, 1], [4, a, b, 1], [5, c, 1]]
    assert found["labels"][0] == [several.convert_tokens_to_ids("Ġd"), 1] and 4 not in found["labels"][2]
    assert found["source_length"][:] == [4, 4, 3]
    several.tgt_lang = "de"
    pairs(train=[("a b", "d")]).save_to_disk(tmp_path)  # results for rows on disk are cached
    plain = load_from_disk(tmp_path)
    for language, tag in (("de", 4), ("fr", 5)):
        several.tgt_lang = language  # of all rows, where they do not say theirs
        assert tokenize_pairs(plain, several, DataArguments(), report())["train"][0]["input_ids"] == [tag, a, b, 1]


def test_text_is_kept_for_augmentation_also_after_a_run_without_it(tokenizer):
    for shares, columns in ((None, set()), ("standard", {"source", "target"}), (None, set())):
        arguments = DataArguments(augmentation=shares)
        rows = tokenize_pairs(pairs(train=ROWS[:2], test=ROWS[:1]), tokenizer, arguments, report())
        lengths = {"input_ids", "labels", "source_length", "target_length"}
        assert set(rows["train"].column_names) == lengths | columns and set(rows["test"].column_names) == lengths
