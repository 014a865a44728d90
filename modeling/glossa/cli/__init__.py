"""The command `glossa`. Each subcommand is a module, which is imported when it is called.

Slow imports are inside functions, so that help and error messages appear immediately.
"""

import argparse
import contextlib
import errno
import importlib
import logging
import math
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path

from .. import __version__
from ..base.errors import GlossaError
from ..translate.loading import TRUSTED

COMMANDS = {
    "train": "train a translator from sentence pairs",
    "blend": "blend a tuned model with the model that it was tuned from",
    "data": "show the effect of cleaning and filters on the pairs",
    "prepare": "clean and split any number of pairs once, on all cores or a cluster",
    "score": "score a model on held-out pairs: BLEU, chrF++, TER",
    "translate": "translate lines of text",
    "check": "check translations in PO, XLIFF and other files by rule",
    "memory": "build, search and change a translation memory",
    "align": "align the words of translated lines",
    "serve": "serve models with a web page and an HTTP interface",
    "demo": "try a model in a browser on this machine",
    "distill": "make training pairs with trained models",
    "plot": "draw attention, or the curves of runs",
    "export": "export a model for Marian, CTranslate2, ONNX and others",
    "push": "push a model to the Hub, with its model card",
}
TRUST = "--trust_remote_code"
INTERRUPTED = "Interrupted."
# Numbers of system errors. Errors from Rust have the number only in the message, and torch has none.
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_RUST_ERROR = re.compile(r"\(os error (\d+)\)")
_TORCH_DISK_FULL = ("file write failed", "inline_container")
# Names of exception types, since torch is slow to import. On CPUs, torch and CTranslate2 raise plain `RuntimeError`.
_NO_MEMORY = {"MemoryError", "OutOfMemoryError"}
_NO_MEMORY_WORDS = ("out of memory", "can't allocate memory", "not enough memory")
_LOST = {"DistBackendError", "DistNetworkError", "DistStoreError"}
_LOST_WORDS = ("gloo", "pair closure")
_PACKAGE = str(Path(__file__).parents[1])


def main(*arguments: str) -> None:
    """Run the subcommand in `arguments`, followed by the command line's."""
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


class _AboveBars(logging.StreamHandler):
    """Log handler that writes above progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        bars = sys.modules.get("tqdm")  # without tqdm, no bar is shown
        with contextlib.nullcontext() if bars is None else bars.tqdm.external_write_mode(file=self.stream):
            super().emit(record)


def _overview() -> str:
    rows = [f"  {name:10} {meaning}" for name, meaning in COMMANDS.items()]
    lines = ["usage: glossa COMMAND ...", "", *rows, "", "`glossa COMMAND --help` explains each."]
    lines.append(f"All commands: --debug shows the traceback of an error; {TRUST} runs the code in a model's folder.")
    return "\n".join(lines)


def run(main: Callable[[list[str]], None], arguments: list[str] | None = None) -> None:
    """Call `main` with `arguments` (default: the command line's), and report an error in one line.

    Exits with status 1 after an error and 130 after Ctrl-C. `--debug` shows the traceback instead.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # always UTF-8, as in files
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    # Of several processes of a launcher, only the first logs information, as in the Trainer.
    level = logging.INFO if os.environ.get("RANK", "0") == "0" else logging.WARNING
    logging.basicConfig(level=level, format="%(message)s", handlers=[_AboveBars(sys.stderr)])
    for noisy in ("httpx", "httpx2", "httpcore", "absl", "sacrebleu"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if not sys.stderr.isatty():
        # Progress bars would fill a log file. The libraries read these settings when they are imported.
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if TRUST in arguments:
        os.environ[TRUSTED] = "1"  # for child processes too
    try:
        main([argument for argument in arguments if argument not in ("--debug", TRUST)])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output, such as `head`, has ended. Without this, closing stdout would print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends the process at once, without a traceback
        print(INTERRUPTED, file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        sys.exit(f"error: {_describe(error)}")


def new_parser(command: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of a subcommand. It accepts no abbreviations: `--source` must not mean `--source_language`."""
    return argparse.ArgumentParser(
        prog=f"glossa {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    """An argument type: whole numbers from `least` to `most`."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number") from None
        if not least <= value <= most:
            limit = "" if most == math.inf else f" and at most {most}"
            raise argparse.ArgumentTypeError(f"got {text}; it must be at least {least}{limit}")
        return value

    return read


def finite(text: str) -> float:
    """An argument type: any number except infinity and NaN."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number")
    return value


def share(text: str) -> float:
    """An argument type: numbers from 0 to 1."""
    value = finite(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"got {text}; it must be from 0 to 1")
    return value


def _describe(error: Exception) -> str:
    """A one-line message for an error, with advice if there is any."""
    if isinstance(error, GlossaError):
        return str(error)
    text = " ".join(str(error).split())
    kind, plain = type(error).__name__, type(error) is RuntimeError
    in_rust = _RUST_ERROR.search(text)
    number = int(in_rust[1]) if in_rust else getattr(error, "errno", None)
    if number in _DISK_FULL or (plain and any(words in text for words in _TORCH_DISK_FULL)):
        return (
            f"The disk is full: {text}. Free some space; a training run then continues with "
            "--resume_from_checkpoint true."
        )
    if kind in _NO_MEMORY or number == errno.ENOMEM or (plain and any(words in text for words in _NO_MEMORY_WORDS)):
        return (
            f"Out of memory: {text[:200]} Halve batch_tokens. In training, also double gradient_accumulation_steps to "
            "keep the number of tokens per step."
        )
    lost = kind in _LOST or (plain and any(words in text for words in _LOST_WORDS))
    if lost and "RANK" in os.environ:
        names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
        rank, processes, address, port = (os.environ.get(name, "?") for name in names)
        return (
            f"Process {rank} of {processes} (numbered from 0) cannot reach another process: {text[:200]} "
            f"They connect at {address}, port {port}. Look for an error of another process, then check addresses and "
            "network; a training run continues with --resume_from_checkpoint true."
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}. Check that it exists and that you may read and write it."
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _PACKAGE in frame.filename and frame.filename != __file__] or frames
    place = f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""
    return f"{kind}: {text} ({place}). --debug shows the traceback."
