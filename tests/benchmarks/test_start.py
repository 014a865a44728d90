"""Times of commands from their cold start."""

import sys

import pytest

from benchmarks.start import GLOSSA, finish, first_step
from glossa.base.errors import GlossaError

BUSY = "import time\nwhile time.process_time() < 0.4: pass\n"
LOSS = "print('step 1/9  loss 3.1')\n"


def test_first_step_counts_running_and_ended_processes():
    running = f"[sys.executable, '-c', {BUSY + LOSS + 'input()'!r}], stdin=-1, stdout=-1"
    program = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])\n"
    program += f"child = subprocess.Popen({running})\nchild.stdout.readline()\nprint('step 0/9')\n{LOSS}child.wait()"
    seconds, cpu = first_step([sys.executable, "-c", program])
    assert cpu > 0.7  # two children with 0.4 each; ticks of 10 ms are counted
    assert seconds > 0


def test_first_step_needs_a_step():
    with pytest.raises(GlossaError, match=r"ended before its first step: no data\n$"):
        first_step([sys.executable, "-c", "print('no data')"])


@pytest.mark.slow
def test_a_cold_start_is_a_process_of_its_own(tiny_run, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("a k.\n")
    command = [*GLOSSA, "translate", str(tiny_run), "--input", str(source), "--num_beams", "2"]
    first, later = (finish(command, str(tmp_path / "cache"), "auto") for _ in range(2))
    assert 0 < later[1] < first[1] and later[0] > 0.1
    with pytest.raises(GlossaError, match="failed: error: "):
        finish([*GLOSSA, "translate", str(tmp_path / "no")], str(tmp_path / "cache"), "auto")
