"""Preparing pairs in stages: the same pairs, counts and held-out pairs as without, for any interruptions."""

import json
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path

import pyarrow.parquet
import pytest
from small_corpus import content, corpus, here, write

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import in_processes
from glossa.readers import rows
from glossa.readers.teachers import Teacher, write_teachers
from glossa.train.data.arguments import DataArguments
from glossa.train.data.encoding.vocabulary import train_tokenizer
from glossa.train.data.pairs import prepare_pairs
from glossa.train.data.preparing import blocks, duplicates, writing
from glossa.train.data.preparing.prepare import prepare
from glossa.train.data.streaming.streams import Stream

CLEANING = {
    "filters": {"near_duplicates": True, "html": True, "identical": True, "alignment": True},
    "repair_text": True, "split_sentences": True, "keep_out": ["Baba."],
    "trust_data": ["equal", "length", "language"],
}  # fmt: skip


TEACHER = Teacher("org/large", "apache-2.0")


def learn(given, folder):
    """A tokenizer for prepared pairs."""
    rows = prepare_pairs(given, Stream(given))[0]["train"]
    tokenizer = train_tokenizer(rows["source"][:] + rows["target"][:], 300)
    tokenizer.save_pretrained(folder)
    return tokenizer, {}


def pairs_of(rows):
    return list(zip(rows["source"][:], rows["target"][:], strict=True))


def test_a_small_corpus_has_several_files():
    sizes = {0: 0, 1: 1, 25_000: 1, 25_001: 2, 400_000: 16, 8_000_000: 16, 8_000_001: 17}
    assert {pairs: len(writing.files_of(0, pairs)) for pairs in sizes} == sizes


@pytest.mark.parametrize(
    "settings",
    [
        {},
        CLEANING,
        {"validation_size": 0.05, "test_size": 0, "split_seed": 7},
        {"max_test_samples": 9},
        {"max_test_samples": 0},
    ],
    ids=["plain", "all", "sizes", "drawn", "none drawn"],
)
def test_the_result_is_that_of_training(tmp_path, small, settings):
    paths = [write(tmp_path / f"{name}.tsv", corpus(seed)) for seed, name in enumerate("ab")]
    sources = [{"data_path": [paths[0]], "weight": 2}, {"data_path": [paths[1]], "name": "other", "tag": "<b> "}]
    write_teachers(Path(paths[1]), [TEACHER])
    arguments = DataArguments(sources=sources, **{"trust_data": ["equal"], **settings})
    expected, counted = prepare_pairs(arguments)
    report = prepare(arguments, tmp_path / "out", here, tmp_path / "parts")
    found, recounted = prepare_pairs(DataArguments(data_path=[str(tmp_path / "out")]))
    assert counted.teachers == report.teachers == recounted.teachers == [asdict(TEACHER)]
    assert sorted(pairs_of(found["train"])) == sorted(pairs_of(expected["train"]))
    for split in ("validation", "test"):
        assert (split in found) == (split in expected)
        assert split not in found or pairs_of(found[split]) == pairs_of(expected[split])
    for name, counts in counted.sources.items():
        assert report.sources[name] == {key: counts[key] for key in counts if key not in ("weight", "seen")}
        assert recounted.sources[name]["seen"] == counts["seen"]
    assert report.splits == counted.splits and report.languages == counted.languages
    assert {key: len(rows) for key, rows in report.examples.items()} == {
        key: len(rows) for key, rows in counted.examples.items()
    }
    assert report.overlap == counted.overlap
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report.to_dict()


def test_equal_pairs_of_sources_with_different_filters_are_found_in_parts(tmp_path, small):
    """The same pairs twice: once where nearly equal ones are dropped too, and once where they stay."""
    rows = [(f"Word {number} of {name}.", f"Mot {number} de {name}.") for name in corpus_names() for number in (1, 2)]
    paths = [write(tmp_path / f"{name}.tsv", rows) for name in "ab"]
    first = {"data_path": [paths[0]], "filters": {"near_duplicates": True}}
    for given in ([first, {"data_path": [paths[1]]}], [{"data_path": [paths[1]]}, first]):
        arguments = DataArguments(sources=given, trust_data=["equal", "language"], validation_size=0, test_size=0)
        expected, counted = prepare_pairs(arguments)
        out = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        report = prepare(arguments, out, here, tmp_path / "parts")
        found, _ = prepare_pairs(DataArguments(data_path=[str(out)]))
        assert sorted(pairs_of(found["train"])) == sorted(pairs_of(expected["train"]))
        assert report.splits == counted.splits
    # The second source has only what the first one has, and keeps one of each two if it comes first.
    assert len(expected["train"]) == len(rows)


def corpus_names():
    return ["".join(letters) for letters in product("abcdefgh", repeat=3)]


def test_given_test_pairs_are_not_in_training(tmp_path, small):
    rows = corpus(1)
    path, held_out = write(tmp_path / "a.tsv", rows), write(tmp_path / "test.tsv", rows[:50])
    other = write(tmp_path / "more.tsv", [("One more.", "Encore un.")])
    for settings in ({}, {"keep_overlap": True}):
        arguments = DataArguments(data_path=[path], test_path=[held_out, other], validation_size=0, **settings)
        expected, counted = prepare_pairs(arguments)
        out = tmp_path / f"out{len(settings)}"
        report = prepare(arguments, out, here, tmp_path / "parts")
        found, _ = prepare_pairs(DataArguments(data_path=[str(out)]))
        assert sorted(pairs_of(found["train"])) == sorted(pairs_of(expected["train"]))
        assert pairs_of(found["test"]) == pairs_of(expected["test"]) and {*found["test"]["file"]} == {
            "test.parquet",
            "more.parquet",
        }
        assert report.splits == counted.splits and report.overlap == counted.overlap
    assert report.overlap["test"]["source"] > 40


@pytest.mark.slow
def test_languages_stay_apart(tmp_path, small):
    rows = corpus(2)
    paths = [write(tmp_path / f"{code}.tsv", rows) for code in ("fr", "de")]
    sources = [{"data_path": [path], "target_language": Path(path).stem} for path in paths]
    arguments = DataArguments(sources=sources, trust_data=["equal", "language", "length"])
    expected, counted = prepare_pairs(arguments)
    report = prepare(arguments, tmp_path / "out", here, tmp_path / "parts")
    found, _ = prepare_pairs(DataArguments(data_path=[str(tmp_path / "out")], trust_data=["language"]))
    for split in ("train", "validation", "test"):
        columns = [[one[split][name][:] for name in ("language", "source", "target")] for one in (found, expected)]
        rows, wanted = ({*zip(*texts, strict=True)} for texts in columns)
        assert rows == wanted and {language for language, *_ in rows} == {"fr", "de"}
    assert report.splits == counted.splits


@pytest.mark.slow
def test_the_files_do_not_depend_on_blocks_processes_or_interruptions(tmp_path, monkeypatch):
    path = write(tmp_path / "a.tsv", corpus(3))
    arguments = DataArguments(data_path=[path], **CLEANING)
    monkeypatch.setattr(writing, "PAIRS", 300)
    prepare(arguments, tmp_path / "whole", here, tmp_path / "parts0", learn=learn)
    whole = content(tmp_path / "whole")
    assert len([name for name in whole if name.startswith("train-")]) > 3 and "tokenizer/tokenizer.json" in whole
    monkeypatch.setattr(blocks, "ROWS", 170)
    monkeypatch.setattr(duplicates, "PAIRS", 400)
    done = []

    def interrupted(load, items):
        work = load()
        for item in items:
            if len(done) % 7 == 6:
                done.append(None)
                raise KeyboardInterrupt
            done.append(item[0])
            yield work(item)

    for _ in range(20):
        try:
            prepare(arguments, tmp_path / "again", interrupted, tmp_path / "parts1", learn=learn)
            break
        except KeyboardInterrupt:
            assert not (tmp_path / "again").exists()
    finished = [name for name in done if name]
    assert content(tmp_path / "again") == whole
    stages = 5
    assert len(finished) > len(set(finished)) - stages and done.count(None) > 2
    cleaned = [name for name in finished if "-" in name and not name.startswith("train-")]
    assert len(cleaned) == len(set(cleaned)), "no block is cleaned twice"


@pytest.mark.slow
def test_processes_write_the_same_files(tmp_path, small):
    # Processes have the usual sizes of blocks, so the blocks are made here.
    arguments = DataArguments(data_path=[write(tmp_path / "a.tsv", corpus(3))], filters={"near_duplicates": True})
    prepare(arguments, tmp_path / "one", here, tmp_path / "parts1", learn=learn)
    pool = partial(in_processes, processes=2, modules=("glossa_command", "glossa.train.data.preparing.prepare"))
    prepare(arguments, tmp_path / "two", pool, tmp_path / "parts2", learn=learn)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_files_are_read_in_parts(tmp_path, small, monkeypatch):
    rows = corpus(3)
    paths = [write(tmp_path / f"{number}.tsv", rows[number::3]) for number in range(3)]
    arguments = DataArguments(data_path=paths, filters={"near_duplicates": True})
    prepare(arguments, tmp_path / "together", here, tmp_path / "parts1")
    assert not (tmp_path / "parts1" / "reading").exists()
    monkeypatch.setattr("glossa.readers.rows.PART", 1)
    counts = []

    def counted(load, items):
        if not counts:
            counts.extend([len(items), len(list((tmp_path / "parts2").glob("raw/*")))])
        yield from here(load, items)
        counts.append(len(list((tmp_path / "parts2").glob("raw/tables/*.arrow"))))

    prepare(arguments, tmp_path / "apart", counted, tmp_path / "parts2")
    assert counts[:3] == [3, 0, 3] and set(counts[3:]) == {3}  # later stages find what the first one has read
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.*")} for name in ("together", "apart")
    )
    assert len(one) > 5 and one == two


def test_parts_have_about_one_size(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "PART", 10)
    groups = []
    for number, size in enumerate((4, 6, 1, 30, 2, 9)):
        (tmp_path / str(number)).write_bytes(b"x" * size)
        groups.append((tmp_path / str(number),))
    found = [[int(path.name) for (path,) in part] for part in rows.parts_of(tuple(groups))]
    assert found == [[0, 1], [2], [3], [4], [5]]


def test_a_stream_reads_the_folder_without_cleaning(tmp_path, small, monkeypatch):
    arguments = DataArguments(data_path=[write(tmp_path / "a.tsv", corpus(3))], filters={"near_duplicates": True})
    prepare(arguments, tmp_path / "out", here, tmp_path / "parts")
    whole, _ = prepare_pairs(DataArguments(data_path=[str(tmp_path / "out")]))
    streamed = DataArguments(data_path=[str(tmp_path / "out")], streaming=True)
    stream = Stream(streamed)
    sample, _ = prepare_pairs(streamed, stream)
    assert sorted(pairs_of(sample["train"])) == sorted(pairs_of(whole["train"])), "all rows are in so small a sample"
    assert pairs_of(sample["test"]) == pairs_of(whole["test"]) and stream.held_out == frozenset()


@pytest.mark.slow
def test_a_source_that_is_added_cleans_no_other_again(tmp_path, small):
    paths = [write(tmp_path / f"{name}.tsv", corpus(seed)) for seed, name in enumerate("abc")]
    cleaned = []

    def noted(load, items):
        cleaned.extend(name for name, _ in items if "-" in name and not name.startswith("train"))
        return here(load, items)

    def run(names, output, **changes):
        sources = [{"data_path": [paths["abc".index(name)]]} | changes.get(name, {}) for name in names]
        prepare(DataArguments(sources=sources), tmp_path / output, noted, tmp_path / "parts")
        done = len(cleaned)
        cleaned.clear()
        return done

    first = run("ab", "out1")
    assert first == 2 * 12
    assert run("cab", "out2") == 12
    assert run("a", "out3") == 0
    assert run("ab", "out4", a={"weight": 3}) == 0
    assert run("ab", "out5", a={"filters": {"html": True}}) == 12
    fresh = tmp_path / "fresh"
    prepare(DataArguments(sources=[{"data_path": [paths[0]]}]), fresh, here, tmp_path / "others")
    assert content(fresh) == content(tmp_path / "out3")


def test_a_damaged_part_is_made_again(tmp_path, small, caplog):
    arguments = DataArguments(data_path=[write(tmp_path / "a.tsv", corpus(3))])
    prepare(arguments, tmp_path / "one", here, tmp_path / "parts")
    damaged = sorted((tmp_path / "parts" / "cleaning").glob("*.arrow"))[2]
    damaged.write_bytes(damaged.read_bytes()[:-3] + b"xyz")
    prepare(arguments, tmp_path / "two", here, tmp_path / "parts")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert f"{damaged} has changed since it was written" in caplog.text


def test_what_training_refuses(tmp_path):
    out = tmp_path / "out"
    prepare(DataArguments(data_path=[write(tmp_path / "a.tsv", corpus(1))]), out, here, tmp_path / "parts")
    given = {"data_path": [str(out)]}
    with pytest.raises(GlossaError, match=r"target_language is 'de', but .*out was prepared with 'fr'\. Set target"):
        DataArguments(**given, target_language="de")
    with pytest.raises(GlossaError, match=r"filters\.html is True, but .* prepared with False\. Run glossa prepare"):
        DataArguments(**given, filters={"html": True})
    (out / "test" / "pairs.parquet").write_bytes(b"short")
    with pytest.raises(GlossaError, match=r"pairs\.parquet is missing or has changed\. Run glossa prepare again"):
        DataArguments(**given)
    (out / "prepared.json").write_text("{}")
    with pytest.raises(GlossaError, match=r"prepared\.json is damaged"):
        DataArguments(**given)


def test_settings_that_were_applied_may_be_given_again(tmp_path, small):
    applied = {"filters": {"characters": 60, "html": True}, "keep_out": ["Baba."]}
    path = write(tmp_path / "a.tsv", corpus(1))
    prepare(DataArguments(data_path=[path], **applied), tmp_path / "out", here, tmp_path / "parts")
    found, _ = prepare_pairs(DataArguments(data_path=[str(tmp_path / "out")], **applied))
    assert len(found["train"]) > 1000


def test_a_folder_of_an_earlier_version_is_read(tmp_path, small):
    """Its manifest has a setting for each filter."""
    path, out = write(tmp_path / "a.tsv", corpus(1)), tmp_path / "out"
    prepare(DataArguments(data_path=[path], filters={"html": True}), out, here, tmp_path / "parts")
    manifest = json.loads((out / "prepared.json").read_text())
    assert manifest["settings"].pop("filters") == {"html": True}
    manifest["settings"] |= {"filter_html": True, "filter_digits": False, "max_characters": None, "exclude": []}
    (out / "prepared.json").write_text(json.dumps(manifest))
    for filters in ({}, {"html": True, "length_ratio": 2}):
        given = DataArguments(data_path=[str(out)], filters=filters)
        assert given.filters == {"length_ratio": filters.get("length_ratio", 3.0)}
    with pytest.raises(GlossaError, match=r"filters\.digits is True, but .* prepared with False"):
        DataArguments(data_path=[str(out)], filters={"digits": True})


def test_what_preparing_refuses(tmp_path, small):
    path = write(tmp_path / "a.tsv", corpus(1))
    with open(path, "a") as file:
        print("no tab", file=file)
    with pytest.raises(GlossaError, match=r"a\.tsv, line 1895: .*Correct the row, or set strict to false"):
        prepare(DataArguments(data_path=[path], strict=True), tmp_path / "out", here, tmp_path / "parts")
    path = write(tmp_path / "b.tsv", [("a", ""), ("b", "")])
    with pytest.raises(GlossaError, match=r"No pair of the train split is left of 2 rows \(0 malformed, 2 with an"):
        prepare(DataArguments(data_path=[path]), tmp_path / "out", here, tmp_path / "parts")
    path = write(tmp_path / "c.tsv", [("a b", "a b")] * 9)
    with pytest.raises(GlossaError, match="1 pairs are too few to hold out"):
        prepare(DataArguments(data_path=[path]), tmp_path / "out", here, tmp_path / "parts")
    assert not (tmp_path / "out").exists()


def test_rejects_are_the_rows_that_were_dropped(tmp_path, small):
    rows = [("a b.", "b a!"), ("", "x"), ("a b.", "b a!"), ("<b>c</b>", "c"), ("c d.", "d c!"), ("e 1.", "1 e!")]
    rows += [("e 2.", "2 e!"), ("Hi. Ho.", "Ih! Oh!"), ("Hi.", "Ih!")] + [(f"x {n} y.", f"y {n} x!") for n in "bcdefg"]
    path = write(tmp_path / "a.tsv", rows)
    with open(path, "a") as file:
        print("no tab", file=file)
    given = {"filters": {"html": True, "near_duplicates": True}, "split_sentences": True, "trust_data": ["malformed"]}
    arguments = DataArguments(data_path=[path], validation_size=1, test_size=1, **given)
    report = prepare(arguments, tmp_path / "out", here, tmp_path / "parts", with_rejects=True)
    (file,) = (tmp_path / "out" / "rejects").iterdir()
    found = pyarrow.parquet.read_table(file).to_pylist()
    assert {row.pop("corpus") for row in found} == {"a"} and {row.pop("file") for row in found} == {path}
    assert [(row["line"], row["reason"], row["source"], row["target"]) for row in found] == [
        (2, "empty", "", "x"), (4, "html", "<b>c</b>", "c"), (16, "malformed", "no tab", ""),
        (3, "duplicates", "a b.", "b a!"), (7, "near_duplicates", "e 2.", "2 e!"), (9, "duplicates", "Hi.", "Ih!"),
    ]  # fmt: skip
    assert [bool(row["problem"]) for row in found] == [row["reason"] == "malformed" for row in found]
    counts = report.sources["a"]
    assert len(found) == sum(counts[row] for row in {row["reason"] for row in found})
