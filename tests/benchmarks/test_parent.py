"""A process that ends with the one that started it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import time
from benchmarks.processes import end_with_parent
end_with_parent()
print("started", flush=True)
time.sleep(60)
print("outlived its parent")
"""
TASK = "import os, time; time.sleep(60); print('outlived its parent', flush=True); os._exit(0)"
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
POOL = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from benchmarks.processes import end_with_parent
with ProcessPoolExecutor(1, get_context(sys.argv[1]), end_with_parent) as pool:
    pool.submit(print, "started", flush=True).result()
    pool.submit(exec, sys.argv[2]).result()
"""


@pytest.mark.parametrize("program", [(PARENT, CHILD), (POOL, "spawn", TASK), (POOL, "forkserver", TASK)])
def test_it_ends_after_its_parent_was_killed(program):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", *program]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "started\n"
        parent.kill()
        assert parent.stdout.read() == ""  # the child holds it open until it ends
