"""How every script ends: with its work done, or with one line that says what was wrong."""

import errno
import logging
import os
import sys
from collections.abc import Callable

from safetensors import SafetensorError

from .errors import GlossaError

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def run(main: Callable[[list[str]], None]) -> None:
    """Call `main` with the command line. A `GlossaError`, a full disk or Ctrl-C ends the program without traceback.

    A bare `--debug` anywhere on the command line brings the traceback back.
    """
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("httpx", "httpcore", "absl", "sacrebleu"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        main([argument for argument in arguments if argument != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output (`head`, say) has gone; Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)
    except (GlossaError, OSError, RuntimeError, SafetensorError) as error:
        message = str(error) if isinstance(error, GlossaError) else _full_disk(error)
        if debug or message is None:
            raise
        sys.exit(f"error: {message}")


def _full_disk(error: Exception) -> str | None:
    """What to say of a disk that is full; None for any other error."""
    # safetensors and torch report it in words only, each in its own.
    words = ("No space left", "File too large", "file write failed")
    if getattr(error, "errno", None) not in _DISK_FULL and not any(word in str(error) for word in words):
        return None
    where = getattr(error, "filename", None)
    return (
        f"The disk is full{f' ({where})' if where else ''}: {error}. Free some space; a training run then goes on "
        "with --resume_from_checkpoint true."
    )
