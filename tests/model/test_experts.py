"""The mixture of experts: the same results as in transformers, and the loss that balances the load."""

import pytest
import torch
from small_models import same
from torch import nn
from transformers import MixtralConfig, SwitchTransformersConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock, load_balancing_loss_func
from transformers.models.switch_transformers.modeling_switch_transformers import SwitchTransformersSparseMLP

from glossa import GlossaConfig
from glossa.model.layers_glossa import GlossaExperts
from glossa.model.loss_glossa import load_balancing_loss

SOURCE = torch.tensor([[9, 8, 7, 6, 5, 1], [11, 12, 13, 1, 0, 0]])
MASK = (SOURCE != 0).long()
LABELS = torch.tensor([[20, 21, 22, 23, 1], [30, 31, 1, -100, -100]])
EXPERTS = {"num_local_experts": 4}


def block(**settings):
    found = GlossaExperts(GlossaConfig(d_model=16, num_local_experts=4, **settings), 24).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.normal_(std=0.4)
    return found


@torch.no_grad()
def test_two_experts_per_token_equal_mixtral():
    ours = block()
    config = MixtralConfig(hidden_size=16, intermediate_size=24, num_local_experts=4, num_experts_per_tok=2)
    theirs = MixtralSparseMoeBlock(config).eval()
    theirs.gate.weight.copy_(ours.router.weight)
    for index, expert in enumerate(ours.experts):
        theirs.experts.gate_up_proj[index].copy_(torch.cat((expert.gate_proj.weight, expert.up_proj.weight)))
        theirs.experts.down_proj[index].copy_(expert.down_proj.weight)
    states = torch.randn(3, 5, 16)
    output, router_logits = ours(states)
    expected = theirs(states)
    same(output, expected, 1e-5)
    assert expected.std() > 0.1
    same(router_logits, states.flatten(0, 1) @ ours.router.weight.T, 1e-5)


@torch.no_grad()
def test_one_expert_per_token_equals_switch():
    ours = block(num_experts_per_tok=1, gated_feed_forward=False, activation_function="relu")
    config = SwitchTransformersConfig(d_model=16, d_ff=24, num_experts=4, expert_capacity=99, dropout_rate=0.0)
    theirs = SwitchTransformersSparseMLP(config).eval()
    theirs.router.classifier.weight.copy_(ours.router.weight)
    for index, expert in enumerate(ours.experts):
        theirs.experts[f"expert_{index}"].wi.weight.copy_(expert.up_proj.weight)
        theirs.experts[f"expert_{index}"].wo.weight.copy_(expert.down_proj.weight)
    states = torch.randn(3, 5, 16)
    expected = theirs(states)
    same(ours(states)[0], expected, 1e-5)
    assert expected.std() > 0.1


@torch.no_grad()
def test_shared_experts_are_added_for_every_token():
    ours = block(num_shared_experts=2)
    assert ours.shared_experts.up_proj.weight.shape == (48, 16)
    states = torch.randn(3, 5, 16)
    whole = ours(states)[0]
    shared, ours.shared_experts = ours.shared_experts, None
    same(whole, ours(states)[0] + shared(states), 1e-5)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("mask", [None, torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 0, 0, 0, 0]])])
def test_the_load_balancing_loss_equals_that_of_transformers(k, mask):
    router_logits = torch.randn(15, 4)
    expected = load_balancing_loss_func((router_logits,), 4, k, mask)
    same(load_balancing_loss(router_logits, k, mask), expected, 1e-6)


def test_the_load_balancing_loss_by_hand():
    """Two experts, one choice. Fedus et al. 2021, equation 4 without its factor: 2 x (f_0 P_0 + f_1 P_1)."""
    even = torch.tensor([[0.8, 0.2], [0.2, 0.8]]).log()
    assert load_balancing_loss(even, 1, None).item() == pytest.approx(2 * (0.5 * 0.5 + 0.5 * 0.5))
    uneven = torch.tensor([[0.8, 0.2], [0.6, 0.4]]).log()
    assert load_balancing_loss(uneven, 1, None).item() == pytest.approx(2 * (1.0 * 0.7 + 0.0 * 0.3))
    padded = torch.cat((even, uneven))
    assert load_balancing_loss(padded, 1, torch.tensor([[1, 1, 0, 0]])).item() == pytest.approx(1.0)


def losses(model, **given):
    return model(SOURCE, attention_mask=MASK, labels=LABELS, **given).loss


def test_only_the_training_loss_balances_the_load_of_both_sides(tiny_model):
    plain, balanced = (tiny_model(**EXPERTS, router_aux_loss_coef=factor) for factor in (0.0, 0.5))
    same(losses(balanced), losses(plain))
    targets = balanced.prepare_decoder_input_ids_from_labels(LABELS)
    outputs = balanced.model(SOURCE, attention_mask=MASK, decoder_input_ids=targets)
    assert outputs.encoder_router_logits is outputs.decoder_router_logits is None
    outputs = balanced.train().model(SOURCE, attention_mask=MASK, decoder_input_ids=targets)
    assert len(outputs.encoder_router_logits) == len(outputs.decoder_router_logits) == 2
    # Each layer of each side on its own, without padding.
    sides = ((outputs.encoder_router_logits, MASK), (outputs.decoder_router_logits, (LABELS != -100).long()))
    expected = sum(load_balancing_loss_func((each,), 4, 2, mask) for logits, mask in sides for each in logits)
    added = losses(balanced) - losses(plain.train())
    same(added, 0.5 * expected.double(), 1e-6)
    assert added > 0.5 * 4 * 2 * 0.9  # about k in each of four layers


def test_what_padding_holds_does_not_change_the_training_loss(tiny_model):
    model = tiny_model(**EXPERTS, router_aux_loss_coef=0.5).train()
    other = SOURCE.where(MASK == 1, 33)
    same(model(other, attention_mask=MASK, labels=LABELS).loss, losses(model))
    wider = torch.cat((LABELS, torch.full((2, 3), -100)), 1)
    same(model(SOURCE, attention_mask=MASK, labels=wider).loss, losses(model))


def test_batches_of_one_step_share_the_balance_loss(tiny_model):
    """Of 8 labels in two batches, the first has 5: it gets 5/8 of its own balance loss."""
    plain, balanced = (tiny_model(**EXPERTS, router_aux_loss_coef=factor).train() for factor in (0.0, 0.5))

    def added(**given):
        rows = {"input_ids": SOURCE[:1], "labels": LABELS[:1]} | given
        return balanced(**rows).loss - plain(**rows).loss

    same(added(num_items_in_batch=torch.tensor(8)), added() * 5 / 8)
    same(added(num_items_in_batch=8), added() * 5 / 8)
    # Of the second row's five labels, three are real.
    other = {"input_ids": SOURCE[1:], "attention_mask": MASK[1:], "labels": LABELS[1:]}
    same(added(**other, num_items_in_batch=8), added(**other) * 3 / 8)


@pytest.mark.parametrize("k", [1, 2])
def test_router_and_experts_get_gradients(tiny_model, k):
    model = tiny_model(**EXPERTS, num_experts_per_tok=k, router_aux_loss_coef=0.0).train()
    losses(model).backward()
    for layer in (*model.model.encoder.layers, *model.model.decoder.layers):
        assert layer.feed_forward.router.weight.grad.abs().max() > 0
        used = [expert.up_proj.weight.grad for expert in layer.feed_forward.experts]
        assert all(gradient is not None for gradient in used)  # also of experts without a token
        assert max(gradient.abs().max() for gradient in used) > 0


@pytest.mark.parametrize("re_entrant", [True, False])
def test_checkpointing_keeps_the_gradient_of_the_balance_loss(tiny_model, re_entrant):
    model = tiny_model(**EXPERTS, router_aux_loss_coef=100.0).train()

    def router_gradients():
        model.zero_grad()
        losses(model).backward()
        return torch.stack([layer.feed_forward.router.weight.grad.clone() for layer in model.model.encoder.layers])

    expected = router_gradients()
    model.gradient_checkpointing_enable({"use_reentrant": re_entrant})
    same(router_gradients(), expected)
    assert expected.abs().max() > 1, "most of it comes from the balance loss"


@torch.no_grad()
def test_the_router_computes_in_float32(tiny_model):
    ours = block().bfloat16()
    states = torch.randn(3, 5, 16).bfloat16()
    output, router_logits = ours(states)
    assert output.dtype == torch.bfloat16 and router_logits.dtype == torch.float32
    same(router_logits, states.flatten(0, 1).float() @ ours.router.weight.float().T, 1e-6)
    with torch.autocast("cpu", torch.bfloat16):
        _, mixed = block()(states.float())
    assert mixed.dtype == torch.float32


def test_mixed_precision_trains(tiny_model):
    model = tiny_model(**EXPERTS, num_shared_experts=1).float().train()
    with torch.autocast("cpu", torch.bfloat16):
        loss = losses(model)
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_adapters_and_quantization_leave_the_router_alone(tiny_model):
    model = tiny_model(**EXPERTS)
    assert not any(isinstance(layer.feed_forward.router, nn.Linear) for layer in model.model.encoder.layers)
