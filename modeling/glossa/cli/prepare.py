"""Clean, split and shuffle the pairs of a recipe once: `glossa prepare RECIPE --output FOLDER [--setting value ...]`.

Reads, cleans, filters and splits the pairs as `glossa train` does, with the same settings, in several processes or,
with --ray, on a cluster, and writes them as Parquet files. `glossa train --data_path FOLDER` reads the folder, also
with --streaming true, and does not clean it again. `glossa data --help all` shows the settings.

A job that was interrupted continues with the same command. The result is the same on any number of processes or
machines. `FOLDER.parts` keeps what was cleaned: if sources are added, removed or changed, the others are not cleaned
again with --parts. Remove it when you need it no more.
"""

import argparse
import os
from pathlib import Path

from ..errors import GlossaError
from ..plan import catalog
from . import new_parser, whole
from .places import add_ray, place_of
from .train import check

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
    arguments, settings = parser.parse_known_args(argv)
    try:
        check(settings)
        show(arguments, settings)
    except GlossaError as error:
        raise GlossaError(catalog.origin(str(error), settings) + str(error)) from error


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def show(arguments: argparse.Namespace, settings: list[str]) -> None:
    """Prepare the pairs and print their report."""
    from ..data.preparing.prepare import prepare
    from ..jobs.records import locked, refuse_existing
    from ..plan.arguments import parse_settings

    output: Path = arguments.output
    refuse_existing(output)
    parsed = parse_settings(settings)
    if parsed.translator.objective != "translation":
        raise GlossaError(f"objective is {parsed.translator.objective}; glossa prepare is for pairs. Leave it out.")
    data = parsed.data
    folder = (arguments.parts or Path(f"{output}.parts")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(output), place_of(arguments.ray, arguments.processes, folder, MODULES) as place:
        report = prepare(data, output, place, folder)
    print(report.text())
    sizes = ", ".join(f"{size:,} {split}" for split, size in report.sizes.items())
    print(
        f"\nWritten: {output} ({sizes}). Train on it: glossa train --data_path {output} "
        f"--source_language {data.source_language} --target_language {data.target_language}"
    )
