"""What a stream costs: `python -m benchmarks streams --rows 4500000`.

Makes German-English pairs in the schema of wmt/wmt14, in Parquet files with row groups of 1,000 rows, and reads one
pass of batches from them as training does, in one process without a cache on disk. Then it reads the last tenth again,
from the place that a checkpoint after nine tenths would hold, and compares every token. With `--dataset NAME` the
pairs are a data set on the Hub (`HF_ENDPOINT` names another server).
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .timing import table

FILE_ROWS, GROUP_ROWS = 1_500_000, 1000
SENTENCES = 20_000  # that are put together to pairs of 1 to 5
VOCABULARY, BATCH_TOKENS = 16_000, 8192
PARTS = (0.01, 0.5, 0.9, 1.0)
# A program of its own, so that memory is of the stream alone.
PROGRAM = "from benchmarks.streams import measure; import sys; measure(*sys.argv[1:])"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, nargs="+", default=[450_000], help="rows to make (default: 450000)")
    parser.add_argument("--dataset", help="read this data set instead, such as wmt/wmt14")
    parser.add_argument("--dataset_config", default="de-en", help="its configuration (default: de-en)")
    parser.add_argument("--workers", type=int, default=0, help="processes that read ahead (default: 0)")


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
    for number in range(files):
        write(f"train-{number:05}-of-{files:05}.parquet", min(FILE_ROWS, rows - number * FILE_ROWS))
    for split in ("validation", "test"):
        write(f"{split}-00000-of-00001.parquet", 1000)


def measure(dataset: str, config: str, workers: str) -> None:
    """Read a pass of the stream and print what it cost as JSON."""
    import datasets

    from glossa.data.arguments import DataArguments
    from glossa.data.encoding import tokenize_pairs
    from glossa.data.pairs import held_out_sides, prepare_pairs
    from glossa.data.streams import Stream
    from glossa.data.vocabulary import train_tokenizer
    from glossa.data.windows import StreamBatches, Windows

    datasets.disable_progress_bars()
    settings: dict[str, Any] = {"dataset": dataset, "dataset_config": config or None, "streaming": True}
    arguments = DataArguments(**settings, source_language="en", target_language="de", trust_data=True, max_length=256)
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

    windows = Windows(stream, tokenizer, held_out_sides(pairs), BATCH_TOKENS)
    batches = StreamBatches(windows, 10**9, workers=int(workers))
    cpu, given, seen, state, after = time.process_time(), 0, 0, dict[str, Any](), 0
    memory = {}
    while 1.0 not in memory:
        rows = batches[given]
        given += 1
        seen += len(rows)
        after = hash((after, repr(rows))) if state else after
        counts = Counter[str]()
        for own in batches.counts.values():
            counts.update(own)
        for part in PARTS:
            # Rows of a window count as read from its first batch on.
            if seen >= part * found["rows"] or (counts["read"] >= found["rows"] and seen >= counts["seen"]):
                memory.setdefault(part, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        if 0.9 in memory and not state:
            state = batches.state(given)
    found |= {"cpu": time.process_time() - cpu, "memory": list(memory.values())}
    found |= {"read": counts["read"], "tokens": batches.tokens, "padding": batches.padding()}
    found["cpu"] += resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

    again, started, hashed = StreamBatches(windows, 10**9, workers=int(workers)), time.process_time(), 0
    again.load_state(json.loads(json.dumps(state)))
    for number in range(state["batches"], given):
        rows = again[number]
        found.setdefault("resume", time.process_time() - started)
        hashed = hash((hashed, repr(rows)))
    print(json.dumps(found | {"equal": hashed == after, "compared": given - state["batches"]}))


def run(arguments: argparse.Namespace) -> None:
    rows = []
    for count in arguments.rows if not arguments.dataset else [0]:
        with tempfile.TemporaryDirectory() as folder:
            dataset, config = arguments.dataset or folder, arguments.dataset_config if arguments.dataset else ""
            if count:
                generate(Path(folder), count)
            command = [sys.executable, "-c", PROGRAM, dataset, config, str(arguments.workers)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        rows.append(_row(found))
        print(table(rows[-1:]), flush=True)
    if len(rows) > 1:
        print(f"\n{table(rows)}")


def _row(found: dict[str, Any]) -> dict[str, str]:
    memory = " / ".join(
        f"{size / 2**20:,.0f}" for part, size in zip(PARTS, found["memory"], strict=True) if part != 0.9
    )
    return {
        "rows": f"{found['rows']:,}",
        "CPU-seconds to the first batch": f"{found['start']:.0f}",
        "rows a CPU-second": f"{found['read'] / found['cpu']:,.0f}",
        "tokens a CPU-second": f"{found['tokens'] / found['cpu']:,.0f}",
        "peak memory at 1%, 50%, 100%, MiB": memory,
        "padding": f"{found['padding']:.1%}",
        "CPU-seconds to continue at 90%": f"{found['resume']:.1f}",
        "batches compared after it": f"{found['compared']:,}, {'all equal' if found['equal'] else 'NOT EQUAL'}",
    }
