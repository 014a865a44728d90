"""Several sources to training pairs and held-out pairs: counts, weights, tags, and no sentence in two splits."""

from collections import Counter
from dataclasses import replace

import pytest
from small_corpus import pairs_of, write

from glossa.base.errors import GlossaError
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.splitting import normalize_side
from glossa.train.data.pairs import by_language, load_pairs, prepare_pairs


def numbered(letter, count):
    """Pairs that share no side with others."""
    return [(f"{letter} source {number}", f"{letter} target {number}") for number in range(count)]


def test_counts_weights_and_tags_of_two_sources(tmp_path):
    first = write(tmp_path / "a.tsv", [*numbered("a", 10), ("", "x"), ("a source 3", "a target 3")])
    second = write(tmp_path / "b.tsv", [*numbered("b", 20), ("a source 4", "a target 4")])
    settings = DataArguments(
        sources=[{"data_path": first, "weight": 2}, {"data_path": second, "weight": 0.5, "tag": "<bt> "}],
        validation_size=0, test_size=0,
    )  # fmt: skip
    dataset, report = prepare_pairs(settings)
    common = {"malformed": 0, "identical": 0}
    assert report.sources == {
        "a": common | {"read": 12, "empty": 1, "duplicates": 1, "kept": 10, "train": 10, "weight": 2.0, "seen": 20},
        "b": common | {"read": 21, "empty": 0, "duplicates": 1, "kept": 20, "train": 20, "weight": 0.5, "seen": 10},
    }
    assert report.splits == {"train": common | {"read": 33, "empty": 1, "duplicates": 2, "kept": 30}}
    assert report.sizes == {"train": 30}
    assert report.examples["duplicates"] == [
        {"source": "a", "file": first, "line": 12, "reason": "duplicates", "excerpt": "a source 3 | a target 3"},
        {"source": "b", "file": second, "line": 21, "reason": "duplicates", "excerpt": "a source 4 | a target 4"},
    ]
    train = pairs_of(dataset["train"])
    assert train[:20] == [pair for pair in numbered("a", 10) for _ in range(2)]
    chosen = [(source.removeprefix("<bt> "), target) for source, target in train[20:]]
    assert all(source.startswith("<bt> b source") for source, _ in train[20:])
    assert len(set(chosen)) == 10 and set(chosen) < set(numbered("b", 20))
    assert pairs_of(prepare_pairs(settings)[0]["train"]) == train, "the same half again"
    assert pairs_of(prepare_pairs(replace(settings, split_seed=2))[0]["train"])[20:] != train[20:], "another half"


def test_no_sentence_is_in_two_splits_whatever_the_source(tmp_path):
    """Both sources have the same sources with different targets, so that a split of each alone would leak."""
    first = [(f"sentence {number}", f"one {number}") for number in range(200)]
    second = [(f"Sentence {number}!", f"two {number}") for number in range(200)]
    sources = [
        {"data_path": write(tmp_path / "a.tsv", first), "weight": 3},
        {"data_path": write(tmp_path / "b.tsv", second), "tag": "<x> "},
    ]
    dataset, report = prepare_pairs(DataArguments(sources=sources, validation_size=40, test_size=40))
    assert report.sizes == {"train": 3 * 160 + 160, "validation": 40, "test": 40}
    assert report.overlap == {split: {"source": 0, "target": 0} for split in ("validation", "test")}
    sides = {
        split: {normalize_side(text.removeprefix("<x> ")) for text in rows["source"]}
        for split, rows in dataset.items()
    }
    assert not sides["train"] & sides["validation"] and not sides["train"] & sides["test"]
    held_out = [text for split in ("validation", "test") for text in dataset[split]["source"]]
    assert not any("<x>" in text for text in held_out) and len(held_out) == len(set(held_out)) == 80
    assert Counter(dataset["train"]["source"]).most_common(1)[0][1] == 3
    for counts in report.sources.values():
        assert counts["train"] + counts["validation"] + counts["test"] == counts["kept"] == 200


def test_temperature_repeats_the_small_source(tmp_path):
    sources = [
        {"data_path": write(tmp_path / f"{name}.tsv", numbered(name, size))} for name, size in (("a", 4), ("b", 400))
    ]
    settings = DataArguments(sources=sources, sampling_temperature=2, validation_size=0, test_size=0)
    report = prepare_pairs(settings)[1]
    assert [counts["seen"] for counts in report.sources.values()] == [40, 400]  # shares 2 and 20


def test_filters_are_the_recipes_or_a_sources_own_and_of_training_only(tmp_path):
    rows = [*numbered("a", 6), ("see <b>this</b>", "voir <b>ceci</b>"), ("number 50", "nombre 60")]
    other = [(source.replace("a", "e"), target.replace("a", "e")) for source, target in rows]
    test = write(tmp_path / "t.tsv", [("test <b>", "essai <b>"), ("t 50", "e 60")])
    settings = DataArguments(
        sources=[
            {"data_path": write(tmp_path / "a.tsv", rows)},
            {"data_path": write(tmp_path / "b.tsv", other), "filters": {"html": False, "digits": True}},
        ],
        filters={"html": True},
        test_path=[test],
        validation_size=0,
    )
    dataset, report = prepare_pairs(settings)
    counts = [report.sources[name] for name in "ab"]
    assert [own.get("html") for own in counts] == [1, None]
    assert [own.get("digits") for own in counts] == [None, 1]
    assert report.splits["train"]["html"] == report.splits["train"]["digits"] == 1
    assert len(dataset["test"]) == 2 and "html" not in report.splits["test"]


def test_predefined_splits_of_sources_are_joined_and_replaced_by_files(tmp_path):
    folders = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        for split, letter in (("train", name), ("validation", f"{name}v")):
            rows = "".join(f'{{"en": "{one}", "fr": "{other}"}}\n' for one, other in numbered(letter, 3))
            (folder / f"{split}.jsonl").write_text(rows)
        folders.append({"dataset": str(folder), "name": name})
    dataset, report = prepare_pairs(DataArguments(sources=folders, test_size=0))
    assert pairs_of(dataset["validation"]) == numbered("av", 3) + numbered("bv", 3)
    assert report.splits["validation"]["read"] == 6 and report.sizes == {"train": 6, "validation": 6}
    given = write(tmp_path / "v.tsv", numbered("file", 2))
    dataset, report = prepare_pairs(DataArguments(sources=folders, test_size=0, validation_path=[given]))
    assert pairs_of(dataset["validation"]) == numbered("file", 2)


def test_a_source_without_a_usable_pair_is_named(tmp_path):
    sources = [
        {"data_path": write(tmp_path / "a.tsv", numbered("a", 5))},
        {"data_path": write(tmp_path / "b.tsv", [("", "x"), ("<b>", "<b>")]), "filters": {"html": True}},
    ]
    with pytest.raises(GlossaError, match=r"No pair of the train split of b is left of 2 rows .*1 html"):
        prepare_pairs(DataArguments(sources=sources))


def test_a_source_whose_pairs_are_all_in_an_earlier_one_is_empty_with_a_warning(tmp_path, caplog):
    files = [write(tmp_path / f"{name}.tsv", numbered("a", 5)) for name in "ab"]
    settings = DataArguments(sources=[{"data_path": file} for file in files], validation_size=0, test_size=0)
    assert prepare_pairs(settings)[1].sources["b"]["seen"] == 0
    assert "b, train: every pair is also in an earlier source" in caplog.text


def test_the_pairs_of_flat_settings_are_those_of_one_source(tmp_path):
    path = write(tmp_path / "a.tsv", [*numbered("a", 50), ("a source 1", "a target 1")])
    flat, flat_report = prepare_pairs(DataArguments(data_path=[path]))
    one, report = prepare_pairs(DataArguments(sources=[{"data_path": path}]))
    first, second = ({split: pairs_of(rows) for split, rows in splits.items()} for splits in (flat, one))
    assert first == second
    assert report.to_dict() == flat_report.to_dict()
    assert len(load_pairs(DataArguments(data_path=[path]))) == 50


def test_a_tag_does_not_hide_that_a_test_sentence_is_in_training(tmp_path):
    sources = [{"data_path": write(tmp_path / "a.tsv", numbered("a", 5)), "tag": "<bt> "}]
    given = write(tmp_path / "t.tsv", [("a source 1", "new"), ("b", "a target 2"), ("c", "d")])
    report = prepare_pairs(DataArguments(sources=sources, test_path=[given], validation_size=0))[1]
    assert report.splits["train"]["overlap"] == 2 and report.sizes["train"] == 3


def both_ways(tmp_path, count, **settings):
    """English to German, German to English from the same file, and English to French, where all share the English."""
    german = write(tmp_path / "de.tsv", [(f"one {number}", f"eins {number}") for number in range(count)])
    french = write(tmp_path / "fr.tsv", [(f"One {number}!", f"un {number}") for number in range(count)])
    back = {"source_language": "de", "target_language": "en", "source_column": 2, "target_column": 1}
    sources = [
        {"data_path": german, "target_language": "de", "name": "en-de"},
        {"data_path": german, "name": "de-en", "weight": 2} | back,
        {"data_path": french, "target_language": "fr", "name": "en-fr"},
    ]
    return DataArguments(sources=sources, trust_data=True, **settings)


def test_pairs_of_several_target_languages_say_theirs(tmp_path):
    dataset, _ = prepare_pairs(both_ways(tmp_path, 3, validation_size=0, test_size=0))
    assert list(zip(dataset["train"]["source"], dataset["train"]["language"], strict=True)) == [
        ("one 0", "de"), ("one 1", "de"), ("one 2", "de"),
        ("eins 0", "en"), ("eins 0", "en"), ("eins 1", "en"), ("eins 1", "en"), ("eins 2", "en"), ("eins 2", "en"),
        ("One 0!", "fr"), ("One 1!", "fr"), ("One 2!", "fr"),
    ]  # fmt: skip
    assert by_language(dataset["train"])[1][0] == "en" and len(by_language(dataset["train"])[1][1]) == 6


def test_no_held_out_sentence_is_in_training_in_any_direction(tmp_path):
    dataset, report = prepare_pairs(both_ways(tmp_path, 200, validation_size=30, test_size=30))
    assert report.sizes == {"train": 2 * 180 + 2 * 180, "validation": 30, "test": 30}
    assert report.overlap == {split: {"source": 0, "target": 0} for split in ("validation", "test")}
    sides = {
        split: {normalize_side(text) for side in ("source", "target") for text in rows[side]}
        for split, rows in dataset.items()
    }
    assert not sides["train"] & sides["validation"] and not sides["train"] & sides["test"]
    assert Counter(dataset["test"]["language"]) == {"de": 10, "en": 10, "fr": 10}


def test_a_test_sentence_in_the_other_direction_is_overlap(tmp_path):
    given = write(tmp_path / "t.tsv", [("eins 2", "new"), ("new", "one 1"), ("a", "b")])
    settings = both_ways(tmp_path, 3, validation_size=0, test_path=[given], target_language="de")
    settings = replace(settings, sources=settings.sources[::2])
    dataset, report = prepare_pairs(settings)
    assert [counts["overlap"] for counts in report.sources.values()] == [2, 1], "the other side counts, too"
    report = prepare_pairs(replace(settings, keep_overlap=True))[1]
    assert report.overlap == {"test": {"source": 1, "target": 1}}, "both are in training on the other side only"
    assert dataset["test"]["language"][:] == ["de"] * 3, "that of the recipe"


def test_the_same_pair_in_two_languages_is_no_duplicate(tmp_path):
    files = [write(tmp_path / f"{name}.tsv", [("Taxi", "Taxi"), (f"a {name}", f"b {name}")]) for name in ("de", "fr")]
    sources = [{"data_path": file, "target_language": file[-6:-4]} for file in files]
    settings = DataArguments(sources=sources, trust_data=True, validation_size=0, test_size=0)
    assert [counts["kept"] for counts in prepare_pairs(settings)[1].sources.values()] == [2, 2]


def test_a_source_has_its_own_held_out_files(tmp_path):
    files = {name: write(tmp_path / f"{name}.tsv", numbered(name, 3)) for name in ("a", "b", "av", "bv", "t")}
    sources = [
        {"data_path": files["a"], "target_language": "de", "validation_path": files["av"]},
        {"data_path": files["b"], "target_language": "fr", "validation_path": files["bv"]},
    ]
    dataset, _ = prepare_pairs(DataArguments(sources=sources, test_size=0))
    assert pairs_of(dataset["validation"]) == numbered("av", 3) + numbered("bv", 3)
    assert dataset["validation"]["language"][:] == ["de"] * 3 + ["fr"] * 3
    dataset, _ = prepare_pairs(DataArguments(sources=sources, test_size=0, validation_path=[files["t"]]))
    assert pairs_of(dataset["validation"]) == numbered("t", 3) and dataset["validation"]["language"][:] == ["fr"] * 3
