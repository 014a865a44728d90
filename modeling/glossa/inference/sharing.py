"""Batches that all processes of a launch work on together, such as those that `accelerate launch` starts.

Accelerate is imported when it is needed: it imports torch, which translating with an exported model does without.
"""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def is_first() -> bool:
    """Whether this is the first process of the launch."""
    from accelerate import PartialState

    return PartialState().process_index == 0


def own_batches(batches: Iterable[T]) -> list[T]:
    """The batches of this process: every n-th, with n the number of processes."""
    from accelerate import PartialState

    state = PartialState()
    return list(batches)[state.process_index :: state.num_processes]


def merged(results: list[T], blank: T) -> list[T]:
    """The results of all processes, each of which has `blank` in place of the results of the others."""
    from accelerate.utils import gather_object

    everyone = gather_object([results])
    return [next((result for result in each if result != blank), blank) for each in zip(*everyone, strict=True)]
