"""The head that aligns words: its scores and its loss."""

import math

import pytest
import torch
from small_models import ARCHITECTURES, TINY, UNEXPORTED

from glossa import GlossaConfig, GlossaForConditionalGeneration
from glossa.model.loss_glossa import alignment_loss

SOURCES = torch.tensor([[5, 6, 7, 1], [8, 9, 1, 0]])
LABELS = torch.tensor([[11, 12, 13, 1, -100], [14, 15, 16, 17, 1]])
MASK = (SOURCES != 0).long()


def build(implementation="eager", **changes):
    torch.manual_seed(0)
    model = GlossaForConditionalGeneration(GlossaConfig(**TINY | {"alignment_layer": 0} | changes))
    model.set_attn_implementation(implementation)
    return model


def targets():
    """The second label of the first row is linked to two source tokens, the first of the second row to one."""
    wanted = torch.zeros(2, 5, 4)
    wanted[0, 1, [0, 2]] = 0.5
    wanted[1, 0, 1] = 1
    return wanted


def test_the_loss_is_the_one_worked_out_by_hand():
    scores = torch.zeros(1, 3, 3)
    scores[0, 0] = torch.tensor([math.log(3), 0, 7])  # the third source token is padding: shares 3/4 and 1/4
    wanted = torch.zeros(1, 3, 3)
    wanted[0, 0] = torch.tensor([0.5, 0.5, 0])  # of the first label
    labels, mask = torch.tensor([[4, 5, 1]]), torch.tensor([[1, 1, 0]])
    expected = -0.05 * 0.5 * (math.log(3 / 4) + math.log(1 / 4))
    assert alignment_loss(scores, wanted, mask, labels).item() == pytest.approx(expected / 3, rel=1e-6)
    assert alignment_loss(scores, wanted, mask, labels, 10).item() == pytest.approx(expected / 10, rel=1e-6)
    assert alignment_loss(scores, wanted, None, labels[:, :3], 1).item() > expected  # padding takes its share
    assert alignment_loss(scores, torch.zeros(1, 3, 3), mask, labels).item() == 0


@pytest.mark.parametrize("name", [*ARCHITECTURES, *UNEXPORTED])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_the_term_is_that_of_the_weights_of_the_first_head(name, implementation):
    changes = (ARCHITECTURES | UNEXPORTED)[name]
    model = build("eager", **changes).eval()
    batch = {"input_ids": SOURCES, "attention_mask": MASK, "labels": LABELS}
    weights = model(**batch, output_attentions=True).cross_attentions[0][:, 0]  # [B, T, S]
    expected = 0
    for row, label, source, share in ((0, 1, 0, 0.5), (0, 1, 2, 0.5), (1, 0, 1, 1.0)):
        expected -= 0.05 * share * weights[row, label, source].log().item() / 9  # labels
    model = build(implementation, **changes).train()
    with_term, without = model(**batch, alignments=targets()).loss, model(**batch).loss
    assert (with_term - without).item() == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_only_training_has_it_and_only_with_a_layer():
    batch = {"input_ids": SOURCES, "attention_mask": MASK, "labels": LABELS}
    model = build()
    assert model.eval()(**batch, alignments=targets()).loss.equal(model(**batch).loss)
    other = build(alignment_layer=None).train()
    assert other(**batch, alignments=targets()).loss.equal(other(**batch).loss)


def test_gradients_reach_the_first_head_only_with_checkpointing_too():
    found = []
    for checkpointing in (False, True):
        model = build("sdpa", num_key_value_heads=None).train()
        if checkpointing:
            model.gradient_checkpointing_enable()
        outputs = model.model(
            input_ids=SOURCES, attention_mask=MASK, decoder_input_ids=LABELS.clamp(min=0), use_cache=False
        )
        alignment_loss(outputs.alignment_scores, targets(), MASK, LABELS).backward()
        gradient = model.model.decoder.layers[0].encoder_attn.q_proj.weight.grad  # [H * E, D]
        assert gradient[:4].abs().sum() > 0 and not gradient[4:].any()
        found.append(gradient)
    assert torch.allclose(*found)


@pytest.mark.parametrize("layer", [-1, 2])
def test_a_layer_that_is_not_there_is_refused(layer):
    with pytest.raises(Exception, match=f"alignment_layer is {layer}; it must be at least 0"):
        GlossaConfig(**TINY, alignment_layer=layer)
