"""Jobs of `glossa prepare` that are killed again and again write the files of one that is not.

They run in processes of this machine or on Ray. A kill hits all processes, the command alone, the node of Ray, or a
process that works on a task. The command must end then, or go on without that process.
"""

import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

PROGRAM = """import glossa_command
from glossa.data.preparing import blocks, duplicates, writing
blocks.ROWS, duplicates.PAIRS, writing.PAIRS = 400, 900, 700
if __name__ == "__main__":
    from glossa.cli import run
    from glossa.cli.prepare import main
    run(main)
"""
SETTINGS = [
    "--filters.near_duplicates",
    "true",
    "--filters.alignment",
    "true",
    "--validation_size",
    "50",
    "--test_size",
    "50",
]
SETTINGS += ["--trust_data", "language", "length"]
PLACES = (["--processes", "2"], ["--ray", "local"])


RAY = 8  # seconds in which a cluster starts


def torture(count: int, seed: int, places: Sequence[list[str]] = PLACES) -> dict:
    """Kill jobs `count` times in all; returns counts, and raises if a file differs or a job does not end."""
    order, figures = random.Random(seed), dict.fromkeys(("jobs", "kills", "all", "command", "node", "task"), 0)
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
            while figures["kills"] < count and _kill(
                folder, order.uniform(0.2, 1) * duration, order.choice(places), order, figures
            ):
                pass
            if not (folder / "out").exists():
                _finish(folder, "out")
            assert _content(folder / "out") == whole, "the files differ"
            figures["jobs"] += 1
            subprocess.run(["rm", "-r", str(folder / "out"), str(folder / "out.parts")], check=True)
    return figures | {"files": len(whole), "files_that_differ": 0}


def _start(folder: Path, output: str, place: list[str]) -> psutil.Popen:
    command = [sys.executable, "job.py", "--data_path", "pairs.tsv", "--output", output, *SETTINGS, *place]
    with open(folder / "log.txt", "w") as log:
        return psutil.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)


def _finish(folder: Path, output: str) -> None:
    job = _start(folder, output, PLACES[0])
    assert job.wait(600) == 0, (folder / "log.txt").read_text()[-1500:]


def _kill(folder: Path, seconds: float, place: list[str], order: random.Random, figures: dict) -> bool:
    """Start a job and kill it, or one of its processes, after `seconds`; False if it ended before."""
    job = _start(folder, "out", place)
    try:
        job.wait(seconds + RAY * ("--ray" in place))
        return False
    except psutil.TimeoutExpired:
        pass
    below = job.children(recursive=True)
    found = {
        "all": [job, *below],
        "command": [job],
        "node": [one for one in below if one.name() == "raylet"],
        "task": [one for one in below if one.name().startswith("ray::_call") or "--ray" not in place],
    }
    kind = order.choice([name for name, processes in found.items() if processes])
    for one in found[kind] if kind == "all" else [order.choice(found[kind])]:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    job.wait(300)  # a job that waits for a lost process would wait forever
    figures[kind] += 1
    figures["kills"] += 1
    return not (folder / "out").exists()


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
