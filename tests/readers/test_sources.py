import json
import os
import zipfile
from pathlib import Path

import datasets
import pytest
from refusals import refused
from small_corpus import pairs_of

from glossa.base.errors import GlossaError
from glossa.readers import anki, hub, rows
from glossa.train.data.arguments import DataArguments
from glossa.train.data.sources import load_source

ANKI = Path(__file__).parents[3] / "shared/data/anki/fra-eng.zip"


NO_TAB = "no tab: 1 column, where 2 or 3 are expected"


def files(path, **settings):
    return DataArguments(data_path=[str(path)], **settings)


def hub_folder(folder, **splits):
    """A data set folder with a `translation` feature, like those on the Hub."""
    features = datasets.Features({"translation": datasets.Translation(["en", "fr"])})
    for split, pairs in splits.items():
        content = [{"translation": {"en": english, "fr": french}} for english, french in pairs]
        datasets.Dataset.from_list(content, features=features).to_parquet(folder / f"{split}.parquet")
    return str(folder)


def test_columns_of_the_raw_rows(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("Go\tVa\nRun\tCours\nbroken\n", encoding="utf-8")
    dataset = load_source(files(path))
    assert list(dataset) == ["train"]
    assert dataset["train"].to_list() == [
        {"source": "Go", "target": "Va", "line": 1, "problem": "", "file": str(path)},
        {"source": "Run", "target": "Cours", "line": 2, "problem": "", "file": ""},
        {"source": "broken", "target": "", "line": 3, "problem": NO_TAB, "file": str(path)},
    ]


def test_an_unchanged_file_is_read_once_a_changed_one_again(tmp_path, monkeypatch):
    path = tmp_path / "a.tsv"
    path.write_text("Go\tVa\n")
    reads = []
    read_rows = rows.read_rows
    monkeypatch.setattr(rows, "read_rows", lambda *given: reads.append(given) or read_rows(*given))
    first, second = load_source(files(path)), load_source(files(path))
    assert len(reads) == 1 and pairs_of(second["train"]) == [("Go", "Va")]
    assert first["train"]._fingerprint == second["train"]._fingerprint
    path.write_text("Go\tPa\n")
    os.utime(path, ns=(0, 12345))
    assert pairs_of(load_source(files(path))["train"]) == [("Go", "Pa")]
    assert len(load_source(files(path, max_train_samples=1))["train"]) == 1 and len(reads) == 3


def test_anki_direction_and_local_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "Go.\tVa !\tCC-BY\n")
    path = tmp_path / "fra-eng.zip"
    assert pairs_of(load_source(files(path, dataset="anki"))["train"]) == [("Go.", "Va !")]
    reverse = files(path, dataset="anki", source_language="fr", target_language="en")
    assert pairs_of(load_source(reverse)["train"]) == [("Va !", "Go.")]
    as_file = files(path, source_language="fr", target_language="en")
    assert pairs_of(load_source(as_file)["train"]) == [("Go.", "Va !")]
    refused("has English", load_source, files(path, dataset="anki", source_language="de", target_language="fr"))


def test_anki_without_a_path_is_downloaded(tmp_path, monkeypatch):
    path = tmp_path / "deu.txt"
    path.write_text("Go.\tLos!\n")
    monkeypatch.setattr(anki, "download_anki", lambda language: {"de": path}[language])
    dataset = load_source(DataArguments(dataset="anki", source_language="de", target_language="en"))
    assert pairs_of(dataset["train"]) == [("Los!", "Go.")]


def test_predefined_splits_from_aligned_files_and_limits(tmp_path):
    for name, text in {"a.en": "1\n2\n3\n", "a.fr": "un\ndeux\ntrois\n", "v.tsv": "4\tquatre\n5\tcinq\n"}.items():
        (tmp_path / name).write_text(text)
    arguments = DataArguments(
        data_path=[str(tmp_path / "a.en"), str(tmp_path / "a.fr")], validation_path=[str(tmp_path / "v.tsv")],
        max_train_samples=2,
    )  # fmt: skip
    dataset = load_source(arguments)
    assert {name: pairs_of(part) for name, part in dataset.items()} == {
        "train": [("1", "un"), ("2", "deux")],
        "validation": [("4", "quatre"), ("5", "cinq")],
    }


@pytest.mark.parametrize("streaming", [False, True])
def test_translation_feature_and_predefined_splits(tmp_path, streaming):
    folder = hub_folder(tmp_path, train=[("a", "b"), (None, "x"), ("e", "f")], test=[("c", "d")])
    settings = {"dataset": folder, "streaming": streaming, "source_language": "fr", "target_language": "en"}
    dataset = load_source(DataArguments(**settings))
    assert sorted(dataset) == ["test", "train"]
    assert [(r["source"], r["target"], r["line"], r["problem"]) for r in dataset["train"]] == [
        ("b", "a", 1, ""), ("{'en': None, 'fr': 'x'}", "", 2, "value of 'en' is null"), ("f", "e", 3, ""),
    ]  # fmt: skip
    assert dataset["train"][1]["file"] == f"{folder}, train"
    assert pairs_of(load_source(DataArguments(**settings, max_train_samples=1))["train"]) == [("b", "a")]
    with pytest.raises(GlossaError, match=r"lacks 'de'; its languages are \['en', 'fr'\]"):
        load_source(DataArguments(dataset=folder, target_language="de", streaming=streaming))


def test_a_stream_reads_no_more_than_the_limit_and_only_once(tmp_path, monkeypatch):
    folder = hub_folder(tmp_path, train=[(f"e{number}", f"f{number}") for number in range(50)])
    taken = []
    pair_of = hub.pair_of
    monkeypatch.setattr(hub, "pair_of", lambda record, *keys: taken.append(record) or pair_of(record, *keys))
    for _ in range(2):
        dataset = load_source(DataArguments(dataset=folder, streaming=True, max_train_samples=3))
        assert pairs_of(dataset["train"]) == [("e0", "f0"), ("e1", "f1"), ("e2", "f2")]
    assert len(taken) == 3


@pytest.mark.parametrize("streaming", [False, True])
def test_two_text_columns(tmp_path, streaming):
    rows = [{"id": 1, "english": "Go", "french": "Va"}, {"id": 2, "english": "Run", "french": "Cours"}]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    arguments = DataArguments(
        dataset=str(tmp_path), source_column="english", target_column="french", streaming=streaming
    )
    assert pairs_of(load_source(arguments)["train"]) == [("Go", "Va"), ("Run", "Cours")]
    with pytest.raises(GlossaError, match=r"its columns are \['english', 'french', 'id'\]"):
        load_source(DataArguments(dataset=str(tmp_path), streaming=streaming, target_language="de"))
    by_language = load_source(DataArguments(dataset=str(tmp_path), streaming=streaming))
    assert pairs_of(by_language["train"]) == [("Go", "Va"), ("Run", "Cours")]


def test_data_set_without_train_or_that_cannot_be_loaded(tmp_path, monkeypatch):
    folder = hub_folder(tmp_path, test=[("a", "b")])
    refused(r"has no 'train' split; its splits are \['test'\]", load_source, DataArguments(dataset=folder))
    (tmp_path / "empty").mkdir()
    refused(r"could not be loaded.*folder of data files", load_source, DataArguments(dataset=str(tmp_path / "empty")))
    (tmp_path / "empty" / "train.parquet").write_bytes(b"not parquet")
    refused("could not be loaded", load_source, DataArguments(dataset=str(tmp_path / "empty")))
    with pytest.raises(GlossaError, match=r"could not be loaded: .*'no-such'.*dataset_config"):
        load_source(DataArguments(dataset=folder, dataset_config="no-such"))

    def unreachable(*_):
        raise ConnectionError("Couldn't reach the Hub")

    monkeypatch.setattr(hub, "load_dataset_builder", unreachable)
    with pytest.raises(GlossaError, match=r"wmt/wmt14 .de-en. could not be loaded: Couldn't reach.*use local files"):
        load_source(DataArguments(dataset="wmt/wmt14", dataset_config="de-en"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["missing.tsv"], "missing.tsv does not exist. Did you mean missed.tsv"),
        (["folder"], "folder is a folder without files"), (["empty.tsv"], r"empty.tsv is empty \(0 bytes\)"),
        (["missed.tsv", "a.en"], r"unknown format '.en'; .* as two paths"),
        (["header.tsv"], r"header.tsv has no rows"), (["utf16.tsv"], "wrong encoding"),
    ],
)  # fmt: skip
def test_unusable_paths(tmp_path, names, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.tsv").touch()
    (tmp_path / "missed.tsv").write_text("a\tb\n")
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "header.tsv").write_text("en\tfr\n")
    (tmp_path / "utf16.tsv").write_text("a\tb\n", encoding="utf-16")
    refused(message, load_source, DataArguments(data_path=[str(tmp_path / name) for name in names]))


@pytest.mark.skipif(not ANKI.exists(), reason=f"the real Anki archive is not at {ANKI}")
def test_the_real_anki_archive():
    train = load_source(files(ANKI, dataset="anki"))["train"]
    assert len(train) == 165_589
    assert train[0] == {"source": "Go.", "target": "Va !", "line": 1, "problem": "", "file": str(ANKI)}
    assert train[2]["target"] == "Cours\u202f!"
    assert train[165_588]["line"] == 165_589 and not any(train["problem"])


@pytest.mark.parametrize("streaming", [False, True])
def test_an_empty_split_is_refused(tmp_path, streaming):
    (tmp_path / "train.csv").write_text("source,target\na,b\n")
    (tmp_path / "validation.csv").write_text("source,target\n")
    with pytest.raises(GlossaError, match=r"validation.*(has no rows|corresponds to no data)"):
        load_source(DataArguments(dataset=str(tmp_path), streaming=streaming))
