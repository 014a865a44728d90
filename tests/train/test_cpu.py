"""The trials of threads and precision, the warning about slow steps, and the warning about bfloat16."""

import logging
from types import SimpleNamespace

import pytest
import torch
from small_models import QUIET
from transformers import TrainerControl, TrainerState

from glossa.base.run_folder import RunFolder
from glossa.train import cpu, trial
from glossa.train.plan.arguments import parse_settings


@pytest.fixture
def threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    used = torch.get_num_threads()
    yield
    torch.set_num_threads(used)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [({1: 4, 2: 2, 4: 1.5, 6: 1}, 6), ({1: 1, 2: 16, 4: 9, 6: 20}, 1), ({1: 3, 2: 2, 4: 4, 6: 5}, 2)],
)
def test_fastest_number_of_threads_is_chosen(monkeypatch, threads, seconds, expected):
    tried = []

    def timed(step, count):
        tried.append(count)
        # One measurement in five is slow; the median is not affected.
        return seconds[count] * (10 if len(tried) % 5 == 0 else 1)

    monkeypatch.setattr(cpu, "_timed", timed)
    before = torch.get_num_threads()
    assert cpu.choose_threads(lambda: None, cores=6) == expected
    assert set(tried) == {1, 2, 4, 6} and torch.get_num_threads() == before


def test_no_trial_on_one_core():
    assert cpu.choose_threads(lambda: pytest.fail("a trial"), cores=1) == 1


def test_number_of_threads_is_saved_and_used_on_resume(tmp_path, tiny_train, monkeypatch, threads):
    changes = QUIET | {"cpu_threads": None, "save_steps": 2, "dropout": 0.1}
    monkeypatch.setattr("glossa.train.trial.choose_threads", lambda step: step() or 1)
    run = tiny_train(tmp_path / "run", max_steps=3, **changes)
    assert RunFolder(run).recipe["cpu_threads"] == 1
    monkeypatch.setattr("glossa.train.trial.choose_threads", lambda step: pytest.fail("a trial"))
    again = tiny_train(run, max_steps=4, resume_from_checkpoint="true", **changes)
    assert RunFolder(again).recipe["cpu_threads"] == 1


def test_trial_does_not_change_the_run(tmp_path, tiny_settings, tiny_train, monkeypatch, threads):
    changes = QUIET | {"max_steps": 2, "logging_steps": 1, "dropout": 0.1}
    known = tiny_train(tmp_path / "known", **changes)
    monkeypatch.setattr("glossa.train.trial.choose_threads", lambda step: step() or 1)
    tried = tiny_train(tmp_path / "tried", cpu_threads=None, **changes)
    assert RunFolder(tried).history[0]["loss"] == pytest.approx(RunFolder(known).history[0]["loss"], rel=1e-6)


@pytest.mark.parametrize(("processes", "expected"), [(1, 3), (2, 5)])
def test_as_many_processes_keep_their_threads(tmp_path, tiny_settings, monkeypatch, threads, processes, expected):
    """A run of two processes that one continues tries again."""
    checkpoint = tmp_path / "checkpoint-5"
    checkpoint.mkdir()
    (tmp_path / "recipe.yaml").write_text("cpu_threads: 3\n")
    for rank in range(processes):
        (checkpoint / f"rng_state_{rank}.pth").touch()
    monkeypatch.setattr(trial, "choose_threads", lambda step: 5)
    monkeypatch.setattr(trial, "trial_step", lambda *arguments: None)
    monkeypatch.setattr(trial, "available_cores", lambda: 8)
    arguments = tiny_settings(tmp_path, cpu_threads=None)
    trainer = SimpleNamespace(model=torch.nn.Linear(1, 1), example_batch=dict)
    found = trial.choose_cpu_threads(parse_settings(arguments), trainer, checkpoint)
    assert found.training.cpu_threads == expected
    monkeypatch.setattr(trial, "available_cores", lambda: 1)  # nothing to try
    assert trial.choose_cpu_threads(parse_settings(arguments), trainer, None).training.cpu_threads == 1


def watch(durations, processes=1):
    """A `StepWatch` after steps with these durations in seconds."""
    now = [0.0]
    watch = cpu.StepWatch(clock=lambda: now[0])
    arguments = SimpleNamespace(world_size=processes)
    for seconds in durations:
        watch.on_step_begin(arguments, TrainerState(), TrainerControl())
        now[0] += seconds
        watch.on_step_end(arguments, TrainerState(), TrainerControl())
    return watch


@pytest.mark.parametrize(
    ("durations", "warnings"),
    [
        ([1.0] * 300, 0),
        ([1.0] * 130 + [2.9] * 100, 0),
        ([1.0] * 130 + [3.5] * 60, 1),
        ([1.0] * 130 + [3.5] * 15 + [1.0] * 100, 0),  # shorter than a minute
        ([1.0] * 130 + [3.5] * 1000, 6),  # one warning per ten minutes
        ([1.0, 1.0, 40.0] * 20, 0),  # a few slow steps
    ],
)
def test_slow_steps_are_reported_after_a_minute(caplog, threads, durations, warnings):
    torch.set_num_threads(2)
    with caplog.at_level(logging.WARNING):
        watch(durations)
    found = [record.getMessage() for record in caplog.records]
    assert len(found) == warnings
    assert all("--resume_from_checkpoint true --cpu_threads 1" in text and "after 1.00 s" in text for text in found)


@pytest.mark.parametrize(("processes", "number", "waits"), [(1, 1, False), (2, 1, True), (1, 2, True)])
def test_one_thread_is_not_advised_to_a_run_that_has_one(caplog, threads, processes, number, waits):
    torch.set_num_threads(number)
    watch([1.0] * 130 + [3.5] * 60, processes)
    (text,) = [record.getMessage() for record in caplog.records]
    assert ("--cpu_threads 1" in text) == ("wait for each other" in text) == waits
    assert "Other programs are probably busy" in text and "Stop those programs" in text


@pytest.mark.parametrize(
    ("bf16", "float32", "expected"),
    [(1, 2, True), (2, 1, False), (1, 1, False), (0.94, 1, True), (0.96, 1, False)],  # a twentieth less, at least
)
def test_bf16_must_be_clearly_faster(monkeypatch, threads, bf16, float32, expected):
    used, steps = [], {True: lambda: None, False: lambda: None}

    def timed(step, count):
        used.append(count)
        return bf16 if step is steps[True] else float32

    monkeypatch.setattr(cpu, "_timed", timed)
    found, times = cpu.choose_bf16(steps, 3)
    assert found == expected and set(used) == {3}
    assert times == f"a step takes {1000 * bf16:.0f} ms in bf16, {1000 * float32:.0f} ms in float32"


@pytest.mark.parametrize(
    ("capabilities", "warnings"),
    [
        ({"cpu_name": "Xeon", "amx_bf16": True}, []),
        ({"architecture": "aarch64", "bf16": True}, []),
        (
            {"cpu_name": "EPYC", "avx512_bf16": False, "avx2": True},
            ["EPYC has no bf16 instructions, so bf16 is emulated and many times slower. Set --bf16 false."],
        ),
        (
            {"architecture": "aarch64", "bf16": False},
            ["aarch64 has no bf16 instructions, so bf16 is emulated and many times slower. Set --bf16 false."],
        ),
    ],
)
def test_emulation_is_warned_of(caplog, capabilities, warnings):
    with caplog.at_level(logging.WARNING):
        cpu.warn_of_emulation(capabilities)
    assert [record.getMessage() for record in caplog.records] == warnings
