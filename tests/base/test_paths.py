"""Which files a path, a folder and a pattern give, and how several files become one split."""

import gzip

import pytest
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.base.paths import file_groups
from glossa.cli.train import check
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import load_pairs
from glossa.train.data.sources import load_source
from glossa.train.data.texts import load_texts, prepare_texts
from glossa.train.plan import catalog


@pytest.fixture
def folder(tmp_path):
    """Three tables in data/, written in another order than that of their names."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "c.tsv").write_text("Stop\tArrête\n", encoding="utf-8")
    (tmp_path / "data" / "a.tsv").write_text("en\tfr\nGo\tVa\nbroken\n")
    (tmp_path / "data" / "B.tsv.gz").write_bytes(gzip.compress(b"fr\ten\nCours\tRun\n"))
    (tmp_path / "data" / ".hidden").write_text("not data")
    return tmp_path / "data"


def rows(train):
    return [(row["source"], row["target"], row["line"]) for row in train if not row["problem"]]


def groups(*given):
    return [tuple(file.name for file in group) for group in file_groups(given)]


def test_a_folder_and_a_pattern_give_their_files_by_name(folder):
    assert groups(folder) == [("B.tsv.gz",), ("a.tsv",), ("c.tsv",)]
    assert groups(folder / "[ac].tsv") == [("a.tsv",), ("c.tsv",)]
    assert groups(folder.parent / "**" / "*.gz", folder / "a.tsv") == [("B.tsv.gz",), ("a.tsv",)]
    (folder / "x[1].tsv").write_text("Go\tVa\n")
    assert groups(folder / "x[1].tsv") == [("x[1].tsv",)], "a file of this name is no pattern"


def test_two_plain_files_are_source_and_target_and_tables_are_read_one_by_one(tmp_path):
    for name in ("a.txt", "b.txt", "c.tsv"):
        (tmp_path / name).write_text("Go\tVa\n")
    assert groups(tmp_path / "a.txt", tmp_path / "b.txt") == [("a.txt", "b.txt")]
    assert groups(tmp_path / "a.txt", tmp_path / "c.tsv") == [("a.txt",), ("c.tsv",)]
    assert groups(tmp_path / "*.txt") == [("a.txt",), ("b.txt",)]


def test_each_table_has_its_own_columns_and_lines(folder):
    train = load_source(DataArguments(data_path=[str(folder / "c.tsv"), str(folder / "[aB].tsv*")]))["train"]
    assert rows(train) == [("Stop", "Arrête", 1), ("Run", "Cours", 2), ("Go", "Va", 2)]
    (malformed,) = [row for row in train if row["problem"].startswith("no tab")]
    assert (malformed["file"], malformed["line"]) == (str(folder / "a.tsv"), 3)


@pytest.mark.parametrize(("limit", "number"), [(1, 1), (2, 2), (3, 3), (9, 4)])
def test_the_limit_is_that_of_all_files(folder, limit, number):
    train = load_source(DataArguments(data_path=[str(folder)], max_train_samples=limit))["train"]
    assert sum(row["problem"] != "header" for row in train) == number


def test_texts_of_a_folder(tmp_path):
    (tmp_path / "b.txt").write_text("second\n")
    (tmp_path / "a.txt").write_text("first\n")
    assert load_texts(DataArguments(data_path=[str(tmp_path)]))["train"]["source"][:] == ["first", "second"]
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").rename(tmp_path / f"{name}.tsv")
        (tmp_path / f"{name}.tsv").write_text(f"Go {name}\tVa {name}\n")
    texts, _ = prepare_texts(DataArguments(data_path=[str(tmp_path)], validation_size=0, test_size=0))
    assert texts["train"]["text"][:] == ["Go a", "Go b", "Va a", "Va b"], "a folder of tables holds pairs"


@pytest.mark.parametrize(
    ("path", "files", "message"),
    [
        ("data", ["a.tsv", "b.csv"], r"data is a folder of 2 entries that are not all .*: a.tsv, b.csv. Supported"),
        ("data", ["train.en", "train.fr"], "not all of one known format: train.en, train.fr"),
        ("data", ["a.tsv", "more/b.tsv"], "not all of one known format: a.tsv, more"),
        ("data/*.tsv", ["a.csv"], r"data/\*.tsv is a pattern without files"),
        ("data", [".hidden"], "data is a folder without files"),
    ],
)
def test_folders_and_patterns_that_are_refused(tmp_path, path, files, message):
    for name in files:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text("Go\tVa\n")
    refused(message, load_source, DataArguments(data_path=[str(tmp_path / path)]))
    refused(message, check, catalog.parse(["quickstart", "--data_path", str(tmp_path / path)]))


def test_an_empty_file_of_a_folder_is_named(folder):
    (folder / "empty.tsv").touch()
    refused(r"empty.tsv is empty \(0 bytes\)", file_groups, [folder])


BAD = ["http://[::1", "http://[::1/x.tsv", "http://host:abc/x.tsv", "http://127.0.0.1:99999/x.tsv", "https://"]
BAD += ["http:///x.tsv", "http://\x00/x.tsv", "http://a..b/x.tsv"]


@pytest.mark.parametrize("setting", ["data_path", "validation_path", "test_path"])
@pytest.mark.parametrize("url", BAD)
def test_addresses_that_are_none_are_refused_in_one_line(url, setting, tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n" * 9)
    given = {"data_path": [str(tmp_path / "pairs.tsv")]} | {setting: [url]}
    with pytest.raises(GlossaError, match=r"^.*is not a valid URL: .*$") as error:
        load_pairs(DataArguments(dataset="files", **given))
    assert "\n" not in str(error.value)
