"""`python -m benchmarks gpu`: its parts, their limits, what is kept of one that fails, and a rehearsal of all."""

import json
import sys
import warnings
from argparse import Namespace
from threading import Thread
from types import SimpleNamespace

import pytest
import torch
from wide_corpus import write_wide_corpus

from benchmarks.__main__ import main
from benchmarks.corpus import data_arguments
from benchmarks.decoding import _generate
from benchmarks.gpu import command, quality
from benchmarks.gpu.record import Options, Record
from benchmarks.gpu.training import count_synchronizations
from glossa import GlossaForConditionalGeneration
from glossa.data.encoding.vocabulary import train_tokenizer
from glossa.errors import GlossaError
from glossa.plan.arguments import parse_settings


def arguments(tmp_path, **changes):
    given = {"device": "cpu", "data": None, "output": tmp_path, "minutes": None, "part": None, "seconds": None}
    return Namespace(**(given | {"parts": list(command.LIMITS)} | changes))


def test_a_record_keeps_what_was_found_before_an_error(tmp_path):
    record = Record(tmp_path / "part.json")
    record.add("speeds", model="a", speed=2.0)
    with record.attempt("model b"):
        record.add("speeds", model="b", speed=1.0)
        raise ValueError("no memory")
    record.add("speeds", model="c", speed=3.0)
    kept = json.loads((tmp_path / "part.json").read_text())
    assert [row["model"] for row in kept["tables"]["speeds"]] == ["a", "b", "c"]
    (error,) = kept["errors"]
    assert error.startswith("model b: ValueError: no memory\n") and "test_gpu.py" in error


def test_a_part_that_fails_or_is_too_slow_does_not_stop_the_next(tmp_path, monkeypatch):
    found = json.dumps({"tables": {"speeds": [{"model": "a", "speed": 1234.5}]}, "errors": []})
    write = f"open({str(tmp_path)!r} + '/first.json', 'w').write({found!r})"
    programs = {
        "first": f"{write}; import time; time.sleep(60)",
        "tests": "import sys; print('no such GPU'); sys.exit(3)",
        "training": f"{write.replace('first.json', 'training.json')}",
    }
    monkeypatch.setattr(command, "part_command", lambda arguments, name, limit: [sys.executable, "-c", programs[name]])
    monkeypatch.setattr(command, "LIMITS", {"first": 2.0, "tests": 50.0, "training": 50.0})
    monkeypatch.setattr(command, "LEAST", 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Z80")
    command.run(arguments(tmp_path, device="cuda", parts=list(programs)))
    parts = json.loads((tmp_path / "results.json").read_text())["parts"]
    assert [part["status"] for part in parts.values()] == [
        "stopped after 2 seconds",
        "ended with status 3",
        "finished",
    ]
    assert [part["errors"] for part in parts.values()] == [["stopped after 2 seconds"], ["ended with status 3"], []]
    assert parts["first"]["tables"]["speeds"] == [{"model": "a", "speed": 1234.5}]
    assert (tmp_path / "tests.log").read_text() == "no such GPU\n"
    assert (tmp_path / "results.md").read_text().count("| a | 1,234 |") == 2


def test_a_part_without_time_is_not_started(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "part_command", lambda *given: pytest.fail("started"))
    command.run(arguments(tmp_path, parts=["first"], minutes=0.1))
    (part,) = json.loads((tmp_path / "results.json").read_text())["parts"].values()
    assert part["errors"] == ["no time was left"]


def test_a_machine_without_a_gpu_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(GlossaError, match="Give --device cpu for a rehearsal"):
        command.run(arguments(tmp_path, device="cuda"))


def test_synchronizations_are_counted_in_every_thread():
    def step():
        for text in ("called a synchronizing CUDA operation", "other", "called a synchronizing CUDA operation"):
            warnings.warn(text, stacklevel=1)
        return "loss"

    def steps():
        thread = Thread(target=step)
        thread.start()
        thread.join()
        return step()

    with warnings.catch_warnings(record=True) as outside:
        warnings.simplefilter("always")
        assert count_synchronizations(steps) == ("loss", 4)
    assert not outside


@pytest.mark.parametrize("beams", [1, 3])
def test_translations_of_equal_length_are_glossas_own(tiny_config, beams, monkeypatch):
    """A minimum length would leave its search for transformers', and another speed would be measured."""
    tokenizer = train_tokenizer(["a b c d", "b c", "d d"] * 4, 262)
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "eos", "bos")}
    config = tiny_config(vocab_size=len(tokenizer), decoder_start_token_id=tokenizer.bos_token_id, **special)
    model = GlossaForConditionalGeneration(config).eval()
    searches, written = [], []
    search = GlossaForConditionalGeneration._search

    def spy(self, *given, **options):
        searches.append(search(self, *given, **options))
        return searches[-1]

    monkeypatch.setattr(GlossaForConditionalGeneration, "_search", spy)
    monkeypatch.setattr(tokenizer, "batch_decode", lambda ids, **_: written.append(ids) or ["x"] * len(ids))
    decoders = SimpleNamespace(glossa=model, tokenizer=tokenizer, length=7)
    _generate(decoders, model, beams, tokenizer(["a b", "c"])["input_ids"])
    assert len(searches) == 1 and written[0].shape == (2, 8)  # and the start
    assert not (written[0][:, 1:] == tokenizer.pad_token_id).any()


def read(tmp_path, device="cuda", **files):
    for name in files.values():
        (tmp_path / name).touch()
    argv = quality.settings(Options(device, str(tmp_path), tmp_path, 100.0), tmp_path / "run")
    return argv[0], parse_settings(argv)


def test_quality_is_that_of_anki_where_it_is_there(tmp_path):
    multi30k = [f"{split}.{side}.gz" for split in ("train", "val", "test_2016_flickr") for side in ("en", "fr")]
    recipe, settings = read(tmp_path, **{name: name for name in multi30k})
    assert recipe == "multi30k-en-de" and settings.data.target_language == "fr"
    assert settings.data.validation_path == [str(tmp_path / f"val.{side}.gz") for side in ("en", "fr")]
    recipe, settings = read(tmp_path, other="cmn-eng.zip", own="fra-eng.zip")
    assert recipe == "anki-en-fr" and settings.data.data_path == [str(tmp_path / "fra-eng.zip")]
    assert (settings.model.d_model, settings.model.encoder_layers, settings.training.bf16) == (512, 6, True)
    rehearsed = read(tmp_path, device="cpu")[1]
    assert (rehearsed.model.d_model, rehearsed.training.bf16) == (32, False)
    assert quality.settings(Options("cuda", None, tmp_path, 100.0), tmp_path / "run")[0] == "quickstart"
    for name in multi30k:
        (tmp_path / name).unlink()
    assert data_arguments(str(tmp_path), "fr").data_path == [str(tmp_path / "fra-eng.zip")]


@pytest.mark.slow
def test_every_part_finds_something_in_a_rehearsal(tmp_path, monkeypatch, zygote):
    part_command = command.part_command
    monkeypatch.setattr(command, "part_command", lambda *given: [zygote.path / "python", *part_command(*given)[1:]])
    # A part of tests/gpu, which this suite runs on its own too.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_computation")
    data = write_wide_corpus(tmp_path / "corpus")
    main(["gpu", "--device", "cpu", "--data", str(data), "--output", str(tmp_path), "--minutes", "30"])
    parts = json.loads((tmp_path / "results.json").read_text())["parts"]
    assert {name: (part["status"], part["errors"]) for name, part in parts.items()} == {
        name: ("finished", []) for name in ("first", "tests", "training", "decoding", "quality")
    }
    tables = {name: {title: len(rows) for title, rows in part["tables"].items()} for name, part in parts.items()}
    assert tables["first"]["searches, float32"] == 6
    assert [row["exact"] for row in parts["first"]["tables"]["weights after the last step"]] == [True, True]
    assert tables["tests"]["tests"] > 15
    assert {row["result"] for row in parts["tests"]["tables"]["tests"]} <= {"passed", "skipped"}
    assert tables["training"]["training, float32"] == 5 and "left out for lack of time" not in tables["training"]
    assert tables["decoding"]["decoding, float32"] >= 7 and len(tables["quality"]) == 1
    page = (tmp_path / "results.md").read_text()
    assert all(f"## {name}: finished" in page for name in parts)
