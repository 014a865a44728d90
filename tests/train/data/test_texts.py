"""Texts for pretraining: their sources, deduplication and held-out texts."""

import gzip
import json

import datasets
import pytest
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.encoding.corruption import PretrainingCollator, special_tokens
from glossa.train.data.encoding.vocabulary import AddedTokens, train_tokenizer
from glossa.train.data.pairs import prepare_pairs
from glossa.train.data.texts import prepare_texts, tokenize_texts


def column(name):
    """The settings of a column of texts."""
    return {"source_column": name, "target_column": name}


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def texts_of(path, **settings):
    paths = path if isinstance(path, list) else [str(path)]
    texts, report = prepare_texts(DataArguments(data_path=paths, **({"validation_size": 0} | settings)))
    return {split: rows["text"][:] for split, rows in texts.items()}, report


def test_lines_of_several_files(tmp_path):
    first = write(tmp_path / "a.en", "One\u00a0two \n\nthree\nOne two\n")
    second = write(tmp_path / "b.fr", "un\nthree\n")
    third = str(tmp_path / "c.txt.gz")
    with gzip.open(third, "wt") as file:
        file.write("last\n")
    texts, report = texts_of([first, second, third])
    assert texts == {"train": ["One\u00a0two", "three", "One two", "un", "last"]}
    assert report.splits["train"] == {
        "read": 7, "malformed": 0, "empty": 1, "identical": 0, "duplicates": 1, "kept": 5, "characters": 0,
    }  # fmt: skip
    assert report.sizes == {"train": 5}
    assert texts_of([first, second], max_train_samples=1, filters={"identical": True})[0] == {
        "train": ["One\u00a0two", "un"]
    }


def test_damaged_lines_and_lines_with_tabs_are_counted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nGo.\tVa !\nbroken \xff\n")
    texts, report = texts_of(path, trust_data=True)
    assert texts == {"train": ["good"]} and report.splits["train"]["malformed"] == 2
    assert "tab" in report.malformed_rows[0]["reason"] and "not UTF-8" in report.malformed_rows[1]["reason"]
    refused(r"a.txt, line 2: a tab .* named .tsv", texts_of, path, strict=True)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_column_of_tables(tmp_path, ending):
    rows = datasets.Dataset.from_dict({"id": ["1", "2"], "body": ["un, deux", "trois"]})
    path = str(tmp_path / f"a.{ending}")
    write_table = {"jsonl": rows.to_json, "parquet": rows.to_parquet}.get(ending)
    if write_table:
        write_table(path)
    else:
        rows.to_csv(path, sep="\t" if ending == "tsv" else ",", index=False)
    other = write(tmp_path / "b.jsonl", json.dumps({"body": "quatre"}))
    assert texts_of([path, other], **column("body"))[0] == {"train": ["un, deux", "trois", "quatre"]}
    refused(r"no (column|key) 'text'; .*'body'", texts_of, path, **column("text"))


def test_a_column_of_a_data_set_with_its_own_validation(tmp_path):
    for split, texts in {"train": ["a b", "c d"], "validation": ["e", "f"], "test": ["g"]}.items():
        datasets.Dataset.from_dict({"body": texts}).to_parquet(tmp_path / f"{split}.parquet")
    settings = {"dataset": str(tmp_path), "source_column": "body", "target_column": "body"}
    texts, _ = prepare_texts(DataArguments(**settings, max_validation_samples=1))
    assert texts["train"]["text"][:] == ["a b", "c d"] and texts["validation"]["text"][0] in ("e", "f")
    assert len(texts["validation"]) == 1
    with pytest.raises(
        GlossaError, match=r"no column 'text'; its columns are \['body'\]. Set source_column and target_column"
    ):
        prepare_texts(DataArguments(**settings | column("text")))


def test_validation_texts_are_given_or_held_out(tmp_path):
    train = write(tmp_path / "a.txt", "".join(f"text {number}\nText {number}!\n" for number in range(20)))
    held_out = write(tmp_path / "b.txt", "other\ntext 3\nmore\n")
    texts, report = texts_of(train, validation_path=[held_out])
    assert texts["validation"] == ["other", "text 3", "more"] and len(texts["train"]) == 38
    assert report.overlap["validation"]["source"] == 0 and report.splits["train"]["overlap"] == 2
    texts, report = texts_of(train, validation_size=10)
    assert report.sizes == {"train": 30, "validation": 10} == {split: len(part) for split, part in texts.items()}
    assert not {t.lower().strip("!") for t in texts["train"]} & {t.lower().strip("!") for t in texts["validation"]}


def test_both_sides_of_pairs_without_the_test_split(tiny_pairs):
    arguments = DataArguments(data_path=[str(tiny_pairs)], validation_size=20, test_size=20)
    pairs, _ = prepare_pairs(arguments)
    texts, report = prepare_texts(arguments)
    assert set(texts) == {"train", "validation"}
    for split, rows in texts.items():
        sides = [*pairs[split]["source"], *pairs[split]["target"]]
        assert rows["text"][:] == list(dict.fromkeys(sides)) and report.sizes[split] == len(rows)
    tested = {*pairs["test"]["source"], *pairs["test"]["target"]}
    assert tested and not tested & set(texts["train"]["text"])


def test_a_text_on_both_sides_is_kept_once(tmp_path):
    path = write(tmp_path / "a.tsv", "OK\tOK\nGo\tVa\nGo\tAllez\n")
    texts, _ = prepare_texts(DataArguments(data_path=[path], validation_size=0, test_size=0))
    assert texts["train"]["text"][:] == ["OK", "Go", "Va", "Allez"]


def test_missing_files_and_columns_are_named(tmp_path):
    path = write(tmp_path / "train.en", "one\n")
    refused(r"train.de does not exist. Did you mean train.en\?", texts_of, tmp_path / "train.de")
    with pytest.raises(
        GlossaError, match=r"source_column and target_column are both 'body', but .*train.en is a text file"
    ):
        texts_of(path, **column("body"))
    refused("is empty", texts_of, write(tmp_path / "none.txt", ""))


def test_rows_have_token_ids_and_their_lengths_after_corruption(tmp_path):
    long = " ".join(["a b c d e f g h i j"] * 3)
    path = write(tmp_path / "a.txt", f"a b c\n{long}\n")
    held_out = write(tmp_path / "b.txt", "a b c d\n")
    texts, _ = prepare_texts(DataArguments(data_path=[path], validation_path=[held_out]))
    tokenizer = train_tokenizer([long], 271, added=AddedTokens(special_tokens("span_corruption", 12)))
    collator = PretrainingCollator("span_corruption", tokenizer, 12)
    tokenized = tokenize_texts(texts, tokenizer, collator, 12)
    train = tokenized["train"].to_list()
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts["train"]["text"]]
    assert [token for row in train for token in row["input_ids"]] == ids[0] + ids[1]
    assert [len(row["input_ids"]) for row in train] == [3, 10, 10, 10], "30 tokens in equal rows of at most 11"
    for epoch in range(3):
        for row in train:
            corrupted = collator.corrupt(row["input_ids"], epoch)
            assert row["source_length"] == len(corrupted["input_ids"])
            assert row["target_length"] == len(corrupted["labels"])
    (row,) = tokenized["validation"].to_list()
    assert {name: row[name] for name in ("input_ids", "labels")} == collator.corrupt(
        tokenizer(texts["validation"]["text"][0], add_special_tokens=False)["input_ids"]
    )
