"""Loss, gradients, dropout, precision and attention on the device, compared with the CPU in float64 or by hand."""

import copy

import pytest
import torch
from small_models import ARCHITECTURES, UNEXPORTED
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.model import loss_glossa
from glossa.model.loss_glossa import chunked_cross_entropy, smoothed_cross_entropy
from glossa.train.dropout import FastDropout

pytestmark = pytest.mark.gpu

LATENT = UNEXPORTED["latent"]  # experts have a loss of their own
SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != 0).long()
LABELS = torch.tensor([[20, 21, 1, -100, -100], [30, 31, 32, 33, 1]])
WIDE = {
    "d_model": 64, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "dropout": 0.0,
}  # heads of 16: flash takes 8, 16...  # fmt: skip


def gradients(model, device, source=SOURCE, mask=MASK, labels=LABELS):
    """The training loss and the gradient of every weight, on the CPU."""
    model = model.to(device).train()
    batch = {"input_ids": source, "attention_mask": mask, "labels": labels}
    batch = {name: value.to(device) for name, value in batch.items()}
    loss = model(**batch, smoothing=0.1, return_logits=False).loss
    model.zero_grad()
    loss.backward()
    return loss.detach().cpu(), {name: weight.grad.cpu() for name, weight in model.named_parameters()}


@pytest.mark.parametrize("architecture", [*ARCHITECTURES.values(), LATENT], ids=[*ARCHITECTURES, "latent"])
def test_loss_and_gradients_are_those_of_all_logits_on_the_cpu(device, tiny_model, architecture):
    model = tiny_model(**architecture)
    loss, found = gradients(copy.deepcopy(model), device)
    logits = model.train()(SOURCE, attention_mask=MASK, decoder_input_ids=shifted(model, LABELS)).logits
    expected = smoothed_cross_entropy(logits, LABELS, 0.1)
    model.zero_grad()
    expected.backward()
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-6, atol=1e-6)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, rtol=1e-6, atol=1e-8, msg=name)


def shifted(model, labels):
    start = torch.full((len(labels), 1), model.config.decoder_start_token_id)
    return torch.cat((start, labels[:, :-1].masked_fill(labels[:, :-1] == -100, model.config.pad_token_id)), dim=1)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_chunks_of_any_size_give_one_loss(device, monkeypatch, chunk):
    monkeypatch.setitem(loss_glossa.CHUNKS, device.type, chunk)
    states, weight = (torch.randn(7, 16, dtype=torch.float64), torch.randn(11, 16, dtype=torch.float64))
    labels = torch.tensor([1, 2, -100, 4, 5, 10, 0])
    found, expected = (
        [tensor.clone().to(place).requires_grad_() for tensor in (states, weight)] for place in (device, "cpu")
    )
    loss = chunked_cross_entropy(*found, labels.to(device), 0.2, 0, num_items_in_batch=9)
    by_logits = smoothed_cross_entropy(expected[0] @ expected[1].T, labels, 0.2, 0, num_items_in_batch=9)
    loss.backward()
    by_logits.backward()
    torch.testing.assert_close(loss.cpu(), by_logits)
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.grad.cpu(), other.grad)


class LargestTensor(TorchDispatchMode):
    """Notes the most elements of a tensor that an operator gives."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if torch.is_tensor(tensor):
                self.elements = max(self.elements, tensor.numel())
        return result


def test_the_logits_of_all_labels_never_exist(device, monkeypatch):
    monkeypatch.setitem(loss_glossa.CHUNKS, device.type, 32)
    states = torch.randn(256, 8, device=device, requires_grad=True)
    weight = torch.randn(100, 8, device=device, requires_grad=True)
    labels = torch.randint(100, (256,), device=device)
    with LargestTensor() as chunked:
        chunked_cross_entropy(states, weight, labels).backward()
    with LargestTensor() as whole:
        smoothed_cross_entropy(states @ weight.T, labels).backward()
    assert (chunked.elements, whole.elements) == (32 * 100, 256 * 100)


def test_dropout_drops_its_share_and_scales_the_rest(device):
    dropout = FastDropout(0.25).train()
    ones = torch.ones(1000, 1000, device=device, requires_grad=True)
    found = dropout(ones)
    found.sum().backward()
    kept = found != 0
    torch.testing.assert_close(found[kept], torch.full_like(found[kept], 1 / 0.75))
    # A million draws: the standard deviation of the share is 0.00043.
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.003)
    assert ones.grad.equal(found.detach())
    assert not dropout(ones).equal(found), "drawn anew"
    assert dropout.eval()(ones) is ones


def test_bf16_changes_loss_and_gradients_little(device):
    torch.manual_seed(1)
    model = GlossaForConditionalGeneration(GlossaConfig(vocab_size=50, **WIDE))
    source, labels = torch.randint(4, 50, (8, 12)), torch.randint(4, 50, (8, 10))
    mask = torch.ones_like(source)
    exact, expected = gradients(copy.deepcopy(model), "cpu", source, mask, labels)
    with torch.autocast(device.type, torch.bfloat16):
        loss, found = gradients(model, device, source, mask, labels)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=0.01)
    sides = [torch.cat([grads[name].flatten() for name in expected]) for grads in (found, expected)]
    assert torch.cosine_similarity(*sides, dim=0).item() > 0.99


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION])
def test_fused_attention_equals_eager(device, backend, masked):
    """Flash attention takes no mask of padding, and on a GPU no float32."""
    torch.manual_seed(1)
    model = GlossaForConditionalGeneration(GlossaConfig(vocab_size=50, **WIDE)).to(device).eval()
    exact = backend is SDPBackend.MATH or device.type == "cpu"
    source = torch.randint(4, 50, (3, 16), device=device)
    inputs = {"input_ids": source, "decoder_input_ids": torch.randint(4, 50, (3, 8), device=device)}
    if masked:
        inputs["attention_mask"] = torch.ones_like(source)
        inputs["attention_mask"][0, 5:] = 0
    logits = {}
    for name in ("eager", "sdpa"):
        model.set_attn_implementation(name)
        try:
            with torch.no_grad(), sdpa_kernel(backend), torch.autocast(device.type, torch.bfloat16, not exact):
                logits[name] = model(**inputs).logits.float()
        except RuntimeError as error:
            if not any(message in str(error) for message in ("No available kernel", "No viable backend")):
                raise
            pytest.skip(f"{backend.name} is not available for this input")
    torch.testing.assert_close(logits["sdpa"], logits["eager"], rtol=0, atol=1e-5 if exact else 0.05)


def test_padding_changes_nothing(device, tiny_model):
    model = tiny_model().to(device)
    model.set_attn_implementation("sdpa")
    target = torch.tensor([[2, 20, 21]], device=device)
    alone = model(SOURCE[:1, :4].to(device), decoder_input_ids=target).logits
    batch = model(SOURCE.to(device), attention_mask=MASK.to(device), decoder_input_ids=target.repeat(2, 1)).logits
    torch.testing.assert_close(batch[:1], alone, rtol=1e-8, atol=1e-8)


def test_checkpointed_layers_have_the_same_gradients(device, tiny_model):
    model = tiny_model()
    loss, expected = gradients(copy.deepcopy(model), device)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    again, found = gradients(model, device)
    torch.testing.assert_close(again, loss)
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-8, atol=1e-10, msg=name)


def test_a_compiled_model_has_the_same_gradients(device, tiny_model):
    """On a GPU with inductor's kernels; on a CPU, where these take a minute, the graph is traced only."""
    model = tiny_model(encoder_layers=1, decoder_layers=1)
    if device.type != "cpu":
        model = model.float()
    loss, expected = gradients(copy.deepcopy(model), device)
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="inductor" if device.type == "cuda" else "aot_eager")
    again, found = gradients(compiled, device)
    torch.compiler.reset()
    torch.testing.assert_close(again, loss, rtol=1e-5, atol=1e-6)
    for name, gradient in expected.items():
        torch.testing.assert_close(found[f"_orig_mod.{name}"], gradient, rtol=1e-3, atol=1e-5, msg=name)
