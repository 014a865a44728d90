"""Jobs of `glossa prepare` that are killed again and again, with all processes, write the files of one that is not.

A third of the kills hit one process of the pool: the command must say so and end.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """import glossa_command
from glossa.data.preparing import blocks, duplicates, writing
blocks.ROWS, duplicates.PAIRS, writing.PAIRS = 400, 900, 700
if __name__ == "__main__":
    from glossa.cli import run
    from glossa.cli.prepare import main
    run(main)
"""
SETTINGS = ["--near_duplicates", "true", "--filter_alignment", "true", "--validation_size", "50", "--test_size", "50"]
SETTINGS += ["--trust_data", "language", "length", "--processes", "2"]


def torture(count: int, seed: int) -> dict:
    """Kill jobs `count` times in all; returns counts, and raises if a file differs or a job does not end."""
    order, figures = random.Random(seed), {"kills": 0, "of one process": 0, "jobs": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = ["".join(order.choices("bcdfglmnprst", k=3)) for _ in range(400)]
        rows = [" ".join(order.choices(words, k=5)) for _ in range(8000)]
        lines = [f"{row}\t{row[::-1]}\n" for row in rows] + [f"{row}\t{row[::-1]}\n" for row in rows[:500]]
        (folder / "pairs.tsv").write_text("".join(lines))
        (folder / "job.py").write_text(PROGRAM)
        started = time.monotonic()
        _finish(folder, "whole")
        duration = time.monotonic() - started
        whole = _content(folder / "whole")
        while figures["kills"] < count:
            while figures["kills"] < count and _kill(folder, order.uniform(0.2, 1) * duration, order, figures):
                pass
            if not (folder / "out").exists():
                _finish(folder, "out")
            assert _content(folder / "out") == whole, "the files differ"
            figures["jobs"] += 1
            subprocess.run(["rm", "-r", str(folder / "out"), str(folder / "out.parts")], check=True)
    return figures | {"files": len(whole), "files_that_differ": 0}


def _start(folder: Path, output: str) -> subprocess.Popen:
    command = [sys.executable, "job.py", "--data_path", "pairs.tsv", "--output", output, *SETTINGS]
    with open(folder / "log.txt", "w") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)


def _finish(folder: Path, output: str) -> None:
    job = _start(folder, output)
    assert job.wait(600) == 0, (folder / "log.txt").read_text()[-1500:]


def _kill(folder: Path, seconds: float, order: random.Random, figures: dict) -> bool:
    """Start a job and kill it, or one of its processes, after `seconds`; False if it ended before."""
    job = _start(folder, "out")
    try:
        job.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        pass
    workers = _workers(job.pid)
    if workers and order.random() < 1 / 3:
        os.kill(order.choice(workers), signal.SIGKILL)
        job.wait(300)  # a pool that waits for a lost process would wait forever
        figures["of one process"] += 1
    else:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    figures["kills"] += 1
    return not (folder / "out").exists()


def _workers(session: int) -> list[int]:
    """The processes of a session but its first."""
    listed = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True).stdout
    return [int(pid) for pid in listed.split() if int(pid) != session]


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
