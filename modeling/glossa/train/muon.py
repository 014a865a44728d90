"""Muon (Jordan et al. 2024) for the matrices of the layers, with another optimizer for all other weights."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import distributed, nn
from torch.optim import Optimizer
from transformers import PreTrainedModel

MOMENTUM = 0.95  # torch's default, and the value of Jordan et al. 2024
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of Jordan et al. 2024, as are the five steps
STEPS = 5
SMALLEST_NORM = 1e-7  # torch's default; a matrix of zeros stays zero


class Muon(Optimizer):
    """Muon, equal to torch's, with its state, and fewer and larger operations.

    The matrices of one shape are orthogonalized together. Several processes that hold equal weights and gradients, as
    under DDP, divide the matrices among them and gather the updates, so that their weights stay equal.

    Args:
        weights: Matrices [rows, columns].
        lr: Learning rate. An update is multiplied by it and by the square root of rows / columns, if that is above 1.
        weight_decay: The part of a weight that a step subtracts, times `lr`.
        momentum: Decay of the average of gradients. Nesterov's momentum is used, as in torch's default.
        dtype: Of the multiplications. torch's has bfloat16.
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
        """The gradient with Nesterov's momentum; the average of gradients is updated."""
        gradient: Any = weight.grad
        if not self.state[weight]:
            self.state[weight]["momentum_buffer"] = torch.zeros_like(gradient)
        average = self.state[weight]["momentum_buffer"]
        average.lerp_(gradient, 1 - momentum)
        return gradient.lerp(average, momentum)


def orthogonalize(matrices: list[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """The matrices [rows, columns] with their singular values moved close to 1.

    If torch's process group is initialized, all processes must call this with equal matrices. Each of them computes a
    part, and all get all results, bit for bit the same.

    Args:
        matrices: Of any shapes.
        dtype: Of the multiplications and of the results.
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
    """The matrix, transposed if it has more rows than columns: the products of the iteration are then smaller."""
    return matrix.T if matrix.size(0) > matrix.size(1) else matrix


def _gather(stacks: list[torch.Tensor], processes: int) -> list[torch.Tensor]:
    """The stacks [matrices, rows, columns] of all processes, each joined in the order of the processes."""
    own = torch.cat([stack.flatten() for stack in stacks])
    every = own.new_empty(processes * own.numel())
    # As bytes, since not every backend has all types.
    distributed.all_gather(list(every.view(torch.uint8).chunk(processes)), own.view(torch.uint8))
    parts = every.view(processes, -1).split([stack.numel() for stack in stacks], dim=1)
    return [part.reshape(-1, *stack.shape[1:]) for part, stack in zip(parts, stacks, strict=True)]


def iterate(stack: torch.Tensor) -> torch.Tensor:
    """The matrices [matrices, rows, columns] after the iteration of Newton and Schulz, as Jordan et al. 2024 use it.

    Most singular values end between 0.7 and 1.2; very small ones stay below.
    """
    a, b, c = COEFFICIENTS
    stack = stack / stack.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(STEPS):
        gram = stack @ stack.mT  # [matrices, rows, rows]
        gram = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        stack = torch.baddbmm(stack, gram, stack, beta=a)
    return stack


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
    """The type of Muon's multiplications: bfloat16, or float32 on CPUs and on NVIDIA's GPUs before Ampere."""
    # CPUs may have instructions for bfloat16 too, but a model that was trained with them translated worse:
    # docs/decisions.md. GPUs before Ampere emulate it.
    emulated = device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.float32 if device.type == "cpu" or emulated else torch.bfloat16


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
    return MuonBeside(other, Muon(matrices, learning_rate, weight_decay, dtype=precision(matrices[0].device)))
