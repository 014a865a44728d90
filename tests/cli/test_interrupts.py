"""Ctrl-C ends a command with one line."""

import subprocess
import sys

import pytest

TWICE = """
import atexit, os, signal
from glossa.cli import run
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
def main(arguments):
    try:
        interrupt()
    finally:
        interrupt()
"""


@pytest.mark.parametrize(("at_exit", "status"), [("", 130), ("atexit.register(interrupt)", -2)])
def test_no_number_of_interrupts_prints_a_traceback(at_exit, status):
    code = f"{TWICE}\n{at_exit}\nrun(main, [])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == status
    assert done.stderr.endswith("Interrupted.\n") and "KeyboardInterrupt" not in done.stderr
