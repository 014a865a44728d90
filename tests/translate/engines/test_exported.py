"""`--engine auto`: which models CTranslate2 gets, where they are kept, and what is said."""

import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_models import build, special, words
from transformers import PreTrainedTokenizerFast

from glossa.cli import distill, score
from glossa.cli import translate as command
from glossa.translate.build import build_translator, engine_for, load_engine, settle_engine
from glossa.translate.engines import exported
from glossa.translate.engines.ctranslate2 import CTranslate2Engine
from glossa.translate.engines.exported import ComparedEngine, load_exported, place
from glossa.translate.engines.generate import GenerateEngine
from glossa.translate.engines.light_tokenizer import LightTokenizer
from glossa.translate.export import ctranslate2_model
from glossa.translate.interface import Engine, Search, Translation

pytest.importorskip("ctranslate2")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def model(tmp_path, monkeypatch):
    """The folder of a small model; nothing of it is in the cache."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    build().save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=words(37), **special()).save_pretrained(folder)
    return folder


def change(folder, **settings):
    changed = build(**settings)
    changed.save_pretrained(folder)
    return changed


def test_a_model_is_exported_once_and_not_into_its_folder(model, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    before = sorted(path.name for path in model.iterdir())
    engine, tokenizer = load_exported([str(model)])
    assert isinstance(engine, ComparedEngine) and isinstance(tokenizer, LightTokenizer)
    assert sorted(path.name for path in model.iterdir()) == before
    (folder,) = (tmp_path / "cache" / "glossa" / "engines").iterdir()
    assert folder == place(str(model)) and f"exported to CTranslate2, once: {folder}" in caplog.text
    monkeypatch.setattr(ctranslate2_model, "export_ctranslate2", lambda *given: pytest.fail("exported again"))
    assert isinstance(load_exported([str(model)])[0], CTranslate2Engine)
    moved = model.rename(tmp_path / "moved")  # the content counts, not the name
    assert isinstance(load_exported([str(moved)])[0], CTranslate2Engine)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_another_content_is_another_engine(model, file):
    first = place(str(model))
    path = model / file
    path.write_bytes(path.read_bytes() + b" ")
    assert place(str(model)) != first


def test_another_version_is_another_engine(model, monkeypatch):
    first = place(str(model))
    monkeypatch.setattr(exported, "version", lambda name: "0.1")
    second = place(str(model))
    monkeypatch.setattr(exported, "FORM", 0)
    assert len({first, second, place(str(model))}) == 3


def test_an_exported_folder_is_taken_as_it_is(model, tmp_path):
    engine, _ = load_exported([str(model)])
    assert engine.num_beams == 1
    assert isinstance(load_exported([str(place(str(model)))])[0], CTranslate2Engine)


def test_what_cannot_be_exported_translates_with_generate(model, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    change(model, num_key_value_heads=None, kv_lora_rank=6)
    assert load_exported([str(model)]) is None
    assert "kv_lora_rank is 6" in caplog.text and "translates with generate" in caplog.text
    assert isinstance(load_engine([str(model)], "auto", None)[0], GenerateEngine)
    assert not place(str(model)).exists() and not list(place(str(model)).parent.iterdir())
    caplog.clear()
    assert load_exported([str(model), str(model)]) is None
    assert caplog.messages == ["Several models translate with generate: CTranslate2 takes one."]


def test_without_the_package_on_a_gpu_and_for_sampling_generate_translates(model, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    assert isinstance(load_engine([str(model)], "auto", None, do_sample=True)[0], GenerateEngine)
    monkeypatch.setattr("glossa.translate.engines.ctranslate2.ctranslate2.get_cuda_device_count", lambda: 1)
    assert load_exported([str(model)]) is None and "On a GPU, generate translates" in caplog.text
    monkeypatch.setattr(exported, "find_spec", lambda name: None)
    assert load_exported([str(model)]) is None


def test_a_negative_length_penalty_is_for_generate(model, caplog):
    """CTranslate2 ends a search by the number of finished hypotheses, which are the longest with it."""
    caplog.set_level(logging.INFO)
    assert [engine_for("auto", [penalty]) for penalty in (None, 0.0, 1.5, -0.5)] == ["auto", "auto", "auto", "torch"]
    assert caplog.text.count("With a negative length_penalty, generate translates") == 1
    assert engine_for("ctranslate2", [1.0, -1.0]) == "ctranslate2"
    translator = build_translator([str(model)], "auto", search=Search(3, length_penalty=-5.0))
    assert isinstance(translator.engine, GenerateEngine) and not place(str(model)).exists()
    (model / "generation_config.json").write_text(
        (model / "generation_config.json").read_text().replace("{", '{"num_beams": 2, "length_penalty": -1.0,', 1)
    )
    assert load_exported([str(model)]) is None and "negative length_penalty" in caplog.text


def test_jobs_that_export_at_the_same_time_do_not_collide(model, monkeypatch):
    """Both export; the second one finds the folder of the first."""
    whole = exported._write
    waiting = []

    def write(given, tokenizer, folder):
        if not waiting:
            waiting.append(1)
            whole(given, tokenizer, folder)
            (folder / "first").touch()
        whole(given, tokenizer, folder)

    monkeypatch.setattr(exported, "_write", write)
    assert isinstance(load_exported([str(model)])[0], ComparedEngine)
    folder = place(str(model))
    assert (folder / "first").exists() and list(folder.parent.iterdir()) == [folder]
    monkeypatch.setattr(exported, "_write", whole)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: load_exported([str(model)]), range(4)))
    assert all(isinstance(engine, CTranslate2Engine) for engine, _ in found)


def test_a_cache_that_cannot_be_written_is_said(model, tmp_path, caplog):
    (tmp_path / "cache").write_text("a file")
    assert load_exported([str(model)]) is None
    assert "translates with generate, which is slower" in caplog.text


class Fixed(Engine):
    """Translates every source as its length, with `change` added for those in `others`."""

    num_beams = 1

    def __init__(self, others=()):
        self.others, self.seen = others, []

    def translate(self, sources, search):
        self.seen += sources
        return [
            Translation(f"{len(ids)}{'!' if ids[0] in self.others else ''} {number}")
            for ids in sources
            for number in range(search.num_return_sequences)
        ]


def test_the_first_hundred_sentences_are_compared_and_a_difference_is_said_once(caplog):
    engine, exact = Fixed({7, 98, 150}), Fixed()
    both = ComparedEngine(engine, exact)
    sources = [[number, 1] for number in range(160)]
    search = Search(num_return_sequences=2)
    found = [*both.translate(sources[:60], search), *both.translate(sources[60:], search)]
    assert [each.text for each in found[14:16]] == ["2! 0", "2! 1"] and len(found) == 320  # the engine's own
    assert exact.seen == sources[:100] and engine.seen == sources
    (message,) = caplog.messages
    assert message.startswith("CTranslate2 translates 2 of the first 100 sentences differently from generate")
    both.report()
    assert len(caplog.messages) == 1


def test_equal_translations_are_not_mentioned_and_short_jobs_are_reported_at_their_end(caplog):
    ComparedEngine(Fixed(), Fixed()).translate([[1]] * 100, Search())
    short = ComparedEngine(Fixed({5}), Fixed())
    short.translate([[5], [6]], Search())
    assert not caplog.messages
    short.report()
    assert caplog.messages[0].startswith("CTranslate2 translates 1 of the first 2 sentences")


def test_processes_that_load_later_find_an_exported_model(model, caplog):
    lines = ["w4 w9 w7", "w20 w5"]
    assert settle_engine([str(model)], "auto", None, iter(lines)) == "auto"
    assert (place(str(model)) / "model.bin").exists()
    assert settle_engine([str(model)] * 2, "auto", None, iter(lines)) == "torch"
    assert settle_engine([str(model)], "torch", None, iter(lines)) == "torch"


@pytest.mark.parametrize("parse", [command.parse, distill.parse, score.parse])
def test_auto_is_the_default(parse):
    assert parse(["model", *(["--output", "x"] if parse is distill.parse else [])]).engine == "auto"


PROGRAM = """
import sys
import glossa_command
from glossa.cli import main
main()
slow = {"torch", "transformers", "datasets", "accelerate", "glossa.apps.documents.formats.html"}
print(sorted(slow & set(sys.modules)), file=sys.stderr)
"""


def translate(model, home, text, *options, python=sys.executable):
    return run(home, "translate", model, *options, text=text, python=python)


def run(home, *arguments, text="", python=sys.executable):
    environment = os.environ | {"HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [python, "-I", "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_later_jobs_import_neither_torch_nor_transformers(model, tmp_path, early):
    """And take a few tenths of a CPU-second, most of them Python's own start."""
    text = "w4 w9 w7\n\nw5 w5. w30 w8\n"
    first = translate(model, tmp_path / "home", text, "--num_beams", 2)
    assert "'torch', 'transformers'" in first.stderr and "exported to CTranslate2, once" in first.stderr
    before = sum(os.times()[2:4])
    later = translate(model, tmp_path / "home", text, "--num_beams", 2)
    cpu_seconds = sum(os.times()[2:4]) - before
    assert later.stdout == first.stdout and later.stdout.count("\n") == 3
    assert later.stderr.splitlines()[-1] == "[]" and "exported" not in later.stderr
    assert cpu_seconds < 3  # 5.2 with torch and transformers
    exact = translate(
        model, tmp_path / "home", text, "--num_beams", 2, "--engine", "torch", python=early.path / "python"
    )
    assert "torch" in exact.stderr and exact.stdout == later.stdout


@pytest.mark.slow
def test_later_scores_and_new_pairs_need_datasets_only(model, tmp_path, early):
    change(model, source_language="de", target_language="fr")
    home, texts = tmp_path / "home", tmp_path / "texts"
    texts.write_text("w4 w9 w7\nw30 w8\n")
    languages = ("--source_language", "de", "--target_language", "fr")
    jobs = {
        "score": ("score", model, "--data_path", texts, texts, *languages, "--n_bootstrap", 0),
        "distill": ("distill", model, "--text", texts, *languages, "--output", tmp_path / "pairs.jsonl"),
    }
    first = run(home, *jobs["score"], python=early.path / "python")
    assert "exported to CTranslate2, once" in first.stderr
    for name, arguments in jobs.items():
        later = run(home, *arguments)
        assert later.stderr.splitlines()[-1] == "['datasets']", name
    assert run(home, *jobs["score"]).stdout == first.stdout


@pytest.mark.slow
def test_workers_translate_with_the_exported_model(model, tmp_path, early):
    source = tmp_path / "in"
    source.write_text("w4 w9 w7\nw20\nw5 w5 w30 w8\n" * 20)
    for name, options in {"auto": (), "torch": ("--engine", "torch"), "again": ()}.items():
        files = ("--input", source, "--output", tmp_path / name, "--workers", 2, "--num_beams", 2)
        done = translate(model, tmp_path / "home", "", *files, *options, python=early.path / "python")
        assert ("exported to CTranslate2, once" in done.stderr) is (name == "auto")
    assert (tmp_path / "auto").read_text() == (tmp_path / "torch").read_text() == (tmp_path / "again").read_text()
