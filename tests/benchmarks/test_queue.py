"""The queue of trainings: what is in it, what is left, how many fit, and two trainings side by side."""

import json
import os
import re
import subprocess
import sys
import time
from argparse import Namespace

import pytest
from small_models import QUIET

from benchmarks import trainings
from benchmarks.__main__ import main
from benchmarks.race import ENTRIES
from benchmarks.reproduce import read_results, settings_of
from benchmarks.rows import TABLES
from benchmarks.trainings import QUEUE, RACE, Training, collect, command, count_jobs
from glossa.base.errors import GlossaError


def arguments(tmp_path, **changes):
    given = {"multi30k": tmp_path / "multi30k", "anki": tmp_path / "fra-eng.zip", "results": tmp_path / "results.json"}
    given |= {
        "output": tmp_path / "queue", "jobs": None, "limit": 60, "list": False, "tico19": tmp_path / "tico19",
    }  # fmt: skip
    return Namespace(**(given | {"collect": None} | changes))


def result(training, **changes):
    settings = {} if training.table == RACE else settings_of(training.table, training.row)
    place = {"table": training.table, "row": training.row, "seed": training.seed, "settings": settings}
    return place | {"cpu": "Z80", "metrics": {}} | changes


def test_every_training_of_the_queue_is_defined_once():
    for training in QUEUE:
        assert training.row in (ENTRIES if training.table == RACE else TABLES[training.table])
    assert len({training.name for training in QUEUE}) == len(QUEUE)


def test_as_many_trainings_as_cores_and_memory_allow():
    gibibyte = 2**30
    assert count_jobs(2, 16 * gibibyte) == 2
    assert count_jobs(16, 10 * gibibyte) == 3  # 3 GiB each
    assert count_jobs(4, gibibyte) == 1


def test_finished_rows_are_left_out(tmp_path, capsys):
    given = arguments(tmp_path, list=True)
    done, changed = QUEUE[0], next(each for each in QUEUE if each.table == "anki")
    rows = [result(done), result(changed, settings={"dropout": "0.9"})]  # the second with settings of another time
    given.results.write_text(json.dumps(rows))
    trainings.run(given)
    shown = [tuple(line.split(" | ")[:3]) for line in capsys.readouterr().out.splitlines()[2:]]
    assert (f"| {done.table}", done.row, "1") not in shown and (f"| {changed.table}", changed.row, "1") in shown
    assert len(shown) == len(QUEUE) - 1


def test_results_of_another_machine_are_added(tmp_path):
    given = arguments(tmp_path)
    first, second = Training("anki", "recipe", 1, 1), Training(RACE, "Glossa", 1, 1)
    given.results.write_text(json.dumps([result(first, commit="old"), result(second)]))
    folder = tmp_path / "other" / "results"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps([result(first, commit="new")]))
    (folder / "b.json").write_text(json.dumps([result(second, cpu="6502")]))
    assert collect(tmp_path / "other", given.results) == 2
    found = [(row["table"], row["cpu"], row.get("commit")) for row in read_results(given.results)]
    assert found == [(RACE, "Z80", None), ("anki", "Z80", "new"), (RACE, "6502", None)]  # a race for each CPU


def test_missing_data_and_too_many_jobs_are_refused(tmp_path):
    with pytest.raises(GlossaError, match="multi30k-glossa-fr-1 is in the queue and needs --multi30k"):
        trainings.run(arguments(tmp_path, multi30k=None))
    with pytest.raises(GlossaError, match="--jobs is 999, but this process may use"):
        trainings.run(arguments(tmp_path, jobs=999))


TINY = """
import sys
from pathlib import Path
from benchmarks import reproduce
from benchmarks.__main__ import main
reproduce.TABLES = {"tiny": {name: ({recipe!r}, {"max_steps": steps}) for name, steps in {rows!r}.items()}}
reproduce.data_settings = lambda *given: ["--data_path", {pairs!r}]
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_two_trainings_side_by_side(tmp_path, monkeypatch, tiny_pairs, tiny_settings, capsys, zygote):
    """One of them exceeds its limit, and is resumed by the next call."""
    recipe = tmp_path / "tiny.yaml"
    given = tiny_settings("unused", num_beams=2, **QUIET)
    pairs = zip(given[::2], given[1::2], strict=True)
    recipe.write_text("".join(f"{name[2:]}: {value}\n" for name, value in pairs if name != "--data_path"))
    rows = {"short": "4", "long": "1000000"}
    program = TINY.replace("{recipe!r}", repr(str(recipe))).replace("{rows!r}", repr(rows))
    (tmp_path / "program.py").write_text(program.replace("{pairs!r}", repr(str(tiny_pairs))))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr(
        "benchmarks.reproduce.TABLES", {"tiny": {name: (str(recipe), {"max_steps": n}) for name, n in rows.items()}}
    )
    whole = command

    def tiny_command(arguments, training):
        words = whole(arguments, training)
        assert words[1:3] == ["-m", "benchmarks"]
        return [str(zygote.path / "python"), str(tmp_path / "program.py"), *words[3:]]

    monkeypatch.setattr(trainings, "command", tiny_command)
    run, log = tmp_path / "queue/runs/tiny/long-1", tmp_path / "queue/logs/tiny-long-1.log"

    class Patient(subprocess.Popen):
        """The limit of the long training is over when it has saved and logged, on a busy machine too."""

        def wait(self, timeout=None):
            if timeout is None or "long" not in self.args:
                return super().wait()
            while self.poll() is None and not (list(run.glob("checkpoint-*")) and "step 5" in log.read_text()):
                time.sleep(0.1)
            if self.poll() is None:
                raise subprocess.TimeoutExpired(self.args, timeout)
            return self.returncode

    monkeypatch.setattr("benchmarks.processes.subprocess.Popen", Patient)
    waiting = [Training("tiny", "long", 1, 1), Training("tiny", "short", 1, 1)]
    monkeypatch.setattr(trainings, "QUEUE", waiting)
    jobs = 2 if len(os.sched_getaffinity(0)) > 1 else 1
    options = [
        "--multi30k", str(tmp_path), "--results", str(tmp_path / "all.json"), "--output", str(tmp_path / "queue"),
    ]  # fmt: skip
    main(["queue", *options, "--limit", "1", "--jobs", str(jobs)])
    out = capsys.readouterr().out
    assert re.search(r"\| tiny \| long \| 1 \| 1 \| \d+\.\d \| stopped after 60 seconds \|", out)
    assert "tiny-short-1: finished" in out
    if jobs == 2:
        assert out.index("tiny-short-1: starts") < out.index("tiny-long-1: stopped")
    (row,) = read_results(tmp_path / "all.json")
    assert (row["row"], row["seed"], row["cores"], row["metrics"]["steps"]) == ("short", 1, 1, 4)
    assert set(row["metrics"]["test"]["greedy"]) >= {"bleu", "chrf"}
    assert "step 3/4" in (tmp_path / "queue/logs/tiny-short-1.log").read_text()
    assert "step 5" in log.read_text()
    assert not (tmp_path / "queue/results/tiny-long-1.json").exists()
    assert list(run.glob("checkpoint-*"))  # to resume from
    shown = arguments(tmp_path, results=tmp_path / "all.json", list=True)
    trainings.run(shown)
    assert "| tiny | long | 1 |" in (out := capsys.readouterr().out) and "short" not in out
