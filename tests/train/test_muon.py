"""Muon beside another optimizer: which weights it has, its steps in both precisions, schedules, and resuming."""

import copy
from types import SimpleNamespace

import pytest
import torch
from small_models import QUIET, same_weights

from glossa.base.errors import GlossaError
from glossa.train import muon
from glossa.train.muon import Muon, combine_with_muon, layer_matrices, orthogonalize, precision
from glossa.train.plan.arguments import parse_settings


@pytest.mark.parametrize("tied", [True, False])
def test_muon_has_the_matrices_of_the_layers(tiny_model, tied):
    model = tiny_model(tie_word_embeddings=tied, share_encoder_decoder_embeddings=tied, feed_forward_bias=True)
    names = {id(weight): name for name, weight in model.named_parameters()}
    chosen = {names[id(weight)] for weight in layer_matrices(model)}
    assert chosen == {name for name, weight in model.named_parameters() if ".layers." in name and weight.ndim == 2}
    optimizer = combine_with_muon(torch.optim.AdamW(model.parameters()), model, 0.1, 0.0)
    held = [names[id(weight)] for group in optimizer.param_groups for weight in group["params"]]
    assert sorted(held) == sorted(names.values()), "every weight once"


@pytest.fixture
def torchs_in_float32(monkeypatch):
    """torch's Muon, which casts to bfloat16, computes in float32."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)


def test_a_step_is_that_of_both_optimizers(tiny_model, torchs_in_float32):
    model = tiny_model()
    alone = copy.deepcopy(model)
    optimizer = combine_with_muon(torch.optim.AdamW(model.parameters(), lr=0.01), model, 0.2, 0.1)
    matrices = layer_matrices(alone)
    others = [weight for weight in alone.parameters() if all(weight is not matrix for matrix in matrices)]
    parts = [torch.optim.AdamW(others, lr=0.01), torch.optim.Muon(matrices, lr=0.2, weight_decay=0.1, momentum=0.95)]
    for seed in range(3):
        for each in (model, alone):
            torch.manual_seed(seed)
            for weight in each.parameters():
                weight.grad = torch.randn_like(weight)
        optimizer.step()
        for part in parts:
            part.step()
    for (name, weight), other in zip(model.named_parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(weight, other, rtol=0, atol=1e-5, msg=name)


@pytest.mark.parametrize(("generation", "dtype"), [(7, torch.float32), (8, torch.bfloat16)])
def test_the_precision_follows_the_device(monkeypatch, generation, dtype):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(major=generation))
    assert precision(torch.device("cuda")) == dtype
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "x86_64", "amx_bf16": True})
    assert precision(torch.device("cpu")) == torch.float32


def test_singular_values_are_moved_by_the_polynomial(monkeypatch):
    monkeypatch.setattr(muon, "COEFFICIENTS", (2, -1.5, 0.5))
    matrices = [torch.randn(shape, dtype=torch.float64) for shape in [(6, 6), (9, 4), (4, 9), (6, 6), (9, 4)]]
    found = orthogonalize(matrices, torch.float32)
    for matrix, result in zip(matrices, found, strict=True):
        left, values, right = torch.linalg.svd(matrix, full_matrices=False)
        values = values / values.norm()
        for _ in range(5):
            values = 2 * values - 1.5 * values**3 + 0.5 * values**5
        assert result.dtype == torch.float32
        torch.testing.assert_close(result.double(), left @ values.diag() @ right, rtol=0, atol=1e-5)


SHAPES = [(8, 8), (12, 5), (5, 12), (8, 8), (12, 5), (3, 20), (8, 8)]


def steps_of_both(dtype):
    """Weights after four steps of our Muon and of torch's, which continues the states of each other after two."""
    ours, torchs = ([torch.nn.Parameter(torch.ones(shape)) for shape in SHAPES] for _ in range(2))
    settings = {"lr": 0.5, "weight_decay": 0.2, "momentum": 0.9}
    optimizers = Muon(ours, **settings, dtype=dtype), torch.optim.Muon(torchs, **settings)
    for number in range(4):
        if number == 2:  # a run that was saved by an earlier version
            optimizers[0].load_state_dict(copy.deepcopy(optimizers[1].state_dict()))
        for mine, other in zip(ours, torchs, strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    return zip(ours, torchs, strict=True)


def test_steps_are_those_of_torch(torchs_in_float32):
    for mine, other in steps_of_both(torch.float32):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-5)


def test_steps_in_bfloat16_are_those_of_torch_but_for_rounding():
    for mine, other in steps_of_both(torch.bfloat16):
        # Each step moves the weights by about 0.2, in 8 bits of precision.
        torch.testing.assert_close(mine, other, rtol=0, atol=0.05)


def _share(rank, processes, folder, dtype):
    """What one of several processes does."""
    store = f"file://{folder}/store-{processes}"
    torch.distributed.init_process_group("gloo", store, rank=rank, world_size=processes)
    computed, iterate = [], muon.iterate
    muon.iterate = lambda stack: computed.append(len(stack)) or iterate(stack)
    matrices = [torch.randn(shape, generator=torch.Generator().manual_seed(1)) for shape in SHAPES]
    torch.save([computed, orthogonalize(matrices, dtype)], f"{folder}/{processes}-{rank}")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_processes_share_the_work_and_get_the_same_matrices(tmp_path, dtype):
    matrices = [torch.randn(shape, generator=torch.Generator().manual_seed(1)) for shape in SHAPES]
    alone = orthogonalize(matrices, dtype)
    # Three stacks: three of 8 x 8, three of 5 x 12, one of 3 x 20.
    for processes, share in ((2, [2, 2, 1]), (4, [1, 1, 1])):
        torch.multiprocessing.start_processes(_share, (processes, tmp_path, dtype), processes, start_method="fork")
        found = [torch.load(tmp_path / f"{processes}-{rank}") for rank in range(processes)]
        assert [computed for computed, _ in found] == [share] * processes
        for _, results in found:
            for result, first, expected in zip(results, found[0][1], alone, strict=True):
                assert result.equal(first)
                torch.testing.assert_close(result, expected, rtol=0, atol=1e-6 if dtype == torch.float32 else 0.02)


def test_weights_without_a_gradient_stay():
    weights = [torch.nn.Parameter(torch.ones(3, 3)) for _ in range(2)]
    weights[0].grad = torch.eye(3)
    optimizer = Muon(weights, lr=0.1)
    optimizer.step()
    assert weights[1].equal(torch.ones(3, 3)) and not weights[0].equal(torch.ones(3, 3))
    weights[0].grad = None
    optimizer.step()  # a step that was skipped
    assert weights[1].equal(torch.ones(3, 3))


def test_schedules_scale_both_rates_also_after_loading(tiny_model):
    model = tiny_model()
    optimizer = combine_with_muon(torch.optim.AdamW(model.parameters(), lr=0.01), model, 0.2, 0.0)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    optimizer.step()
    scheduler.step()
    rates = [part.param_groups[0]["lr"] for part in optimizer.parts.values()]
    assert rates == [0.005, 0.1] and scheduler.get_last_lr()[0] == 0.005


def test_the_setting_changes_what_is_learned(tmp_path, tiny_train):
    own = tiny_train(tmp_path / "own", max_steps=3, muon_learning_rate=0.02, **QUIET)
    assert not same_weights(own, tiny_train(tmp_path / "plain", max_steps=3, **QUIET))


def test_the_rate_must_be_positive(tmp_path, tiny_settings):
    with pytest.raises(GlossaError, match=r"muon_learning_rate is 0; it must be above 0"):
        parse_settings(tiny_settings(tmp_path / "run", muon_learning_rate=0))
