"""Every argument of the forward pass in every architecture, and all attention implementations."""

import pytest
import torch
from small_models import same
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

SOURCE = torch.tensor([[9, 8, 7, 1, 0, 0], [11, 12, 13, 14, 15, 1]])
MASK = (SOURCE != 0).long()
TARGET = torch.tensor([[0, 0, 2, 20, 21], [2, 30, 31, 32, 33]])  # padded on the left, like prefixes
TARGET_MASK = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
LABELS = torch.tensor([[20, 21, 1, -100, -100], [30, 31, 32, 33, 1]])


def real(logits):
    return logits[TARGET_MASK.bool()]


def arguments():
    return {
        "input_ids": SOURCE, "attention_mask": MASK, "decoder_input_ids": TARGET,
        "decoder_attention_mask": TARGET_MASK,
    }  # fmt: skip


@torch.no_grad()
def test_embeddings_can_replace_tokens_on_either_side(tiny_model, architecture):
    model = tiny_model(**architecture)
    expected = model(**arguments()).logits
    source = model.get_encoder().embed_tokens(SOURCE)
    target = model.get_decoder().embed_tokens(TARGET)
    given = arguments()
    del given["input_ids"]
    same(model(**given, inputs_embeds=source).logits, expected)
    del given["decoder_input_ids"]
    same(model(**given, inputs_embeds=source, decoder_inputs_embeds=target).logits, expected)
    for sides in ((source.flip(1), target), (source, target.flip(1))):
        other = model(**given, inputs_embeds=sides[0], decoder_inputs_embeds=sides[1]).logits
        assert (other - expected).abs().max() > 1e-3


def test_tokens_and_embeddings_together_or_neither_are_refused(tiny_model):
    model = tiny_model()
    embeddings = model.get_encoder().embed_tokens(SOURCE)
    with pytest.raises(ValueError, match="input_ids or inputs_embeds"):
        model(SOURCE, inputs_embeds=embeddings, decoder_input_ids=TARGET)
    with pytest.raises(ValueError, match="input_ids or inputs_embeds"):
        model(decoder_input_ids=TARGET)
    with pytest.raises(ValueError, match="decoder_input_ids or decoder_inputs_embeds"):
        model(SOURCE)


@torch.no_grad()
def test_positions_can_be_given(tiny_model, architecture):
    model = tiny_model(**architecture)
    expected = model(**arguments()).logits
    positions = torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])
    same(real(model(**arguments(), decoder_position_ids=positions).logits), real(expected))
    # Doubled distances change the logits with every kind of positions.
    assert (model(**arguments(), decoder_position_ids=2 * positions).logits - expected).abs().max() > 1e-4


@torch.no_grad()
def test_encoder_outputs_may_be_a_tuple_or_a_model_output(tiny_model, architecture):
    model = tiny_model(**architecture)
    expected = model(**arguments())
    encoded = model.get_encoder()(SOURCE, attention_mask=MASK)
    given = arguments()
    del given["input_ids"]
    for outputs in (encoded, encoded.to_tuple(), BaseModelOutput(encoded.last_hidden_state)):
        result = model(**given, encoder_outputs=outputs)
        same(result.logits, expected.logits)
        same(result.encoder_last_hidden_state, expected.encoder_last_hidden_state)


@torch.no_grad()
def test_tuples_equal_model_outputs(tiny_model, architecture):
    model = tiny_model(**architecture)
    model.set_attn_implementation("eager")
    options = arguments() | {"labels": LABELS, "output_attentions": True, "output_hidden_states": True}
    named = model(**options)
    assert type(named) is Seq2SeqLMOutput
    plain = model(**options, return_dict=False)
    assert type(plain) is tuple and len(plain) == len(named.to_tuple())
    same(plain[0], named.loss)
    same(plain[1], named.logits)
    states = named.decoder_hidden_states
    assert len(states) == model.config.decoder_layers + 1
    assert len(named.encoder_hidden_states) == model.config.encoder_layers + 1
    assert [tuple(state.shape) for state in states] == [(2, 5, 16)] * len(states)
    heads = model.config.decoder_attention_heads
    assert [tuple(a.shape) for a in named.decoder_attentions] == [(2, heads, 5, 5)] * model.config.decoder_layers
    assert [tuple(a.shape) for a in named.cross_attentions] == [(2, heads, 5, 6)] * model.config.decoder_layers
    assert [tuple(a.shape) for a in named.encoder_attentions] == [(2, 4, 6, 6)] * model.config.encoder_layers
    same(model.lm_head(states[-1]), named.logits)
    model.config.return_dict = False
    same(model(**options)[1], named.logits)


@torch.no_grad()
@pytest.mark.parametrize(
    ("kept", "positions"), [(0, [0, 1, 2, 3, 4]), (1, [4]), (3, [2, 3, 4]), (torch.tensor([0, 3]), [0, 3])],
    ids=["all", "last", "last three", "chosen"],
)  # fmt: skip
def test_logits_to_keep(tiny_model, architecture, kept, positions):
    model = tiny_model(**architecture)
    same(model(**arguments(), logits_to_keep=kept).logits, model(**arguments()).logits[:, positions])


def test_the_loss_is_the_mean_over_labels(tiny_model, architecture):
    model = tiny_model(**architecture)
    outputs = model(SOURCE, attention_mask=MASK, labels=LABELS)
    log_probabilities = outputs.logits.log_softmax(-1)
    chosen = [log_probabilities[b, t, LABELS[b, t]] for b in range(2) for t in range(5) if LABELS[b, t] != -100]
    assert len(chosen) == 8
    expected = -sum(chosen)
    same(outputs.loss.double(), expected / 8, 1e-6)
    for items in (32, torch.tensor(32)):
        same(
            model(SOURCE, attention_mask=MASK, labels=LABELS, num_items_in_batch=items).loss.double(),
            expected / 32, 1e-6,
        )  # fmt: skip
    assert outputs.past_key_values is None
    shifted = torch.tensor([[2, 20, 21, 1, 0], [2, 30, 31, 32, 33]])
    same(model(SOURCE, attention_mask=MASK, decoder_input_ids=shifted).logits, outputs.logits)


@torch.no_grad()
def test_every_combination_of_masks_has_its_own_logits(tiny_model, architecture):
    model = tiny_model(**architecture)
    source_mask = {"attention_mask": MASK}
    target_mask = {"decoder_attention_mask": TARGET_MASK}
    logits = [model(SOURCE, decoder_input_ids=TARGET, **a, **b).logits
              for a in ({}, source_mask) for b in ({}, target_mask)]  # fmt: skip
    for index, left in enumerate(logits):
        for right in logits[index + 1 :]:
            assert (left - right)[TARGET_MASK.bool()].abs().max() > 1e-6
    for mask in (MASK.bool(), MASK.double()):
        same(model(SOURCE, decoder_input_ids=TARGET, attention_mask=mask).logits, logits[2])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_half_precision_is_close_and_keeps_its_dtype(tiny_model, architecture, dtype, attention):
    model = tiny_model(**architecture)
    expected = model(**arguments()).logits
    model.to(dtype).set_attn_implementation(attention)
    outputs = model(**arguments(), labels=LABELS, output_hidden_states=True)
    assert outputs.logits.dtype == outputs.encoder_last_hidden_state.dtype == dtype
    assert {state.dtype for state in outputs.decoder_hidden_states} == {dtype}
    assert outputs.loss.dtype == torch.float32
    error = real(outputs.logits.double() - expected).abs().max() / expected.abs().max()
    assert 0 < error < 0.05
    outputs.loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    generated = model.generate(SOURCE, attention_mask=MASK, max_new_tokens=4, min_new_tokens=4)
    assert generated.shape == (2, 5)


VARIANTS = {
    "all heads": {"num_key_value_heads": None}, "grouped": {"num_key_value_heads": 2},
    "one": {"num_key_value_heads": 1, "tie_word_embeddings": False},
}  # fmt: skip


def attended(model):
    """Encoder states, logits of a padded batch at once and cached, and logits of one of its rows alone."""
    whole = model(**arguments())
    cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
    steps = []
    for first, last in ((0, 3), (3, 4), (4, 5)):
        step = model(
            encoder_outputs=(whole.encoder_last_hidden_state,), attention_mask=MASK,
            decoder_input_ids=TARGET[:, first:last], decoder_attention_mask=TARGET_MASK[:, :last],
            past_key_values=cache, use_cache=True,
        )  # fmt: skip
        steps.append(step.logits)
    alone = model(SOURCE[1:], decoder_input_ids=TARGET[1:]).logits
    return whole.encoder_last_hidden_state[MASK.bool()], real(whole.logits), real(torch.cat(steps, 1)), alone


@torch.no_grad()
@pytest.mark.parametrize("implementation", ["sdpa", "flex_attention"])
@pytest.mark.parametrize("heads", VARIANTS)
@pytest.mark.parametrize("positions", ["rotary", "sinusoidal", "learned"])
def test_attention_implementations_agree(tiny_model, monkeypatch, implementation, heads, positions):
    model = tiny_model(**VARIANTS[heads], position_embedding_type=positions, head_dim=16)
    model.set_attn_implementation("eager")
    eager = attended(model)
    same(eager[1], eager[2])
    same(eager[1][-5:], eager[3][0])
    calls, original = [], ALL_ATTENTION_FUNCTIONS[implementation]
    counted = {implementation: lambda *given, **options: calls.append(1) or original(*given, **options)}
    monkeypatch.setattr(ALL_ATTENTION_FUNCTIONS, "_local_mapping", ALL_ATTENTION_FUNCTIONS._local_mapping | counted)
    model.set_attn_implementation(implementation)
    # Compiling the kernel of flex attention takes long; its eager version computes the same.
    with torch.compiler.set_stance("force_eager"):
        for ours, theirs in zip(attended(model), eager, strict=True):
            same(ours, theirs)
    assert calls


# Compiled for a CPU, flex attention of torch 2.13 sometimes corrupts the heap: pytorch/pytorch#153145.
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch's compiled flex attention is safe on a GPU only")
@torch.no_grad()
def test_compiled_flex_attention_equals_eager(tiny_model):
    model = tiny_model(head_dim=16).float().to("cuda")
    model.set_attn_implementation("eager")
    given = {name: tensor.cuda() for name, tensor in arguments().items()}
    expected = real(model(**given).logits.cpu())
    model.set_attn_implementation("flex_attention")
    torch.compiler.reset()
    same(real(model(**given).logits.cpu()), expected, 1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="flash attention runs on a GPU only")
@torch.no_grad()
def test_flash_attention_on_a_gpu(tiny_model):
    pytest.importorskip("flash_attn")
    model = tiny_model(head_dim=32).to("cuda", torch.bfloat16)
    given = {name: tensor.cuda() for name, tensor in arguments().items()}
    expected = model(**given).logits
    model.set_attn_implementation("flash_attention_2")
    same(real(model(**given).logits.cpu()), real(expected.cpu()), 0.1)


def test_checkpointing_passes_gradients_with_frozen_embeddings(tiny_model):
    """As with adapters: without `enable_input_require_grads`, re-entrant checkpointing would block all gradients."""
    model = tiny_model(tie_word_embeddings=False).train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("q_proj" in name)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model.enable_input_require_grads()
    model(SOURCE, attention_mask=MASK, labels=LABELS).loss.backward()
    assert all(p.grad.abs().max() > 0 for name, p in model.named_parameters() if p.requires_grad)
