"""Muon (Jordan et al. 2024) for the matrices of the layers, with another optimizer for all other weights."""

import logging
from typing import Any

import torch
from torch import nn
from torch.optim import Muon, Optimizer
from transformers import PreTrainedModel

from ..plan.devices import has_bf16

logger = logging.getLogger(__name__)

MOMENTUM = 0.95  # torch's default, and the value of Jordan et al. 2024


class Float32Muon(Muon):
    """torch's Muon in float32. torch always computes the iteration in bfloat16, which some devices emulate.

    `nesterov` and `adjust_lr_fn` have torch's defaults and cannot be changed.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step, equal to torch's up to rounding; the state is torch's."""
        for group in self.param_groups:
            for weight in group["params"]:
                gradient = weight.grad
                if gradient is None:
                    continue
                if not self.state[weight]:
                    self.state[weight]["momentum_buffer"] = torch.zeros_like(gradient)
                average = self.state[weight]["momentum_buffer"]
                average.lerp_(gradient, 1 - group["momentum"])
                update = gradient.lerp(average, group["momentum"])  # Nesterov's
                update = orthogonalize(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
                rows, columns = weight.shape
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(update, alpha=-group["lr"] * max(1, rows / columns) ** 0.5)


def orthogonalize(
    matrix: torch.Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> torch.Tensor:
    """The matrix [rows, columns] with its singular values moved close to 1, in float32.

    This is the iteration of Newton and Schulz as Jordan et al. 2024 use it. With their coefficients and five steps
    most singular values end between 0.7 and 1.2; very small ones stay below.
    """
    a, b, c = coefficients
    wide = matrix.float() if matrix.size(0) <= matrix.size(1) else matrix.float().T
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        gram = wide @ wide.T
        wide = a * wide + (b * gram + c * (gram @ gram)) @ wide
    return wide if matrix.size(0) <= matrix.size(1) else wide.T


class MuonBeside(Optimizer):
    """Two optimizers as one: `other` and a Muon for the matrices that it does not have.

    Muon's steps have the size of the learning rate for any gradients, so it has its own rate. Schedules
    multiply the rates of both. Logs show the rate of `other`.
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


def emulates_bf16(device: torch.device) -> bool:
    """Whether a device has no instructions for bfloat16: some CPUs, and NVIDIA's GPUs before Ampere."""
    if device.type == "cpu":
        return not has_bf16(torch.cpu.get_capabilities())
    return device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)


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
    kind: type[Muon] = Muon
    if emulates_bf16(matrices[0].device):
        kind = Float32Muon
        logger.info("Muon computes in float32: this device has no bf16 instructions.")
    return MuonBeside(other, kind(matrices, lr=learning_rate, weight_decay=weight_decay, momentum=MOMENTUM))
