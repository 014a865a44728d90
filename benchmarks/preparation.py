"""The cost of preparing pairs: CPU-seconds and memory of reading, cleaning, filtering and splitting.

`python -m benchmarks preparation --pairs 500000` makes English-French pairs of two from the patterns of the embedded
corpus, one in ten with a number, and prepares them as `glossa data` does: without filters, with all but
`filter_alignment` and `filter_language`, with the first of them, and with both. Every row of the table is a process of
its own, without a cache.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUICK = {
    "max_characters": 500, "max_character_ratio": 4.0, "max_punctuation": 0.6, "filter_html": True,
    "filter_copied": True, "filter_digits": True, "filter_script": True, "near_duplicates": True, "repair_text": True,
}  # fmt: skip
ALIGNED = QUICK | {"filter_alignment": True}
ROWS: dict[str, dict] = {
    "no filter": {},
    "all but alignment and language": QUICK,
    "all but the language": ALIGNED,
    "all": ALIGNED | {"filter_language": True},
}
# Further programs are started with this one, so that memory is of the preparation alone.
PROGRAM = "from benchmarks.preparation import measure; import sys; measure(*sys.argv[1:])"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=500_000, help="number of pairs (default: 500000)")


def generate(path: Path, count: int) -> None:
    """Write `count` different pairs, tab-separated, and one in a hundred twice."""
    from glossa.data.embedded.patterns import Patterns

    patterns = Patterns(random.Random(1))
    drawn = [patterns.draw()[0] for _ in range(20_000)]
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            pair, other = drawn[number % len(drawn)], drawn[(number * 7919 + number // len(drawn)) % len(drawn)]
            before = f"{number}: " if number % 10 == 0 else ""
            line = f"{before}{pair.en} {other.en}\t{before}{pair.fr} {other.fr}\n"
            file.write(line * (1 + (number % 100 == 50)))


def measure(path: str, settings: str) -> None:
    """Prepare the pairs of `path` and print CPU-seconds, wall-clock seconds and peak memory in bytes as JSON."""
    import datasets

    from glossa.data.arguments import DataArguments
    from glossa.data.filters import gathered
    from glossa.data.pairs import prepare_pairs

    datasets.disable_progress_bars()
    arguments = DataArguments(data_path=[path], validation_size=2000, test_size=2000, **gathered(json.loads(settings)))
    with tempfile.TemporaryDirectory() as cache:
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        started, wall = time.process_time(), time.perf_counter()
        _, report = prepare_pairs(arguments)
        found = {"cpu": time.process_time() - started, "wall": time.perf_counter() - wall}
    found |= {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "sizes": report.sizes}
    print(json.dumps(found))


def run(arguments: argparse.Namespace) -> None:
    header = ["filters", "CPU-seconds", "a million pairs", "seconds", "peak memory, MiB", "training pairs"]
    print(f"\n| {' | '.join(header)} |\n|" + " --- |" * len(header))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.tsv"
        generate(path, arguments.pairs)
        for name, settings in ROWS.items():
            command = [sys.executable, "-c", PROGRAM, str(path), json.dumps(settings)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            cells = [f"{found['cpu']:.1f}", f"{found['cpu'] / arguments.pairs * 1e6:.0f}", f"{found['wall']:.1f}"]
            cells += [f"{found['memory'] / 2**20:,.0f}", f"{found['sizes']['train']:,}"]
            print(f"| {' | '.join([name, *cells])} |", flush=True)
