"""Muon (Jordan et al. 2024) for the matrices of the layers, combined with another optimizer for all other weights."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import distributed, nn
from torch.optim import Optimizer
from transformers import PreTrainedModel

MOMENTUM = 0.95  # torch's default, and the value of Jordan et al. 2024
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # from Jordan et al. 2024, like the number of steps
STEPS = 5
SMALLEST_NORM = 1e-7  # torch's default; a matrix of zeros stays zero


class Muon(Optimizer):
    """Muon with the same updates and state as torch's, but fewer and larger operations.

    Matrices of the same shape are orthogonalized together. Processes with equal weights and gradients, as in DDP,
    divide the matrices among themselves and gather the updates, so that their weights stay equal.

    Args:
        weights: Matrices [rows, columns].
        lr: Learning rate. An update is multiplied by it and by max(1, rows / columns) ** 0.5.
        weight_decay: Decoupled weight decay; a step subtracts `lr * weight_decay` times the weight.
        momentum: Decay of the average of gradients, with Nesterov momentum as in torch's default.
        dtype: Type of the multiplications; bfloat16 in torch's Muon.
    """

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        lr: float,
        weight_decay: float = 0.1,
        momentum: float = MOMENTUM,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__(weights, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Perform an optimization step. Weights without a gradient are skipped."""
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            weights = [weight for weight in group["params"] if weight.grad is not None]
            updates = orthogonalize([self._average(weight, momentum) for weight in weights], self.dtype)
            for weight, update in zip(weights, updates, strict=True):
                rows, columns = weight.shape
                weight.mul_(1 - rate * group["weight_decay"])
                weight.add_(update, alpha=-rate * max(1, rows / columns) ** 0.5)

    def _average(self, weight: nn.Parameter, momentum: float) -> torch.Tensor:
        """Update the average of gradients; returns the gradient with Nesterov momentum."""
        gradient: Any = weight.grad
        if not self.state[weight]:
            self.state[weight]["momentum_buffer"] = torch.zeros_like(gradient)
        average = self.state[weight]["momentum_buffer"]
        average.lerp_(gradient, 1 - momentum)
        return gradient.lerp(average, momentum)


def orthogonalize(matrices: list[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """Move the singular values of the matrices [rows, columns] close to 1.

    If torch's process group is initialized, all processes must call this with equal matrices. Each process computes a
    part, and all processes return identical results.

    Args:
        matrices: Matrices of any shapes.
        dtype: Type of the multiplications and of the results.
    """
    several = distributed.is_available() and distributed.is_initialized()
    processes, rank = (distributed.get_world_size(), distributed.get_rank()) if several else (1, 0)
    shapes: dict[tuple[int, ...], list[int]] = {}
    for number, matrix in enumerate(matrices):
        shapes.setdefault(tuple(sorted(matrix.shape)), []).append(number)
    stacks = []
    for numbers in shapes.values():
        share = -(-len(numbers) // processes)
        own = [numbers[place % len(numbers)] for place in range(rank * share, (rank + 1) * share)]
        stacks.append(iterate(torch.stack([_wide(matrices[number]) for number in own]).to(dtype)))
    if processes > 1 and stacks:
        stacks = _gather(stacks, processes)
    results = list(matrices)
    for numbers, stack in zip(shapes.values(), stacks, strict=True):
        for number, result in zip(numbers, stack, strict=False):  # the last processes repeat some matrices
            results[number] = result if _wide(matrices[number]) is matrices[number] else result.T
    return results


def _wide(matrix: torch.Tensor) -> torch.Tensor:
    """Transpose a matrix with more rows than columns, which makes the products of the iteration smaller."""
    return matrix.T if matrix.size(0) > matrix.size(1) else matrix


def _gather(stacks: list[torch.Tensor], processes: int) -> list[torch.Tensor]:
    """Gather the stacks [matrices, rows, columns] of all processes, concatenated in the order of the processes."""
    own = torch.cat([stack.flatten() for stack in stacks])
    every = own.new_empty(processes * own.numel())
    # As bytes, since not every backend supports all types.
    distributed.all_gather(list(every.view(torch.uint8).chunk(processes)), own.view(torch.uint8))
    parts = every.view(processes, -1).split([stack.numel() for stack in stacks], dim=1)
    return [part.reshape(-1, *stack.shape[1:]) for part, stack in zip(parts, stacks, strict=True)]


def iterate(stack: torch.Tensor) -> torch.Tensor:
    """Apply the Newton-Schulz iteration of Jordan et al. 2024 to matrices [matrices, rows, columns].

    Most singular values end between 0.7 and 1.2; very small ones stay below.
    """
    a, b, c = COEFFICIENTS
    stack = stack / stack.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(STEPS):
        gram = stack @ stack.mT  # [matrices, rows, rows]
        gram = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        stack = torch.baddbmm(stack, gram, stack, beta=a)
    return stack


class CombinedOptimizer(Optimizer):
    """Combines `other` with a Muon for the matrices that `other` does not optimize.

    The size of Muon's steps depends only on the learning rate, not on the gradients, so it has a separate rate.
    Schedules scale both rates. Logs show the rate of `other`.
    """

    def __init__(self, other: Optimizer, muon: Muon):
        self.parts = {"other": other, "muon": muon}
        super().__init__([*other.param_groups, *muon.param_groups], {})
        self._share_groups()

    def _share_groups(self) -> None:
        # Schedules set the rates in these dictionaries, which both optimizers read.
        self.param_groups = [group for part in self.parts.values() for group in part.param_groups]

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Perform a step of each optimizer."""
        for part in self.parts.values():
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """The states of both optimizers, as `other` and `muon`."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the states of both optimizers."""
        for name, part in self.parts.items():
            part.load_state_dict(state_dict[name])
        self._share_groups()


def precision(device: torch.device) -> torch.dtype:
    """The type of Muon's multiplications: bfloat16, or float32 on CPUs and on NVIDIA GPUs before Ampere."""
    # Some CPUs support bfloat16 too, but it gave a worse model (docs/decisions.md). GPUs before Ampere emulate it.
    emulated = device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.float32 if device.type == "cpu" or emulated else torch.bfloat16


def layer_matrices(model: PreTrainedModel) -> list[nn.Parameter]:
    """The trainable weights of linear layers, except weights of embeddings and of the output layer."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    embeddings.add(id(model.get_output_embeddings().weight))
    weights: list[Any] = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    return [weight for weight in weights if weight.requires_grad and id(weight) not in embeddings]


def combine_with_muon(
    other: Optimizer, model: PreTrainedModel, learning_rate: float, weight_decay: float
) -> CombinedOptimizer:
    """Move the layers' matrices from `other` to a Muon with this learning rate and weight decay."""
    matrices = layer_matrices(model)
    chosen = {id(weight) for weight in matrices}
    for group in other.param_groups:
        group["params"] = [weight for weight in group["params"] if id(weight) not in chosen]
    return CombinedOptimizer(other, Muon(matrices, learning_rate, weight_decay, dtype=precision(matrices[0].device)))
