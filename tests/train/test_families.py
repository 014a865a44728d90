"""Models of other families are trained further, from folders with the files that the Hub has of them."""

import asyncio
import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest
from published_models import PUBLISHED, publish
from small_models import QUIET, UNSCORED, UNSIZED
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from glossa.apps.server.models import Models
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli import distill, score, translate
from glossa.train.hub.push import stage
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.build import build_translator
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

pytestmark = pytest.mark.slow  # minutes in all

FORKING = Path(__file__).parents[1] / "forking.py"
FIRST_OF_FEED_FORWARD = ("fc1.weight", "wi.weight", "wi_0.weight", "up_proj.weight", "intermediate.weight",
                         "intermediate.dense.weight")  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Pairs of two to 33 words, so that an evaluation batch has several pieces."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    words = [(a, b) for a in "abcdefghij" for b in "klmnopqrstuvwxyzABCD"]
    lines = (f"{a} {b}{f' {a}' * (n % 32)}\t{b} {a}!{f' {b}' * (n % 29)}\n" for n, (a, b) in enumerate(words))
    path.write_text("".join(lines))
    return path


@pytest.fixture
def settings(tiny_settings, pairs, tmp_path):
    """The arguments of a short training from a random model of a family, which is in `start`."""

    def from_start(family, name="run", **changes):
        sides = zip(*(line.split("\t") for line in pairs.read_text().splitlines()), strict=True)
        start = publish(family, tmp_path / "start", *map(list, sides))
        given = {
            "data_path": pairs, "init_from": start, "max_steps": 4, "eval_steps": 2, "save_steps": 2,
            "validation_size": 20, "max_test_samples": 4, "max_new_tokens": 8, "num_beams": 1, "source_language": "en",
            "target_language": "fr", "trust_data": True, "metric_for_best_model": "loss", "greater_is_better": False,
        }  # fmt: skip
        return tiny_settings(tmp_path / name, **UNSIZED, **given | changes)

    return from_start


@pytest.mark.parametrize("family", PUBLISHED)
def test_a_published_model_is_trained_evaluated_and_scored(family, settings, tmp_path, capsys):
    run = RunFolder(train(parse_settings(settings(family))))
    assert capsys.readouterr().out.splitlines()[-1] == f"Try it: echo 'A sentence.' | glossa translate {run.path}"
    losses = [entry["eval_loss"] for entry in run.history if "eval_loss" in entry]
    assert len(losses) == 3 and losses[2] < losses[0]  # of the start, and of two evaluations
    assert "greedy" in run.metrics["test"]
    start, tuned = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "start"), load_model(str(run.path))
    assert type(start) is type(tuned)
    before, after = start.state_dict(), tuned.state_dict()
    assert before.keys() == after.keys()
    matrices = [name for name in before if name.endswith(FIRST_OF_FEED_FORWARD)]
    assert len(matrices) == 2 and not any(before[name].equal(after[name]) for name in matrices)
    fixed = [name for name in before if "embed_positions" in name and start.config.model_type in ("marian", "pegasus")]
    assert all(before[name].equal(after[name]) for name in fixed)  # sinusoids
    _used(run.path, tmp_path)
    kept, own = (AutoTokenizer.from_pretrained(folder) for folder in (run.path, tmp_path / "start"))
    assert type(kept) is type(own) and kept.get_vocab() == own.get_vocab()
    if family in OF_LANGUAGES:
        _asks_for_its_language(run.path, *OF_LANGUAGES[family])


# The setting that asks for the language, and the code of French.
OF_LANGUAGES = {
    "nllb": ("forced_bos_token_id", "fra_Latn"), "m2m100": ("forced_bos_token_id", "__fr__"),
    "mbart-50": ("forced_bos_token_id", "fr_XX"), "mbart-25": ("decoder_start_token_id", "fr_XX"),
}  # fmt: skip


def _asks_for_its_language(run, setting, code):
    decoding = json.loads((run / "generation_config.json").read_text())
    assert decoding[setting] == AutoTokenizer.from_pretrained(run).convert_tokens_to_ids(code)
    own = load_tokenizer(str(run))
    assert (own.src_lang, own.tgt_lang) == ("en", "fr")
    assert build_translator([str(run)]).best(["a k"])  # neither language is given


def _used(run, folder):
    """Every command takes the run: a document, pairs made with it, its scores, its files for the Hub, a server."""
    (folder / "a.md").write_text("# A title\n\nSome *text* with `code` here.\n")
    translate.main([str(run), "--input", str(folder / "a.md"), "--output", str(folder / "b.md")])
    found = (folder / "b.md").read_text()
    assert found.startswith("# ") and "`code`" in found and found.count("\n\n") == 1
    given = ["--data_path", str(folder / "pairs.tsv"), "--source_language", "en", "--target_language", "fr"]
    (folder / "pairs.tsv").write_text("a k\tk a!\nb l\tl b!\n")
    distill.main([str(run), *given, "--output", str(folder / "made.tsv")])
    assert (folder / "made.tsv").is_file()
    score.main([str(run), *given, "--num_beams", "1", "--n_bootstrap", "0", "--output", str(folder / "scores.json")])
    assert len(json.loads((folder / "scores.json").read_text())["results"]["greedy"]["translations"]) == 2
    (folder / "pushed").mkdir()
    stage(run, "someone/tuned", folder / "pushed")
    assert "model.generate(" in (folder / "pushed" / "README.md").read_text()
    models = Models([f"en-fr={run}"], engine="torch")
    translator = asyncio.run(models.translator(models.route("en", "fr")[0]))
    assert len(translator.best(["a k.", "b l."])) == 2


def test_label_smoothing(settings):
    losses = {}
    for smoothing in (0.0, 0.5):
        given = settings("opus-mt", f"{smoothing}", label_smoothing_factor=smoothing, logging_steps=1,
                         dropout=0.0, **QUIET | {"max_steps": 1})  # fmt: skip
        run = RunFolder(train(parse_settings(given)))
        losses[smoothing] = next(row["loss"] for row in run.history if "loss" in row)
        # With random weights all tokens are about equally probable, whatever the smoothing.
        assert losses[smoothing] == pytest.approx(math.log(load_model(str(run.path)).config.vocab_size), rel=0.03)
    assert losses[0.5] != losses[0.0]


def test_a_search_may_start_with_token_0_and_without_a_beginning_token(tmp_path):
    """The case `hostile/t5-start0`."""
    folder = publish("mt5", tmp_path / "start", ["a b", "c d"] * 20, ["b a", "d c"] * 20)
    model, tokenizer = load_model(str(folder)), load_tokenizer(str(folder))
    assert (model.generation_config.bos_token_id, model.generation_config.decoder_start_token_id) == (None, 0)
    assert len(Translator(model, tokenizer, Search(1)).best(["a b"])) == 1
    model.generation_config.update(decoder_start_token_id=None)
    with pytest.raises(GlossaError, match="neither decoder_start_token_id nor bos_token_id"):
        Translator(model, tokenizer, Search(1))


def test_two_processes_train_a_model_with_weights_that_get_no_gradient(settings, tmp_path, zygote):
    """The positions of Pegasus are weights that its forward pass reads without gradients."""
    command = [
        zygote.path / "python", FORKING,
        json.dumps([[[*settings("pegasus", **UNSCORED), "--gradient_accumulation_steps", "2"], 2]]),
    ]  # fmt: skip
    done = subprocess.run(command, env=zygote.environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    run = RunFolder(tmp_path / "run")
    assert set(run.metrics["test"]) == {"greedy"}
    losses = [entry["eval_loss"] for entry in run.history if "eval_loss" in entry]
    assert len(losses) == 3 and losses[2] < losses[0]


LORA = {  # matrices of one encoder and one decoder layer, counted by hand
    "opus-mt": 6 + 10, "t5": 6 + 10, "mt5": 7 + 11, "byt5": 7 + 11, "t5gemma": 7 + 11, "nllb": 6 + 10,
    "prophetnet": 6 + 11, "bert2bert": 6 + 10,
}  # fmt: skip


@pytest.mark.parametrize("family", LORA)
def test_adapters_adapt_the_layers_of_every_family(family, settings, tmp_path, caplog):
    caplog.set_level("INFO")
    run = RunFolder(train(parse_settings(settings(family, lora_rank=2, **QUIET | {"max_steps": 2}))))
    assert f"LoRA adapts {LORA[family]} matrices" in caplog.text
    before, after = (load_model(str(folder)).state_dict() for folder in (tmp_path / "start", run.path))
    changed = [name for name in before if not before[name].equal(after[name])]
    assert len(changed) == LORA[family], [name for name in changed if "layers" not in name]


def test_published_settings_of_the_search_stay_and_the_language_is_added(settings, tmp_path):
    run = train(parse_settings(settings("bart", num_beams=None, max_new_tokens=None)))
    decoding = json.loads((run / "generation_config.json").read_text())
    start = json.loads((tmp_path / "start" / "generation_config.json").read_text())
    names = ("num_beams", "max_length", "min_length", "length_penalty", "no_repeat_ngram_size", "early_stopping",
             "forced_bos_token_id", "forced_eos_token_id")  # fmt: skip
    assert {name: decoding.get(name) for name in names} == {name: start.get(name) for name in names}
    assert decoding["max_length"] == 62 and decoding.get("max_new_tokens") is None


def test_several_target_languages_are_trained_and_scored_in_one_run(settings, pairs, tmp_path):
    lines = pairs.read_text().splitlines()
    recipe = {"sources": [
        {"data_path": str(tmp_path / f"{code}.tsv"), "target_language": code} for code in ("fr", "de")
    ]}  # fmt: skip
    for number, code in enumerate(("fr", "de")):
        (tmp_path / f"{code}.tsv").write_text("\n".join(lines[number::2]) + "\n")
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    given = settings("nllb", eval_strategy="steps", data_path=None, target_language=None, dataset=None)
    run = train(parse_settings([str(tmp_path / "recipe.yaml"), *given]))
    assert set(RunFolder(run).metrics["test"]) == {"fr, greedy", "de, greedy"}
    rows = [row for row in RunFolder(run).history if "eval_bleu_fr" in row]
    assert len(rows) == 3 and all("eval_bleu_de" in row for row in rows)
    decoding = json.loads((run / "generation_config.json").read_text())
    assert decoding.get("forced_bos_token_id") is None
    translator = build_translator([str(run)], language="de")
    assert translator.tokenizer.tgt_lang == "de" and translator.tokenizer.src_lang == "en"


def test_settings_of_the_search_in_the_models_config_are_saved_where_they_belong(settings, tmp_path):
    """As in folders from before there was a generation_config.json."""
    given = settings("bart", num_train_epochs=1, num_beams=None, max_new_tokens=None)
    start = tmp_path / "start"
    search = json.loads((start / "generation_config.json").read_text())
    own = {name: search[name] for name in ("num_beams", "max_length", "length_penalty", "no_repeat_ngram_size",
                                           "early_stopping", "min_length")}  # fmt: skip
    (start / "generation_config.json").unlink()
    config = json.loads((start / "config.json").read_text())
    (start / "config.json").write_text(json.dumps(config | own))
    run = train(parse_settings(given))
    decoding = json.loads((run / "generation_config.json").read_text())
    assert {name: decoding[name] for name in own} == own
    assert not set(own) & set(json.loads((run / "config.json").read_text()))


@pytest.mark.parametrize("family", ["opus-mt", "nllb", "byt5"])
def test_a_resumed_run_ends_with_the_same_weights(family, settings, tmp_path):
    whole = train(parse_settings(settings(family, **UNSCORED)))
    shutil.copytree(whole / "checkpoint-2", tmp_path / "again" / "checkpoint-2")
    resumed = train(parse_settings([*settings(family, "again", **UNSCORED), "--resume_from_checkpoint", "true"]))
    expected, found = (load_model(str(folder)).state_dict() for folder in (whole, resumed))
    assert all(weight.equal(found[name]) for name, weight in expected.items())


def test_a_token_without_a_row_of_the_embeddings_is_refused_before_training(settings, tmp_path):
    """Case m2m100-index-error: the tokenizer puts its languages after the rows of a smaller model."""
    given = settings("m2m100")
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "start")
    model.resize_token_embeddings(model.config.vocab_size - 9)  # eight rows are unused, the ninth is of Zulu
    model.save_pretrained(tmp_path / "start")
    with pytest.raises(GlossaError, match=r"tokenizer has the token id .* but its embeddings have"):
        train(parse_settings(given))


def test_nllb_without_its_languages_is_refused_before_training(settings, tmp_path):
    """Its codes are ordinary tokens, with which transformers asks for no language."""
    given = settings("nllb")
    for name, key in (("tokenizer_config.json", "extra_special_tokens"), ("tokenizer.json", None)):
        path = tmp_path / "start" / name
        saved = json.loads(path.read_text())
        saved |= {key: []} if key else {"added_tokens": saved["added_tokens"][:4]}
        path.write_text(json.dumps(saved))
    with pytest.raises(GlossaError, match=r"none of its special tokens is a language, such as eng_Latn"):
        train(parse_settings(given))
