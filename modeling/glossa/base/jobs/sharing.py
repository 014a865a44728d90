"""Batches that all processes of a launch work on together, such as those that `accelerate launch` starts.

Accelerate is imported for launched processes only: it imports torch, which translating with an exported model does
without.
"""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from accelerate import PartialState

T = TypeVar("T")
# Accelerate finds the processes of a launch by these variables (accelerate/state.py).
LAUNCHED = ("LOCAL_RANK", "WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")


class OneProcess:
    """Replaces Accelerate's `PartialState` in a process that no launcher has started."""

    num_processes = 1
    process_index = 0
    is_main_process = True

    def main_process_first(self) -> AbstractContextManager:
        return nullcontext()

    def destroy_process_group(self) -> None:
        pass


def processes() -> "PartialState | OneProcess":
    """The processes of this launch."""
    if not any(name in os.environ for name in LAUNCHED):
        return OneProcess()
    import torch
    from accelerate import PartialState

    return PartialState(cpu=not torch.accelerator.is_available())  # without `cpu`, processes on CPUs do not meet


def is_first() -> bool:
    """Whether this is the first process of the launch."""
    return processes().process_index == 0


def own_batches(batches: Iterable[T]) -> list[T]:
    """The batches of this process: every n-th, with n the number of processes."""
    state = processes()
    return list(batches)[state.process_index :: state.num_processes]


def merged(results: list[T], blank: T) -> list[T]:
    """The results of all processes, each of which has `blank` in place of the results of the others."""
    if processes().num_processes == 1:
        return results
    from accelerate.utils import gather_object

    everyone = gather_object([results])
    return [next((result for result in each if result != blank), blank) for each in zip(*everyone, strict=True)]
