"""What a trial step leaves behind."""

import torch

from glossa.train.plan.devices import trial_step


def test_trial_changes_no_weights_or_gradients(tiny_model):
    model = tiny_model(dropout=0.1).train()
    weights = {name: weight.clone() for name, weight in model.named_parameters()}
    batch = {"input_ids": torch.tensor([[5, 6, 1]]), "labels": torch.tensor([[7, 8, 1]])}
    trial_step(model, batch, bf16=True)()
    assert all(weight.equal(weights[name]) and weight.grad is None for name, weight in model.named_parameters())
