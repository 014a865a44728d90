import pytest
import torch
from torch import nn

from glossa.train.dropout import FastDropout, use_fast_dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
def test_dropout_is_independent_and_keeps_the_mean(p):
    torch.manual_seed(0)
    dropout, n = FastDropout(p), 400_003  # not a multiple of the four that share a draw
    given = torch.full((n,), 2.0, dtype=torch.float64, requires_grad=True)
    kept = dropout(given)
    kept.sum().backward()
    stays = kept != 0
    share = stays.double().mean().item()
    assert abs(share - (1 - p)) < 5 * (p * (1 - p) / n) ** 0.5
    # The scale of kept elements also accounts for the rounding of p to a multiple of 1/65536.
    torch.testing.assert_close(kept[stays], torch.full_like(kept[stays], 2 / (1 - p)), rtol=1e-4 / (1 - p), atol=0)
    assert given.grad.equal(kept.detach() / 2)
    # Elements at a distance of 1 to 4 are independent: both are kept with a probability of (1 - p)^2.
    for step in (1, 2, 3, 4):
        together = (stays[:-step] & stays[step:]).double().mean().item()
        assert abs(together - (1 - p) ** 2) < 6 * (1 - p) / n**0.5
    assert not dropout(given).equal(kept)
    torch.manual_seed(0)
    assert dropout(given).equal(kept)
    assert dropout.eval()(given) is given


def test_dropout_with_probabilities_zero_and_one():
    given = torch.ones(3, 5)
    assert FastDropout(0.0)(given).equal(given)
    assert FastDropout(1.0)(given).eq(0).all()


def test_a_model_gets_it_everywhere_and_computes_the_same_without_training(tiny_model):
    model = tiny_model(dropout=0.3, activation_dropout=0.2).eval()
    ids = torch.tensor([[5, 6, 1]])
    before = model(ids, labels=ids).logits
    places = [(name, module.p) for name, module in model.named_modules() if isinstance(module, nn.Dropout)]
    use_fast_dropout(model)
    found = [(name, module.p) for name, module in model.named_modules() if type(module) is FastDropout]
    assert found == places and {p for _, p in places} == {0.3, 0.2}
    assert model(ids, labels=ids).logits.equal(before)
    assert not model.train()(ids, labels=ids).logits.equal(before)
