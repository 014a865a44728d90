"""Whether a model learns from corrections of one kind: French that says "tu" is corrected to "vous".

English sentences that say "you" are taken from the archive of Anki that a run was trained on, if its translation says
"tu" and the archive has one that says "vous". `--count` of them become corrections, as many others measure what has
been learned from the first. `glossa train --init_from RUN --corrections FILE` then trains and compares.
"""

import argparse
import contextlib
import json
import random
from pathlib import Path

from glossa.cli.train import main as train
from glossa.data.arguments import DataArguments
from glossa.data.pairs import load_pairs
from glossa.errors import GlossaError
from glossa.inference.build import build_translator
from glossa.run_folder import RunFolder

from .errors import address
from .timing import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="a run of anki-en-fr")
    parser.add_argument("--anki", type=Path, required=True, metavar="FILE", help="fra-eng.zip")
    parser.add_argument("--count", type=int, default=200, help="corrections, and sentences to measure (default: 200)")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/corrected"), help="default: runs/corrected")


def run(arguments: argparse.Namespace) -> None:
    rows = find_rows(arguments)
    if len(rows) < 2 * arguments.count:
        raise GlossaError(f"{len(rows)} sentences can be corrected; --count can be at most {len(rows) // 2}.")
    learned, measured = rows[: arguments.count], rows[arguments.count : 2 * arguments.count]
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    file = arguments.output_dir / "given.jsonl"
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in learned), encoding="utf-8")
    new = arguments.output_dir / "run"
    with contextlib.suppress(SystemExit):  # not accepted, as it prints
        train(["--init_from", arguments.model, "--corrections", str(file), "--output_dir", str(new)])
    cells = []
    for title, given in (("corrected", learned), ("others of the kind", measured)):
        for when, name in (("before", arguments.model), ("after", str(new))):
            texts = build_translator([name], "auto").best([row["source"] for row in given])
            said = [address([text]) for text in texts]
            exact = sum(text == row["correction"] for text, row in zip(texts, given, strict=True))
            cells.append({
                "sentences": title, "number": str(len(given)), "model": when,
                "vous": f"{said.count('vous') / len(said):.1%}", "as corrected": f"{exact / len(said):.1%}",
            })  # fmt: skip
    print(f"\n{table(cells)}")


def find_rows(arguments: argparse.Namespace) -> list[dict[str, str]]:
    """Sentences, the run's translations with "tu", and the archive's with "vous", in random order."""
    run = RunFolder(arguments.model)
    held_out = {row["source"] for split in ("validation", "test") for row in run.load_held_out(split)}
    data = DataArguments(dataset="anki", data_path=[str(arguments.anki)], source_language="en", target_language="fr")
    pairs = load_pairs(data)
    wanted: dict[str, str] = {}
    for english, french in zip(pairs["source"], pairs["target"], strict=True):
        if english not in held_out and "you" in english.lower().split() and address([french]) == "vous":
            wanted.setdefault(english, french)
    sources = sorted(wanted)
    random.Random(1).shuffle(sources)
    sources = sources[: 20 * arguments.count]
    outputs = build_translator([arguments.model], "auto").best(sources)
    return [
        {"source": source, "output": output, "correction": wanted[source]}
        for source, output in zip(sources, outputs, strict=True)
        if address([output]) == "tu"
    ]
