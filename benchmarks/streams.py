"""What a stream costs: `python -m benchmarks streams --rows 4500000`.

Makes German-English pairs in the schema of wmt/wmt14, in Parquet files with row groups of 1,000 rows, and reads one
pass of batches from them as training does, in one process without a cache on disk. Then it continues from the place
that a checkpoint after nine tenths would hold, and compares every token. Files after the third repeat the first three.

`--stretch N` reads only N windows from the start and from 1%, 50% and 90% of the pass. `--served` reads the files from
a server on this machine that answers as the Hub does.
"""

import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from glossa.errors import GlossaError

from .timing import table

FILE_ROWS, GROUP_ROWS = 1_500_000, 1000
SENTENCES = 20_000  # that are put together to pairs of 1 to 5
VOCABULARY, BATCH_TOKENS = 16_000, 8192
DIFFERENT_FILES = 3
PARTS = (0.01, 0.5, 0.9, 1.0)
NAME, CONFIG = "wmt/wmt14", "de-en"
# A program of its own, so that memory is of the stream alone.
PROGRAM = "from benchmarks.streams import measure; import sys; measure(*sys.argv[1:])"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, nargs="+", default=[450_000], help="at least 200000 (default: 450000)")
    parser.add_argument("--stretch", type=int, help="windows to read from four places (default: all)")
    parser.add_argument("--served", action="store_true", help="read from a local server instead of from disk")


def generate(folder: Path, rows: int) -> None:
    """Write `rows` pairs of 1 to 5 sentences in the schema of wmt/wmt14, and 1,000 for validation and test."""
    import pyarrow
    import pyarrow.parquet
    from datasets import Features, Translation

    from glossa.data.embedded.patterns import Patterns

    patterns, generator = Patterns(random.Random(1)), random.Random(2)
    drawn = [patterns.draw()[0] for _ in range(SENTENCES)]
    schema = Features({"translation": Translation(["de", "en"])}).arrow_schema

    def pairs(count: int):
        for _ in range(count):
            chosen = generator.choices(drawn, k=generator.randint(1, 5))
            number = generator.randrange(rows)
            # French stands for German, which the patterns lack.
            sides = {"de": " ".join(pair.fr for pair in chosen), "en": " ".join(pair.en for pair in chosen)}
            yield {"translation": {side: f"{number}: {text}" for side, text in sides.items()}}

    def write(name: str, count: int) -> None:
        with pyarrow.parquet.ParquetWriter(folder / name, schema) as writer:
            for first in range(0, count, GROUP_ROWS):
                chunk = list(pairs(min(GROUP_ROWS, count - first)))
                writer.write_table(pyarrow.Table.from_pylist(chunk, schema))

    files = -(-rows // FILE_ROWS)
    names = [f"train-{number:05}-of-{files:05}.parquet" for number in range(files)]
    for number, name in enumerate(names):
        if number < DIFFERENT_FILES:
            write(name, min(FILE_ROWS, rows - number * FILE_ROWS))
        else:
            os.link(folder / names[number % DIFFERENT_FILES], folder / name)
    for split in ("validation", "test"):
        write(f"{split}-00000-of-00001.parquet", 1000)


@contextmanager
def served(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a process for which `NAME` on the Hub has the files of `folder`."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from hub_server import Hub

    card = f"---\nconfigs:\n- config_name: {CONFIG}\n  data_files:\n"
    for split in ("train", "validation", "test"):
        card += f"  - split: {split}\n    path: {CONFIG}/{split}-*\n"
    files = {f"{CONFIG}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    with Hub() as hub, tempfile.TemporaryDirectory() as home:
        hub.add(NAME, files | {"README.md": f"{card}---\n".encode()}, kind="datasets")
        yield hub.environment(home)


def measure(dataset: str, config: str, stretch: str) -> None:
    """Read a pass of the stream and print what it cost as JSON."""
    import datasets

    from glossa.data.arguments import DataArguments
    from glossa.data.encoding.encoding import tokenize_pairs
    from glossa.data.encoding.vocabulary import train_tokenizer
    from glossa.data.pairs import prepare_pairs
    from glossa.data.streaming.streams import Stream
    from glossa.data.streaming.windows import StreamBatches, Windows

    datasets.disable_progress_bars()
    settings: dict[str, Any] = {"dataset": dataset, "dataset_config": config or None, "streaming": True}
    arguments = DataArguments(
        **settings,
        source_language="en",
        target_language="de",
        trust_data=["malformed", "equal", "length", "language"],
        max_length=256,
    )
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache:
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        started = time.process_time()
        stream = Stream(arguments)
        pairs, report = prepare_pairs(arguments, stream)
        texts = (batch[side] for side in ("source", "target") for batch in pairs["train"].iter(1000))
        tokenizer = train_tokenizer(texts, VOCABULARY)
        tokenize_pairs(pairs, tokenizer, arguments, report)
        found |= {"rows": sum(stream.rows), "sample": report.stream["sample"], "start": time.process_time() - started}

    windows = Windows(stream, tokenizer, BATCH_TOKENS)
    batches = StreamBatches(windows, 10**9)
    cpu, count, given, reached, after = time.process_time(), windows.count(0), 0, (0, 0), 0
    memory: list[int] = []
    state: dict[str, Any] = {}
    for first, last in itertools.pairwise([0, *(round(part * count) for part in PARTS)]):
        if reached < (0, first):
            counted = {"counts": batches.counts, "tokens": batches.tokens, "places": batches.places}
            batches.load_state({"epoch": 0, "number": first, "batch": 0, "batches": given} | counted)
        while reached < (0, min(last, first + int(stretch))):
            rows = batches[given]
            given += 1
            place = batches.state(given)
            reached = (place["epoch"], place["number"])
            if state:
                after = hash((after, repr(rows)))
            elif len(memory) == len(PARTS) - 1:
                state = place
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    found |= {"cpu": time.process_time() - cpu, "memory": memory}
    found |= {"read": sum(counts["read"] for counts in batches.counts.values())}
    found |= {"tokens": batches.tokens, "padding": batches.padding()}

    again, started, hashed = StreamBatches(windows, 10**9), time.process_time(), 0
    again.load_state(json.loads(json.dumps(state)))
    for number in range(state["batches"], given):
        rows = again[number]
        found.setdefault("resume", time.process_time() - started)
        hashed = hash((hashed, repr(rows)))
    print(json.dumps(found | {"equal": hashed == after, "compared": given - state["batches"]}))


def run(arguments: argparse.Namespace) -> None:
    rows = []
    if min(arguments.rows) < 200_000:
        raise GlossaError(f"--rows has {min(arguments.rows)}; a pass of fewer than 200000 rows has too few windows.")
    for count in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder), count)
            place = served(Path(folder)) if arguments.served else nullcontext(dict(os.environ))
            with place as environment:
                dataset = (NAME, CONFIG) if arguments.served else (folder, "")
                command = [sys.executable, "-c", PROGRAM, *dataset, str(arguments.stretch or 10**9)]
                done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise GlossaError(f"reading {count:,} rows failed:\n{done.stderr}")
        rows.append(_row(json.loads(done.stdout.splitlines()[-1])))
        print(table(rows[-1:]), flush=True)
    if len(rows) > 1:
        print(f"\n{table(rows)}")


def _row(found: dict[str, Any]) -> dict[str, str]:
    return {
        "rows": f"{found['rows']:,}",
        "rows read": f"{found['read']:,}",
        "CPU-seconds to the first batch": f"{found['start']:.0f}",
        "rows a CPU-second": f"{found['read'] / found['cpu']:,.0f}",
        "tokens a CPU-second": f"{found['tokens'] / found['cpu']:,.0f}",
        "peak memory at 1%, 50%, 90%, 100%, MiB": " / ".join(f"{size / 2**20:,.0f}" for size in found["memory"]),
        "padding": f"{found['padding']:.1%}",
        "CPU-seconds to continue at 90%": f"{found['resume']:.1f}",
        "batches compared after it": f"{found['compared']:,}, {'all equal' if found['equal'] else 'NOT EQUAL'}",
    }
