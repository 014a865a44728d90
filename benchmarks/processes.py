"""Measurements in a process of their own, so that their memory and threads are theirs alone."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import end_with_parent, process_context

ROOT = Path(__file__).parents[1]
FINISHED = "finished"


def in_process(function: Callable[..., dict], name: str, options: Mapping[str, Any]) -> dict:
    """What `function` returns for `options`, called in a new process.

    Args:
        function: At the top level of a module.
        name: What is measured, for the error message.
        options: Keyword arguments of the function.

    Raises:
        GlossaError: when the function raises an error, or the system ends its process.
    """
    with ProcessPoolExecutor(1, process_context("glossa.train.run"), end_with_parent) as pool:
        try:
            return pool.submit(function, **options).result()
        except Exception as error:
            raise GlossaError(f"{name} failed in its own process: {error!r}") from error


def run_limited(command: Sequence[str], log: Path, seconds: float, environment: Mapping[str, str]) -> str:
    """Run a command in the root of this repository for at most `seconds`; how it ended, `FINISHED` if well.

    Args:
        command: The program and its arguments.
        log: The file that gets its output.
        seconds: After this time, it is ended with all processes that it has started.
        environment: Variables in addition to those of this process.
    """
    with log.open("w", encoding="utf-8") as output:
        # The processes of a new session can be ended together.
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=output, env=os.environ | environment, start_new_session=True
        )
        try:
            return FINISHED if process.wait(seconds) == 0 else f"ended with status {process.returncode}"
        except subprocess.TimeoutExpired:
            return f"stopped after {seconds:.0f} seconds"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
