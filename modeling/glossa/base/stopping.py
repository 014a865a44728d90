"""Work in a thread ends soon when nobody waits for it any more: what takes long asks now and then."""

import threading
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

# Set while work runs that somebody may leave. A thread of `asyncio.to_thread` has the values of its caller.
LEFT: ContextVar[threading.Event | None] = ContextVar("LEFT", default=None)


class Stopped(Exception):
    """Nobody waits for this work."""


def check_stopped() -> None:
    """Raise `Stopped` if nobody waits for the work of this thread."""
    left = LEFT.get()
    if left is not None and left.is_set():
        raise Stopped


def while_wanted(items: Iterable[T]) -> Iterator[T]:
    """The items. Raises `Stopped` before one if nobody waits for the work of this thread."""
    for item in items:
        check_stopped()
        yield item
