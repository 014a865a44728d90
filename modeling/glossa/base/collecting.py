"""Python's cyclic garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector while a block makes many objects that stay, without cycles.

    It would look at all of them again and again: that is more than half of the time in which a document of 200,000
    texts is read.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.unfreeze()  # what was made is old now, and is not looked at at once
            gc.enable()
