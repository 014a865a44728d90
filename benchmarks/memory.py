"""Translation memories: `python -m benchmarks memory --pairs en-de.tsv.gz [--units 10000000]`.

Measured are the time to build one, its size, the milliseconds of a search (threshold 70, the best match with another
source), and how often it finds a match as good as the true best, which a comparison with all units gives; both are
asked for the sources of units that are drawn at random. All on one core.

--pairs has a page, a source and a target in each line, with tabs between; without --units the memory has these pairs.
With --units it is made of so many synthetic ones: copies of the pairs, in each of which the letters of all words but
the `FREQUENT` most frequent ones are exchanged, vowels for vowels and others for others. So each copy has its own rare
words, as another field has, and all have the frequent words in common. In addition `CHANGED` of the sentences have one
word that is drawn from all. Targets are not changed.
"""

import argparse
import gzip
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy
import psutil
from rapidfuzz import fuzz, process

from glossa.model.sentences_glossa import clean_text
from glossa.translate.memory.store import BLOCK, Memory
from glossa.translate.memory.terms import key_of
from glossa.translate.memory.units import Unit

from .reproduce import DOCS, add_result, read_commit, read_results, write_table
from .timing import machine, table

FREQUENT, CHANGED = 300, 0.3
VOWELS, OTHERS = "aeiouy", "bcdfghjklmnpqrstvwxz"
THRESHOLD = 70
CHUNK = 50_000  # units that are compared at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pages and their pairs; to measure")
    parser.add_argument("--units", type=int, metavar="N", help="synthetic units (default: the pairs as they are)")
    parser.add_argument("--queries", type=int, default=200, help="default: 200")
    parser.add_argument(
        "--folder", type=Path, help="keep the memory here, and continue one whose building was interrupted"
    )
    parser.add_argument("--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="finished rows")
    parser.add_argument("--write", action="store_true", help="write the table into docs/memory.md; measure nothing")


def run(arguments: argparse.Namespace) -> None:
    if not arguments.write:
        name = (
            f"{arguments.units:,} synthetic units"
            if arguments.units
            else f"{arguments.pairs.parent.name}, {arguments.pairs.name.split('.')[0]}"
        )
        place = {"table": "memory", "row": name, "seed": 1}
        result = place | {"commit": read_commit(), **machine()}
        with TemporaryDirectory() as folder:
            metrics = measure(arguments, Path(arguments.folder or folder, "memory"))
        add_result(arguments.results, result | {"metrics": metrics}, place)
    lines = table_lines(read_results(arguments.results))
    print(f"\n{lines}")
    if arguments.write:
        write_table(DOCS / "memory.md", "memory", lines)


def read_pairs(path: Path) -> list[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [(fields[-2], fields[-1]) for fields in (line.rstrip("\n").split("\t") for line in lines)]


def synthetic(pairs: list[tuple[str, str]], count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """So many pairs, made as the module says."""
    draw = random.Random(seed)
    split = [source.split(" ") for source, _ in pairs]
    counts = Counter(word for words in split for word in words)
    frequent = {word for word, _ in counts.most_common(FREQUENT)}
    known = list(counts)
    for number in range(-(-count // len(pairs))):
        exchanged = {}
        for letters in (VOWELS, OTHERS):
            other = "".join(draw.sample(letters, len(letters))) if number else letters
            exchanged |= str.maketrans(letters + letters.upper(), other + other.upper())
        for words, (_, target) in itertools.islice(zip(split, pairs, strict=True), count - number * len(pairs)):
            own = [word if word in frequent else word.translate(exchanged) for word in words]
            if number and draw.random() < CHANGED:
                own[draw.randrange(len(own))] = draw.choice(known)
            yield " ".join(own), target


def measure(arguments: argparse.Namespace, path: Path) -> dict[str, Any]:
    pairs = read_pairs(arguments.pairs)
    made = synthetic(pairs, arguments.units) if arguments.units else iter(pairs)
    clock = path.with_name("seconds")
    built = float(clock.read_text()) if clock.exists() else 0.0
    memory = Memory.open(path) if path.exists() else Memory.create(path, "en", "de")
    added = memory.version * BLOCK  # by an earlier call
    made = itertools.islice(made, added, None)
    while block := [Unit(*pair) for pair in itertools.islice(made, BLOCK)]:
        began = time.process_time()
        memory.add(block)
        built += time.process_time() - began
        added += len(block)
        clock.write_text(str(built))
        print(f"\r{added:,} units, {built:,.0f} s", end="", flush=True)
    memory.close()
    with Memory.open(path) as memory:
        texts = draw_sources(memory, arguments.queries)
        memory.matches(texts[0])  # loads the libraries
        before = resident()
        seconds, found = [], []
        for text in texts:
            began = time.process_time()
            matches = memory.matches(text, THRESHOLD, other_than=text)
            seconds.append(time.process_time() - began)
            found.append(matches[0].score if matches else 0)
        used = resident() - before
        print(f", {statistics.median(seconds) * 1e3:.2f} ms; comparing with all ...", flush=True)
        true = true_best(memory, texts)
        facts = memory.facts()
    share = [own >= best for own, best in zip(found, true, strict=True) if best >= THRESHOLD]
    return {
        "build_seconds": built,
        "units": facts["units"],
        "bytes": path.stat().st_size,
        "queries": len(texts),
        "median_ms": statistics.median(seconds) * 1e3,
        "mean_ms": statistics.mean(seconds) * 1e3,
        "p95_ms": statistics.quantiles(seconds, n=20)[-1] * 1e3,
        "with_match": len(share),
        "found": sum(share),
        "process_mb": used / 1e6,
    }


def draw_sources(memory: Memory, count: int) -> list[str]:
    """Sources that are drawn at random."""
    (last,) = memory.connection.execute("SELECT max(id) FROM sources").fetchone()
    numbers = random.Random(2).sample(range(last), count)
    following = "SELECT text FROM sources WHERE id >= ? ORDER BY id LIMIT 1"
    return [memory.connection.execute(following, (number,)).fetchone()[0] for number in numbers]


def resident() -> int:
    """Bytes of this process in memory."""
    return psutil.Process().memory_info().rss


def true_best(memory: Memory, texts: list[str]) -> list[int]:
    """The best score of each text among all sources but itself, by comparison with all."""
    keys, cleaned = [key_of(clean_text(text)) for text in texts], [clean_text(text) for text in texts]
    best = numpy.zeros(len(texts))
    rows = memory.connection.execute("SELECT text, coalesce(key, text) FROM sources")
    while block := rows.fetchmany(CHUNK):
        scores = process.cdist(
            keys, [key for _, key in block], scorer=fuzz.ratio, score_cutoff=THRESHOLD, dtype=numpy.float32
        )
        own = {text: place for place, (text, _) in enumerate(block)}
        for row, text in enumerate(cleaned):
            if text in own:
                scores[row, own[text]] = 0
        best = numpy.maximum(best, scores.max(axis=1))
    return [min(int(score + 1e-4), 99) for score in best]


def table_lines(results: list[dict]) -> str:
    """The rows that are measured."""
    rows = []
    for result in (result for result in results if result["table"] == "memory"):
        own = result["metrics"]
        rows.append(
            {
                "memory": result["row"],
                "different sources": f"{own['units']:,}",
                "build, s": f"{own['build_seconds']:,.0f}",
                "file, MB": f"{own['bytes'] / 1e6:,.0f}",
                "median, ms": f"{own['median_ms']:.1f}",
                "95%, ms": f"{own['p95_ms']:.1f}",
                "true best found": f"{own['found'] / max(own['with_match'], 1):.1%} of {own['with_match']}",
            }
        )
    return table(rows) if rows else "No row is measured."
