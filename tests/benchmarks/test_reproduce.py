"""Tables of results: which rows are trained, what is kept of them, and what the page shows."""

import json
import re
from argparse import Namespace
from pathlib import Path

import pytest
from refusals import refused

from benchmarks import reproduce
from benchmarks.__main__ import main
from benchmarks.reproduce import TABLES, find_result, read_results, settings_of, table_lines, write_table
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.train.plan.arguments import parse_settings
from glossa.translate import sentences

SCORES = {
    "bleu": {"score": 27.694, "low": 26.9, "high": 28.44, "signature": "nrefs:1"},
    "chrf": {"score": 55.555, "low": 54.0, "high": 56.0, "signature": "nc:6"},
}
DECODINGS = {"greedy": SCORES, "beam 5": SCORES}


def result(row, seed, settings):
    metrics = {"parameters": 2_087_680, "steps": 1234, "training_seconds": 90.0}
    metrics |= {"validation": DECODINGS, "test": DECODINGS}
    place = {"table": "multi30k", "row": row, "seed": seed, "settings": settings}
    return place | {"commit": "abc", "cpu": "Z80", "threads": "cpu, 1 threads", "torch": "2.13", "metrics": metrics}


@pytest.fixture
def arguments(tmp_path):
    file = tmp_path / "results.json"
    settings = settings_of("multi30k", "dropout-0.1")
    file.write_text(json.dumps([result("dropout-0.1", 2, settings), result("longer", 1, settings)]))
    return Namespace(table="multi30k", results=file, multi30k=None, output_dir=tmp_path, cpu_threads=1)


def test_settings_are_those_of_the_recipe_with_the_changes_of_the_row():
    settings = settings_of("multi30k", "longer")
    assert (settings["vocab_size"], settings["num_train_epochs"], settings["dropout"]) == (8000, "50", "0.3")


def test_a_result_counts_only_with_its_seed_and_todays_settings(arguments):
    assert find_result(arguments, "dropout-0.1", 2)["row"] == "dropout-0.1"
    assert find_result(arguments, "dropout-0.1", 1) is None
    assert find_result(arguments, "longer", 1) is None  # its settings have changed
    rows = read_results(arguments.results)
    rows[0]["settings"] = {name: json.dumps(value).strip('"') for name, value in rows[0]["settings"].items()}
    arguments.results.write_text(json.dumps(rows))  # as texts, as results of earlier versions are
    assert find_result(arguments, "dropout-0.1", 2) == rows[0]


def test_a_default_that_a_recipe_names_later_changes_no_result(arguments):
    rows = read_results(arguments.results)
    assert rows[0]["settings"].pop("eval_strategy") == "epoch"  # the default
    arguments.results.write_text(json.dumps(rows))
    assert find_result(arguments, "dropout-0.1", 2) == rows[0]
    rows[0]["settings"]["eval_strategy"] = "steps"
    arguments.results.write_text(json.dumps(rows))
    assert find_result(arguments, "dropout-0.1", 2) is None


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("robustness", "multi30k"), ["data_path", "m/train.en.gz", "m/train.de.gz"]),
        (("robustness", "anki-augmented"), ["data_path", "a/fra-eng.zip"]),
        (("robustness", "quickstart"), ["report_to", "none"]),
        (("languages", "anki-ja-en"), ["data_path", "a/jpn-eng.zip"]),
        (("languages", "anki-en-zh"), ["data_path", "a/cmn-eng.zip"]),
        (("languages", "multi30k-en-cs"), ["data_path", "m/train.en.gz", "m/train.cs.gz"]),
        (("languages", "tico19-en-hi"), ["data_path", "t/all.en-hi.tmx.zip"]),
        (("multi30k", "glossa-fr"), ["data_path", "m/tok/train.lc.norm.tok.en.gz", "m/tok/train.lc.norm.tok.fr.gz"]),
        (("quickstart", "recipe"), ["report_to", "none"]),
    ],
)
def test_each_row_has_its_data(tmp_path, row, expected):
    given = {"multi30k": tmp_path / "m", "anki": tmp_path / "a" / "fra-eng.zip", "tico19": tmp_path / "t"}
    arguments = Namespace(table=row[0], results=tmp_path / "results.json", **given)
    words = reproduce.row_data(arguments, row[1])
    first = words.index(f"--{expected[0]}") + 1
    assert [word.removeprefix(f"{tmp_path}/") for word in words[first : first + len(expected) - 1]] == expected[1:]
    missing = Namespace(**vars(arguments) | dict.fromkeys(given))
    if "quickstart" not in row[1] and row[0] != "quickstart":
        refused(rf"Row {row[1]} is not in .*; give --(multi30k|anki|tico19) F", reproduce.row_data, missing, row[1])
    parse_settings([TABLES[row[0]][row[1]][0], *words])


def test_the_table_of_robustness_has_a_row_for_each_change(arguments):
    arguments.table = "robustness"
    rows = [
        {"change": "as it is", "pairs": 9, "bleu": 40.0, "chrf": 60.0, "kept": 1.0, "copied": None},
        {"change": "with a URL inside", "pairs": 9, "bleu": 30.0, "chrf": 50.0, "kept": 0.75, "copied": 0.995},
    ]
    found = []
    for name, kept in (("multi30k", rows), ("multi30k-augmented", rows[:1])):
        own = result(name, 1, settings_of("robustness", name)) | {"table": "robustness"}
        own["metrics"] = own["metrics"] | {"robustness": {"rows": kept}}
        found.append(own)
    arguments.results.write_text(json.dumps(found))
    lines = table_lines(arguments).splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:5]] == [
        ["change", "multi30k", "multi30k-augmented"], ["---", "---:", "---:"],
        ["as it is", "40.00 BLEU", "40.00 BLEU"], ["with a URL inside", "75.0%; 99.5% copied", ""],
        ["steps", "1,234", "1,234"],
    ]  # fmt: skip


def test_no_table_of_the_page_is_empty():
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    tables = dict(re.findall(r"<!-- table: (\S+) -->\n(.*?)<!-- end -->", page, re.S))
    assert set(TABLES) <= set(tables)
    assert [name for name, text in tables.items() if text.count("\n") < 5] == []


def test_the_table_shows_finished_rows(arguments):
    lines = table_lines(arguments).splitlines()
    assert lines[3:] == [
        "", "Machine: Z80, cpu, 1 threads, bfloat16, torch 2.13.", "BLEU: `nrefs:1`.", "chrF++: `nc:6`.",
    ]  # fmt: skip
    cells = ["dropout-0.1", "2", "2.09", "1,234", "2", "27.69 [26.9, 28.4]"]  # 90 seconds are two minutes, rounded
    found = [cell.strip() for cell in lines[2].split("|")]
    assert (found[1:7], found[-3]) == (cells, "55.55")


def test_the_table_is_written_between_its_comments(tmp_path):
    page = tmp_path / "results.md"
    page.write_text("before\n<!-- table: means -->\nold\n<!-- end -->\nafter\n<!-- table: other -->\n<!-- end -->\n")
    write_table(page, "means", "| new |")
    write_table(page, "means", r"| \1 |")
    assert page.read_text().startswith("before\n<!-- table: means -->\n| \\1 |\n<!-- end -->\nafter\n")
    refused("has no comments <!-- table: none -->", write_table, page, "none", "")


def test_finished_rows_are_not_trained_again(arguments, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "train_row", lambda arguments, name, seed: pytest.fail("trained"))
    main(["reproduce", "multi30k", "--results", str(arguments.results), "--rows", "dropout-0.1", "--seeds", "2"])
    assert "| dropout-0.1 | 2 |" in capsys.readouterr().out


def test_unknown_rows_and_missing_data_are_refused(arguments):
    command = ["reproduce", "multi30k", "--results", str(arguments.results), "--rows"]
    refused(r"there is no row muon\. Rows: published-recipe, published-recipe-fr", main, [*command, "muon"])
    refused(r"Row longer is not in .*; give --multi30k FOLDER", main, [*command, "longer"])
    with pytest.raises(GlossaError, match=r"Row recipe is not in .*; give --anki FILE"):
        main(["reproduce", "anki", "--results", str(arguments.results), "--rows", "recipe"])


@pytest.mark.slow
def test_a_row_is_trained_and_kept(tmp_path, monkeypatch, tiny_pairs, tiny_settings, capsys):
    recipe = tmp_path / "tiny.yaml"
    given = tiny_settings("unused", num_beams=2)
    pairs = zip(given[::2], given[1::2], strict=True)
    recipe.write_text("".join(f"{name[2:]}: {value}\n" for name, value in pairs if name != "--data_path"))
    monkeypatch.setattr(reproduce, "TABLES", {"tiny": {"one": (str(recipe), {"dropout": "0.2"})}})
    monkeypatch.setattr(reproduce, "data_settings", lambda *given: ["--data_path", str(tiny_pairs)])
    file = tmp_path / "results.json"
    arguments = Namespace(table="tiny", results=file, multi30k=tmp_path, output_dir=tmp_path, cpu_threads=1)
    reproduce.train_row(arguments, "one", 1)
    reproduce.train_row(arguments, "one", 1)  # replaces the result
    (found,) = read_results(file)
    assert (found["row"], found["seed"], found["settings"]["dropout"]) == ("one", 1, "0.2")
    assert re.fullmatch(r"[0-9a-f]{7,}\+?|unknown", found["commit"]) and found["threads"] == "cpu, 1 threads"
    assert set(found["metrics"]["test"]["greedy"]) >= {"bleu", "chrf", "ter"}
    assert found["metrics"]["steps"] > 0 and "| one | 1 |" in table_lines(arguments)

    # A row, with a dot in its name, that is also trained on translations by the first model, which repeats words.
    monkeypatch.setattr(sentences, "find_problem", lambda *_: "")
    reproduce.TABLES["tiny"]["two-0.5"] = (str(recipe), {})
    monkeypatch.setattr(reproduce, "TEACHERS", {"two-0.5": ("one",)})
    reproduce.train_row(arguments, "two-0.5", 1)
    found = find_result(arguments, "two-0.5", 1)
    assert found["settings"]["teachers"] == "one"
    pairs = [json.loads(line) for line in (tmp_path / "tiny" / "two-0.5-1.jsonl").read_text().splitlines()]
    teacher = str(tmp_path / "tiny" / "one-1-engine")
    assert len([pair for pair in pairs if pair["origin"] == "original"]) == 160  # the rest is held out
    assert {pair["origin"] for pair in pairs} == {"original", teacher}
    (source,) = RunFolder(tmp_path / "tiny" / "two-0.5-1").data_report["sources"].values()
    assert source["read"] == len(pairs)
    one, two = (RunFolder(tmp_path / "tiny" / f"{name}-1") for name in ("one", "two-0.5"))
    assert two.load_held_out("test").to_list() == one.load_held_out("test").to_list()

    # A row that continues from the weights of the first.
    reproduce.TABLES["tiny"]["three"] = (str(recipe), {"init_from": "one"})
    reproduce.train_row(arguments, "three", 1)
    assert find_result(arguments, "three", 1)["settings"]["init_from"] == "one"
    assert RunFolder(tmp_path / "tiny" / "three-1").recipe["init_from"] == str(tmp_path / "tiny" / "one-1")
