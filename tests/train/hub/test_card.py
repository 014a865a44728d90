"""The model card: every number comes from the run, the snippets run, and the Hub client can read the card."""

import ast
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from sacrebleu.metrics import CHRF

from glossa.base.errors import GlossaError
from glossa.train.hub.card import build_card
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

DOCS = Path(__file__).parents[3] / "docs/model-card"
NAME = "someone/tiny-en-fr"
NUMBER = re.compile(r"(?<![\w.\-])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])")


@pytest.fixture(scope="module")
def card(tiny_run):
    return build_card(tiny_run, NAME, license="apache-2.0", publish_samples=True)


def read(run, name):
    return json.loads((run / name).read_text())


def numbers_in(value):
    """All numbers in nested lists and dictionaries, including numbers in strings."""
    if isinstance(value, dict):
        return [number for item in value.items() for part in item for number in numbers_in(part)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    if isinstance(value, str):
        return [float(found.replace(",", "")) for found in NUMBER.findall(value)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_the_card_begins_with_what_the_model_is_for(card, tiny_run):
    pairs = read(tiny_run, "data_report.json")["sizes"]["train"]
    found = re.search(
        r"This model has seen ([\d,]+) sentence pairs; BLEU [\d.]+ on its test pairs: for trying out\.", card.text
    )
    assert found[1] == f"{pairs:,}" and found.start() < card.text.index("## Use")


def table_after(text, heading):
    lines = text.split(heading, 1)[1].splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows[:1] + rows[2:]


def example():
    """The card in docs/ and the metrics of its run."""
    return ModelCard.load(DOCS / "README.md"), read(DOCS, "metrics.json")


@pytest.mark.parametrize("which", ["tiny", "docs"])
def test_scores_match_the_metrics_file(card, tiny_run, which):
    card, metrics = example() if which == "docs" else (card, read(tiny_run, "metrics.json"))
    wanted = []
    for split in ("test", "validation"):
        for decoding, result in metrics[split].items():
            for kind, references in (("single", "first"), ("multi", "all")):
                scores = result["scores"][kind]
                if kind == "single" or scores != result["scores"]["single"]:
                    cells = [f"{s['score']:.2f} [{s['low']:.2f}, {s['high']:.2f}]" for s in scores.values()]
                    wanted.append([split, decoding, references, *cells])
    assert {"greedy"} < {row[1] for row in wanted}
    table = table_after(card.text, "## Results")
    assert table[0] == ["split", "decoding", "references", "BLEU", "chrF++", "TER"]
    assert table[1:] == wanted
    for result in metrics["test"].values():
        for score in result["scores"]["single"].values():
            assert f"`{score['signature']}`" in card.text


@pytest.mark.parametrize("which", ["tiny", "docs"])
def test_model_index_has_each_score_with_split_and_signature(card, tiny_run, which):
    card, metrics = example() if which == "docs" else (card, read(tiny_run, "metrics.json"))
    name, results = model_index_to_eval_results(card.data.to_dict()["model-index"])
    assert which == "docs" or name == "tiny-en-fr"
    seen = set()
    for result in results:
        assert result.task_type == "translation"
        decoding, references = re.fullmatch(r"\S+, (.+), (first|all) references?", result.metric_name).groups()
        kind = {"first": "single", "all": "multi"}[references]
        entry = metrics[result.dataset_split][decoding]
        score = entry["scores"][kind][result.metric_type]
        assert result.metric_value == pytest.approx(score["score"], abs=0.005)
        assert result.metric_args == {"num_beams": entry["num_beams"], "signature": score["signature"]}
        seen.add((result.dataset_split, decoding, kind, result.metric_type))
    for split in ("test", "validation"):
        for decoding in metrics[split]:
            assert {(split, decoding, "single", metric) for metric in ("bleu", "chrf", "ter")} <= seen


def test_every_number_in_the_text_is_in_the_run_files(card, tiny_run):
    files = ("metrics.json", "history.json", "data_report.json", "config.json", "versions.json")
    known = numbers_in([read(tiny_run, name) for name in files])
    known += numbers_in(yaml.safe_load((tiny_run / "recipe.yaml").read_text()))
    metrics = read(tiny_run, "metrics.json")
    known += [metrics["training_seconds"] / 3600, metrics["padding"] * 100, 95, 10]  # intervals; samples
    for result in metrics["test"].values():
        rates = [100 * rate for rate in result["implausible"].values()]
        known += [*rates, sum(rates)]
    text = re.sub(r"```.*?```", "", card.text, flags=re.S).replace("UTF-8", "")
    before, after = text.split("## Samples")
    text = before + after[after.index("## Limits") :]  # sentences and their scores are tested separately
    found = NUMBER.findall(text)
    assert len(found) > 80
    for figure in found:
        digits = len(figure.partition(".")[2].partition("e")[0])
        value = float(figure.replace(",", ""))
        assert any(abs(value - other) <= 0.51 * 10**-digits or value == other for other in known), figure


def test_settings_and_cost_match_the_run(card, tiny_run):
    recipe, metrics = yaml.safe_load((tiny_run / "recipe.yaml").read_text()), read(tiny_run, "metrics.json")
    rows = dict(row for row in table_after(card.text, "## Training"))
    assert rows["Learning rate"] == str(recipe["learning_rate"])
    assert rows["Steps"] == str(metrics["steps"])
    assert rows["Padding"] == f"{metrics['padding']:.2%}"
    assert dict(table_after(card.text, "## Model"))["Parameters"] == f"{metrics['parameters']:,}"
    assert f"{metrics['training_seconds'] / 3600:.2f} hours of training." in card.text
    assert "kWh" not in card.text  # not measured
    report = read(tiny_run, "data_report.json")
    cleaning = table_after(card.text, "## Data")
    for split, *counts in cleaning[1:]:
        assert counts == [f"{report['splits'][split].get(name.replace(' ', '_'), 0):,}" for name in cleaning[0][1:]]
    evaluations = [entry for entry in read(tiny_run, "history.json") if "eval_loss" in entry]
    table = table_after(card.text, "Scores on the validation split")
    assert table[-1][0] == str(evaluations[-1]["step"])
    assert table[-1][2:] == [f"{evaluations[-1]['eval_loss']:.4f}"] + [
        f"{evaluations[-1][name]:.2f}" for name in ("eval_bleu", "eval_chrf")
    ]


def test_docs_card_has_cost_and_curves_of_its_run():
    card, metrics = example()
    assert f"{metrics['training_seconds'] / 3600:.2f} hours of training." in card.text
    assert dict(table_after(card.text, "## Model"))["Parameters"] == f"{metrics['parameters']:,}"
    assert dict(table_after(card.text, "## Training"))["Steps"] == f"{metrics['steps']:,}"
    assert "(curves.png)" in card.text and (DOCS / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_samples_are_the_best_and_the_worst(card, tiny_run):
    lines = (tiny_run / "samples.md").read_text().splitlines()[2:]
    samples = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    scores = sorted(CHRF(word_order=2).sentence_score(row[-2], [row[1]]).score for row in samples)
    assert sorted(float(row[-1]) for row in samples) == pytest.approx(scores, abs=0.006)
    good, bad = table_after(card.text, "Good:"), table_after(card.text, "Bad:")
    assert [float(row[-1]) for row in good[1:]] == [pytest.approx(score, abs=0.06) for score in scores[:-4:-1]]
    assert [float(row[-1]) for row in bad[1:]] == [pytest.approx(score, abs=0.06) for score in scores[:3]]
    for row in good[1:] + bad[1:]:
        assert any(row[:3] == [sample[0], sample[1], sample[-2]] for sample in samples)


def test_samples_of_the_whole_split_keep_their_scores(tiny_run, tmp_path):
    """Where the run chose them among all held-out pairs, it wrote the scores of the last translation."""
    run = change(tiny_run, tmp_path / "run")
    rows = [
        {"source": f"s{score}", "reference": "r", "greedy": "g", "beam 2": f"t{score}", "chrf": score}
        for score in (40.04, 99.96, 0.0, 70.0)
    ]
    (run / "samples.json").write_text(json.dumps(rows))
    card = build_card(run, NAME, publish_samples=True)
    assert "The highest and the lowest chrF++ among all held-out pairs, decoded with *beam 2*." in card.text
    assert table_after(card.text, "Good:")[1:] == [["s99.96", "r", "t99.96", "100.0"], ["s70.0", "r", "t70.0", "70.0"]]
    assert table_after(card.text, "Bad:")[1:] == [["s0.0", "r", "t0.0", "0.0"], ["s40.04", "r", "t40.04", "40.0"]]


def test_hub_client_reads_the_metadata(card, tiny_run, tmp_path):
    card.save(tmp_path / "README.md")
    data = ModelCard.load(tmp_path / "README.md").data.to_dict()  # raises if names or model-index are invalid
    assert data["language"] == ["en", "fr"]
    assert data["license"] == "apache-2.0"
    assert (data["library_name"], data["pipeline_tag"]) == ("transformers", "translation")
    assert data["metrics"] == ["bleu", "chrf", "ter"]
    assert "datasets" not in data and "base_model" not in data  # local files, trained from scratch
    held_out = [json.loads(line)["source"] for line in (tiny_run / "held_out/test.jsonl").read_text().splitlines()]
    assert [example["text"] for example in data["widget"]] == held_out[:3]


def change(run, folder, **settings):
    """A copy of `run` with other settings in its recipe, and in its config where that has them."""
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("checkpoint-*"))
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text())
    for name in [name for name, value in settings.items() if value is None]:
        recipe.pop(name)
        settings.pop(name)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe | settings))
    config = json.loads((folder / "config.json").read_text())
    config |= {name: value for name, value in settings.items() if name in config}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_hub_dataset_and_base_model_are_linked(tiny_run, tmp_path):
    run = change(
        tiny_run, tmp_path / "run", dataset="wmt/wmt14", dataset_config="de-en", data_path=None,
        source_language="de", target_language="pt_BR", init_from="someone/base",
    )  # fmt: skip
    card = build_card(run, NAME, license="cc-by-4.0", publish_samples=False)
    data = card.data.to_dict()
    assert (data["datasets"], data["base_model"]) == (["wmt/wmt14"], "someone/base")
    assert (data["language"], data["license"]) == (["de", "pt"], "cc-by-4.0")
    assert data["model-index"][0]["results"][0]["dataset"] == {
        "name": "wmt/wmt14", "type": "wmt/wmt14", "config": "de-en", "split": "test",
    }  # fmt: skip
    assert "[wmt/wmt14](https://huggingface.co/datasets/wmt/wmt14), configuration de-en" in card.text
    assert "fine-tuned from [someone/base]" in card.text and "from scratch" not in card.text


def test_missing_measurements_are_left_out(tiny_run, tmp_path):
    shutil.copy(tiny_run / "config.json", tmp_path / "config.json")
    card = build_card(tmp_path, NAME)
    for word in ("## Data", "## Training", "## Results", "## Samples", "## Cost", "## Environment", "None", "curves"):
        assert word not in card.text
    assert "model-index" not in card.data.to_dict()
    with pytest.raises(GlossaError, match="has no config"):
        build_card(tmp_path / "nothing", NAME)


def test_measured_energy_is_reported(tiny_run, tmp_path):
    run = change(tiny_run, tmp_path / "run")
    metrics = read(run, "metrics.json") | {"energy_kwh": 0.1234, "energy_source": "by a meter"}
    (run / "metrics.json").write_text(json.dumps(metrics))
    assert "Energy: 0.123 kWh (by a meter)." in build_card(run, NAME).text


@pytest.mark.slow
def test_snippets_run_as_printed(tiny_run, early, tmp_path):
    shutil.copytree(tiny_run, tmp_path / NAME, ignore=shutil.ignore_patterns("checkpoint-*"))
    card = build_card(tiny_run, NAME, publish_samples=True)
    snippets = re.findall(r"```python\n(.*?)```", card.text, flags=re.S)
    assert len(snippets) == 3
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    process = subprocess.run(
        [early.path / "python", "-I", "-c", "import sys; sys.modules['glossa'] = None\n" + "\n".join(snippets)],
        cwd=tmp_path, env=environment | {"HF_HOME": str(tmp_path / "home")}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    one, plain, many, best, long = process.stdout.splitlines()[-5:]
    first = json.loads((tiny_run / "held_out/test.jsonl").read_text().splitlines()[0])["source"]
    assert first in snippets[0]
    translator = Translator(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)))
    assert ast.literal_eval(one) == [{"translation_text": translator.best([first])[0]}]
    # `generate` alone stops at the model's own max_new_tokens.
    assert translator.best([first])[0].startswith(ast.literal_eval(plain)[0])
    assert many.count("translation_text") == 2 and best.count("score") == 4 and long.count("translation_text") == 1


def test_the_reliability_of_a_confidence_is_shown(tiny_run, tmp_path):
    run = change(tiny_run, tmp_path / "run")
    bins = [[0.1049, 0.125, 8], [0.9, 0.75, 1234]]
    metrics = read(run, "metrics.json") | {"confidence": {"error": 0.0312, "bins": bins}}
    (run / "metrics.json").write_text(json.dumps(metrics))
    text = build_card(run, NAME).text
    assert table_after(text, "## Confidence")[1:] == [["10%", "12%", "8"], ["90%", "75%", "1,234"]]
    assert "error is 0.031." in " ".join(text.split())
    (run / "metrics.json").write_text(json.dumps(metrics | {"confidence": {}}))
    assert "## Confidence" not in build_card(run, NAME).text
