"""Several processes train as one: the same batches and losses, every pair once, FSDP, and what happens if one dies."""

import itertools
import json
import re
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.data_loader import prepare_data_loader
from accelerate.utils.launch import prepare_multi_gpu_env
from datasets import Dataset
from refusals import refused
from small_models import QUIET, weights
from torch.utils.data import DataLoader
from workers import start, together, torchrun

from glossa.base.batching import TokenBatchSampler
from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.preflight import check_sharding
from glossa.train.run import train
from glossa.train.trainer import GlossaTrainer
from glossa.translate.loading import load_model

ROOT = Path(__file__).parents[2]
UNSAVED = QUIET | {"save_strategy": "no", "logging_steps": 1}


def fsdp_environment():
    """What `accelerate launch` gives its processes with the launch file for FSDP."""
    file = ROOT / "configuration" / "accelerate" / "fsdp.yaml"
    arguments = launch_command_parser().parse_args(["--config_file", str(file), "scripts/train.py"])
    environment = prepare_multi_gpu_env(_validate_launch_command(arguments)[0])
    return {name: value for name, value in environment.items() if "FSDP" in name}


def launch(run, arguments, fsdp=False):
    """A launch of `workers.together`."""
    return {"folder": run, "arguments": arguments, "environment": fsdp_environment() if fsdp else {}}


def steps(run):
    """Step, loss and norm of the gradients of a run's log."""
    return [(entry["step"], entry["loss"], entry["grad_norm"]) for entry in RunFolder(run).history if "loss" in entry]


def assert_equal_training(run, other):
    assert len(steps(run)) == len(steps(other)) > 3
    for one, two in zip(steps(run), steps(other), strict=True):
        assert one == pytest.approx(two, abs=1e-5)
    torch.testing.assert_close(weights(run), weights(other), rtol=0, atol=1e-5)


class Joined:
    """The batches of a sampler, two at a time in one."""

    def __init__(self, sampler):
        self.sampler = sampler
        self.set_epoch = sampler.set_epoch
        self.padding = sampler.padding

    def __len__(self):
        return len(self.sampler) // 2

    def __iter__(self):
        batches = iter(self.sampler)
        return (first + second for first, second in zip(batches, batches, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("aligned", ["false", "true"])
def test_processes_accumulation_and_larger_batches_train_alike(
    tmp_path, tiny_settings, tiny_train, monkeypatch, aligned, zygote
):
    """Two processes, two batches accumulated, and both batches in one: the same losses, gradients and weights."""
    changes = UNSAVED | {"dropout": 0.0, "alignment_head": aligned}
    ((printed,),) = together(zygote, launch(tmp_path, tiny_settings(tmp_path / "together", **changes)))
    accumulated = tiny_train(tmp_path / "accumulated", gradient_accumulation_steps=2, **changes)
    assert_equal_training(accumulated, tmp_path / "together")
    build = GlossaTrainer._build_batch_sampler

    def build_joined(trainer):
        trainer.args.gradient_accumulation_steps = 2
        sampler = build(trainer)
        trainer.args.gradient_accumulation_steps = 1
        return Joined(sampler)

    monkeypatch.setattr(GlossaTrainer, "_build_batch_sampler", build_joined)
    joined = tiny_train(tmp_path / "joined", **changes)
    assert_equal_training(joined, tmp_path / "together")

    # Both processes had as many batches, and each pair was in one of them in each of the two epochs.
    ranks = [json.loads((tmp_path / f"batches-{rank}.json").read_text()) for rank in (0, 1)]
    assert len(ranks[0]) == len(ranks[1]) == len(steps(joined))
    epochs = [[batch for part in ranks for of, batch in part if of == epoch] for epoch in (0, 1)]
    for batches in epochs:
        rows = [tuple(row) for batch in batches for row in batch]
        assert len(rows) == len(set(rows)) == 160
    assert sorted(epochs[0]) != sorted(epochs[1])

    for rank in (0, 1):  # two pairs of each held-out split, greedy
        assert json.loads((tmp_path / f"translated-{rank}.json").read_text()) == [[2, True], [2, True]]

    metrics = RunFolder(tmp_path / "together").metrics
    tokens = [[sum(map(len, batch)) for _, batch in part[: len(part) // 2]] for part in ranks]  # of the first epoch
    mean = sum(map(sum, tokens)) / 2
    assert metrics["processes"] == 2
    assert metrics["imbalance"]["epoch"] == pytest.approx(max(map(sum, tokens)) / mean - 1, abs=0.01)
    assert "2 processes: the busiest has" in printed


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_processes(tmp_path, tiny_settings, tiny_train, zygote):
    changes = QUIET | {"dropout": 0.0, "logging_steps": 1}
    two = {"gradient_accumulation_steps": 2}
    whole = tiny_train(tmp_path / "whole", max_steps=8, **changes, **two)
    together(zygote, launch(tmp_path, tiny_settings(tmp_path / "part", max_steps=5, **changes)))
    again = {"max_steps": 8, "resume_from_checkpoint": "true"}
    with pytest.raises(GlossaError, match=r"with 2 batches a step .*Set gradient_accumulation_steps to 2"):
        tiny_train(tmp_path / "part", **changes, **again)
    part = tiny_train(tmp_path / "part", **changes, **again, **two)
    assert_equal_training(whole, part)


@pytest.mark.slow
def test_processes_share_a_stream_and_continue_it(tmp_path, tiny_settings, zygote):
    """Each of two processes reads other windows; a stopped run ends as one that was not."""
    changes = {"max_steps": 8, "logging_steps": 1, "streaming": "true", "validation_size": 0, "test_size": 0}
    changes |= QUIET | {"data_path": tmp_path / "train.parquet"}
    rows = [{"en": f"{a} {b}.", "fr": f"{b} {a}!"} for a in range(105) for b in range(200)]
    pq.write_table(pa.table({"translation": rows}), tmp_path / "train.parquet", row_group_size=1000)
    part, again = tmp_path / "part", {"resume_from_checkpoint": "true"}
    together(
        zygote, launch(tmp_path / "whole", tiny_settings(tmp_path / "whole", **changes)),
        launch(part, tiny_settings(part, **changes | {"max_steps": 5})),
        launch(part, tiny_settings(part, **changes | again)),
    )  # fmt: skip
    ranks = [json.loads((tmp_path / "whole" / f"batches-{rank}.json").read_text()) for rank in (0, 1)]
    seen = [[tuple(row) for _, batch in part for row in batch] for part in ranks]
    assert len(ranks[0]) == len(ranks[1]) == 8
    assert len({*seen[0], *seen[1]}) == len(seen[0]) + len(seen[1])

    assert_equal_training(tmp_path / "whole", part)
    alone = tiny_settings(part, **changes, resume_from_checkpoint=part / "checkpoint-5", gradient_accumulation_steps=2)
    refused(r"holds the places of 2 processes .* and there are 1 now", train, parse_settings(alone))


@pytest.mark.slow
def test_fsdp_trains_evaluates_saves_and_resumes_as_without(tmp_path, tiny_settings, zygote):
    changes = {"max_steps": 8, "logging_steps": 1}
    together(
        zygote, launch(tmp_path / "1", tiny_settings(tmp_path / "plain", **changes)),
        launch(tmp_path / "2", tiny_settings(tmp_path / "sharded", **changes), fsdp=True),
        launch(tmp_path / "3", tiny_settings(tmp_path / "part", **changes | {"max_steps": 5}), fsdp=True),
    )  # fmt: skip
    assert_equal_training(tmp_path / "plain", tmp_path / "sharded")
    plain, sharded = (RunFolder(tmp_path / name) for name in ("plain", "sharded"))
    for one, two in zip(plain.history, sharded.history, strict=True):
        for name in ("eval_loss", "eval_bleu", "eval_chrf"):
            assert one.get(name) == (pytest.approx(two[name]) if name in two else None)
    assert plain.metrics["test"]["greedy"]["scores"] == sharded.metrics["test"]["greedy"]["scores"]

    # Every checkpoint is one file that loads anywhere, with the tied embeddings once.
    for folder in (sharded.path, sharded.path / "checkpoint-5"):
        assert len([name for name in weights(folder) if "embed" in name]) == 1
        model = load_model(str(folder))
        assert type(model).__name__ == "GlossaForConditionalGeneration"
        assert model.lm_head.weight is model.model.encoder.embed_tokens.weight

    arguments = tiny_settings(tmp_path / "part", **changes, resume_from_checkpoint="true")
    refused("saved by a training with FSDP and would be continued without it", train, parse_settings(arguments))
    together(zygote, launch(tmp_path / "4", arguments, fsdp=True))
    assert_equal_training(tmp_path / "part", sharded.path)


@pytest.mark.slow
def test_fsdp_goes_on_with_another_number_of_processes(tmp_path, tiny_settings, tiny_train, zygote):
    """Two processes, then four, which split weights and moments among them; a step keeps its four batches."""
    changes = QUIET | {"dropout": 0.0, "logging_steps": 1}
    whole = tiny_train(tmp_path / "whole", max_steps=8, gradient_accumulation_steps=4, **changes)
    two = tiny_settings(tmp_path / "part", max_steps=5, gradient_accumulation_steps=2, **changes)
    four = tiny_settings(tmp_path / "part", max_steps=8, resume_from_checkpoint="true", **changes)
    together(
        zygote, launch(tmp_path / "two", two, fsdp=True), launch(tmp_path / "four", four, fsdp=True) | {"processes": 4}
    )
    assert [entry["step"] for entry in RunFolder(tmp_path / "part").history if "loss" in entry] == list(range(1, 9))
    assert_equal_training(whole, tmp_path / "part")


ENDLESS = UNSAVED | {"num_train_epochs": 100_000}


def assert_ended_by(folder, process):
    """The launcher `process` must end with an error within a minute of the kill; what it printed."""
    try:
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 1, output
    assert time.time() - (folder / "killed").stat().st_mtime < 60
    assert not (folder / "run" / "metrics.json").exists()
    return output


@pytest.mark.slow
def test_a_killed_process_ends_the_others(tmp_path, tiny_settings, zygote):
    process = start(zygote, launch(tmp_path, tiny_settings(tmp_path / "run", **ENDLESS)) | {"dies": 3})
    assert_ended_by(tmp_path, process)  # with the error of either process, whichever is seen first


@pytest.mark.slow
def test_a_killed_process_ends_those_of_other_machines(tmp_path, tiny_settings, zygote):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    machines = [
        ("--nnodes", "2", "--node_rank", str(rank), "--master_addr", "127.0.0.1", "--master_port", str(port))
        for rank in (0, 1)
    ]
    arguments = tiny_settings(tmp_path / "run", **ENDLESS)
    first, second = (torchrun(zygote, tmp_path, arguments, 3, *options) for options in machines)
    assert "Signal 9 (SIGKILL) received by PID" in assert_ended_by(tmp_path, second)
    assert re.search("Connection (closed|reset) by peer", assert_ended_by(tmp_path, first))


@pytest.mark.parametrize(("processes", "accumulated"), [(2, 1), (2, 2), (3, 1), (8, 1), (8, 2)])
def test_accelerate_deals_every_row_once(processes, accumulated):
    """As Accelerate deals the batches: as many for each process, in the order of the epoch that was set."""
    lengths = [2 + row % 7 for row in range(300)]
    epochs = []
    for epoch in (0, 1):
        shards = []
        for process in range(processes):
            sampler = TokenBatchSampler(
                lengths, lengths, 40, batches_a_step=processes * accumulated, processes=processes
            )
            loader = DataLoader(range(300), batch_sampler=sampler, collate_fn=list)
            loader = prepare_data_loader(loader, num_processes=processes, process_index=process)
            sampler.set_epoch(epoch)
            shards.append(list(loader))
        assert len({len(shard) for shard in shards}) == 1 and len(shards[0]) % accumulated == 0
        assert sorted(itertools.chain(*itertools.chain(*shards))) == list(range(300))
        sampler.set_epoch(epoch)
        whole = list(sampler)
        assert shards == [whole[process::processes] for process in range(processes)]
        epochs.append(whole)
    assert epochs[0] != epochs[1]


def test_fewer_pairs_than_batches_of_a_step():
    rows = Dataset.from_dict({"source_length": [4] * 15, "target_length": [4] * 15})
    settings = {"batch_tokens": 8, "order_seed": 0, "gradient_accumulation_steps": 2, "world_size": 8}
    trainer = SimpleNamespace(train_dataset=rows, args=SimpleNamespace(**settings))
    refused(r"A step has 16 batches \(8 processes\), but there are 15", GlossaTrainer._build_batch_sampler, trainer)


@pytest.mark.parametrize(
    ("changes", "state", "message"),
    [
        ({"muon_learning_rate": 0.1}, None, r"muon_learning_rate is 0\.1, but the run uses FSDP"),
        ({"average_checkpoints": 2}, None, "average_checkpoints is 2, but the run uses FSDP"),
        ({"objective": "causal_lm", "source_column": "t", "target_column": "t"}, None,
         "objective is causal_lm, but the run uses FSDP"),
        ({}, "SHARDED_STATE_DICT", "it must be FULL_STATE_DICT"),
        ({}, None, "FSDP is set for 1 cpu processes"),  # where Accelerate would ignore it
    ],
)  # fmt: skip
def test_settings_that_fsdp_does_not_know(tmp_path, tiny_train, monkeypatch, changes, state, message):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    if state:
        monkeypatch.setenv("FSDP_STATE_DICT_TYPE", state)
    refused(message, tiny_train, tmp_path / "run", **changes)


@pytest.mark.parametrize("environment", [{"ACCELERATE_USE_DEEPSPEED": "true"}, {}])
def test_deepspeed_that_is_not_installed(tmp_path, tiny_settings, monkeypatch, environment):
    monkeypatch.setattr("glossa.train.plan.devices.is_deepspeed_available", lambda: False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    changes = {} if environment else {"deepspeed": "zero2.json"}
    refused("uses DeepSpeed, which is not installed", parse_settings, tiny_settings(tmp_path / "run", **changes))


def test_settings_that_deepspeed_does_not_know(tmp_path, tiny_settings, monkeypatch):
    settings = parse_settings(tiny_settings(tmp_path / "run", muon_learning_rate=0.1))
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    refused(r"muon_learning_rate is 0\.1, but the run uses DeepSpeed", check_sharding, settings)
