"""Muon (Jordan et al. 2024) for the matrices of the layers, beside another optimizer for all other weights."""

from typing import Any

from torch import nn
from torch.optim import Muon, Optimizer
from transformers import PreTrainedModel

MOMENTUM = 0.95  # torch's default and that of Jordan et al. 2024


class MuonBeside(Optimizer):
    """Two optimizers as one: `other` and a Muon for the matrices that it does not have.

    Muon's steps have the size of the learning rate whatever the gradients, so it has a rate of its own. Schedules
    multiply the rates of both. In logs the rate is that of `other`.
    """

    def __init__(self, other: Optimizer, muon: Muon):
        self.parts = {"other": other, "muon": muon}
        super().__init__([*other.param_groups, *muon.param_groups], {})
        self._share_groups()

    def _share_groups(self) -> None:
        # Schedules set the rates in these dictionaries, which the parts read.
        self.param_groups = [group for part in self.parts.values() for group in part.param_groups]

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step of both."""
        for part in self.parts.values():
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """The states of both."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the states of both."""
        for name, part in self.parts.items():
            part.load_state_dict(state_dict[name])
        self._share_groups()


def layer_matrices(model: PreTrainedModel) -> list[nn.Parameter]:
    """The weights of linear layers that are trained, without those that are embeddings or the output layer."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    embeddings.add(id(model.get_output_embeddings().weight))
    weights: list[Any] = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    return [weight for weight in weights if weight.requires_grad and id(weight) not in embeddings]


def put_beside(other: Optimizer, model: PreTrainedModel, learning_rate: float, weight_decay: float) -> MuonBeside:
    """Take the layers' matrices from `other` and give them to a Muon with this rate and decay."""
    matrices = layer_matrices(model)
    chosen = {id(weight) for weight in matrices}
    for group in other.param_groups:
        group["params"] = [weight for weight in group["params"] if id(weight) not in chosen]
    return MuonBeside(other, Muon(matrices, lr=learning_rate, weight_decay=weight_decay, momentum=MOMENTUM))
