"""Translations that a model of the project makes for a training, in jobs that continue where they stopped."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ..base.jobs.pool import in_this_process
from ..base.jobs.records import hash_texts
from ..base.jobs.stage import Work
from ..translate.corpora.distillation import Chunk, Counts, Job, Rows, chunk_writer, chunks_of, load_teacher
from ..translate.loading import stamp_models

logger = logging.getLogger(__name__)


def stamps_of(model: str, rows: Rows) -> dict[str, str]:
    """What identifies the translations of `rows` by `model`."""
    return {"texts": hash_texts(text for row in rows for text in row)} | stamp_models([model])


def translate_rows(
    file: Path,
    model: str,
    languages: tuple[str, str],
    rows: Rows,
    *,
    goes_on: Callable[[], bool] | None = None,
    size: int | None = None,
    num_beams: int | None = None,
) -> list[dict[str, str]]:
    """The pairs that `model` makes of `rows`, without implausible ones; they are kept in `file`.

    Args:
        file: A file of JSON lines. If it exists, nothing is translated. A stopped job continues.
        model: The folder of a model in one of the two directions.
        languages: Source and target language of the pairs.
        rows: Source and target; the side that is not translated may be None.
        goes_on: Asked before each chunk; after False, the rest is left untranslated.
        size: Rows of a chunk. The default is that of `glossa distill`.
        num_beams: Beams. The default is the model's.
    """
    if not file.is_file():
        job = Job(file, stamps_of(model, rows))
        teacher = partial(load_teacher, [model], languages, engine="auto", num_beams=num_beams)
        work = chunk_writer(lambda _: teacher(), closest=False, tag="")
        load = partial(_limited, work, goes_on) if goes_on else lambda: work
        counts = job.run(load, chunks_of(rows, 1, with_original=False, size=size), in_this_process)
        dropped = ", ".join(f"{number:,} {problem}" for problem, number in sorted(counts.dropped.items())) or "none"
        logger.info(
            "%s: %s of %s texts are translated. Dropped: %s.",
            file.name, f"{counts.texts:,}", f"{len(rows):,}", dropped,
        )  # fmt: skip
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def _limited(work: Work, goes_on: Callable[[], bool]) -> Work:
    """`work`, which leaves chunks empty once `goes_on` is false."""

    def write(chunk: Chunk, stem: Path) -> dict:
        if goes_on():
            return work(chunk, stem)
        stem.with_suffix(".jsonl").touch()
        return asdict(Counts())

    return write
