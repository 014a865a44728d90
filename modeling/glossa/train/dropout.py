"""Faster dropout for CPUs."""

import torch
from torch import nn
from transformers.utils.import_utils import is_torchdynamo_compiling


class FastDropout(nn.Dropout):
    """Dropout (Srivastava et al. 2014) in half the time of torch's on a CPU, with different random numbers.

    One 64-bit random number serves four elements, so `p` is rounded to a multiple of 1/65536. Kept elements are
    divided by the keep probability. On other devices and when compiled, torch's dropout is used.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return input
        dropped = round(self.p * 2**16)
        if dropped in (0, 2**16) or input.device.type != "cpu" or is_torchdynamo_compiling():
            return super().forward(input)
        numbers = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = numbers[: input.numel()].view(input.shape) >= dropped - 2**15
        return input * kept.to(input.dtype).mul_(2**16 / (2**16 - dropped))


def use_fast_dropout(model: nn.Module) -> None:
    """Replace the `nn.Dropout` modules of a Glossa model with [`FastDropout`]."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p).train(child.training))
