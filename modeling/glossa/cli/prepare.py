"""Clean, split and shuffle the pairs of a recipe once: `glossa prepare RECIPE --output FOLDER [--setting value ...]`.

Reads, cleans, filters and splits the pairs as `glossa train` does, with the same settings, in several processes or,
with --ray, on a cluster, and writes them as Parquet files. `glossa train --data_path FOLDER` reads the folder, also
with --streaming true, and does not clean it again. `glossa data --help all` shows the settings.

--back_translate FILE --teacher MODEL makes more pairs of text in the target language: a model of the opposite
direction translates it, and these pairs are one more source, which is cleaned like the others.

A job that was interrupted continues with the same command. The result is the same on any number of processes or
machines. `FOLDER.parts` keeps what was cleaned: if sources are added, removed or changed, the others are not cleaned
again with --parts. Remove it when you need it no more.
"""

import argparse
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GlossaError
from ..inference.loading import check_name
from ..plan import catalog
from . import new_parser, whole
from .places import add_ray, place_of
from .train import check, place_errors

if TYPE_CHECKING:
    from ..data.arguments import DataArguments

MODULES = ("glossa_command", "glossa.data.preparing.prepare")  # that processes import before they start


def main(argv: list[str]) -> None:
    parser = new_parser("prepare", __doc__)
    parser.usage = "glossa prepare RECIPE --output FOLDER [--setting value ...]"
    parser.add_argument("--output", required=True, type=Path, metavar="FOLDER", help="folder to write")
    parser.add_argument(
        "--processes",
        type=whole(1),
        default=cores(),
        metavar="N",
        help="processes on this machine (default: one for each core)",
    )
    add_ray(parser)
    parser.add_argument(
        "--parts", type=Path, metavar="FOLDER", help="folder for what is cleaned (default: OUTPUT.parts)"
    )
    meaning = "also write the rows that were dropped, with the reason of each, into OUTPUT/rejects"
    parser.add_argument("--rejects", action="store_true", help=meaning)
    add_back_translation(parser)
    arguments, words = parser.parse_known_args(argv)
    given = catalog.parse(words)
    # The vocabulary is learned in this process, by as many threads as other stages have processes.
    os.environ.setdefault("RAYON_NUM_THREADS", str(arguments.processes))
    with place_errors(given):
        check(given)
        show(arguments, given)


def add_back_translation(parser: argparse.ArgumentParser) -> None:
    texts = "text in the target language, which --teacher translates to more sources"
    parser.add_argument("--back_translate", nargs="+", metavar="FILE", help=texts)
    parser.add_argument("--teacher", metavar="MODEL", help="run or Hub name of a model of the opposite direction")
    parser.add_argument("--sample", action="store_true", help="draw back-translations at random instead of searching")
    parser.add_argument("--tag", default="", help='text before back-translated sources, such as "<bt> "')


def with_back_translations(arguments: argparse.Namespace, data: "DataArguments", folder: Path) -> "DataArguments":
    """The data settings with one more source: the pairs that the teacher makes, which are kept in `folder`."""
    from ..data.paths import is_remote
    from ..inference.engines.stamps import stamp_models
    from ..jobs.records import stamp, stamp_file
    from . import distill

    if not arguments.back_translate or not arguments.teacher:
        raise GlossaError("--back_translate and --teacher belong together; give both.")
    drawn = [name for name in ("validation", "test") if not getattr(data, f"{name}_path")]
    drawn = [name for name in drawn if getattr(data, f"{name}_size") != 0]
    if drawn:
        raise GlossaError(
            f"With --back_translate, held-out pairs could be back-translations. Give {drawn[0]}_path, such as "
            f"held_out/{drawn[0]}.jsonl of a run, or set {drawn[0]}_size to 0."
        )
    check_name(arguments.teacher)
    texts = [
        path if is_remote(path) else stamp_file(file) for path in arguments.back_translate for file in _files(path)
    ]
    known = repr((texts, stamp_models([arguments.teacher]), arguments.sample, data.source_language))
    pairs = folder / "back-translated" / f"{stamp([known.encode()])}.jsonl"
    if not pairs.exists():
        pairs.parent.mkdir(exist_ok=True)
        place = ["--ray", arguments.ray] if arguments.ray is not None else ["--workers", str(arguments.processes)]
        languages = ["--source_language", data.source_language, "--target_language", data.target_language]
        options = [*place, *languages, *["--sample"] * arguments.sample]
        words = [arguments.teacher, "--text", *arguments.back_translate, "--output", str(pairs), *options]
        distill.make_pairs(distill.parse(words))
    made = {"name": "back-translations", "data_path": [str(pairs)], "tag": arguments.tag}
    made |= {"source_column": "source", "target_column": "target"}
    sources: list = [*(list[Any](data.sources) or [described(data)]), made]
    return replace(data, sources=sources, data_path=[], dataset="embedded")


def _files(path: str) -> list[Path]:
    from ..data.paths import file_groups, is_remote

    return [Path(path)] if is_remote(path) else [file for group in file_groups([path]) for file in group]


def described(data: "DataArguments") -> dict:
    """The source that the flat settings of a recipe describe."""
    names = ("data_path", "source_column", "target_column") if data.data_path else ("dataset", "dataset_config")
    return {name: value for name in names if (value := getattr(data, name))}


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def show(arguments: argparse.Namespace, given: catalog.Given) -> None:
    """Prepare the pairs and print their report."""
    from ..data.preparing.prepare import prepare
    from ..jobs.records import locked, refuse_existing
    from ..plan.arguments import parse_settings
    from ..training.building import learn_vocabulary

    output: Path = arguments.output
    refuse_existing(output)
    parsed = parse_settings(given)
    if parsed.translator.objective != "translation":
        raise GlossaError(f"objective is {parsed.translator.objective}; glossa prepare is for pairs. Leave it out.")
    data = parsed.data
    folder = (arguments.parts or Path(f"{output}.parts")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.back_translate or arguments.teacher:
        data = with_back_translations(arguments, data, folder)
    with locked(output), place_of(arguments.ray, arguments.processes, folder, MODULES) as place:
        report = prepare(data, output, place, folder, arguments.rejects, partial(learn_vocabulary, parsed))
    print(report.text())
    sizes = ", ".join(f"{size:,} {split}" for split, size in report.sizes.items())
    print(
        f"\nWritten: {output} ({sizes}). Train on it: glossa train --data_path {output} "
        f"--source_language {data.source_language} --target_language {data.target_language}"
    )
