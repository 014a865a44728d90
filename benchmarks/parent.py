"""A process that ends with the one that started it. Needs the standard library only."""

import os
import threading
import time
from multiprocessing import parent_process
from typing import Any


def end_with_parent() -> None:
    """End this process within a second after the process that started it, however that one ends.

    A process of `multiprocessing` may be forked from a server that lives on; it ends with the process that asked for
    it.
    """
    threading.Thread(target=_watch, args=(parent_process(), os.getppid()), daemon=True).start()


def _watch(asked: Any, parent: int) -> None:
    if asked is not None:
        asked.join()
    else:
        while os.getppid() == parent:
            time.sleep(1)
    os._exit(1)
