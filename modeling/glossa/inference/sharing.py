"""Batches that all processes of a launch work on together, such as those that `accelerate launch` starts."""

from collections.abc import Iterable
from typing import TypeVar

from accelerate import PartialState
from accelerate.utils import gather_object

T = TypeVar("T")


def own_batches(batches: Iterable[T]) -> list[T]:
    """The batches of this process: every n-th, with n the number of processes."""
    state = PartialState()
    return list(batches)[state.process_index :: state.num_processes]


def merged(results: list[T], blank: T) -> list[T]:
    """The results of all processes, each of which has `blank` in place of the results of the others."""
    everyone = gather_object([results])
    return [next((result for result in each if result != blank), blank) for each in zip(*everyone, strict=True)]
