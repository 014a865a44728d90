"""Muon beside another optimizer: which weights it has, its steps in both precisions, schedules, and resuming."""

import copy
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from glossa.errors import GlossaError
from glossa.plan.arguments import parse_settings
from glossa.training import muon
from glossa.training.muon import Float32Muon, emulates_bf16, layer_matrices, orthogonalize, put_beside
from glossa.training.run import train


@pytest.mark.parametrize("tied", [True, False])
def test_muon_has_the_matrices_of_the_layers(tiny_model, tied):
    model = tiny_model(tie_word_embeddings=tied, share_encoder_decoder_embeddings=tied, feed_forward_bias=True)
    names = {id(weight): name for name, weight in model.named_parameters()}
    chosen = {names[id(weight)] for weight in layer_matrices(model)}
    assert chosen == {name for name, weight in model.named_parameters() if ".layers." in name and weight.ndim == 2}
    optimizer = put_beside(torch.optim.AdamW(model.parameters()), model, 0.1, 0.0)
    held = [names[id(weight)] for group in optimizer.param_groups for weight in group["params"]]
    assert sorted(held) == sorted(names.values()), "every weight once"


@pytest.fixture(params=[torch.optim.Muon, Float32Muon])
def kind(request, monkeypatch):
    """Muon as on devices with bfloat16 instructions, and as on others."""
    monkeypatch.setattr(muon, "emulates_bf16", lambda device: request.param is Float32Muon)
    return request.param


def test_a_step_is_that_of_both_optimizers(tiny_model, kind, caplog):
    caplog.set_level("INFO")
    model = tiny_model()
    alone = copy.deepcopy(model)
    optimizer = put_beside(torch.optim.AdamW(model.parameters(), lr=0.01), model, 0.2, 0.1)
    matrices = layer_matrices(alone)
    others = [weight for weight in alone.parameters() if all(weight is not matrix for matrix in matrices)]
    parts = [torch.optim.AdamW(others, lr=0.01), kind(matrices, lr=0.2, weight_decay=0.1, momentum=0.95)]
    for seed in range(3):
        for each in (model, alone):
            torch.manual_seed(seed)
            for weight in each.parameters():
                weight.grad = torch.randn_like(weight)
        optimizer.step()
        for part in parts:
            part.step()
    for (name, weight), other in zip(model.named_parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(weight, other, rtol=0, atol=0, msg=name)
    assert ("Muon computes in float32" in caplog.text) is (kind is Float32Muon)


@pytest.mark.parametrize(
    ("capabilities", "emulated"),
    [
        ({"architecture": "x86_64", "avx2": True, "avx512_bf16": False}, True),
        ({"architecture": "x86_64", "avx512_bf16": True}, False),
        ({"architecture": "x86_64", "amx_tile": True}, False),
        ({"architecture": "aarch64", "bf16": True}, False),
        ({"architecture": "aarch64", "bf16": False}, True),
    ],
)
def test_cpus_without_bf16_instructions_are_known(monkeypatch, capabilities, emulated):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert emulates_bf16(torch.device("cpu")) is emulated


@pytest.mark.parametrize(("generation", "emulated"), [(7, True), (8, False)])
def test_gpus_before_ampere_are_known(monkeypatch, generation, emulated):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(major=generation))
    assert emulates_bf16(torch.device("cuda")) is emulated


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_singular_values_are_moved_by_the_polynomial(shape):
    matrix = torch.randn(shape, dtype=torch.float64)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    values = values / values.norm()
    for _ in range(5):
        values = 2 * values - 1.5 * values**3 + 0.5 * values**5
    found = orthogonalize(matrix, (2, -1.5, 0.5), 5, 1e-7)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), left @ values.diag() @ right, rtol=0, atol=1e-5)


def test_float32_steps_are_those_of_torch_but_for_rounding():
    shapes = [(8, 8), (12, 5), (5, 12)]
    ours, torchs = ([torch.nn.Parameter(torch.ones(shape)) for shape in shapes] for _ in range(2))
    settings = {"lr": 0.5, "weight_decay": 0.2, "momentum": 0.9}
    optimizers = Float32Muon(ours, **settings), torch.optim.Muon(torchs, **settings)
    for number in range(4):
        if number == 2:  # a run that goes on with another CPU
            optimizers[0].load_state_dict(copy.deepcopy(optimizers[1].state_dict()))
        for mine, other in zip(ours, torchs, strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for mine, other in zip(ours, torchs, strict=True):
        # Each step moves the weights by about 0.2, with torch in 8 bits of precision.
        torch.testing.assert_close(mine, other, rtol=0, atol=0.05)


def test_weights_without_a_gradient_stay():
    weights = [torch.nn.Parameter(torch.ones(3, 3)) for _ in range(2)]
    weights[0].grad = torch.eye(3)
    Float32Muon(weights, lr=0.1).step()
    assert weights[1].equal(torch.ones(3, 3)) and not weights[0].equal(torch.ones(3, 3))


def test_schedules_scale_both_rates_also_after_loading(tiny_model):
    model = tiny_model()
    optimizer = put_beside(torch.optim.AdamW(model.parameters(), lr=0.01), model, 0.2, 0.0)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    optimizer.step()
    scheduler.step()
    rates = [part.param_groups[0]["lr"] for part in optimizer.parts.values()]
    assert rates == [0.005, 0.1] and scheduler.get_last_lr()[0] == 0.005


def test_a_resumed_run_is_exact(tmp_path, tiny_settings):
    changes = {"muon_learning_rate": 0.02, "eval_strategy": "no", "load_best_model_at_end": False, "save_steps": 3}
    whole = train(parse_settings(tiny_settings(tmp_path / "whole", max_steps=7, **changes)))
    train(parse_settings(tiny_settings(tmp_path / "part", max_steps=3, **changes)))
    changes["resume_from_checkpoint"] = "true"
    part = train(parse_settings(tiny_settings(tmp_path / "part", max_steps=7, **changes)))
    first, second = load_file(whole / "model.safetensors"), load_file(part / "model.safetensors")
    assert all(first[name].equal(second[name]) for name in first)
    del changes["muon_learning_rate"], changes["resume_from_checkpoint"]
    plain = train(parse_settings(tiny_settings(tmp_path / "plain", max_steps=7, **changes)))
    third = load_file(plain / "model.safetensors")
    assert any(not first[name].equal(third[name]) for name in first if "layers" in name)


def test_the_rate_must_be_positive(tmp_path, tiny_settings, documented):
    with pytest.raises(GlossaError, match=r"muon_learning_rate is 0\.0; it must be above 0") as error:
        parse_settings(tiny_settings(tmp_path / "run", muon_learning_rate=0))
    documented("Settings", error.value)
