"""What a push publishes of the data: no local names, no sentences unasked, no license that nobody named."""

import json
import re
import shutil

import pytest
import yaml
from hub_server import Hub
from huggingface_hub import ModelCard, constants

from glossa.base.run_folder import RunFolder
from glossa.cli import push as command
from glossa.train.hub.card import build_card
from glossa.train.hub.facts import Run, is_public_dataset
from glossa.train.hub.push import stage
from glossa.translate.loading import load_model, load_tokenizer

NAME, TOKEN = "someone/tiny", "hf_secretsecretsecret"
NO_LICENSE = "The card has no license. Set one with --license."
NO_SAMPLES = (
    "Sentences of the held-out pairs are left out, since the data is not known to be public. Publish some "
    "with --publish_samples."
)


@pytest.fixture
def change(tiny_run, tmp_path):
    def changed(report=None, **settings):
        """A copy of the tiny run with other settings; without its data_path if `dataset` is given."""
        folder = tmp_path / "run"
        shutil.copytree(tiny_run, folder, ignore=shutil.ignore_patterns("checkpoint-*"), dirs_exist_ok=True)
        recipe = yaml.safe_load((folder / "recipe.yaml").read_text())
        if "dataset" in settings:
            recipe.pop("data_path")
        (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe | settings))
        data = json.loads((folder / "data_report.json").read_text())
        (folder / "data_report.json").write_text(json.dumps(data | (report or {})))
        return folder

    return changed


def held_out(run):
    """The sentences of the test pairs."""
    lines = (run / "held_out/test.jsonl").read_text().splitlines()
    return [text for line in lines for text in json.loads(line).values()]


def written(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).decode(errors="replace")


@pytest.mark.parametrize(
    ("settings", "report"),
    [
        ({"dataset": "/home/ann/secret-project"}, {}), ({"dataset": "~/secret-project"}, {}),
        ({"dataset": "./secret-project", "dataset_config": "secret-project"}, {}),
        ({"dataset": "data/secret-project/pairs"}, {}),
        ({"dataset": "ann/secret-project"}, {"local": ["dataset"]}),
        ({"data_path": ["/home/ann/secret-project/pairs.tsv"], "output_dir": "/home/ann/secret-project/run"}, {}),
        ({"init_from": "runs/secret-project"}, {"local": ["init_from"]}),
        ({"init_from": "/home/ann/secret-project"}, {}),
    ],
    ids=str,
)  # fmt: skip
def test_no_local_name_is_published(change, tmp_path, settings, report):
    run = change(report, **settings)
    stage(run, NAME, tmp_path / "staged", handler=True, publish_samples=True)
    assert "secret-project" in (run / "recipe.yaml").read_text()
    assert "secret-project" not in written(tmp_path / "staged")
    data = ModelCard.load(tmp_path / "staged/README.md").data.to_dict()
    assert "datasets" not in data and "base_model" not in data
    found = {result["dataset"]["name"] for result in data["model-index"][0]["results"]}
    assert found == ({"folder"} if "dataset" in settings else {"files"})


def test_a_model_loaded_from_a_folder_does_not_publish_its_path(tiny_run, tmp_path):
    folder = tmp_path / "secret-project"
    load_model(str(tiny_run)).save_pretrained(folder)
    load_tokenizer(str(tiny_run)).save_pretrained(folder)
    load_model(str(folder)).save_pretrained(tmp_path / "run")
    load_tokenizer(str(folder)).save_pretrained(tmp_path / "run")
    stage(tmp_path / "run", NAME, tmp_path / "staged")
    assert "secret-project" not in written(tmp_path / "staged")


def test_sentences_of_private_data_are_published_only_if_asked(change, tmp_path):
    run = change()
    sentences = held_out(run)
    left_out = stage(run, NAME, tmp_path / "model", handler=True)
    assert left_out == [NO_LICENSE, NO_SAMPLES]
    assert not (tmp_path / "model/samples.md").exists()
    text = "".join(
        path.read_text() for path in (tmp_path / "model").iterdir() if path.suffix in (".md", ".json")
        and "tokenizer" not in path.name
    )  # fmt: skip
    assert [sentence for sentence in sentences if sentence in text] == []
    card = ModelCard.load(tmp_path / "model/README.md")
    assert "widget" not in card.data.to_dict() and "samples" not in card.text.lower()

    assert stage(run, NAME, tmp_path / "asked", license="mit", publish_samples=True) == []
    card = ModelCard.load(tmp_path / "asked/README.md")
    assert [example["text"] for example in card.data.widget] == sentences[:6:2]
    assert "## Samples" in card.text and (tmp_path / "asked/samples.md").is_file()


@pytest.mark.parametrize(
    ("settings", "open_", "public"),
    [
        ({"dataset": "embedded"}, False, True), ({"dataset": "anki"}, False, True),
        ({"dataset": "anki", "test_path": ["own.tsv"]}, False, False),
        ({"dataset": "embedded", "validation_path": ["own.tsv"]}, False, False),
        ({"dataset": "someone/pairs"}, True, True), ({"dataset": "someone/pairs"}, False, False),
        ({"dataset": "someone/pairs", "data_path": ["own.tsv"]}, True, False), ({}, True, False),
    ],
    ids=str,
)  # fmt: skip
def test_what_counts_as_public(change, monkeypatch, settings, open_, public):
    monkeypatch.setattr("glossa.train.hub.facts.is_public_dataset", lambda name: open_)
    facts = Run(change(**settings))
    assert facts.may_show_samples() is public
    assert facts.may_show_samples(True) is True and facts.may_show_samples(False) is False


def test_a_data_set_of_the_hub_is_public_dataset_unless_it_is_private_or_does_not_answer(monkeypatch):
    with Hub({TOKEN: "someone"}) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        hub.add("someone/open", {"a.txt": b"a"}, kind="datasets")
        hub.add("someone/closed", {"a.txt": b"a"}, kind="datasets", private=True)
        assert is_public_dataset("someone/open")
        monkeypatch.setenv("HF_TOKEN", TOKEN)  # its owner can read it
        assert not is_public_dataset("someone/closed") and not is_public_dataset("someone/nothing")
    with Hub() as gone:
        pass
    monkeypatch.setattr(constants, "ENDPOINT", gone.url)
    assert not is_public_dataset("someone/open")


def test_no_license_is_assumed(change):
    assert "license" not in build_card(change(), NAME).data.to_dict()
    assert build_card(change(), NAME, license="cc-by-4.0").data.license == "cc-by-4.0"


def test_the_command_says_what_is_left_out_and_how_to_publish_it(change, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("glossa.train.hub.push.check", lambda folder, run: "b a!")
    run, card = str(change()), tmp_path / "card"
    command.main([run, "--repo_id", NAME, "--card_to", str(card)])
    assert capsys.readouterr().out.splitlines()[:2] == [NO_LICENSE, NO_SAMPLES]
    command.main([run, "--repo_id", NAME, "--card_to", str(card), "--license", "mit", "--publish_samples"])
    assert "left out" not in capsys.readouterr().out
    assert "## Samples" in (card / "README.md").read_text()


@pytest.mark.parametrize("break_", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b"])
def test_line_separators_in_sentences_do_not_break_the_card(change, tmp_path, break_):
    run = change()
    text = f"{break_}a{break_}b: 'c' #{break_}"
    row = {"source": text, "target": text}
    (run / "held_out/test.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    RunFolder(run).write_samples([{"source": text, "reference": text, "greedy": text}] * 2)
    stage(run, NAME, tmp_path / "model", publish_samples=True)
    card = ModelCard.load(tmp_path / "model/README.md")
    assert card.data.widget == [{"text": "a b: 'c' #", "example_title": "Example 1", "output": {"text": "a b: 'c' #"}}]
    assert "| a b: 'c' # | a b: 'c' # | a b: 'c' # |" in card.text
    assert break_ not in (tmp_path / "model/README.md").read_text() + (tmp_path / "model/samples.md").read_text()


def test_samples_widget_and_snippets_hold_no_markdown_of_the_data(change, tmp_path):
    run = change()
    text = '![x](http://example.com/x.png) <img src=http://example.com/y.png> ``` {{ repo_id }} | " --- \n---\n# h'
    row = {"source": text, "target": text}
    (run / "held_out/test.jsonl").write_text(json.dumps(row) + "\n")
    RunFolder(run).write_samples([{"source": text, "reference": text, "greedy": text}] * 2)
    card = build_card(run, NAME, publish_samples=True)
    card.save(tmp_path / "README.md")
    again = ModelCard.load(tmp_path / "README.md")
    assert again.data.widget[0]["text"] == " ".join(text.splitlines())
    lines, fenced = again.text.splitlines(), False
    for line in lines:
        fenced ^= line.startswith("```")
        if not fenced:
            assert not re.search(r"(?<!\\)(\[x|<img)", line) and line != "# h"
    assert lines.count("```") == sum(line.startswith("```") and line != "```" for line in lines) == 4
