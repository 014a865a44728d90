"""The command `glossa`: one module for each of its subcommands, imported when it is called.

Modules import what is slow to import inside their functions, so that help and refusals come at once.
"""

import errno
import importlib
import logging
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches

from .. import __version__
from ..errors import GlossaError

COMMANDS = {
    "train": "train a translator from sentence pairs",
    "score": "score it on held-out pairs: BLEU, chrF++, TER",
    "translate": "translate lines of text",
    "plot": "draw attention, or the curves of runs",
    "export": "write it for Marian, CTranslate2, ONNX and others",
    "push": "put it on the Hub, with its model card",
}
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def main(*arguments: str) -> None:
    """Run the subcommand that `arguments`, then the command line, name."""
    name, *rest = [*arguments, *sys.argv[1:]] or ["--help"]
    if name in ("-h", "--help", "help"):
        print(_overview())
    elif name == "--version":
        print(f"glossa {__version__}")
    elif name in COMMANDS:
        run(lambda argv: importlib.import_module(f".{name}", __package__).main(argv), rest)
    else:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        sys.exit(f"error: glossa has no command `{name}`.{hint}\n\n{_overview()}")


def _overview() -> str:
    rows = [f"  {name:10} {meaning}" for name, meaning in COMMANDS.items()]
    lines = ["usage: glossa COMMAND ...", "", *rows, "", "`glossa COMMAND --help` explains each."]
    return "\n".join(lines)


def run(main: Callable[[list[str]], None], arguments: list[str] | None = None) -> None:
    """Call `main` with `arguments` (default: the command line's), and turn errors into one line and a status.

    `GlossaError` and a full disk exit with status 1, Ctrl-C with 130. `--debug` shows the traceback instead.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("httpx", "httpx2", "httpcore", "absl", "sacrebleu"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if not sys.stderr.isatty():
        # Progress bars would fill a log file. The libraries read these settings when they are imported.
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        main([argument for argument in arguments if argument != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output (`head`, say) is gone; without this, Python would complain when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        message = str(error) if isinstance(error, GlossaError) else _full_disk(error)
        if debug or message is None:
            raise
        sys.exit(f"error: {message}")


def _full_disk(error: Exception) -> str | None:
    """The message for a full disk; None for any other error."""
    # safetensors and torch say so in their message only, each in its own words.
    words = ("No space left", "File too large", "file write failed")
    if getattr(error, "errno", None) not in _DISK_FULL and not any(word in str(error) for word in words):
        return None
    where = getattr(error, "filename", None)
    return (
        f"The disk is full{f' ({where})' if where else ''}: {error}. Free some space; a training run then continues "
        "with --resume_from_checkpoint true."
    )
