"""A model of several target languages: trained, selected in every way of translating, saved, exported and resumed."""

import asyncio
import importlib.util
import json
import os
import subprocess
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import yaml
from datasets import load_dataset
from refusals import refused
from transformers import EvalPrediction

from glossa import GlossaConfig, TranslationPipeline
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli import distill, score, translate
from glossa.train.building import _metrics
from glossa.train.hub.card import build_card
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.build import load_reranker
from glossa.translate.corpora.distillation import load_teacher
from glossa.translate.interface import Checks
from glossa.translate.languages import Languages
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

LEXICON = {
    "cat": ("Katze", "chat"), "dog": ("Hund", "chien"), "house": ("Haus", "maison"), "tree": ("Baum", "arbre"),
    "red": ("rot", "rouge"), "big": ("gross", "grand"), "sees": ("sieht", "voit"), "old": ("alt", "vieux"),
}  # fmt: skip
SENTENCES = [f"{first} {second}" for first, second in permutations(LEXICON, 2)]
GERMAN, FRENCH = (
    {text: " ".join(LEXICON[word][side] for word in text.split()) for text in SENTENCES} for side in (0, 1)
)
SMALL = {
    "tokenizer_model": "word", "min_frequency": 1, "vocab_size": 60, "d_model": 32, "encoder_layers": 1,
    "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "batch_tokens": 400, "dropout": 0,
    "gradient_accumulation_steps": 1, "max_steps": 150, "warmup_steps": 20, "learning_rate": 0.01,
    "eval_strategy": "steps", "eval_steps": 150, "save_strategy": "steps", "save_steps": 150, "report_to": "none",
    "disable_tqdm": True, "cpu_threads": 1, "bf16": False, "num_beams": 2, "max_new_tokens": 8,
    "validation_size": 6, "test_size": 6,
}  # fmt: skip


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """A recipe of English to German and French, and German to English, from one file."""
    folder = tmp_path_factory.mktemp("several")
    rows = [{"en": text, "de": GERMAN[text], "fr": FRENCH[text]} for text in SENTENCES]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"data_path": str(folder / "pairs.jsonl")}
    sources = [
        data | {"name": "en-de", "target_language": "German"}, data | {"name": "en-fr", "target_language": "fr"},
        data | {"name": "de-en", "source_language": "de", "target_language": "en"},
    ]  # fmt: skip
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(SMALL | {"sources": sources, "output_dir": str(folder / "run")}))
    return path


@pytest.fixture(scope="module")
def run(recipe):
    return train(parse_settings([str(recipe)]))


@pytest.fixture
def parts(run):
    return load_model(str(run)), load_tokenizer(str(run))


def test_the_tag_decides_the_language(parts):
    model, tokenizer = parts
    for language, expected in (("de", GERMAN), ("fr", FRENCH)):
        found = Translator(model, tokenizer.into(language)).best(SENTENCES)
        right = [text == expected[source] for source, text in zip(SENTENCES, found, strict=True)]
        assert sum(right) > 40, f"of {len(right)} into {language}"
    back = Translator(model, tokenizer.into("en")).best(list(GERMAN.values()))
    assert sum(text == source for source, text in zip(SENTENCES, back, strict=True)) > 40


def test_held_out_sentences_are_in_training_in_no_direction(run):
    rows = {split: load_dataset("json", data_files=str(RunFolder(run).held_out_file(split)))["train"]
            for split in ("validation", "test")}  # fmt: skip
    assert RunFolder(run).data_report["overlap"] == {split: {"source": 0, "target": 0} for split in rows}
    for split in rows.values():
        assert sorted(split["language"]) == ["de", "de", "en", "en", "fr", "fr"], "two sentences, in every direction"
        english = {row["target"] if row["language"] == "en" else row["source"] for row in split}
        assert len(english) == 2
    assert RunFolder(run).data_report["sizes"]["train"] == 3 * 56 - 12


def test_scores_of_each_language(run):
    metrics = RunFolder(run).metrics
    names = [f"{language}, {decoding}" for language in ("de", "fr", "en") for decoding in ("greedy", "beam 2")]
    assert list(metrics["test"]) == list(metrics["validation"]) == names
    (last,) = [entry for entry in RunFolder(run).history if "eval_bleu" in entry]
    assert {"eval_bleu", "eval_chrf", "eval_bleu_de", "eval_bleu_fr", "eval_bleu_en"} <= last.keys()
    assert [row["language"] for row in RunFolder(run).samples] == ["de"] * 2 + ["fr"] * 2 + ["en"] * 2
    card = str(build_card(run, "someone/several"))
    for line in ('print(translate("...", tgt_lang="de"))', 'tokenizer.tgt_lang = "de"  # one of de, fr, en'):
        assert line in card
    assert "from several languages to German, French and English" in card and "| test | fr, beam 2 |" in card


def test_validation_bleu_is_the_mean_of_the_languages(recipe, parts):
    """German is right in three of three rows, BLEU 100; French in none of one, BLEU 0. One BLEU of all is above 50."""
    tokenizer = parts[1]
    rows = [("de", "Katze Hund Haus Baum", True)] * 3 + [("fr", "chat chien maison arbre", False)]
    shown = [{"source": "x", "reference": text, "language": language} for language, text, _ in rows]
    texts = [text if right else "rot rot rot rot" for _, text, right in rows]
    ids = tokenizer(text_target=texts)["input_ids"]
    scores = _metrics(tokenizer, shown, 0, parse_settings([str(recipe)]))(EvalPrediction(np.array(ids), None))
    assert scores == pytest.approx({"bleu": 50, "chrf": 50, "bleu_de": 100, "bleu_fr": 0}, abs=5)
    assert scores["bleu"] == (scores["bleu_de"] + scores["bleu_fr"]) / 2


def test_the_model_and_its_checkpoint_know_their_languages(run):
    for folder in (run, run / "checkpoint-150"):
        assert load_tokenizer(str(folder)).target_languages == ["de", "fr", "en"]
        assert Languages.of(str(folder)) == Languages(None, ("de", "fr", "en"), tagged=True)
        assert json.loads((folder / "config.json").read_text())["target_language"] == ["de", "fr", "en"]
    assert GlossaConfig(target_language="de").target_languages == GlossaConfig().target_languages == []


def test_plain_generate_and_the_pipeline(parts):
    model, tokenizer = parts
    tokenizer.tgt_lang = "fr"
    ids = model.generate(**tokenizer(["cat dog"], return_tensors="pt"), max_new_tokens=8)
    french = tokenizer.batch_decode(ids, skip_special_tokens=True)[0]
    tokenizer.tgt_lang = None
    pipeline = TranslationPipeline(model, tokenizer)
    german = Translator(model, tokenizer.into("de")).best(["cat dog"])[0]
    assert pipeline("cat dog", tgt_lang="fr")[0]["translation_text"] == french != german
    assert pipeline(["cat dog"], tgt_lang="de") == [{"translation_text": german}]
    assert next(pipeline(iter(["cat dog"]), tgt_lang="de")) == {"translation_text": german}
    assert TranslationPipeline(model, tokenizer, tgt_lang="fr")("cat dog")[0]["translation_text"] == french
    with pytest.raises(ValueError, match="tgt_lang is None; it must be one of de, fr, en"):
        pipeline("cat dog")
    with pytest.raises(ValueError, match="tgt_lang is 'it'; it must be one of de, fr, en"):
        pipeline("cat dog", tgt_lang="it")


@pytest.mark.slow
def test_the_commands_take_the_language(run, parts, tmp_path, capsys, monkeypatch):
    model, tokenizer = parts
    expected = Translator(model, tokenizer.into("fr")).best(["cat dog", "red house"])
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("cat dog\nred house\n")
    files = ["--input", str(source), "--output", str(target)]
    translate.main([str(run), "--target_language", "French", *files])
    assert target.read_text().splitlines() == expected
    target.unlink()
    for wanted, message in (
        ([], r"Line 1: no target language is given, and the model translates into de, fr, en\."),
        (["--target_language", "it"], r"--target_language is it, but .*run translates into de, fr, en\."),
    ):
        for workers in ([], ["--workers", "2"]):
            refused(message, translate.main, [str(run), *files, *wanted, *workers])
            target.unlink(missing_ok=True)
    refused("--target_language is not given", score.main, [str(run)])
    capsys.readouterr()
    for language, references in (("de", GERMAN), ("fr", FRENCH)):
        score.main([str(run), "--target_language", language, "--num_beams", "1", "--n_bootstrap", "2",
                    "--output", str(tmp_path / "s.json")])  # fmt: skip
        (result,) = json.loads((tmp_path / "s.json").read_text())["results"].values()
        assert [targets[0] for targets in result["references"]] == [references[text] for text in result["sources"]]
        chrf = RunFolder(run).metrics["test"][f"{language}, greedy"]["scores"]["single"]["chrf"]["score"]
        assert result["scores"]["single"]["chrf"]["score"] == chrf > 30
    reranker = load_reranker(str(run), str(run), "fr")
    assert reranker.tokenizer.tgt_lang == "fr" and not reranker.reverse


def test_a_model_of_one_language_takes_no_other_and_one_of_several_needs_one(tiny_run, parts):
    tokenizer = load_tokenizer(str(tiny_run))
    Languages.choose(tokenizer, "MODEL", None)
    Languages.choose(tokenizer, "MODEL", "French")
    refused("is de, but MODEL translates into fr only", Languages.choose, tokenizer, "MODEL", "de")
    refused(r"MODEL translates into de, fr, en\. Give one of them", Languages.choose, parts[1], "MODEL", None)


def test_the_handler(parts):
    path = Path(__file__).parents[2] / "model_card/handler.py"
    spec = importlib.util.spec_from_file_location("handler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model, tokenizer = parts
    answer = module.EndpointHandler(translate=TranslationPipeline(model, tokenizer))
    expected = Translator(model, tokenizer.into("fr")).best(["cat dog"])[0]
    assert answer({"inputs": "cat dog", "parameters": {"tgt_lang": "fr"}}) == [{"translation_text": expected}]
    assert answer({"inputs": "cat dog"}) == {"error": "tgt_lang is None; it must be one of de, fr, en."}
    assert answer({"inputs": "cat dog", "parameters": {"tgt_lang": "it"}})["error"].startswith("tgt_lang is 'it'")


def test_distillation_takes_the_language_of_the_pairs(run, tmp_path):
    forward, back = load_teacher([str(run)], ("en", "fr")), load_teacher([str(run)], ("fr", "it"))
    assert (forward.reverse, forward.translator.tokenizer.tgt_lang) == (False, "fr")
    assert (back.reverse, back.translator.tokenizer.tgt_lang) == (True, "fr")
    refused("run translates into de, fr, en, but the pairs are it and nl", load_teacher, [str(run)], ("it", "nl"))
    with pytest.raises(GlossaError, match=r"was trained on pairs of several target languages\. Give --data_path"):
        distill.main([str(run), "--output", str(tmp_path / "x.jsonl"), "--source_language", "en",
                      "--target_language", "fr"])  # fmt: skip


def test_a_server_has_all_directions(run, parts):
    pytest.importorskip("fastapi")
    from glossa.apps.server.models import Models, RequestOptions

    model, tokenizer = parts
    models = Models([str(run)])
    found = {source: set(targets) for source, targets in models.languages.items()}
    assert found == {"de": {"fr", "en"}, "fr": {"de", "en"}, "en": {"de", "fr"}}
    for language in ("fr", "de"):
        translator = asyncio.run(models.translator(models.route("en", language)[0], RequestOptions()))
        assert translator.best(["cat dog"]) == Translator(model, tokenizer.into(language)).best(["cat dog"])


def test_ctranslate2_translates_the_same(parts, tmp_path):
    pytest.importorskip("ctranslate2")
    from glossa.translate.engines.ctranslate2 import load_engine
    from glossa.translate.export.ctranslate2_model import export_ctranslate2

    model, tokenizer = parts
    export_ctranslate2(model, tokenizer, tmp_path / "engine")
    engine, there = load_engine(str(tmp_path / "engine"))
    for language in ("de", "fr"):
        expected = Translator(model, tokenizer.into(language)).best(SENTENCES[:8])
        assert Translator(engine, there.into(language)).best(SENTENCES[:8]) == expected
    assert there.target_languages == ["de", "fr", "en"]


def test_a_run_is_continued_with_the_same_languages_only(recipe, run):
    settings = yaml.safe_load(recipe.read_text()) | {"max_steps": 151, "resume_from_checkpoint": True}
    settings["sources"][1]["target_language"] = "it"
    changed = recipe.with_name("changed.yaml")
    changed.write_text(yaml.safe_dump(settings | {"trust_data": True}))
    refused("was trained with other settings: sources was", train, parse_settings([str(changed)]))


def test_another_run_starts_from_it_with_its_languages_only(recipe, run, tmp_path):
    settings = yaml.safe_load(recipe.read_text()) | {"init_from": str(run), "output_dir": str(tmp_path / "next")}
    settings = {name: value for name, value in settings.items() if name not in SMALL or name in (
        "batch_tokens", "cpu_threads", "report_to", "disable_tqdm", "validation_size", "test_size")}  # fmt: skip
    settings |= {"max_steps": 1, "eval_strategy": "no", "load_best_model_at_end": False, "num_beams": 1,
                 "save_strategy": "steps", "save_steps": 1}  # fmt: skip
    path = tmp_path / "next.yaml"
    settings["sources"][1]["target_language"] = "it"
    settings["sources"][1] |= {"source_column": "en", "target_column": "fr"}
    path.write_text(yaml.safe_dump(settings))
    with pytest.raises(
        GlossaError, match=r"which knows de, fr, en only, but the data are in de, it, en: .* lacks <2it>"
    ):
        train(parse_settings([str(path)]))
    data = settings.pop("sources")[0]["data_path"]
    path.write_text(yaml.safe_dump(settings | {"data_path": data, "target_language": "fr"}))
    there = train(parse_settings([str(path)]))
    assert Languages.of(str(there)) == Languages(None, ("de", "fr", "en"), tagged=True)
    assert list(RunFolder(there).metrics["test"]) == ["greedy"]
    score.main([str(there), "--target_language", "fr", "--num_beams", "1", "--n_bootstrap", "2"])
    again = settings | {"data_path": data, "target_language": "fr", "max_steps": 2, "resume_from_checkpoint": True}
    path.write_text(yaml.safe_dump(again))
    train(parse_settings([str(path)]))
    assert RunFolder(there).metrics["steps"] == 2


REMOTE = """
import json, sys
sys.modules["glossa"] = None
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline
folder = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True)
tokenizer.tgt_lang = "fr"
ids = model.generate(**tokenizer("cat dog", return_tensors="pt"), max_new_tokens=8)
translate = pipeline("translation", model=folder, trust_remote_code=True)
print(json.dumps([tokenizer.target_languages, model.config.target_language,
    tokenizer.decode(ids[0], skip_special_tokens=True), translate("cat dog", tgt_lang="de")[0]["translation_text"]]))
"""


@pytest.mark.slow
def test_the_saved_folder_translates_without_glossa(run, parts, early, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    environment |= {"HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HOME": str(tmp_path / "home")}
    process = subprocess.run([early.path / "python", "-I", "-c", REMOTE, str(run)], env=environment, check=True,
                             capture_output=True, text=True, stdin=subprocess.DEVNULL)  # fmt: skip
    model, tokenizer = parts
    french, german = (Translator(model, tokenizer.into(code)).best(["cat dog"])[0] for code in ("fr", "de"))
    assert json.loads(process.stdout.splitlines()[-1]) == [["de", "fr", "en"], ["de", "fr", "en"], french, german]


def test_a_line_may_name_its_language_by_a_tag(run, parts, tmp_path):
    model, tokenizer = parts
    german, french = (Translator(model, tokenizer.into(code)).best(["cat dog", "red house"]) for code in ("de", "fr"))
    assert german != french
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("<2fr> cat dog\n<2de>cat dog\n\n<2de> red house\n<2fr> red house\n")
    expected = [french[0], german[0], "", german[1], french[1]]
    for workers in ([], ["--workers", "2"]):
        translate.main([str(run), "--input", str(source), "--output", str(target), *workers])
        assert target.read_text().split("\n")[:-1] == expected
        target.unlink()
    # Lines without a tag are in the language that is given.
    found = Translator(model, tokenizer.into("de")).best(["cat dog", "<2fr> red house", "red house"])
    assert found == [german[0], french[1], german[1]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["<2fr> cat", "dog"], "Line 2: no target language is given, and the model translates into de, fr, en"),
        (
            ["<2fr> cat", "<2de> dog", "<2it> dog", "cat"],
            "Line 3: it has the tag <2it>, but the model translates into de",
        ),
    ],
)
def test_a_line_without_a_known_tag_is_refused_after_the_translations_before_it(parts, lines, message):
    model, tokenizer = parts
    found = []
    with pytest.raises(GlossaError, match=message):
        for text, _ in Translator(model, tokenizer).stream(lines):
            found.append(text)
    assert found == lines[: int(message[5]) - 1]
    blanks = Translator(model, tokenizer, checks=Checks("blank")).translate(lines)
    assert [bool(row[0].text) for row in blanks] == [line[:4] in ("<2fr", "<2de") for line in lines]


def test_a_tag_is_text_for_a_model_of_one_language(tiny_run):
    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    tagged, plain = Translator(model, tokenizer).best(["<2fr> a k.", "a k."])
    assert tagged != plain
