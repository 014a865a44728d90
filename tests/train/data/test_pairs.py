"""Data settings to clean, split pairs."""

import pytest
from small_corpus import dataset_of

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import group_references, in_both_directions, prepare_pairs


def test_group_references():
    pairs = dataset_of(("b", "1"), ("a", "2"), ("b", "3"), ("B", "4"))
    assert group_references(pairs) == [("b", ["1", "3"]), ("a", ["2"]), ("B", ["4"])]


def test_only_missing_splits_are_held_out(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"s{number}\tt{number}\n" for number in range(20)))
    (tmp_path / "t.tsv").write_text("s3\tother\nnew\tneuf\n")
    arguments = DataArguments(
        data_path=[str(tmp_path / "a.tsv")], test_path=[str(tmp_path / "t.tsv")], validation_size=4,
        max_validation_samples=3, test_size=9,
    )  # fmt: skip
    splits, report = prepare_pairs(arguments)
    assert report.sizes == {name: len(part) for name, part in splits.items()} == {
        "train": 15, "validation": 3, "test": 2,
    }  # fmt: skip
    assert splits["test"]["source"] == ["s3", "new"]
    assert report.overlap == {name: {"source": 0, "target": 0} for name in ("validation", "test")}


def overlapping(folder, **settings):
    """Settings with eight training pairs, of which the first three share a side with an evaluation pair."""
    train = ["Go!\tVa", "x\tCours .", "vas-y\ty", "go on\tva", "a\tb", "c\td", "e\tf", "g\th"]
    for name, lines in {"a": train, "v": ["go\tx1"], "t": ["z\tcours", "n\tVas-y", "c c\td d"]}.items():
        (folder / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines))
    return DataArguments(**{
        "data_path": [str(folder / "a.tsv")], "validation_path": [str(folder / "v.tsv")],
        "test_path": [str(folder / "t.tsv")], "trust_data": True,
    } | settings)  # fmt: skip


@pytest.mark.parametrize("limit", [None, 1, 0])
def test_training_pairs_that_share_a_side_with_given_evaluation_pairs_are_dropped(tmp_path, caplog, limit):
    """Also those of test pairs that `max_test_samples` leaves out, and those with a side on the other side."""
    caplog.set_level("INFO")
    splits, report = prepare_pairs(overlapping(tmp_path, max_test_samples=limit))
    assert splits["train"]["source"][:] == ["go on", "a", "c", "e", "g"]
    sizes = {"train": 5, "validation": 1} | ({} if limit == 0 else {"test": limit or 3})
    assert {name: len(rows) for name, rows in splits.items()} == report.sizes == sizes
    assert report.splits["train"] == {
        "read": 8, "malformed": 0, "empty": 0, "identical": 0, "overlap": 3, "duplicates": 0, "kept": 5,
    }  # fmt: skip
    assert "overlap" not in report.splits["test"] and "3 overlap" in caplog.text
    assert [row["excerpt"] for row in report.examples["overlap"]] == ["Go! | Va", "x | Cours .", "vas-y | y"]
    assert report.overlap == {name: {"source": 0, "target": 0} for name in sizes if name != "train"}


def test_a_drawn_test_split_is_held_out_even_if_none_of_it_is_kept(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"s{number}\tt{number}\n" for number in range(20)))
    given = {"data_path": [str(tmp_path / "a.tsv")], "validation_size": 4, "test_size": 5}
    whole, none = (prepare_pairs(DataArguments(**given, max_test_samples=limit))[0] for limit in (None, 0))
    assert len(whole["train"]) == 11 and "test" not in none
    assert all(none[name]["source"][:] == whole[name]["source"][:] for name in ("train", "validation"))


def test_pairs_in_both_directions():
    pairs = in_both_directions(dataset_of(("a", "1"), ("b", "2")))
    assert pairs.column_names == ["source", "target"]
    assert (pairs["source"][:], pairs["target"][:]) == (["a", "b", "1", "2"], ["1", "2", "a", "b"])


def test_overlapping_pairs_are_kept_if_asked(tmp_path, caplog):
    splits, report = prepare_pairs(overlapping(tmp_path, keep_overlap=True))
    assert len(splits["train"]) == 8 and "overlap" not in report.splits["train"]
    assert report.overlap["test"] == {"source": 0, "target": 1} and "can inflate scores" in caplog.text


def test_training_pairs_that_are_all_evaluation_pairs_are_refused(tmp_path):
    settings = overlapping(tmp_path)
    (tmp_path / "t.tsv").write_bytes((tmp_path / "a.tsv").read_bytes())
    with pytest.raises(GlossaError, match=r"left of 8 rows \(.*, 8 overlap\).* set keep_overlap to true"):
        prepare_pairs(settings)


def test_the_predefined_splits_of_one_source_hold_for_all_sources(tmp_path):
    (tmp_path / "b.tsv").write_text("one\tCOURS\ntwo\tdeux\n")
    settings = overlapping(tmp_path)
    own = {name: getattr(settings, name) for name in ("data_path", "validation_path", "test_path")}
    sources = [own | {"name": "a"}, {"name": "b", "data_path": str(tmp_path / "b.tsv")}]
    _, report = prepare_pairs(DataArguments(sources=sources, trust_data=True))
    assert [report.sources[name]["overlap"] for name in ("a", "b")] == [3, 1]


def test_limits_draw_from_the_whole_split_by_seed_and_keep_the_order(tmp_path):
    """In a file sorted by length, the first pairs would be the shortest."""
    (tmp_path / "a.tsv").write_text("train\tzug\n")
    for name in ("v", "t"):
        rows = (f"{name}{'a' * length}\t{name}{'b' * length}\n" for length in range(1, 101))
        (tmp_path / f"{name}.tsv").write_text("".join(rows))

    def lengths(**settings):
        splits, report = prepare_pairs(
            DataArguments(
                data_path=[str(tmp_path / "a.tsv")], validation_path=[str(tmp_path / "v.tsv")],
                test_path=[str(tmp_path / "t.tsv")], trust_data=True, **settings,
            )
        )  # fmt: skip
        assert report.splits["validation"]["read"] == report.splits["test"]["read"] == 100
        return [[len(text) - 1 for text in splits[name]["source"]] for name in ("validation", "test")]

    limits = {"max_validation_samples": 20, "max_test_samples": 30}
    for found, size in zip(drawn := lengths(**limits), (20, 30), strict=True):
        assert len(found) == size and found == sorted(set(found)), "in the order of the file, each once"
        assert max(found) > 80 and 35 < sum(found) / size < 66
    assert lengths(**limits) == drawn != lengths(**limits, split_seed=2)
    assert lengths(max_test_samples=500) == [list(range(1, 101))] * 2
