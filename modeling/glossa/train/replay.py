"""Replay: text that the start translates well already, mixed into its tuning so that it does not forget it.

Files of pairs and the training pairs of a run are mixed in as they are. Texts alone are translated by the start itself
first (self-generated replay, Resta and Bacciu 2024, arXiv 2403.13130).
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
from datasets import Dataset, DatasetDict

from ..base.errors import GlossaError
from ..base.jobs.records import hash_texts
from ..base.paths import file_groups, is_remote, is_table
from ..base.run_folder import RunFolder
from ..translate.languages import Languages
from .data.arguments import CHECKS, DataArguments
from .data.cleaning.report import DataReport
from .data.cleaning.splitting import sample_rows, side_keys
from .data.pairs import by_language, load_pairs, prepare_pairs
from .data.streaming.streams import is_stream
from .data.texts import prepare_texts
from .plan.arguments import Settings
from .plan.sizing import choosable, tuned_passes
from .translating import stamps_of, translate_rows

logger = logging.getLogger(__name__)

FEWEST = 50  # minimum number of replayed pairs: fewer are learned by heart
SIDES = ["source", "target"]


def replayed_paths(settings: Settings) -> list[str]:
    """The setting `replay`; without it the run in `watch`, for a tuned model that copies its pairs; else nothing."""
    data = settings.data
    watched = settings.translator.init_from and data.watch and RunFolder(data.watch[0]).recipe
    return data.replay or (data.watch[:1] if watched and not is_stream(data) else [])


def replayed_in_a_pass(data: DataArguments, train: Dataset, replay: Dataset) -> int:
    """How many of the pairs `replay` a pass over the pairs `train` has: `replay_size`, or as much source text."""
    own, other = (sum(map(len, rows["source"][:])) for rows in (train, replay))
    return data.replay_size or round(len(replay) * own / max(other, 1))


def load_replay(settings: Settings, splits: DatasetDict, report: DataReport) -> Dataset | None:
    """The replayed pairs (columns `source`, `target`) of all passes; None without replay.

    As many are drawn with `split_seed` as all passes need. Pairs that share a sentence with held-out or watched pairs
    are left out. What happens to the rows is counted in `report`.

    Args:
        settings: The settings of the run.
        splits: Its pairs in "train", "validation", "test", "watch" and "watch_test", as far as there are such.
        report: The report of the data preparation, whose `splits` get "replay".

    Raises:
        GlossaError: if a file or the data of a run cannot be read, a run has other languages, or fewer than `FEWEST`
            pairs are left.
    """
    paths, data = replayed_paths(settings), settings.data
    if not paths:
        return None
    passes = settings.training.num_train_epochs
    if "num_train_epochs" in choosable(settings):
        passes = tuned_passes(len(splits["train"]))
    held_out = [rows for name, rows in splits.items() if name != "train"]
    is_text = _is_text(paths)
    found = texts_in(paths, data) if is_text else _pairs(paths, data, held_out)
    apart = without_sides(found, held_out)
    wanted = math.ceil(passes * replayed_in_a_pass(data, splits["train"], apart))
    chosen = sample_rows(apart, wanted, data.split_seed)
    counts = {"read": len(found), "overlap": len(found) - len(apart), "not_drawn": len(apart) - len(chosen)}
    if is_text and len(chosen) >= FEWEST:
        translated = _translated(settings, chosen["source"][:])
        counts["implausible"] = len(chosen) - len(translated)
        chosen = without_sides(translated, held_out)
        counts["overlap"] += len(translated) - len(chosen)
    if len(chosen) < FEWEST:
        raise GlossaError(
            f"replay is {paths[0]}, of which {len(chosen)} of {len(found)} "
            f"{'texts' if is_text else 'pairs'} can be used. At least {FEWEST} are needed, and best {wanted:,}: other "
            "ones in each pass. Give more, or leave replay out."
        )
    report.splits["replay"] = counts | {"kept": len(chosen)}
    logger.info("replay: %s", ", ".join(f"{count:,} {name}" for name, count in report.splits["replay"].items()))
    return chosen


def without_sides(pairs: Dataset, others: Sequence[Dataset]) -> Dataset:
    """The pairs that share no normalized sentence with the `others`."""
    if not others:
        return pairs
    known = numpy.concatenate([keys for rows in others for keys in side_keys(rows)])
    return pairs.select(numpy.flatnonzero(~numpy.any([numpy.isin(keys, known) for keys in side_keys(pairs)], axis=0)))


def check_languages(name: str, run: str, data: DataArguments) -> None:
    """Raise `GlossaError` unless `run`, which the setting `name` gives, translates between the languages of `data`."""
    own, (source, target) = Languages.of(run), data.languages
    if own.source not in (None, source) or (own.targets and target not in own.targets):
        raise GlossaError(
            f"{name} is {run}, a run from {own.source} to {', '.join(own.targets)}, but the data are {source} to "
            f"{target}. Give a run or pairs of these languages."
        )


def _is_text(paths: Sequence[str]) -> bool:
    """Whether files are texts. Raises `GlossaError` if some are and some have pairs."""
    if RunFolder(paths[0]).recipe:
        return False
    files = [str(path) for group in file_groups([path for path in paths if not is_remote(path)]) for path in group]
    texts = [path for path in files if not is_table(Path(path))]
    if texts and len(texts) < len(files):
        pairs = next(path for path in files if path not in texts)
        raise GlossaError(f"replay has texts ({texts[0]}) and pairs ({pairs}). Give files of one kind.")
    return bool(texts)


def texts_in(paths: Sequence[str], data: DataArguments) -> Dataset:
    """The distinct texts of files in one of the languages of `data`, as both sides."""
    plain = files_in(data, dataset="files", data_path=list(paths), validation_size=0, test_size=0)
    texts = prepare_texts(plain)[0]["train"]["text"][:]
    return Dataset.from_dict({"source": texts, "target": texts})


def _pairs(paths: Sequence[str], data: DataArguments, held_out: list[Dataset]) -> Dataset:
    """The pairs of files, or the training pairs of a run, whose held-out pairs are added to `held_out`."""
    run = RunFolder(paths[0])
    if not run.recipe:
        columns = {"source_column": data.source_column, "target_column": data.target_column}
        return load_pairs(files_in(data, dataset="files", data_path=list(paths), **columns)).select_columns(SIDES)
    check_languages("replay", paths[0], data)
    its = DataArguments.of_run(run.recipe)
    if is_stream(its):
        raise GlossaError(f"replay is {paths[0]}, which was trained on a stream. Give a file of pairs or texts.")
    whole = replace(its, validation_size=0, test_size=0, validation_path=[], test_path=[])
    try:
        pairs = prepare_pairs(whole)[0]["train"]
    except GlossaError as error:
        raise GlossaError(
            f"replay is {paths[0]}, whose training pairs cannot be read: {error} Restore them, or give a file with "
            "--replay."
        ) from error
    held_out += [run.load_held_out(name) for name in ("validation", "test") if run.held_out_file(name).is_file()]
    several = dict(by_language(pairs))
    return several.get(data.target_language, pairs).select_columns(SIDES)


def files_in(data: DataArguments, **given: Any) -> DataArguments:
    """Settings of other files in the languages of `data`, whose checks only warn."""
    languages: dict[str, Any] = dict(zip(("source_language", "target_language"), data.languages, strict=True))
    return DataArguments(**languages, **given, trust_data=CHECKS)


def _translated(settings: Settings, texts: list[str]) -> Dataset:
    """Texts with the translations of the start, without implausible ones. A stopped job continues in the next run."""
    start, rows = str(settings.translator.init_from), [(text, None) for text in texts]
    key = hash_texts(stamps_of(start, rows).values())
    file = RunFolder(settings.training.output_dir).replayed_file(key)
    found = translate_rows(file, start, settings.data.languages, rows)
    return Dataset.from_dict({name: [row[name] for row in found] for name in SIDES})
