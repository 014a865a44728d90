"""What the sentence before is worth to a translator: trainings with `context: 0` and `context: 1`.

`python -m benchmarks context --tico19 FILE --anki FILE` trains models of English to French on a share of Anki's single
sentences and on the documents of TICO-19, with equal settings but for `context`. Whole documents are held out. The
model that reads the sentence before is also measured without it, and with a sentence of another document instead.

The columns are the loss in nats a token of the reference, BLEU and chrF++, on all test sentences and on those with a
pronoun or demonstrative (it, they, this, ...) that follow another sentence, where French depends on it most.
"""

import argparse
import json
import random
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lxml import etree
from sacrebleu.metrics import CHRF

from glossa.data.cleaning.context import after
from glossa.evaluation.metrics import bleu_metric
from glossa.inference.forced import force
from glossa.inference.translators import build_translator
from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.sentences_glossa import clean_text
from glossa.training.run import train

from .timing import table

LARGEST = 140  # units of a document that may be held out
HELD_OUT = {"validation": 150, "test": 450}  # units, at least
PRONOUN = re.compile(r"\b(it|its|they|them|their|this|these|those|he|she|his|her)\b", re.I)
WAYS = ("before", "none", "other")  # what a model reads before a sentence
WEIGHTS = {"anki": 0.5, "tico19": 6}  # how often a row is seen in a pass
SETTINGS = (
    "multi30k-en-de --target_language fr --dataset sources --vocab_size 6000 --dropout 0.2 --num_train_epochs 3 "
    "--batch_tokens 1024 --gradient_accumulation_steps 1 --warmup_steps 0.1 --bf16 false --max_length 128 "
    "--trust_data true --validation_size 0 --test_size 0 --eval_strategy no --save_strategy epoch "
    "--save_total_limit 1 --report_to none --resume_from_checkpoint true"
)


class Unit(NamedTuple):
    """A sentence of a document, its translation, and the sentence before it ("" at the start)."""

    document: str
    source: str
    target: str
    before: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tico19", type=Path, required=True, metavar="FILE", help="all.en-fr.tmx.zip of TICO-19")
    parser.add_argument("--anki", type=Path, required=True, metavar="FILE", help="fra-eng.zip")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/context"), help="folder of the files and runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--contexts", type=int, nargs="+", default=[0, 1], help="sentences before (default: 0 1)")
    parser.set_defaults(settings=[])  # of all trainings


def read(file: Path) -> list[Unit]:
    """The units of TICO-19 in order; the name of a unit begins with its document."""
    with zipfile.ZipFile(file) as opened:
        root = etree.fromstring(opened.read(opened.namelist()[0]))
    units: list[Unit] = []
    for unit in root.iter("tu"):
        document = unit.get("tuid").partition(":")[0]
        source, target = (clean_text("".join(side.itertext())) for side in unit.iter("seg"))
        follows = bool(units) and units[-1].document == document
        units.append(Unit(document, source, target, units[-1].source if follows else ""))
    return units


def split(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    """Documents, drawn with a fixed seed, for validation and test, and the others for training."""
    sizes: dict[str, int] = {}
    for unit in units:
        sizes[unit.document] = sizes.get(unit.document, 0) + 1
    names = [name for name, size in sizes.items() if size <= LARGEST]
    random.Random(1).shuffle(names)
    parts: dict[str, list[Unit]] = {}
    for part, wanted in HELD_OUT.items():
        chosen: set[str] = set()
        while sum(sizes[name] for name in chosen) < wanted and names:
            chosen.add(names.pop())
        parts[part] = [unit for unit in units if unit.document in chosen]
    held_out = {unit.document for part in parts.values() for unit in part}
    return parts | {"train": [unit for unit in units if unit.document not in held_out]}


def write(units: Sequence[Unit], folder: Path) -> list[str]:
    """A file of tab-separated pairs for each document."""
    folder.mkdir(parents=True, exist_ok=True)
    documents: dict[str, list[Unit]] = {}
    for unit in units:
        documents.setdefault(unit.document, []).append(unit)
    for name, own in documents.items():
        (folder / f"{name}.tsv").write_text("".join(f"{unit.source}\t{unit.target}\n" for unit in own), "utf-8")
    return [str(folder / f"{name}.tsv") for name in documents]


def read_by_model(units: Sequence[Unit], way: str) -> list[str]:
    """What a model reads: each sentence after the one before it, after one of another document, or alone."""
    generator = random.Random(1)
    others = {unit.document: [each.source for each in units if each.document != unit.document] for unit in units}
    texts = []
    for unit in units:
        before = "" if way == "none" else unit.before
        if before and way == "other" and others[unit.document]:
            # Of about the same length.
            some = generator.choices(others[unit.document], k=20)
            before = min(some, key=lambda text: abs(len(text) - len(unit.before)))
        texts.append(after(before, unit.source))
    return texts


def run(arguments: argparse.Namespace) -> None:
    parts = split(read(arguments.tico19))
    print({part: len(units) for part, units in parts.items()}, flush=True)
    files = write(parts["train"], arguments.output_dir / "documents")
    sources = [
        {"name": "anki", "data_path": [str(arguments.anki)], "context": 0, "weight": WEIGHTS["anki"]},
        {"name": "tico19", "data_path": files, "weight": WEIGHTS["tico19"]},
    ]
    rows = []
    for seed in arguments.seeds:
        for context in arguments.contexts:
            output = arguments.output_dir / f"context-{context}-{seed}"
            own = [{**source, "context": min(source.get("context", context), context)} for source in sources]
            words = [*SETTINGS.split(), "--sources", json.dumps(own), "--context", str(context), "--seed", str(seed)]
            model = train(parse_settings([*words, "--output_dir", str(output), *arguments.settings]))
            for way in WAYS if context else ("none",):
                rows.append(score(f"context {context}, seed {seed}", model, parts["test"], way))
            print(f"\n{table(rows)}", flush=True)


def score(label: str, model: Path, units: Sequence[Unit], way: str) -> dict[str, str]:
    """Loss, BLEU and chrF++ of a model that reads `units` in one way."""
    translator = build_translator([str(model)], split_sentences=False)
    texts = read_by_model(units, way)
    translations = translator.best(texts)
    forced = force(translator.engine.pipeline.model, translator.tokenizer, texts, [unit.target for unit in units])
    pronouns = [row for row, unit in enumerate(units) if unit.before and PRONOUN.search(unit.source)]
    cells = {"model": label, "reads before": way, "steps": f"{RunFolder(model).metrics['steps']:,}"}
    for name, rows in ((f"all {len(units)}", range(len(units))), (f"{len(pronouns)} with a pronoun", pronouns)):
        own, references = [forced[row] for row in rows], [[units[row].target for row in rows]]
        loss = -sum(each.log_probability for each in own) / sum(each.tokens for each in own)
        found = [translations[row] for row in rows]
        cells[f"loss, {name}"] = f"{loss:.4f}"
        cells[f"BLEU, {name}"] = f"{bleu_metric('13a').corpus_score(found, references).score:.2f}"
        cells[f"chrF++, {name}"] = f"{CHRF(word_order=2).corpus_score(found, references).score:.2f}"
    return cells
