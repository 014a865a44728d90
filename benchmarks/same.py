"""Whether `glossa prepare` keeps, counts and holds out what `glossa train` does.

`python -m benchmarks same "RECIPE ..." ...`: each recipe may be followed by settings, as on the command line of
`glossa train`.
"""

import argparse
import shlex
import tempfile
import time
from functools import partial
from pathlib import Path

import datasets
from datasets import Dataset, DatasetDict

from glossa.data.arguments import DataArguments
from glossa.data.pairs import prepare_pairs
from glossa.data.preparing.prepare import prepare
from glossa.errors import GlossaError
from glossa.jobs.pool import in_processes
from glossa.plan.arguments import parse_settings

from .timing import machine, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipes", nargs="+", metavar="RECIPE", help='such as "anki-en-fr --near_duplicates true"')
    parser.add_argument("--processes", type=int, default=2, help="of glossa prepare (default: 2)")


def run(arguments: argparse.Namespace) -> None:
    datasets.disable_progress_bars()
    place = partial(
        in_processes, processes=arguments.processes, modules=("glossa_command", "glossa.data.preparing.prepare")
    )
    rows = [compare(shlex.split(recipe), place) for recipe in arguments.recipes]
    here = machine()
    print(f"{table(rows)}\n\n{here['cpu']}, {here['cores']} cores")


def compare(words: list[str], place) -> dict[str, str]:
    """A row of the table. Raises `GlossaError` with what differs."""
    data = parse_settings(words).data
    started = time.perf_counter()
    expected, report = prepare_pairs(data)
    between = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = prepare(data, folder / "out", place, folder / "parts")
        ended = time.perf_counter()
        languages = {"source_language": data.source_language, "target_language": data.target_language}
        read, _ = prepare_pairs(DataArguments(data_path=[str(folder / "out")], **languages))
        differing = [split for split in {**expected, **read} if not _same(split, expected, read)]
    differing += [name for name in ("splits", "overlap") if getattr(found, name) != getattr(report, name)]
    if differing:
        raise GlossaError(f"{shlex.join(words)}: {', '.join(differing)} differ.")
    return {
        "recipe": words[0],
        **{f"{split} pairs, equal": f"{len(expected.get(split, [])):,}" for split in ("train", "validation", "test")},
        "rows read, counts equal": f"{report.splits['train']['read']:,}",
        "seconds of training's cleaning": f"{between - started:,.0f}",
        "of prepare": f"{ended - between:,.0f}",
    }


def _same(split: str, one: DatasetDict, other: DatasetDict) -> bool:
    """Whether both have the same pairs in a split, for training in any order."""
    found = [_pairs(splits[split]) if split in splits else None for splits in (one, other)]
    return sorted(found[0] or []) == sorted(found[1] or []) if split == "train" else found[0] == found[1]


def _pairs(rows: Dataset) -> list[tuple[str, str]]:
    return list(zip(rows["source"][:], rows["target"][:], strict=True))
