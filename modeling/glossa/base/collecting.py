"""Python's cyclic garbage collector."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_paused: list[bool] = []  # for each running block, whether the collector was on before it


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector for all threads while a block makes many objects that stay, without cycles.

    It would look at all of them again and again: that is more than half of the time in which a document of 200,000
    texts is read, and no other thread runs meanwhile.
    """
    with _lock:
        _paused.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            was_on = _paused.pop()
            if _paused:
                _paused[0] = _paused[0] or was_on
            elif was_on:
                gc.freeze()
                gc.unfreeze()  # what was made is old now, and is not looked at at once
                gc.enable()
