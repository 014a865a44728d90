import unicodedata

import pytest
from datasets import Dataset, DatasetDict
from small_corpus import dataset_of

from glossa.base.errors import GlossaError
from glossa.train.data.cleaning.splitting import check_overlap, normalize_side, split_by_component


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("Go!", "go"), ("go .", "go"), ("Straße\u202f?", "strasse"), ("ﬁn…", "fin"), ("l’eau", "leau"),
        ("हिन्दी।", "हिन्दी"), ("?!", "?!"), ("...", "..."), ("1+1", "1+1"),
    ],
)  # fmt: skip
def test_normalize_side(text, normalized):
    assert normalize_side(text) == normalized


# Of every category of punctuation, separators, control and format characters.
@pytest.mark.parametrize("ignored", "_-()«»!\u00a0\u2028\u2029\t\u200b", ids=unicodedata.category)
def test_characters_that_do_not_count(ignored):
    assert normalize_side(f"a{ignored}b") == "ab"


@pytest.mark.parametrize("kept", "+$^°\u0301²", ids=unicodedata.category)
def test_characters_that_count(kept):
    assert normalize_side(f"a{kept}b") != "ab"


# a-A, a-B, "C!"-b. and c-D are connected over both sides, as are e-E and "E."-"e."; the others are single pairs.
CHAINED = [("a", "A"), ("x", "X"), ("a", "B"), ("e", "E"), ("C!", "b."), ("y", "Y"), ("c", "D"), ("E.", "e.")]


@pytest.mark.parametrize("seed", range(8))
def test_components_stay_whole_and_sizes_are_exact(seed):
    splits = split_by_component(dataset_of(*CHAINED), 2, 2, seed)
    assert {name: len(part) for name, part in splits.items()} == {"train": 4, "validation": 2, "test": 2}
    # The component of four does not fit a split of two, so it stays in training.
    assert splits["train"]["source"] == ["a", "a", "C!", "c"]
    held_out = {name: set(splits[name]["source"]) for name in ("validation", "test")}
    assert sorted(map(sorted, held_out.values())) == [["E.", "e"], ["x", "y"]]


def test_seed_order_and_sizes():
    pairs = dataset_of(*[(f"s{number}", f"t{number}") for number in range(200)])
    splits = split_by_component(pairs, 0.1, 30, seed=1)
    assert {name: len(part) for name, part in splits.items()} == {"train": 150, "validation": 20, "test": 30}
    for part in splits.values():
        numbers = [int(text[1:]) for text in part["source"]]
        assert numbers == sorted(numbers)
    assert splits["test"]["source"] == split_by_component(pairs, 0.1, 30, seed=1)["test"]["source"]
    assert splits["test"]["source"] != split_by_component(pairs, 0.1, 30, seed=2)["test"]["source"]
    assert set(split_by_component(pairs, 0, 0.001, seed=1)) == {"train", "test"}
    assert len(split_by_component(pairs, 0, 0.001, seed=1)["test"]) == 1


# With as many distinct sources as targets, and with fewer.
@pytest.mark.parametrize("pairs", [[(f"s{number}", f"t{number}") for number in range(40)], [*CHAINED, ("x", "Z")]])
def test_both_directions_hold_out_the_same_pairs(pairs):
    reverse = [(target, source) for source, target in pairs]
    for seed in range(4):
        splits, mirrored = (split_by_component(dataset_of(*rows), 2, 2, seed) for rows in (pairs, reverse))
        for name, part in splits.items():
            assert (part["source"], part["target"]) == (mirrored[name]["target"], mirrored[name]["source"])


def test_too_few_or_too_connected():
    assert set(split_by_component(dataset_of(("a", "b"), ("c", "d"), ("e", "f")), 1, 1, 1)) == {
        "train", "validation", "test"
    }  # fmt: skip
    with pytest.raises(GlossaError, match="2 pairs are too few to hold out 1 for validation and 1 for test"):
        split_by_component(dataset_of(("a", "b"), ("c", "d")), 1, 1, 1)
    with pytest.raises(GlossaError, match=r"validation split: of the 4 pairs, .* no such group of at most 1 is left"):
        split_by_component(dataset_of(("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")), 1, 1, 1)


def test_overlap_counts_each_side(caplog):
    train = dataset_of(("Go!", "Va !"), ("Run", "Cours"))
    splits = DatasetDict(
        train=train, validation=dataset_of(("x", "y")),
        test=dataset_of(("go", "x"), ("Go.", "cours!"), ("cours", "run"), ("new", "va")),
    )  # fmt: skip
    assert check_overlap(splits) == {"validation": {"source": 0, "target": 0}, "test": {"source": 2, "target": 2}}
    assert [record.args for record in caplog.records] == [("test", 4, 2, 2)]


@pytest.mark.parametrize(
    ("total", "size"), [(3, 1), (40, 4), (3_000, 300), (10_000, 500), (60_000, 600), (250_000, 2_000)]
)
def test_default_sizes(total, size):
    pairs = Dataset.from_dict(
        {"source": [f"a{row}" for row in range(total)], "target": [f"b{row}" for row in range(total)]}
    )
    splits = split_by_component(pairs, None, 0, seed=1)
    assert (len(splits["validation"]), set(splits)) == (size, {"train", "validation"})
