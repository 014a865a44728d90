"""What the token ids of a prepared folder save: `python -m benchmarks token_ids --pairs 200000`.

Prepares generated pairs, and does what a run does before its first step: from the raw file, from the prepared texts
alone, and from the prepared token ids; in memory and as a stream, each in a process of its own without a cache. Of
streams also the rows that a CPU-second turns into batches. All rows of a way must have the same token ids.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from glossa.errors import GlossaError

from .preparation import generate
from .timing import machine, table

PROGRAM = "from benchmarks.token_ids import measure; import sys; measure(*sys.argv[1:])"
WAYS = {
    "the raw file": ("pairs.tsv", ""),
    "prepared texts": ("bare", ""),
    "prepared token ids": ("out", ""),
    "a stream of prepared texts": ("bare", "true"),
    "a stream of prepared token ids": ("out", "true"),
}
BATCH_TOKENS = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=200_000, help="number of pairs (default: 200,000)")


def run(arguments: argparse.Namespace) -> None:
    rows, stamps = [], set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "pairs.tsv", arguments.pairs)
        prepare_pairs(folder)
        texts, whole = (
            sum(file.stat().st_size for file in (folder / one).glob("*.parquet")) for one in ("bare", "out")
        )
        for way, (path, streaming) in WAYS.items():
            command = [sys.executable, "-c", PROGRAM, str(folder / path), streaming]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise GlossaError(f"Reading {way} failed: {done.stderr[-1000:]}")
            found = json.loads(done.stdout.splitlines()[-1])
            stamps |= {found.pop("ids")} if path != "pairs.tsv" and not streaming else set()
            rows.append({"training reads": way} | {key: value for key, value in found.items() if key != "ids"})
            print(rows[-1], file=sys.stderr, flush=True)
    here = machine()
    print(f"{table(rows)}\n\n{arguments.pairs:,} pairs, {here['cpu']}, {here['cores']} cores. ", end="")
    print(f"Files of {whole / 2**20:,.0f} MiB, {texts / 2**20:,.0f} MiB without token ids. ", end="")
    print("The token ids are the same." if len(stamps) == 1 else "The token ids DIFFER.")


def prepare_pairs(folder: Path) -> None:
    """Prepare the pairs into `out`, and without token ids into `bare`."""
    from glossa.data.preparing.prepare import prepare
    from glossa.jobs.pool import in_this_process
    from glossa.plan.arguments import parse_settings
    from glossa.training.building import learn_vocabulary

    settings = parse_settings(["--data_path", str(folder / "pairs.tsv")])
    for output, learn in (("bare", None), ("out", partial(learn_vocabulary, settings))):
        prepare(settings.data, folder / output, in_this_process, folder / "parts", learn=learn)


def measure(path: str, streaming: str) -> None:
    """Print what a run does before its first step as JSON."""
    import datasets
    import xxhash

    from glossa.data.encoding.encoding import tokenize_pairs
    from glossa.data.pairs import prepare_pairs
    from glossa.data.streaming.streams import Stream
    from glossa.data.streaming.windows import Windows
    from glossa.plan.arguments import parse_settings
    from glossa.plan.start import adopt_vocabulary
    from glossa.training.building import new_vocabulary

    datasets.disable_progress_bars()
    words = ["--data_path", path, "--streaming", streaming or "false", "--trust_data", "language"]
    with tempfile.TemporaryDirectory() as cache:
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        started, wall = time.process_time(), time.perf_counter()
        settings = adopt_vocabulary(parse_settings(words))
        stream = Stream(settings.data) if streaming else None
        pairs, report = prepare_pairs(settings.data, stream)
        settings, learned = new_vocabulary(settings, pairs, report)
        rows = tokenize_pairs(pairs, learned, settings.data, report)["train"]
        cpu, wall = time.process_time() - started, time.perf_counter() - wall
        digest = xxhash.xxh3_64()
        for batch in rows.iter(10_000):
            digest.update(repr((batch["input_ids"], batch["labels"])).encode())
    found = {"CPU-seconds to the first step": f"{cpu:.1f}", "seconds": f"{wall:.1f}", "rows a CPU-second": ""}
    if stream is not None:
        windows, started, read = Windows(stream, learned, BATCH_TOKENS), time.process_time(), 0
        for number in range(windows.count(0)):
            window = windows[0, number]
            if isinstance(window, GlossaError):
                raise window
            read += sum(counts["read"] for counts in window.counts.values())
        found["rows a CPU-second"] = f"{read / (time.process_time() - started):,.0f}"
    print(json.dumps(found | {"ids": digest.hexdigest()}))
