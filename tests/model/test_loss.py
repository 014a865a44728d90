"""The loss compared with calculations by hand, with torch and with its definition."""

import math

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from glossa.model.loss_glossa import chunked_cross_entropy, smoothed_cross_entropy

SOURCE = torch.tensor([[9, 8, 7, 6, 5, 1], [11, 12, 13, 14, 15, 16], [20, 21, 22, 23, 24, 1]])
LABELS = torch.tensor([[20, 21, 22, 23, 1], [30, 31, 1, -100, -100], [1, -100, -100, -100, -100]])


def same(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)


def test_cross_entropy_by_hand():
    # Probabilities 1/2, 1/4, 1/4 and 1/8, 3/4, 1/8; labels 0 and 1 cost ln 2 and ln 4/3; the third is ignored.
    logits = torch.tensor([[[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [1.0, 1.0, 1.0]]]).log()
    labels = torch.tensor([[0, 1, -100]])
    same(smoothed_cross_entropy(logits, labels), torch.tensor((math.log(2) + math.log(4 / 3)) / 2))
    same(smoothed_cross_entropy(logits, labels, num_items_in_batch=8), torch.tensor(math.log(8 / 3) / 8))
    # 0.3 is taken from the label and spread over three tokens: -0.8 ln 1/2 - 0.1 ln 1/4 - 0.1 ln 1/4, and likewise.
    first = 0.8 * math.log(2) + 0.2 * math.log(4)
    second = 0.8 * math.log(4 / 3) + 0.2 * math.log(8)
    same(smoothed_cross_entropy(logits, labels, 0.3), torch.tensor((first + second) / 2))
    # With token 2 excluded, 0.3 goes to the only other token.
    first = 0.7 * math.log(2) + 0.3 * math.log(4)
    second = 0.7 * math.log(4 / 3) + 0.3 * math.log(8)
    same(smoothed_cross_entropy(logits, labels, 0.3, excluded_token_id=2), torch.tensor((first + second) / 2))


def test_uniform_smoothing_equals_that_of_torch():
    logits, labels = torch.randn(2, 5, 11), torch.tensor([[1, 2, 3, -100, -100], [4, 5, 6, 7, 10]])
    expected = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.2)
    same(smoothed_cross_entropy(logits, labels, 0.2), expected)
    # By hand: (1 - e) times the cost of the label plus e times the mean cost of all 11 tokens.
    kept = labels != -100
    costs = -logits.log_softmax(-1)[kept]
    by_hand = 0.8 * costs.gather(-1, labels[kept][:, None])[:, 0] + 0.2 * costs.mean(-1)
    same(smoothed_cross_entropy(logits, labels, 0.2), by_hand.mean())


def test_smoothing_that_excludes_padding_equals_the_kl_divergence_plus_entropy():
    """Cross-entropy is the KL divergence plus the entropy of the target, which has no gradient."""
    vocabulary, smoothing, padding = 11, 0.2, 0
    logits = torch.randn(2, 5, vocabulary, requires_grad=True)
    labels = torch.tensor([[1, 2, 3, -100, -100], [4, 5, 6, 7, 10]])
    kept = labels != -100
    target = torch.full((8, vocabulary), smoothing / (vocabulary - 2))
    target[torch.arange(8), labels[kept]] = 1 - smoothing
    target[:, padding] = 0
    same(target.sum(-1), torch.ones(8))
    divergence = nn.functional.kl_div(logits.log_softmax(-1)[kept], target, reduction="sum") / 8
    entropy = -(1 - smoothing) * math.log(1 - smoothing) - smoothing * math.log(smoothing / (vocabulary - 2))
    loss = smoothed_cross_entropy(logits, labels, smoothing, excluded_token_id=padding)
    same(loss, divergence + entropy)
    same(torch.autograd.grad(loss, logits)[0], torch.autograd.grad(divergence, logits)[0])


def test_the_loss_is_float32_and_finite_in_half_precision():
    logits = torch.tensor([[[30.0, -30.0, 0.0]]], dtype=torch.float16)
    loss = smoothed_cross_entropy(logits, torch.tensor([[1]]), 0.1, excluded_token_id=2)
    assert loss.dtype == torch.float32
    # The label costs 60, the only other token that is not excluded 0.
    same(loss, torch.tensor(0.9 * 60.0))


SMOOTHINGS = [(0.0, None), (0.1, None), (0.1, 3), (0.0, 3)]


def with_gradients(loss, *tensors):
    return [loss.detach(), *torch.autograd.grad(loss, tensors)]


def states_and_labels(rows, dtype):
    """States of `rows` x 5 positions, the weight of an output layer, and labels of which every sixth is ignored."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(rows, 5, 7, dtype=dtype, generator=generator, requires_grad=True)
    weight = torch.randn(11, 7, dtype=dtype, generator=generator, requires_grad=True)
    labels = torch.randint(11, (rows, 5), generator=generator)
    return states, weight, labels.masked_fill(torch.arange(5 * rows).view(rows, 5) % 6 == 0, -100)


@pytest.mark.parametrize("rows", [1, 60, 130])  # 4, 250 and 541 labels: one, one and two chunks
@pytest.mark.parametrize(("smoothing", "excluded"), SMOOTHINGS)
@pytest.mark.parametrize("items", [None, 1000])
def test_chunked_loss_and_gradients_equal_those_of_whole_logits(rows, smoothing, excluded, items):
    states, weight, labels = states_and_labels(rows, torch.float64)
    whole = smoothed_cross_entropy(states @ weight.t(), labels, smoothing, excluded, items)
    chunked = chunked_cross_entropy(states, weight, labels, smoothing, excluded, items)
    for ours, expected in zip(
        with_gradients(chunked, states, weight), with_gradients(whole, states, weight), strict=True
    ):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("smoothing", "excluded"), SMOOTHINGS)
def test_chunked_gradient_equals_finite_differences(smoothing, excluded):
    states, weight, labels = states_and_labels(3, torch.float64)
    assert torch.autograd.gradcheck(
        lambda states, weight: 3 * chunked_cross_entropy(states, weight, labels, smoothing, excluded), (states, weight)
    )


def test_chunked_loss_with_a_frozen_output_layer_or_without_gradients():
    states, weight, labels = states_and_labels(60, torch.float64)
    loss, gradient = with_gradients(chunked_cross_entropy(states, weight, labels, 0.1), states)
    frozen, same_gradient = with_gradients(chunked_cross_entropy(states, weight.detach(), labels, 0.1), states)
    same(frozen, loss)
    same(same_gradient, gradient)
    with torch.no_grad():
        same(chunked_cross_entropy(states, weight, labels, 0.1), loss)


def test_chunked_loss_under_autocast_is_as_exact_as_that_of_whole_logits():
    states, weight, labels = states_and_labels(130, torch.float32)
    exact = with_gradients(smoothed_cross_entropy(states @ weight.t(), labels, 0.1), states, weight)
    with torch.autocast("cpu", torch.bfloat16):
        logits = nn.functional.linear(states, weight)
        assert logits.dtype == torch.bfloat16
        whole = smoothed_cross_entropy(logits, labels, 0.1)
        chunked = chunked_cross_entropy(states, weight, labels, 0.1)
    whole, chunked = with_gradients(whole, states, weight), with_gradients(chunked, states, weight)
    for ours, theirs, right in zip(chunked, whole, exact, strict=True):
        assert ours.dtype == theirs.dtype == torch.float32
        assert (ours - right).abs().max() < 2 * (theirs - right).abs().max() + 1e-3


def test_chunked_gradients_in_bfloat16_are_as_exact_as_those_of_whole_logits():
    states, weight, labels = states_and_labels(1300, torch.bfloat16)  # 22 chunks
    whole = smoothed_cross_entropy(states @ weight.t(), labels, num_items_in_batch=1)
    chunked = chunked_cross_entropy(states, weight, labels, num_items_in_batch=1)
    whole, chunked = (torch.autograd.grad(loss, (states, weight)) for loss in (whole, chunked))
    exact = [tensor.detach().double().requires_grad_() for tensor in (states, weight)]
    exact_loss = smoothed_cross_entropy(exact[0] @ exact[1].t(), labels, num_items_in_batch=1)
    for ours, theirs, right in zip(chunked, whole, torch.autograd.grad(exact_loss, exact), strict=True):
        assert ours.dtype == theirs.dtype == torch.bfloat16
        assert (ours - right).norm() < 1.2 * (theirs - right).norm()


def test_a_second_derivative_is_right_and_refused_without_logits(tiny_model):
    model = tiny_model(tie_word_embeddings=False)
    model.set_attn_implementation("eager")

    def penalty(**options):
        states = model.get_encoder().embed_tokens(SOURCE).detach().requires_grad_()
        loss = model(inputs_embeds=states, labels=LABELS, **options).loss
        (gradient,) = torch.autograd.grad(loss, states, create_graph=True)
        return (gradient**2).sum()

    output = model.lm_head.weight
    (slope,) = torch.autograd.grad(penalty(), output)
    step = torch.zeros_like(output)
    step[20, 3] = 1e-5
    values = []
    with torch.no_grad():
        for sign in (1, -1):
            output.add_(sign * step)
            with torch.enable_grad():
                values.append(penalty().item())
            output.sub_(sign * step)
    assert slope[20, 3].item() == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4)
    model.train()
    with pytest.raises(RuntimeError, match="no second derivative"):
        penalty(return_logits=False)


def test_the_training_loss_has_the_bias_of_a_replaced_output_layer(tiny_model):
    model = tiny_model()
    model.lm_head = nn.Linear(16, 50).double()
    expected = model(SOURCE, labels=LABELS).loss
    same(model.train()(SOURCE, labels=LABELS).loss, expected)
    with torch.no_grad():
        model.lm_head.bias[20] += 3
    assert (model(SOURCE, labels=LABELS).loss - expected).abs() > 0.1


@pytest.mark.parametrize("labels", [2048, 128])
def test_chunked_loss_never_holds_all_logits(labels):
    """It holds those of 128 labels, which are one chunk."""
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            if torch.is_tensor(result):
                largest = max(largest, result.numel())
            return result

    states, weight, targets = torch.randn(labels, 4), torch.randn(500, 4), torch.randint(500, (labels,))
    with Watch():
        chunked_cross_entropy(states, weight, targets)
        assert largest == 128 * 500
        smoothed_cross_entropy(states @ weight.t(), targets)
        assert largest == labels * 500


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["uniform", "exclude_padding"])
def test_the_model_smooths_labels_if_it_is_asked_for_it(tiny_model, smoothing, kind):
    model = tiny_model(label_smoothing_type=kind)
    outputs = model(SOURCE, labels=LABELS)
    plain = nn.functional.cross_entropy(outputs.logits.flatten(0, 1), LABELS.flatten())
    same(outputs.loss, plain)
    same(model.train()(SOURCE, labels=LABELS).loss, plain)
    trained = model(SOURCE, labels=LABELS, smoothing=smoothing).loss
    same(trained, model(SOURCE, labels=LABELS, smoothing=smoothing, return_logits=False).loss)
    if smoothing == 0:
        same(trained, plain)
    else:
        excluded = 0 if kind == "exclude_padding" else None
        same(trained, smoothed_cross_entropy(outputs.logits, LABELS, smoothing, excluded))
        assert (trained - plain).abs() > 1e-3


def test_labels_are_not_shifted_twice(tiny_model):
    """A model that always predicts 20 has almost no loss if every label is 20."""
    model = tiny_model(tie_word_embeddings=False, norm_type="layer")
    with torch.no_grad():
        model.model.decoder.final_norm.weight.zero_()
        model.model.decoder.final_norm.bias.fill_(1.0)
        model.lm_head.weight.zero_()
        model.lm_head.weight[20] = 5.0
    assert model(SOURCE, labels=torch.full((3, 4), 20)).loss < 1e-6
    assert model(SOURCE, labels=torch.full((3, 4), 21)).loss.item() == pytest.approx(80, rel=1e-4)
    # One wrong label of four costs a quarter, at any position.
    for position in range(4):
        labels = torch.full((3, 4), 20)
        labels[:, position] = 21
        assert model(SOURCE, labels=labels).loss.item() == pytest.approx(20, rel=1e-4)


def test_ignored_labels_get_no_gradient_and_no_weight(tiny_model):
    model = tiny_model()
    whole = model(SOURCE[1:2], labels=LABELS[1:2]).loss
    same(whole, model(SOURCE[1:2], labels=LABELS[1:2, :3]).loss)
    outputs = model(SOURCE, labels=LABELS)
    outputs.logits.retain_grad()
    outputs.loss.backward()
    assert outputs.logits.grad[LABELS == -100].eq(0).all()
    assert outputs.logits.grad[LABELS != -100].abs().sum(-1).gt(0).all()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["uniform", "exclude_padding"])
@pytest.mark.parametrize("as_tensor", [True, False])
def test_unequal_micro_batches_add_up_to_the_whole_batch(tiny_model, smoothing, kind, as_tensor):
    """5, 3 and 1 labels: a mean of means would weigh the last label nine times too much."""
    model, options = tiny_model(label_smoothing_type=kind).train(), {"smoothing": smoothing}
    model(SOURCE, labels=LABELS, **options).loss.backward()
    whole = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    items = torch.tensor(9) if as_tensor else 9
    for row in range(3):
        part = {"labels": LABELS[row : row + 1], "num_items_in_batch": items}
        model(SOURCE[row : row + 1], **part, **options, return_logits=row > 0).loss.backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, whole[name], rtol=1e-5, atol=1e-7)
    model.zero_grad()
    for row in range(3):
        (model(SOURCE[row : row + 1], labels=LABELS[row : row + 1], **options).loss / 3).backward()
    assert (model.lm_head.weight.grad - whole["model.encoder.embed_tokens.weight"]).abs().max() > 1e-3


@pytest.mark.parametrize("field", ["pad_token_id", "decoder_start_token_id"])
def test_labels_need_padding_and_a_start_token(tiny_model, field):
    model = tiny_model()
    setattr(model.config, field, None)
    with pytest.raises(ValueError, match="labels need both"):
        model(SOURCE, labels=LABELS)
    # With the decoder's input there is nothing to make from them.
    assert model(SOURCE, decoder_input_ids=LABELS.clamp(min=0), labels=LABELS).loss > 0
