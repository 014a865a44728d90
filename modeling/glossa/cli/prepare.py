"""Clean, split and shuffle the pairs of a recipe once: `glossa prepare RECIPE --output FOLDER [--setting value ...]`.

Reads, cleans, filters and splits the pairs as `glossa train` does, with the same settings, and writes them as Parquet
files. The work is shared by several processes or, with --ray, a cluster. `glossa train --data_path FOLDER` reads the
folder without cleaning it again, also with --streaming true. `glossa data --help all` shows the settings.

--back_translate FILE --teacher MODEL adds back-translations of text in the target language. MODEL translates in the
opposite direction. The pairs are a further source, which is cleaned like the others.

An interrupted job continues with the same command. The result does not depend on the number of processes and machines.
`FOLDER.parts` has the cleaned sources: with --parts, a later job cleans only new and changed sources. Delete it when
you no longer need it.
"""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import GlossaError
from ..base.jobs.pool import cores
from ..train.plan import catalog
from ..translate.loading import check_name
from .options import flag, option, read_known
from .places import place_of
from .shared_options import BackTranslationOptions, RayOptions
from .train import check

if TYPE_CHECKING:
    from ..train.data.arguments import DataArguments

MODULES = ("glossa_command", "glossa.train.data.preparing.prepare")  # imported before the processes start


@dataclass(frozen=True)
class PrepareOptions(BackTranslationOptions, RayOptions):
    """The options of `glossa prepare` in addition to the settings of data."""

    output: Path = option("folder to write", required=True, metavar="FOLDER")
    processes: int = option("processes on this machine (default: one for each core)", default=0, metavar="N")
    parts: Path | None = option("folder for the cleaned sources (default: OUTPUT.parts)", metavar="FOLDER")
    rejects: bool = flag("also write the dropped rows with their reasons, into OUTPUT/rejects")
    back_translate: list[str] = option(
        "text in the target language, which --teacher translates", default=[], metavar="FILE"
    )
    teacher: str | None = option("run or Hub name of a model of the opposite direction", metavar="MODEL")


def main(argv: list[str]) -> None:
    usage = "glossa prepare RECIPE --output FOLDER [--setting value ...]"
    options, words = read_known(PrepareOptions, "prepare", __doc__, usage, argv)
    options = replace(options, processes=options.processes or cores())
    given = catalog.parse(words)
    # The vocabulary is learned in this process, with as many threads as other stages have processes.
    os.environ.setdefault("RAYON_NUM_THREADS", str(options.processes))
    with given.placed():
        check(given)
        show(options, given)


def with_back_translations(options: PrepareOptions, data: "DataArguments", folder: Path) -> "DataArguments":
    """Add back-translations as a source. They are saved in `folder`."""
    from ..base.jobs.records import hash_bytes, hash_file
    from ..base.paths import is_remote
    from ..translate.loading import stamp_models
    from . import distill

    if not options.back_translate or not options.teacher:
        raise GlossaError("--back_translate and --teacher need each other. Give both.")
    drawn = [name for name in ("validation", "test") if not getattr(data, f"{name}_path")]
    drawn = [name for name in drawn if getattr(data, f"{name}_size") != 0]
    if drawn:
        raise GlossaError(
            f"With --back_translate, held-out pairs could be back-translations. Give {drawn[0]}_path, such as "
            f"held_out/{drawn[0]}.jsonl of a run, or set {drawn[0]}_size to 0."
        )
    check_name(options.teacher)
    texts = [path if is_remote(path) else hash_file(file) for path in options.back_translate for file in _files(path)]
    known = repr((texts, stamp_models([options.teacher]), options.sample, data.source_language))
    pairs = folder / "back-translated" / f"{hash_bytes([known.encode()])}.jsonl"
    if not pairs.exists():
        pairs.parent.mkdir(exist_ok=True)
        distill.make_pairs(
            distill.DistillOptions(
                teachers=[options.teacher],
                text=options.back_translate,
                output=str(pairs),
                source_language=data.source_language,
                target_language=data.target_language,
                sample=options.sample,
                ray=options.ray,
                workers=None if options.ray is not None else options.processes,
            )
        )
    if not pairs.stat().st_size:
        raise GlossaError(
            f"No translation of {options.teacher} can be used for training. Look at some of them with `glossa "
            f"translate`, and give a teacher for texts such as {' '.join(options.back_translate)}."
        )
    made = {"name": "back-translations", "data_path": [str(pairs)], "tag": options.tag}
    made |= {"source_column": "source", "target_column": "target"}
    sources: list = [*(list[Any](data.sources) or [described(data)]), made]
    return replace(data, sources=sources, data_path=[], dataset="embedded")


def _files(path: str) -> list[Path]:
    from ..base.paths import file_groups, is_remote

    return [Path(path)] if is_remote(path) else [file for group in file_groups([path]) for file in group]


def described(data: "DataArguments") -> dict:
    """The data settings of a recipe without sources, as one source."""
    names = ("data_path", "source_column", "target_column") if data.data_path else ("dataset", "dataset_config")
    return {name: value for name in names if (value := getattr(data, name))}


def show(options: PrepareOptions, given: catalog.Given) -> None:
    """Prepare the pairs and print a report."""
    from ..base.jobs.records import lock_output, lock_path, refuse_existing
    from ..train.building import learn_vocabulary
    from ..train.data.preparing.prepare import prepare
    from ..train.plan.arguments import parse_settings

    output: Path = options.output
    refuse_existing(output)
    parsed = parse_settings(given)
    if parsed.translator.objective != "translation":
        raise GlossaError(f"objective is {parsed.translator.objective}; glossa prepare is for pairs. Leave it out.")
    data = parsed.data
    folder = (options.parts or Path(f"{output}.parts")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with lock_output(output), lock_path(folder, "--parts"):
        if options.back_translate or options.teacher:
            data = with_back_translations(options, data, folder)
        with place_of(options.ray, options.processes, folder, MODULES) as place:
            report = prepare(data, output, place, folder, options.rejects, partial(learn_vocabulary, parsed))
    print(report.text())
    sizes = ", ".join(f"{size:,} {split}" for split, size in report.sizes.items())
    print(
        f"\nWritten: {output} ({sizes}). Train on it: glossa train --data_path {output} "
        f"--source_language {data.source_language} --target_language {data.target_language}"
    )
