"""`python -m benchmarks gpu`: its parts, their limits, what is kept of one that fails, and a rehearsal of all."""

import json
import sys
import warnings
from argparse import Namespace
from threading import Thread
from xml.etree import ElementTree

import pytest
import torch
from wide_corpus import write_wide_corpus

from benchmarks.__main__ import main
from benchmarks.gpu import command
from benchmarks.gpu.record import Record
from benchmarks.gpu.tests import outcome
from benchmarks.gpu.training import count_synchronizations
from glossa.base.errors import GlossaError


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
        "first": f"{write}; import time; time.sleep(60)", "tests": "import sys; print('no such GPU'); sys.exit(3)",
        "training": f"{write.replace('first.json', 'training.json')}",
    }  # fmt: skip
    monkeypatch.setattr(command, "part_command", lambda arguments, name, limit: [sys.executable, "-c", programs[name]])
    monkeypatch.setattr(command, "LIMITS", {"first": 2.0, "tests": 50.0, "training": 50.0})
    monkeypatch.setattr(command, "LEAST", 0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Z80")
    command.run(arguments(tmp_path, device="cuda", parts=list(programs)))
    parts = json.loads((tmp_path / "results.json").read_text())["parts"]
    assert [part["status"] for part in parts.values()] == [
        "stopped after 2 seconds", "ended with status 3", "finished",
    ]  # fmt: skip
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


@pytest.mark.parametrize(
    ("said", "result", "message"),
    [
        ("", "passed", ""), ('<skipped message="no GPU"/>', "skipped", "no GPU"),
        ('<failure message="1 == 2&#10;at line 3"/>', "failure", "1 == 2"),
    ],
)  # fmt: skip
def test_the_outcome_of_a_test(said, result, message):
    case = ElementTree.fromstring(f'<testcase classname="tests.gpu.test_loss" name="one" time="1.5">{said}</testcase>')
    assert outcome(case) == {"test": "test_loss: one", "result": result, "seconds": 1.5, "message": message}


@pytest.mark.slow
def test_every_part_finds_something_in_a_rehearsal(tmp_path, monkeypatch, zygote):
    """All but the tests of tests/gpu, which this suite runs on its own."""
    part_command = command.part_command
    monkeypatch.setattr(command, "part_command", lambda *given: [zygote.path / "python", *part_command(*given)[1:]])
    data = write_wide_corpus(tmp_path / "corpus")
    names = [name for name in command.LIMITS if name != "tests"]
    options = ["--device", "cpu", "--data", str(data), "--output", str(tmp_path), "--minutes", "30"]
    main(["gpu", *options, "--parts", *names])
    parts = json.loads((tmp_path / "results.json").read_text())["parts"]
    assert {name: (part["status"], part["errors"]) for name, part in parts.items()} == {
        name: ("finished", []) for name in names
    }
    tables = {name: {title: len(rows) for title, rows in part["tables"].items()} for name, part in parts.items()}
    assert tables["first"]["quickstart, scores"] == 1
    assert tables["training"]["training, float32"] == 3 and "left out for lack of time" not in tables["training"]
    assert tables["decoding"]["decoding, float32"] == 6 and len(tables["quality"]) == 1
    page = (tmp_path / "results.md").read_text()
    assert all(f"## {name}: finished" in page for name in parts)
