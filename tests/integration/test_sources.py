"""A recipe with five sources of five formats: prepared, trained for two steps, continued, and described."""

import json
import zipfile

import openpyxl
import pytest
import yaml
from datasets import load_dataset
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli.data import main as data_command
from glossa.cli.train import check
from glossa.train.hub.card import build_card, corpora
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

TMX = '<tmx version="1.4"><header/><body>{}</body></tmx>'
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="fr"><seg>{}</seg></tuv></tu>'
SMALL = {
    "vocab_size": 280, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32, "batch_tokens": 100, "gradient_accumulation_steps": 1, "warmup_steps": 1, "num_beams": 1,
    "max_new_tokens": 5, "eval_strategy": "no", "save_strategy": "steps", "save_steps": 1, "logging_steps": 1,
    "load_best_model_at_end": False, "report_to": "none", "disable_tqdm": True, "cpu_threads": 1, "bf16": False,
    "max_steps": 2,
}  # fmt: skip


def numbered(letter, count):
    return [(f"{letter} cat {number}", f"{letter} chat {number}") for number in range(count)]


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Of each source the rows, and what each loses, are worked out below."""
    monkeypatch.chdir(tmp_path)
    # 20 rows: one without tab, one with HTML; 18 kept, seen twice.
    rows = [*numbered("a", 18), ("<b>a</b>", "<b>b</b>")]
    (tmp_path / "a.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows) + "no tab\n")
    # 10 rows: two have other numbers; 8 kept.
    rows = [*numbered("b", 8), ("b cat 50", "b chat 60"), ("b cat 51", "b chat 61")]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"en": one, "fr": other}) + "\n" for one, other in rows))
    # 12 units: two are in a.tsv too; 10 kept, tagged, half of them seen.
    rows = [*numbered("c", 10), *numbered("a", 2)]
    (tmp_path / "c.tmx").write_text(TMX.format("".join(UNIT.format(*row) for row in rows)))
    # A header and 6 rows: one has an empty side; 5 kept, seen three times.
    book = openpyxl.Workbook()
    for row in [("English", "French"), *numbered("d", 5), ("d cat", None)]:
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    # 4 lines: one sentence is in the excluded file; 3 kept.
    texts = {"en": "e cat 0\ne cat 1\ne cat 2\nExcluded !\n", "fr": "e chat 0\ne chat 1\ne chat 2\nexclu\n"}
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        for language, text in texts.items():
            archive.writestr(f"Books.en-fr.{language}", text)
    (tmp_path / "test.tsv").write_text("excluded\tautre\nf cat\tf chat\n")
    sources = [
        {"data_path": "a.tsv", "weight": 2}, {"data_path": "b.jsonl", "filters": {"digits": True}, "name": "web"},
        {"data_path": ["c.tmx"], "weight": 0.5, "tag": "<bt> "}, {"data_path": "d.xlsx", "weight": 3},
        {"data_path": "e.zip"},
    ]  # fmt: skip
    settings = SMALL | {
        "sources": sources, "filters": {"html": True, "exclude": "test.tsv"}, "test_path": "test.tsv",
        "validation_size": 0, "trust_data": True, "output_dir": str(tmp_path / "run"),
    }  # fmt: skip
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def counts(read, train, weight, seen, **dropped):
    own = dict.fromkeys(("malformed", "empty", "identical", "exclude", "overlap", "html", "duplicates"), 0)
    own |= dropped | {"read": read, "kept": train, "train": train, "weight": weight, "seen": seen}
    return own | {"too_long": 0, "length_ratio": 0}


EXPECTED = {
    "a": counts(20, 18, 2.0, 36, malformed=1, html=1), "web": counts(10, 8, 1.0, 8, digits=2),
    "c": counts(12, 10, 0.5, 5, duplicates=2), "d": counts(7, 5, 3.0, 15, header=1, empty=1),
    "e": counts(4, 3, 1.0, 3, exclude=1),
}  # fmt: skip


def test_five_sources_of_five_formats(recipe, tmp_path):
    check(catalog.parse([str(recipe)]))
    run = RunFolder(train(parse_settings([str(recipe)])))
    report = run.data_report
    assert report["sources"] == EXPECTED
    assert report["sizes"] == {"train": 36 + 8 + 5 + 15 + 3, "test": 2}
    assert report["splits"]["train"] == {
        "read": 53, "malformed": 1, "empty": 1, "identical": 0, "header": 1, "exclude": 1, "overlap": 0,
        "html": 1,
        "digits": 2, "duplicates": 2, "kept": 44, "too_long": 0, "length_ratio": 0,
    }  # fmt: skip
    assert [entry["step"] for entry in run.history if "loss" in entry] == [1, 2]
    assert load_dataset("json", data_files=str(run.held_out_file("test")))["train"]["source"][1] == "f cat"

    again = parse_settings([str(run.path / "recipe.yaml")])
    assert again.data == parse_settings([str(recipe)]).data, "the recipe of the run repeats it"
    assert again.recipe()["sources"][2] == {"data_path": ["c.tmx"], "weight": 0.5, "tag": "<bt> "}

    header, rows = corpora(run.recipe, report)
    assert header == ["source", "read", "kept", "train", "weight", "seen in an epoch"]
    assert rows[0] == ["source 1", "20", "18", "18", "2.0", "36"] and rows[1][0] == "web"
    card = str(build_card(run.path, "user/name"))
    assert "several corpora" in card and "| web | 10 | 8 | 8 | 1.0 | 8 |" in card
    assert "c.tmx" not in card and "e.zip" not in card, "the names of local files stay private"


@pytest.mark.slow
def test_a_run_with_several_sources_is_continued_only_with_the_same_mixture(recipe, tmp_path):
    train(parse_settings([str(recipe)]))
    settings = yaml.safe_load(recipe.read_text())
    more = ["--max_steps", "3", "--resume_from_checkpoint", "true"]
    changed = [entry | ({"weight": 1} if entry["data_path"] == "a.tsv" else {}) for entry in settings["sources"]]
    recipe.write_text(yaml.safe_dump(settings | {"sources": changed}))
    refused("was trained with other settings: sources was", train, parse_settings([str(recipe), *more]))
    recipe.write_text(yaml.safe_dump(settings))
    with pytest.raises(GlossaError, match=r"filters\.html was True and is False"):
        train(parse_settings([str(recipe), "--filters.html", "false", *more]))
    (tmp_path / "moved").mkdir()
    (tmp_path / "a.tsv").rename(tmp_path / "moved" / "a.tsv")
    settings["sources"][0]["data_path"] = "moved/a.tsv"
    recipe.write_text(yaml.safe_dump(settings))
    run = RunFolder(train(parse_settings([str(recipe), *more])))
    assert run.metrics["steps"] == 3, "the same data in another place"
    (tmp_path / "e.zip").unlink()
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.writestr("e.tsv", "e cat 7\te chat 7\n")
    refused("The train data are not those", train, parse_settings([str(recipe), *more[:1], "4", *more[2:]]))


def test_the_command_shows_the_counts_without_training(recipe, tmp_path, capsys):
    data_command([str(recipe), "--html", "page.html"])
    printed = capsys.readouterr().out
    lines = {line.split("  ")[0]: line.split()[-6:] for line in printed.split("\n") if line}
    assert lines["seen"] == ["36", "8", "5", "15", "3", "67"]
    assert lines["digits"][-2:] == ["2", "2"] and lines["read"] == ["10", "12", "7", "4", "53", "2"]
    assert f"html, for example:\n  {tmp_path}/a.tsv, line 19: <b>a</b> | <b>b</b>\n" in printed
    assert f"{tmp_path}/a.tsv, line 20: no tab: 1 column, where 2 or 3 are expected: no tab" in printed
    assert "kept, for example:\n  a cat 0 | a chat 0\n" in printed and "Pairs: 67 train, 2 test." in printed
    assert not (tmp_path / "run").exists()
    page = (tmp_path / "page.html").read_text()
    assert "&lt;b&gt;a&lt;/b&gt;" in page and "<b>" not in page and "http" not in page
    assert page.count('class="bars"') == 3 and "7 to 12, median 7" in page and "8 to 9, median 8" in page


def test_the_command_refuses_what_training_refuses(recipe, tmp_path):
    refused("--html names no file", data_command, [str(recipe), "--html"])
    with pytest.raises(GlossaError, match="glossa data shows pairs"):
        data_command([str(recipe), "--objective", "masked_lm", "--sources", '{"data_path": "a.tsv"}'])
    refused("no setting `weigt`", data_command, ["--sources", '[{"data_path": "a.tsv", "weigt": 2}]'])
    refused(r"nothing.tsv does not exist", data_command, ["--sources", '[{"data_path": "nothing.tsv"}]'])


def test_the_command_line_replaces_the_sources_of_a_recipe(recipe):
    argv = [str(recipe), "--sources", '[{"data_path": "a.tsv", "weight": 1.5}]', "--sampling_temperature", "null"]
    assert parse_settings(argv).data.sources == [{"data_path": ["a.tsv"], "weight": 1.5}]
    assert catalog.parse(argv).values["sources"] == ['[{"data_path": "a.tsv", "weight": 1.5}]']


def test_pretraining_takes_no_weights(recipe):
    with pytest.raises(GlossaError, match="a has a weight or tag, but objective is masked_lm"):
        parse_settings([str(recipe), "--objective", "masked_lm"])
    plain = ["--objective", "masked_lm", "--sources", '[{"data_path": "a.tsv"}, {"data_path": "b.jsonl"}]']
    refused("sampling_temperature is 5", parse_settings, [str(recipe), *plain, "--sampling_temperature", "5"])
    run = RunFolder(train(parse_settings([str(recipe), *plain, "--test_path", "test.tsv", "--max_length", "32"])))
    assert run.data_report["sizes"]["train"] == 2 * (18 + 10)
