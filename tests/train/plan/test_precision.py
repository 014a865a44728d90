"""In which precision a run trains if nobody says it."""

import logging
from types import SimpleNamespace

import pytest
import torch
from small_models import QUIET

from glossa.base.run_folder import RunFolder
from glossa.train import trial
from glossa.train.plan import precision, processes
from glossa.train.plan.arguments import Origin, parse_settings
from glossa.train.plan.devices import trial_step
from glossa.train.plan.explain import decide
from glossa.train.plan.precision import is_open, resolve_precision
from glossa.train.run import train

FAST, SLOW = {"cpu_name": "Xeon", "amx_bf16": True}, {"cpu_name": "EPYC", "avx2": True}


@pytest.fixture(autouse=True)
def own_launcher(monkeypatch):
    monkeypatch.delenv(precision.LAUNCHER, raising=False)


@pytest.fixture
def cpu(monkeypatch):
    return lambda capabilities: monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)


@pytest.mark.parametrize(
    ("argv", "launcher", "expected"),
    [
        ([], "no", None), (["--bf16", "false"], "no", Origin("flag")), (["--bf16", "true"], "no", Origin("flag")),
        (["--fp16", "true"], "no", None), ([], "bf16", Origin("environment", "ACCELERATE_MIXED_PRECISION")),
        ([], "fp8", None), (["--bf16", "false"], "bf16", Origin("flag")),
    ],
)  # fmt: skip
def test_what_is_named_decides(monkeypatch, cpu, argv, launcher, expected):
    cpu(FAST)
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launcher)
    given = parse_settings(argv)
    resolved = resolve_precision(given)
    assert resolved.origins.get("bf16") == expected
    assert is_open(resolved) == (not argv and launcher == "no")
    assert resolved.training.bf16 == (given.training.bf16 if expected == Origin("flag") else launcher == "bf16")


def test_a_recipe_decides(tmp_path, cpu):
    cpu(FAST)
    (tmp_path / "own.yaml").write_text("bf16: true\n")
    settings = resolve_precision(parse_settings([str(tmp_path / "own.yaml")]))
    assert settings.training.bf16 and settings.origins["bf16"].kind == "recipe"


def test_a_cpu_without_instructions_needs_no_trial(cpu):
    cpu(SLOW)
    resolved, unknown = decide(parse_settings([]))
    assert resolved.origins["bf16"] == Origin("device", "EPYC has no bf16 instructions")
    assert not resolved.training.bf16 and "bf16" not in unknown and resolved.recipe()["bf16"] is False
    cpu(FAST)
    resolved, unknown = decide(parse_settings([]))
    assert "bf16" not in resolved.origins and unknown["bf16"] == "by a trial at the start"


@pytest.mark.parametrize("native", [True, False])
def test_a_gpu_uses_bf16_if_it_computes_in_it(monkeypatch, native):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native or including_emulation)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H100")
    found, origin = precision._by_device(SimpleNamespace(training=SimpleNamespace(device=torch.device("cuda"))))
    assert found == native and origin.kind == "device" and origin.reason.startswith("H100 ")
    found, origin = precision._by_device(SimpleNamespace(training=SimpleNamespace(device=torch.device("mps"))))
    assert not found


def test_the_first_process_decides(monkeypatch, cpu):
    """Another one adopts what it gets, whatever its own CPU has."""
    cpu(SLOW)
    monkeypatch.setattr(precision, "broadcast_object_list", lambda values: values.__setitem__(0, None))
    settings = resolve_precision(parse_settings([]))
    assert is_open(settings)
    monkeypatch.setattr(trial, "choose_bf16", lambda steps, threads: (False, "its own times"))
    first = (True, Origin("trial", "its"))
    monkeypatch.setattr(trial, "broadcast_object_list", lambda values: values.__setitem__(0, first))
    model = torch.nn.Linear(1, 1)
    settings = trial.choose_precision(settings, model, rows_of(3), lambda rows: rows)
    assert settings.training.bf16 and settings.origins["bf16"] == first[1]


def rows_of(count):
    from datasets import Dataset

    sides = {name: [[7] * (number + 1) for number in range(count)] for name in ("input_ids", "labels")}
    return Dataset.from_dict(sides | {f"{side}_length": list(range(1, count + 1)) for side in ("source", "target")})


@pytest.mark.parametrize("faster", [True, False])
def test_a_trial_chooses_and_a_resumed_run_keeps_it(tmp_path, tiny_settings, monkeypatch, cpu, caplog, faster):
    cpu(FAST)
    argv = tiny_settings(tmp_path / "run", bf16=None, max_steps=3, save_steps=2, **QUIET)
    tried = []

    def choose(steps, threads):
        for bf16, step in steps.items():  # they run, and leave nothing behind
            step()
            tried.append((bf16, threads))
        return faster, "the times"

    used = []
    monkeypatch.setattr(trial, "choose_bf16", choose)
    build = trial.GlossaTrainer._prepare_for_training
    monkeypatch.setattr(
        trial.GlossaTrainer, "_prepare_for_training",
        lambda self, *words, **named: used.append(self.accelerator.mixed_precision) or build(self, *words, **named),
    )  # fmt: skip
    with caplog.at_level(logging.INFO):
        run = train(parse_settings(argv))
    assert tried == [(False, 1), (True, 1)] and RunFolder(run).recipe["bf16"] is faster
    name = "bf16" if faster else "float32"
    assert f"Precision: {name} (the times; --bf16 overrides)" in caplog.messages
    monkeypatch.setattr(trial, "choose_bf16", lambda steps, threads: pytest.fail("a trial"))
    again = [*argv, "--resume_from_checkpoint", "true", "--max_steps", "4"]
    with caplog.at_level(logging.INFO):
        assert RunFolder(train(parse_settings(again))).recipe["bf16"] is faster
    assert f"Precision: {name} (the precision so far; --bf16 overrides)" in caplog.messages
    assert used == (["bf16"] * 2 if faster else ["no"] * 2)


@pytest.mark.parametrize(("free", "fits"), [(2.2, True), (1.9, False)])
def test_bf16_is_not_tried_without_memory_for_it(monkeypatch, cpu, caplog, free, fits):
    """Two processes of 2 GiB, which takes 3 GiB in bf16, and that have 2 GiB each already: 2 GiB more are needed."""
    cpu(FAST)
    memory = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=2 * 2**30))
    monkeypatch.setattr(processes, "process_bytes", lambda recipe: 2 * 2**30)
    monkeypatch.setattr(processes.psutil, "Process", lambda: memory)
    monkeypatch.setattr(processes.psutil, "virtual_memory", lambda: SimpleNamespace(available=free * 2**30))
    monkeypatch.setattr(trial, "choose_bf16", lambda steps, threads: (True, "the times"))
    settings = parse_settings([])
    monkeypatch.setattr(type(settings.training), "world_size", 2)
    with caplog.at_level(logging.INFO):
        settings = trial.choose_precision(settings, torch.nn.Linear(1, 1), rows_of(3), lambda rows: rows)
    assert settings.training.bf16 is fits
    reason = "the times" if fits else "a process takes about 3.0 GiB in bf16, and 1.9 GiB are free"
    name = "bf16" if fits else "float32"
    assert caplog.messages == [f"Precision: {name} ({reason}; --bf16 overrides)"]


def test_the_trial_has_rows_of_medium_length(monkeypatch, cpu):
    cpu(FAST)
    seen = []
    monkeypatch.setattr(trial, "choose_bf16", lambda steps, threads: (True, ""))
    settings = parse_settings(["--batch_tokens", "20"])
    trial.choose_precision(settings, torch.nn.Linear(1, 1), rows_of(10), lambda rows: seen.extend(rows))
    assert [len(row["input_ids"]) for row in seen] == [6, 7, 8] and seen[0].keys() == {"input_ids", "labels"}


def test_trial_changes_no_weights_or_gradients(tiny_model):
    model = tiny_model(dropout=0.1).train()
    weights = {name: weight.clone() for name, weight in model.named_parameters()}
    batch = {"input_ids": torch.tensor([[5, 6, 1]]), "labels": torch.tensor([[7, 8, 1]])}
    trial_step(model, batch, bf16=True)()
    assert all(weight.equal(weights[name]) and weight.grad is None for name, weight in model.named_parameters())
