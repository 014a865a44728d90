"""How many processes train on a CPU by default, and the batches of each."""

from types import SimpleNamespace

import psutil
import pytest
import torch

from glossa.base.errors import GlossaError
from glossa.train.plan import processes
from glossa.train.plan.processes import choose_processes
from glossa.train.plan.settings import GlossaTrainingArguments

GIB = 2**30


@pytest.fixture
def machine(monkeypatch):
    """A machine with a number of cores and free memory in GiB, without a launcher."""
    for name in ("OMP_NUM_THREADS", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)

    def build(cores, memory=64):
        monkeypatch.setattr(processes, "available_cores", lambda: cores)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=memory * GIB))

    return build


@pytest.mark.parametrize(
    ("cores", "memory", "batches", "expected"),
    [
        (2, 64, None, 2),  # the default of two batches a step
        (16, 64, None, 2),
        (1, 64, None, 1),
        (16, 64, 8, 8),
        (6, 64, 8, 4),
        (6, 64, 6, 6),
        (4, 64, 1, 1),
        (4, 64, 7, 1),
        (4, 5, 4, 2),  # memory for two, not for four
        (4, 1, 4, 1),
    ],
)
def test_as_many_as_cores_batches_and_memory_allow(machine, cores, memory, batches, expected):
    machine(cores, memory)
    given = {} if batches is None else {"gradient_accumulation_steps": batches}
    assert choose_processes(given) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ({"d_model": 128, "encoder_layers": 2, "decoder_layers": 2, "batch_tokens": 750}, 4),  # a GiB each
        ({"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_ffn_dim": 2048}, 1),  # more than three
        ({"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "batch_tokens": 574}, 2),  # about two
    ],
)
def test_memory_is_for_the_model_and_its_batches(machine, caplog, size, expected):
    machine(4, 5)
    assert choose_processes(size | {"gradient_accumulation_steps": 4}) == expected
    assert (f"Memory for {expected} of 4 processes" in caplog.text) == (expected < 4)


@pytest.mark.parametrize(
    "given",
    [
        {"cpu_threads": 2}, {"streaming": True}, {"init_from": "runs/other"}, {"objective": "causal_lm"},
        {"cpu_processes": 1},
    ],
)  # fmt: skip
def test_one_process_where_several_would_differ_or_threads_are_named(machine, given):
    machine(4)
    assert choose_processes({"gradient_accumulation_steps": 4}) == 4
    assert choose_processes(given | {"gradient_accumulation_steps": 4}) == 1


@pytest.mark.parametrize(("name", "value"), [("OMP_NUM_THREADS", "2"), ("LOCAL_RANK", "0")])
def test_one_process_where_the_environment_decides(machine, monkeypatch, name, value):
    machine(4)
    monkeypatch.setenv(name, value)
    assert choose_processes({}) == 1


def test_one_process_with_an_accelerator(machine, monkeypatch):
    machine(4)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert choose_processes({}) == 1


@pytest.mark.parametrize(("saved", "expected"), [("cpu_processes: 2", 2), ("cpu_threads: 4", 1)])
def test_a_resumed_run_keeps_its_number(machine, tmp_path, saved, expected):
    machine(4)
    (tmp_path / "recipe.yaml").write_text(saved + "\n")
    given = {"output_dir": str(tmp_path), "gradient_accumulation_steps": 4}
    assert choose_processes(given) == 4
    assert choose_processes(given | {"resume_from_checkpoint": "true"}) == expected
    assert choose_processes(given | {"resume_from_checkpoint": f"{tmp_path}/checkpoint-5"}) == expected
    assert choose_processes(given | {"resume_from_checkpoint": "true", "cpu_processes": 4}) == 4
    assert choose_processes(given | {"resume_from_checkpoint": "true", "cpu_threads": 1}) == 1  # as a warning advises


def test_processes_must_divide_the_batches_of_a_step(machine):
    machine(4)
    with pytest.raises(GlossaError, match=r"cpu_processes is 3, but gradient_accumulation_steps is 2"):
        choose_processes({"cpu_processes": 3})


@pytest.mark.parametrize(
    ("processes", "cpu_processes", "expected"),
    [(1, None, 4), (1, 2, 4), (2, 2, 2), (4, 4, 1), (2, None, 4), (2, 4, 4)],  # last: started by a launcher
)
def test_batches_of_each_process(tmp_path, monkeypatch, processes, cpu_processes, expected):
    monkeypatch.setattr("glossa.train.plan.settings.GlossaTrainingArguments.world_size", processes)
    training = GlossaTrainingArguments(str(tmp_path), gradient_accumulation_steps=4, cpu_processes=cpu_processes)
    assert training.accumulated == expected
    monkeypatch.setattr("glossa.train.plan.settings.GlossaTrainingArguments.device", torch.device("cuda"))
    assert training.accumulated == 4


def test_another_system_trains_with_one_process_and_says_so(machine, monkeypatch, caplog):
    machine(4)
    monkeypatch.setattr(processes, "COPIES", False)
    assert choose_processes({}) == 1 and not caplog.text
    assert choose_processes({"cpu_processes": 2}) == 1
    assert "cpu_processes is 2, but this system supports one" in caplog.text
