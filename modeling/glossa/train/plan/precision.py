"""The default precision of a run: bf16 if the device is faster with it."""

import os

import torch
from accelerate.utils import broadcast_object_list

from .arguments import Origin, Settings
from .devices import has_bf16, name_of_cpu, uses_deepspeed
from .processes import resumed_recipe

LAUNCHER = "ACCELERATE_MIXED_PRECISION"  # set by `accelerate launch`, to "no" by default


def resolve_precision(settings: Settings) -> Settings:
    """Return the settings with `bf16`, if it can be determined without a trial.

    A resumed run keeps its precision. A new run uses bf16 if Accelerate's config file sets it. Otherwise it uses bf16
    on GPUs that support it and float32 on other devices, except for a CPU with bf16 instructions, which needs a trial.
    All processes must call this; the first one decides.
    """
    if not is_open(settings):
        return settings
    before = resumed_recipe(vars(settings.training))
    choice = [
        (before["bf16"], Origin("resumed", "the precision so far")) if "bf16" in before else _by_device(settings)
    ]
    broadcast_object_list(choice)
    return settings if choice[0] is None else with_bf16(settings, *choice[0])


def is_open(settings: Settings) -> bool:
    """Whether the precision is undecided: not set by settings, launcher, DeepSpeed or [`resolve_precision`]."""
    if not settings.origins.keys().isdisjoint(("bf16", "fp16")) or uses_deepspeed(settings.training):
        return False
    return os.environ.get(LAUNCHER, "no") in ("no", "bf16")


def with_bf16(settings: Settings, bf16: bool, origin: Origin) -> Settings:
    """The settings with `bf16`."""
    return settings.with_values({"bf16": bf16}, origin)


def _by_device(settings: Settings) -> tuple[bool, Origin] | None:
    """Whether the launcher or the device selects bf16, with the origin; None for a CPU with bf16 instructions."""
    if os.environ.get(LAUNCHER) == "bf16":
        return True, Origin("environment", LAUNCHER)
    device = settings.training.device.type
    if device == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
        computes = "computes" if native else "does not compute"
        return native, Origin("device", f"{torch.cuda.get_device_name()} {computes} in bf16")
    if device != "cpu":
        return False, Origin("device", f"on {device}, bf16 is not tried")
    capabilities = torch.cpu.get_capabilities()
    if has_bf16(capabilities):
        return None
    return False, Origin("device", f"{name_of_cpu(capabilities)} has no bf16 instructions")
