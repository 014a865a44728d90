"""A model of time and price for corpora that no machine here can hold: `python -m benchmarks large`.

The stages of `glossa prepare` are measured in this process with generated pairs and all filters but
`filter_alignment`: CPU-seconds a million rows, of the stages, which all cores share, and of what one process does
between them, without the vocabulary, which is learned on a sample of the pairs. The seconds that a stage takes to open
the files of others are measured too: they grow with the number of blocks times the number of parts. All else grows
with the rows (docs/scaling.md). Everything that is not measured is an option.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import datasets

from .preparation import generate
from .prepare import FILTERS
from .timing import machine, table

MILLION = 1_000_000
PAIRS, CORES = (100 * MILLION, 1_000 * MILLION), (8, 64, 512)
WORDS, GPUS = 10_000 * MILLION, (1, 8, 64)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options = (
        ("rows", 200_000, "rows to measure with; default: 200000"),
        ("core_price", 0.04, "US dollars for an hour of one core; default: 0.04, a round figure within list "
         "prices of virtual machines. Give yours"),
        ("gpu_price", 3.0, "US dollars for an hour of one GPU; default: 3, as `benchmarks cost`"),
        ("gpu_tokens", 3917.0, "target tokens that a GPU translates in a second; default: 3917, a base model in "
         "CTranslate2 1.2.1 with 4 beams on a V100, by its README. Newer ones are faster"),
        ("tokens", 1.3, "target tokens of a word; default: 1.3"),
        ("disk", 1.0, "GB that the shared disk reads and writes in a second, all machines together; default: 1"),
    )  # fmt: skip
    for name, default, meaning in options:
        parser.add_argument(f"--{name}", type=type(default), default=default, metavar="N", help=meaning)


class Timed:
    """Runs the items of stages in this process; adds up the CPU-seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, load: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Iterator[Any]:
        work = load()
        self.seconds.append(0.0)
        for item in items:
            started = time.process_time()
            found = work(item)
            self.seconds[-1] += time.process_time() - started
            yield found


def run(arguments: argparse.Namespace) -> None:
    from glossa.data.preparing import blocks, duplicates, writing

    measure(2_000)  # what is loaded once
    stages, alone, opening, size = measure(arguments.rows)
    scale = MILLION / arguments.rows
    rows = [
        {"part": name, "CPU-seconds a million rows": f"{seconds * scale:,.1f}"} for name, seconds in stages.items()
    ]
    rows.append({"part": "between the stages, one process", "CPU-seconds a million rows": f"{alone * scale:,.1f}"})
    print(table(rows))
    here = machine()
    print(f"\n{arguments.rows:,} rows, {here['cpu']}. Opening a file of a block: {opening * 1e6:,.0f} microseconds.\n")
    found = []
    for pairs in PAIRS:
        count = pairs / blocks.ROWS * (4 * pairs / duplicates.PAIRS + 4 * pairs / writing.PAIRS)
        for cores in CORES:
            parts = {
                "stages": sum(stages.values()) * pairs / arguments.rows / cores,
                "opening files": count * opening / cores,
                "one process": alone * pairs / arguments.rows,
                "disk": size * pairs / arguments.rows / (arguments.disk * 1e9),
            }
            hours = sum(parts.values()) / 3600
            found.append(
                {"pairs": f"{pairs // MILLION:,} million", "cores": str(cores), "hours": f"{hours:,.2f}"}
                | {name: f"{seconds / 3600:,.2f}" for name, seconds in parts.items()}
                | {"price": f"${hours * cores * arguments.core_price:,.0f}"}
            )
    print(table(found))
    seconds = WORDS * arguments.tokens / arguments.gpu_tokens
    print(f"\n{WORDS // MILLION:,} million words:\n")
    price = f"${seconds / 3600 * arguments.gpu_price:,.0f}"
    print(table([{"GPUs": str(n), "hours": f"{seconds / 3600 / n:,.0f}", "price": price} for n in GPUS]))
    assumed = [name for name in vars(arguments) if name not in ("command", "rows")]
    print("\nA model. Not measured: " + ", ".join(f"{name} {getattr(arguments, name)}" for name in assumed) + ".")


def measure(rows: int) -> tuple[dict[str, float], float, float, int]:
    """CPU-seconds of each stage and of the rest, seconds to open a file of a block, and bytes on the disk."""
    from glossa.data.intake import sources
    from glossa.data.preparing.blocks import load_array
    from glossa.data.preparing.prepare import prepare
    from glossa.plan.arguments import parse_settings
    from glossa.training.building import learn_vocabulary

    place, learning = Timed(), 0.0

    def learn(*given: Any) -> Any:
        nonlocal learning
        started = time.process_time()
        found = learn_vocabulary(settings, *given)
        learning = time.process_time() - started
        return found

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "pairs.tsv", rows)
        table = datasets.Dataset.from_csv(str(folder / "pairs.tsv"), sep="\t", names=["en", "fr"], cache_dir=name)
        (folder / "corpus").mkdir()
        for number in range(4):  # large corpora are kept in several files
            table.shard(4, number, contiguous=True).to_parquet(folder / "corpus" / f"{number}.parquet")
        named = {"data_path": folder / "corpus", "validation_size": 200, "test_size": 200} | FILTERS
        named |= {"source_column": "en", "target_column": "fr"}
        settings = parse_settings([word for name, value in named.items() for word in (f"--{name}", str(value))])
        started = time.process_time()
        with patch.object(sources, "PART", 1):  # files are read one by one, as large ones are
            prepare(settings.data, folder / "out", place, folder / "parts", learn=learn)
        alone = time.process_time() - started - sum(place.seconds) - learning
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        stem = next((folder / "parts" / "cleaning").glob("*.arrow")).with_suffix("")
        started = time.process_time()
        for _ in range(1000):
            load_array(stem, "key")
        opening = (time.process_time() - started) / 1000
    names = ("reading", "cleaning and filters", "duplicates", "what remains", "writing", "encoding")
    return dict(zip(names, place.seconds, strict=True)), alone, opening, size
