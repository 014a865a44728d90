"""Clean, split and shuffle the pairs of a recipe once: `glossa prepare RECIPE --output FOLDER [--setting value ...]`.

Reads, cleans, filters and splits the pairs as `glossa train` does, with the same settings, in several processes or,
with --ray, on a cluster, and writes them as Parquet files. `glossa train --data_path FOLDER` reads the folder, also
with --streaming true, and does not clean it again. `glossa data --help all` shows the settings.

A job that was interrupted continues with the same command. The result is the same on any number of processes or
machines. `FOLDER.parts` keeps what was cleaned: if sources are added, removed or changed, the others are not cleaned
again with --parts. Remove it when you need it no more.
"""

import argparse
import contextlib
import logging
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GlossaError
from ..plan import catalog
from . import new_parser, whole
from .train import check

if TYPE_CHECKING:
    from ..jobs.stage import Place

logger = logging.getLogger(__name__)

MODULES = ("glossa_command", "glossa.data.preparing.prepare")  # that processes import before they start


def main(argv: list[str]) -> None:
    parser = new_parser("prepare", __doc__)
    parser.usage = "glossa prepare RECIPE --output FOLDER [--setting value ...]"
    parser.add_argument("--output", required=True, type=Path, metavar="FOLDER", help="folder to write")
    add_places(parser)
    parser.add_argument(
        "--parts", type=Path, metavar="FOLDER", help="folder for what is cleaned (default: OUTPUT.parts)"
    )
    arguments, settings = parser.parse_known_args(argv)
    try:
        check(settings)
        show(arguments, settings)
    except GlossaError as error:
        raise GlossaError(catalog.origin(str(error), settings) + str(error)) from error


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where a job runs."""
    parser.add_argument(
        "--processes",
        type=whole(1),
        default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        metavar="N",
        help="processes on this machine (default: one for each core)",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run on a Ray cluster: auto (that of this machine), local (start one), HOST:PORT or ray://HOST:PORT; all "
        'machines must see the output (pip install "glossa-mt[ray]")',
    )


@contextlib.contextmanager
def place(ray: str | None, processes: int, folder: Path, modules: tuple[str, ...]) -> Iterator["Place"]:
    """Where the stages of a job run, whose files are in `folder`."""
    if ray is not None:
        from ..jobs.cluster import on_ray

        with on_ray(ray, folder) as found:
            yield found
    else:
        from ..jobs.pool import in_processes

        yield partial(in_processes, processes=processes, modules=modules)


def show(arguments: argparse.Namespace, settings: list[str]) -> None:
    """Prepare the pairs and print their report."""
    from ..data.preparing.prepare import prepare
    from ..jobs.records import locked, refuse_existing
    from ..plan.arguments import parse_settings

    output: Path = arguments.output
    refuse_existing(output)
    data = parse_settings(settings).data
    folder = (arguments.parts or Path(f"{output}.parts")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(output), place(arguments.ray, arguments.processes, folder, MODULES) as where:
        report = prepare(data, output, where, folder)
    print(report.text())
    sizes = ", ".join(f"{size:,} {split}" for split, size in report.sizes.items())
    print(
        f"\nWritten: {output} ({sizes}). Train on it: glossa train --data_path {output} "
        f"--source_language {data.source_language} --target_language {data.target_language}"
    )
