"""`glossa prepare` with several numbers of processes, and on Ray: `python -m benchmarks prepare`.

Makes English-French pairs of two from the embedded corpus, one in ten with a number, and prepares them with all
filters but `filter_alignment`, or with the settings of --data. Every row of the table is a new job without finished
parts: pairs, processes, rows a second, CPU-seconds, the largest memory of one process, and a hash of all files.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from glossa.base.errors import GlossaError
from glossa.readers.embedded import embedded_corpus

from .timing import machine, table

FILTERS = {
    "max_characters": 500, "max_character_ratio": 4.0, "max_punctuation": 0.6, "filter_html": True,
    "filter_copied": True, "filter_digits": True, "filter_script": True, "near_duplicates": True, "repair_text": True,
    "filter_language": True,
}  # fmt: skip
COMMAND = [sys.executable, "-c", "from glossa_command import main; main('prepare')"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, nargs="+", default=[500_000], help="sizes (default: 500,000)")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument("--ray", metavar="ADDRESS", help="also on this cluster, such as local")
    parser.add_argument("--data", type=json.loads, default=FILTERS, help="data settings as JSON (default: filters)")


def run(arguments: argparse.Namespace) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for pairs in arguments.pairs:
            path = Path(folder) / "pairs.tsv"
            generate(path, pairs)
            places = [["--processes", str(number)] for number in arguments.processes]
            places += [["--ray", arguments.ray]] if arguments.ray else []
            for place in places:
                rows.append(measure(path, pairs, place, arguments.data))
                print(rows[-1], file=sys.stderr, flush=True)
    print(table(rows))
    conditions = machine()
    equal = len({(row["pairs"], row["files"]) for row in rows}) == len(arguments.pairs)
    print(f"\n{conditions['cpu']}, {conditions['cores']} cores. ", end="")
    print("All jobs with the same pairs wrote the same files." if equal else "The files DIFFER.")


def generate(path: Path, count: int) -> None:
    """Write `count` different pairs, tab-separated, and one in a hundred twice."""
    drawn = [(pair["en"], pair["fr"]) for pair in embedded_corpus()["train"]["translation"]]
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            first, second = drawn[number % len(drawn)], drawn[(number * 7919 + number // len(drawn)) % len(drawn)]
            before = f"{number}: " if number % 10 == 0 else ""
            line = "\t".join(f"{before}{one} {other}" for one, other in zip(first, second, strict=True)) + "\n"
            file.write(line * (1 + (number % 100 == 50)))


def measure(path: Path, pairs: int, place: list[str], settings: dict) -> dict[str, str]:
    """Prepare the pairs; a row of the table."""
    output = path.with_name("out")
    command = [*COMMAND, "--data_path", str(path), "--output", str(output), *place]
    command += [word for name, value in settings.items() for word in (f"--{name}", str(value).lower())]
    started = time.perf_counter()
    process = psutil.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watch = Watch(process)
    watch.start()
    text, _ = process.communicate()
    watch.join()
    seconds = time.perf_counter() - started
    if process.returncode:
        raise GlossaError(f"glossa prepare failed: {text[-1000:]}")
    digest = hashlib.sha256()
    for file in sorted(file for file in output.rglob("*") if file.is_file()):
        digest.update(f"{file.relative_to(output)}\n".encode() + file.read_bytes())
    shutil.rmtree(output)
    shutil.rmtree(f"{output}.parts")
    return {
        "pairs": f"{pairs:,}",
        "where": " ".join(place).removeprefix("--"),
        "seconds": f"{seconds:,.0f}",
        "rows a second": f"{pairs * 1.01 / seconds:,.0f}",
        "CPU-seconds": f"{watch.cpu:,.0f}",
        "memory of a process, MiB": f"{watch.peak / 2**20:,.0f}",
        "files": digest.hexdigest()[:12],
    }


class Watch(threading.Thread):
    """Follows a process and its children: the largest memory of one, and their CPU time together."""

    def __init__(self, process: psutil.Popen):
        super().__init__(daemon=True)
        self.process, self.peak, self.times = process, 0, dict[int, float]()

    def run(self) -> None:
        while self.process.poll() is None:
            try:
                for one in [self.process, *self.process.children(recursive=True)]:
                    times = one.cpu_times()
                    self.times[one.pid] = times.user + times.system
                    # Pages of files that are read in place are not counted: the system drops them as it likes.
                    memory = one.memory_info()
                    self.peak = max(self.peak, memory.rss - memory.shared)
            except psutil.Error:
                pass  # it has just ended
            time.sleep(0.2)

    @property
    def cpu(self) -> float:
        return sum(self.times.values())
