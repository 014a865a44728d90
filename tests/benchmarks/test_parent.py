"""A process that ends with the one that started it."""

import os
import subprocess
import sys
from pathlib import Path

CHILD = """
import time
from benchmarks.parent import end_with_parent
end_with_parent()
print("started", flush=True)
time.sleep(60)
print("outlived its parent")
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


def test_it_ends_after_its_parent_was_killed():
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", PARENT, CHILD]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "started\n"
        parent.kill()
        assert parent.stdout.read() == ""  # the child holds it open until it ends
