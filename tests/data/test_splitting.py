from pathlib import Path

import datasets
import numpy
import pytest
from datasets import Dataset, DatasetDict

from glossa.data.arguments import DataArguments
from glossa.data.pairs import group_references, prepare_pairs
from glossa.data.splitting import check_overlap, normalize_side, split_by_component
from glossa.errors import GlossaError

ANKI = Path(__file__).parents[3] / "shared/data/anki/fra-eng.zip"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def of(*pairs):
    sources, targets = zip(*pairs, strict=True)
    return Dataset.from_dict({"source": list(sources), "target": list(targets)})


def sides(dataset):
    return {side: {normalize_side(text) for text in dataset[side]} for side in ("source", "target")}


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("Go!", "go"),
        ("go .", "go"),
        ("Straße\u202f?", "strasse"),
        ("ﬁn…", "fin"),
        ("l’eau", "leau"),
        ("हिन्दी।", "हिन्दी"),
        ("?!", "?!"),
        ("...", "..."),
        ("1+1", "1+1"),
    ],
)
def test_normalize_side(text, normalized):
    assert normalize_side(text) == normalized


# a-A, a-B, "C!"-b. and c-D are connected over both sides, as are e-E and "E."-"e."; the others are single pairs.
CHAINED = [("a", "A"), ("x", "X"), ("a", "B"), ("e", "E"), ("C!", "b."), ("y", "Y"), ("c", "D"), ("E.", "e.")]


@pytest.mark.parametrize("seed", range(8))
def test_components_stay_whole_and_sizes_are_exact(seed):
    splits = split_by_component(of(*CHAINED), 2, 2, seed)
    assert {name: len(part) for name, part in splits.items()} == {"train": 4, "validation": 2, "test": 2}
    # The component of four does not fit a split of two, so it stays in training.
    assert splits["train"]["source"] == ["a", "a", "C!", "c"]
    held_out = {name: set(splits[name]["source"]) for name in ("validation", "test")}
    assert sorted(map(sorted, held_out.values())) == [["E.", "e"], ["x", "y"]]


def test_seed_order_and_sizes():
    pairs = of(*[(f"s{number}", f"t{number}") for number in range(200)])
    splits = split_by_component(pairs, 0.1, 30, seed=1)
    assert {name: len(part) for name, part in splits.items()} == {"train": 150, "validation": 20, "test": 30}
    for part in splits.values():
        numbers = [int(text[1:]) for text in part["source"]]
        assert numbers == sorted(numbers)
    assert splits["test"]["source"] == split_by_component(pairs, 0.1, 30, seed=1)["test"]["source"]
    assert splits["test"]["source"] != split_by_component(pairs, 0.1, 30, seed=2)["test"]["source"]
    assert set(split_by_component(pairs, 0, 0.001, seed=1)) == {"train", "test"}
    assert len(split_by_component(pairs, 0, 0.001, seed=1)["test"]) == 1


def test_too_few_or_too_connected():
    with pytest.raises(GlossaError, match="2 pairs are too few to hold out 1 for validation and 1 for test"):
        split_by_component(of(("a", "b"), ("c", "d")), 1, 1, 1)
    with pytest.raises(GlossaError, match=r"validation split: the 4 pairs form 1 groups .* largest of 4"):
        split_by_component(of(("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")), 1, 1, 1)


def test_overlap_counts_each_side(caplog):
    train = of(("Go!", "Va !"), ("Run", "Cours"))
    splits = DatasetDict(
        train=train,
        validation=of(("x", "y")),
        test=of(("go", "x"), ("Go.", "cours!"), ("cours", "run"), ("new", "va")),
    )
    assert check_overlap(splits) == {
        "validation": {"source": 0, "target": 0},
        "test": {"source": 2, "target": 2},
    }
    assert [record.args for record in caplog.records] == [("test", 4, 2, 2)]


def test_group_references():
    pairs = of(("b", "1"), ("a", "2"), ("b", "3"), ("B", "4"))
    assert group_references(pairs) == [("b", ["1", "3"]), ("a", ["2"]), ("B", ["4"])]


def test_only_missing_splits_are_held_out(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"s{number}\tt{number}\n" for number in range(20)))
    (tmp_path / "t.tsv").write_text("s3\tother\nnew\tneuf\n")
    arguments = DataArguments(
        data_path=[str(tmp_path / "a.tsv")],
        test_path=[str(tmp_path / "t.tsv")],
        validation_size=4,
        max_validation_samples=3,
        test_size=9,
    )
    splits, report = prepare_pairs(arguments)
    assert report.sizes == {name: len(part) for name, part in splits.items()} == {
        "train": 16, "validation": 3, "test": 2,
    }  # fmt: skip
    assert splits["test"]["source"] == ["s3", "new"]
    held_out = splits["train"]["source"].count("s3")
    assert report.overlap == {"validation": {"source": 0, "target": 0}, "test": {"source": held_out, "target": 0}}


def test_one_pair_is_too_few(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\na\tb\n")
    with pytest.raises(GlossaError, match="1 pairs are too few"):
        prepare_pairs(DataArguments(data_path=[str(tmp_path / "a.tsv")]))


@pytest.mark.skipif(not ANKI.exists(), reason=f"the real Anki archive is not at {ANKI}")
def test_real_anki_splits_share_no_sentence():
    arguments = DataArguments(dataset="anki", data_path=[str(ANKI)], validation_size=2000, test_size=2000)
    splits, report = prepare_pairs(arguments)
    assert report.sizes == {"train": 161_589, "validation": 2000, "test": 2000}
    assert sum(report.splits["train"][reason] for reason in ("malformed", "empty", "duplicates")) == 0
    train, validation, test = (sides(splits[name]) for name in ("train", "validation", "test"))
    for side in ("source", "target"):
        assert not test[side] & (train[side] | validation[side]) and not validation[side] & train[side]
    # Held-out splits resemble the whole data, so some sources have several references.
    assert 1.2 < numpy.mean([len(references) for _, references in group_references(splits["test"])]) < 1.7
