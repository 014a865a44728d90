"""A day of a translator with a memory: `python -m benchmarks day --data FOLDER --runs runs/repair --language de`.

The test pages of `python -m benchmarks repair` are translated in their order, sentence by sentence, each as if a
translator corrected it to its reference at once. Compared are the model without a memory; the model that reads one,
with the training pairs only; the same with a memory that gets each reference; and the model without a memory after
it was trained on the corrections of each 200 sentences (`glossa train --corrections`). The edits are the characters
that turn a translation into its reference, in percent of the reference's. Sentences that occur in the memory already
are counted apart: they are copied from it. `--picture FILE` draws the edits along the day.
"""

import argparse
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from glossa.base.errors import GlossaError
from glossa.base.metrics import bleu_tokenizer, score
from glossa.base.pair import Pair
from glossa.cli.train import main as train
from glossa.translate.build import build_translator
from glossa.translate.interface import Execution, Search
from glossa.translate.memory.store import Memory, Unit
from glossa.translate.texts.recall import Recall

from .repair import BEAMS, SALT, read_pairs
from .reproduce import DOCS, add_result, read_commit, read_results, write_table
from .timing import machine, table

NONE, FIXED, GROWING, TRAINED = "no memory", "memory of training", "memory that grows", "corrections trained"
EVERY = 200  # corrections that are learned at once
SMOOTH = 300  # sentences that a point of the picture is the mean of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="of the pairs; to translate")
    parser.add_argument("--runs", type=Path, default=Path("runs/repair"), help="the folder of `repair`")
    parser.add_argument("--language", default="de", metavar="CODE", help="default: de")
    parser.add_argument("--seed", type=int, default=1, help="of the runs (default: 1)")
    parser.add_argument("--systems", nargs="+", default=[NONE, FIXED, GROWING, TRAINED], help="default: all")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="of the edits along the day")
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page; translate nothing")
    parser.add_argument(
        "--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="the finished rows"
    )


def run(arguments: argparse.Namespace) -> None:
    for name in arguments.systems if not arguments.write else ():
        place = {"table": "day", "row": name, "language": arguments.language, "seed": arguments.seed}
        if not any(place.items() <= result.items() for result in read_results(arguments.results)):
            metrics = measure(arguments, name)
            add_result(arguments.results, place | {"commit": read_commit(), **machine(), "metrics": metrics}, place)
    results = [one for one in read_results(arguments.results) if one["table"] == "day"]
    print(lines := day_lines(results))
    if arguments.write:
        write_table(Path(arguments.write), "day", lines)
    if arguments.picture:
        draw(results, arguments.picture)


def day_of(arguments: argparse.Namespace) -> list[Pair]:
    """The pairs of the test pages, in their order, with repeats."""
    with gzip.open(arguments.data / f"en-{arguments.language}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [
        Pair(*sides)
        for page, *sides in rows
        if int(hashlib.sha256(f"{SALT}{page}".encode()).hexdigest(), 16) % 100 < 4
    ]


def measure(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """The scores of a system over the day, and its edits, sentence by sentence."""
    pairs = day_of(arguments)
    known = read_pairs(arguments.runs / arguments.language / "train.tsv")
    runs = {word: arguments.runs / f"{arguments.language}-{word}-{arguments.seed}" for word in ("with", "without")}
    with Memory.temporary(known) as memory:
        translate: dict[str, Callable[[], Iterator[str]]] = {
            NONE: partial(_translated, runs["without"], pairs),
            FIXED: partial(_translated, runs["with"], pairs, memory),
            GROWING: partial(_translated, runs["with"], pairs, memory, grows=True),
            TRAINED: partial(_corrected, arguments, runs["without"], pairs),
        }
        if name not in translate:
            raise GlossaError(f"--systems has {name!r}; its systems are {', '.join(translate)}.")
        texts = list(translate[name]())
    repeated = _repeats(pairs, known)
    edits = [
        100 * Levenshtein.distance(text, pair.target) / len(pair.target)
        for text, pair in zip(texts, pairs, strict=True)
    ]
    found: dict[str, Any] = {"edits": [round(each, 1) for each in edits], "again": repeated}
    for part, wanted in (("new", False), ("repeated", True)):
        rows = [row for row, own in enumerate(repeated) if own == wanted]
        references = [[pairs[row].target] for row in rows]
        scores = score([texts[row] for row in rows], references, 0, bleu_tokenizer(arguments.language))
        typed = sum(Levenshtein.distance(texts[row], pairs[row].target) for row in rows)
        share = 100 * typed / sum(len(pairs[row].target) for row in rows)
        found[part] = {"sentences": len(rows), "edits": share} | {key: one["score"] for key, one in scores.items()}
    return found


def _repeats(pairs: Sequence[Pair], known: Sequence[Pair]) -> list[bool]:
    """Whether the source of each pair occurs before it: in the training pairs, or earlier that day."""
    seen, found = {pair.source for pair in known}, []
    for pair in pairs:
        found.append(pair.source in seen)
        seen.add(pair.source)
    return found


def _translated(run: Path, pairs: Sequence[Pair], memory: Memory | None = None, grows: bool = False) -> Iterator[str]:
    recall = None if memory is None else Recall([memory])
    translator = build_translator(
        [str(run)], "auto", search=Search(BEAMS), execution=Execution(split_sentences=False)
    ).with_recall(recall)
    if not grows:
        yield from translator.best([pair.source for pair in pairs], progress=True)
        return
    for pair in pairs:
        yield translator.best([pair.source])[0]
        memory.add([Unit(pair.source, pair.target)])  # type: ignore[union-attr]


def _corrected(arguments: argparse.Namespace, run: Path, pairs: Sequence[Pair]) -> Iterator[str]:
    """The translations of a model that learns the corrections of each `EVERY` sentences, and of all before them."""
    folder = arguments.runs / f"{arguments.language}-day-{arguments.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    file, current = folder / "corrections.jsonl", run
    rows: list[dict[str, str]] = []
    for start in range(0, len(pairs), EVERY):
        some = pairs[start : start + EVERY]
        texts = list(_translated(current, some))
        yield from texts
        for pair, text in zip(some, texts, strict=True):
            if text != pair.target:
                rows.append({"source": pair.source, "output": text, "correction": pair.target})
        file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
        new = folder / str(start)
        if start + EVERY < len(pairs):
            argv = ["--init_from", str(run), "--output_dir", str(new), "--report_to", "none"]
            try:
                train([*argv, "--corrections", str(file)])
                current = new
            except SystemExit:  # the new model is not accepted
                print(f"After {start + EVERY} sentences the model is not accepted, and the last one stays.")


def day_lines(results: Sequence[dict]) -> str:
    """A row for each system: sentences that are new, and repeated ones."""
    rows = []
    for result in results:
        cells = {"system": result["row"]}
        for part in ("new", "repeated"):
            own = result["metrics"][part]
            cells[f"{part} ({own['sentences']:,}): BLEU"] = f"{own['bleu']:.1f}"
            cells[f"{part}: TER"] = f"{own['ter']:.1f}"
            cells[f"{part}: edits"] = f"{own['edits']:.1f}%"
        rows.append(cells | {"seed": str(result["seed"]), "commit": result["commit"]})
    return table(rows) if rows else "No row is finished."


def draw(results: Sequence[dict], file: Path) -> None:
    """The edits of the new sentences along the day, as means over `SMOOTH` sentences."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for result in results:
        metrics = result["metrics"]
        edits = [own for own, again in zip(metrics["edits"], metrics["again"], strict=True) if not again]
        means = [sum(edits[max(end - SMOOTH, 0) : end]) / min(end, SMOOTH) for end in range(SMOOTH, len(edits) + 1)]
        axes.plot(range(SMOOTH, len(edits) + 1), means, label=result["row"])
    axes.set(xlabel="new sentences of the day", ylabel=f"edits, percent (mean of the last {SMOOTH})", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=120)
