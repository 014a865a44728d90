"""Scoring by several processes: each batch has one of them, and the scores are those of one process."""

import json
from types import SimpleNamespace

import pytest
from workers import scored

from glossa.base.jobs import sharing
from glossa.cli.score import main


def test_a_process_without_a_launcher_works_alone(monkeypatch):
    for name in sharing.LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    assert sharing.is_first() and sharing.own_batches([[1], [0, 2]]) == [[1], [0, 2]]
    assert sharing.merged(["", "b"], "") == ["", "b"]


@pytest.mark.parametrize("name", sharing.LAUNCHED)
def test_a_launched_process_asks_accelerate(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    monkeypatch.setattr("accelerate.PartialState", lambda cpu: SimpleNamespace(process_index=1, num_processes=2))
    assert not sharing.is_first() and sharing.own_batches([[1], [0, 2]]) == [[0, 2]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [["--num_beams", "1", "2", "--rerank", "RUN", "--n_bootstrap", "50"], ["--force"]],
    ids=["translate", "force"],
)  # fmt: skip
def test_two_processes_give_the_scores_of_one(tiny_run, tmp_path, capsys, options, zygote, monkeypatch, resampling):
    monkeypatch.setattr("glossa.train.evaluation.scoring.score_both", resampling)
    report = tmp_path / "report.json"
    options = [str(tiny_run) if option == "RUN" else option for option in options]
    command = [str(tiny_run), "--split", "validation", *options]
    command += ["--batch_tokens", "20", "--output", str(report)]
    main(command)
    one = capsys.readouterr().out, read(report)
    assert one == (scored(zygote, tmp_path / "two", command), read(report))


def read(report):
    found = json.loads(report.read_text())
    for result in found.get("results", {}).values():
        assert result.pop("seconds") > 0
    return found
