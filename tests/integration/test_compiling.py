"""torch.compile and torch.export: one full graph for all lengths."""

import os
import shutil

import pytest
import torch
from small_models import ARCHITECTURES, UNEXPORTED
from torch._dynamo.utils import counters
from torch.export import Dim
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.generation import CompileConfig

pytestmark = pytest.mark.slow  # minutes in all

SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != 0).long()
TARGET = torch.tensor([[2, 20, 21], [2, 30, 31]])
COMPILERS = [name for name in (os.environ.get("CXX", "g++"), "clang++") if shutil.which(name)]


ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}
# Without experts: how many tokens each gets depends on the data, which breaks the graph.
GRAPHS = {name: case | (ONE_LAYER if name != "default" else {}) for name, case in ARCHITECTURES.items()}


@pytest.fixture(params=GRAPHS)
def architecture(request):
    return GRAPHS[request.param]


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()
    counters.clear()
    yield
    torch.compiler.reset()


@pytest.fixture
def no_recompiling():
    with torch._dynamo.config.patch(error_on_recompile=True):
        yield


def graphs():
    return counters["stats"]["unique_graphs"]


def generate(model, length, **settings):
    return model.generate(
        SOURCE, attention_mask=MASK, max_new_tokens=length, min_new_tokens=length, use_cache=True, **settings
    )


@pytest.mark.parametrize("architecture", [*GRAPHS.values(), UNEXPORTED["latent"] | ONE_LAYER], ids=[*GRAPHS, "latent"])
def test_one_full_graph_decodes_every_length_with_a_static_cache(tiny_model, architecture, no_recompiling):
    model = tiny_model(**architecture)
    expected = generate(model, 24)
    # The "eager" backend traces like any other, but does not generate machine code.
    compiled = CompileConfig(fullgraph=True, dynamic=False, backend="eager", mode=None)
    compiled._compile_all_devices = True
    written = generate(model, 24, cache_implementation="static", compile_config=compiled)
    assert written.equal(expected)
    assert graphs() == 1 and not counters["graph_break"]
    # A shorter sequence fits the existing cache and uses the same graph.
    shorter = generate(model, 9, cache_implementation="static", compile_config=compiled)
    assert shorter.equal(expected[:, :10])
    assert graphs() == 1


def test_a_growing_cache_recompiles(tiny_model):
    """The count of graphs does grow if shapes change."""
    model = tiny_model()
    model.forward = torch.compile(model.forward, fullgraph=True, dynamic=False, backend="eager")
    generate(model, 4)
    assert graphs() > 2


def test_training_is_one_full_graph(tiny_model, architecture):
    model = tiny_model(**architecture).train()
    labels = torch.tensor([[20, 21, 1, -100, -100], [30, 31, 32, 33, 1]])
    plain = model(SOURCE, attention_mask=MASK, labels=labels)
    plain.loss.backward()
    expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    loss = compiled(SOURCE, attention_mask=MASK, labels=labels).loss
    loss.backward()
    torch.testing.assert_close(loss, plain.loss)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-8, atol=1e-10)
    assert graphs() == 1


@pytest.mark.skipif(not COMPILERS, reason="inductor needs a C++ compiler")
def test_inductor_generates_the_same_tokens(tiny_model, no_recompiling):
    model = tiny_model(encoder_layers=1, decoder_layers=1).float()
    expected = generate(model, 20)
    compiled = CompileConfig(fullgraph=True, dynamic=False, backend="inductor", mode="default")
    compiled._compile_all_devices = True
    assert generate(model, 20, cache_implementation="static", compile_config=compiled).equal(expected)
    assert graphs() == 1


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, input_ids, attention_mask):
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class FirstStep(torch.nn.Module):
    """The first step: logits, and keys and values of target and source [layers, 2, B, G, length, E]."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, decoder_input_ids, states, attention_mask):
        outputs = self.model(
            decoder_input_ids=decoder_input_ids, encoder_outputs=(states,), attention_mask=attention_mask,
            use_cache=True,
        )  # fmt: skip
        return outputs.logits, *stacked(outputs.past_key_values)


class NextStep(FirstStep):
    """One more token after the cached ones."""

    def forward(self, decoder_input_ids, states, attention_mask, target, source):
        cache = EncoderDecoderCache(DynamicCache(list(target)), DynamicCache(list(source)))
        outputs = self.model(
            decoder_input_ids=decoder_input_ids, encoder_outputs=(states,), attention_mask=attention_mask,
            past_key_values=cache, use_cache=True,
        )  # fmt: skip
        return outputs.logits, *stacked(outputs.past_key_values)


def stacked(cache):
    return [
        torch.stack([torch.stack((layer.keys, layer.values)) for layer in part.layers])
        for part in (cache.self_attention_cache, cache.cross_attention_cache)
    ]


def test_the_encoder_exports_for_any_batch_and_length(tiny_model, architecture):
    model = tiny_model(**architecture)
    batch, length = Dim("batch", min=2, max=64), Dim("length", min=2, max=32)
    shapes = {0: batch, 1: length}
    program = torch.export.export(Encoder(model), (SOURCE, MASK), dynamic_shapes=(shapes, shapes))
    other = torch.randint(3, 37, (5, 11))
    mask = torch.ones_like(other)
    mask[0, 7:] = 0
    torch.testing.assert_close(program.module()(other, mask), Encoder(model)(other, mask), rtol=1e-10, atol=1e-10)
    unmasked = program.module()(other, torch.ones_like(mask))
    assert (program.module()(other, mask) - unmasked).abs().max() > 1e-3


def test_exported_decoder_steps_generate_the_same_tokens(tiny_model, architecture):
    model = tiny_model(**architecture)
    length = Dim("length", min=2, max=32)
    states = model.get_encoder()(SOURCE, attention_mask=MASK).last_hidden_state.detach()
    source_shapes = ({1: length}, {1: length})
    prefix = torch.cat((TARGET, TARGET[:, 1:]), 1)
    first = torch.export.export(
        FirstStep(model), (prefix, states, MASK), dynamic_shapes=({1: Dim("target", min=2, max=32)}, *source_shapes)
    )
    _, target, source = first.module()(prefix, states, MASK)
    following = torch.export.export(
        NextStep(model), (prefix[:, :1], states, MASK, target.detach(), source.detach()),
        dynamic_shapes=({}, *source_shapes, {4: Dim.AUTO}, {4: length}),
    )  # fmt: skip
    longer, mask = torch.cat((SOURCE, 0 * SOURCE[:, :3]), 1), torch.cat((MASK, 0 * MASK[:, :3]), 1)
    states = model.get_encoder()(longer, attention_mask=mask).last_hidden_state
    logits, target, source = first.module()(TARGET, states, mask)
    written = TARGET
    for _ in range(6):
        logits[:, -1, 1] = -torch.inf
        token = logits[:, -1].argmax(-1, keepdim=True)
        written = torch.cat((written, token), 1)
        logits, target, source = following.module()(token, states, mask, target, source)
    expected = model.generate(
        longer, attention_mask=mask, decoder_input_ids=TARGET, max_new_tokens=6, min_new_tokens=6
    )
    assert written.equal(expected)
