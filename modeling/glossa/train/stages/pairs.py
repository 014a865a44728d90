"""The stages that make pairs: translations by the models of the training so far."""

import json
import logging
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...base.errors import GlossaError
from ...base.identification import in_other_language
from ...base.jobs.whole_files import write_whole
from ...base.paths import file_groups, is_remote, is_table
from ...base.run_folder import RunFolder
from ...model.profile_glossa import NAME
from ...translate.corpora.distillation import Rows
from ..data.arguments import DataArguments
from ..data.pairs import prepare_pairs
from ..replay import texts_in
from ..translating import translate_rows
from .names import BACK, BOTH
from .state import State

logger = logging.getLogger(__name__)

SIZE = 500  # texts of a chunk: tens of seconds on a core, so that a stage ends in time and little is lost by a kill
BEAMS = 1  # of a job in a stage: many pairs are of more use than the best ones
ORDER = 1  # seed of the order of texts, so that those translated in time are a random part
SAMPLE, MOST_FOREIGN = 1000, 0.5  # texts whose language is looked at, and the share of them that may be in another


class Job(NamedTuple):
    """A job of a stage: its name if there are several, the model, and the texts."""

    name: str
    model: Path
    rows: Rows


def make_pairs(run: RunFolder, state: State, number: int, name: str, until: float | None) -> tuple[int, list[str]]:
    """The pairs of a stage: how many, and their files in the folder of the stages.

    Args:
        run: The folder of the run in stages.
        state: Its state, which gets the seconds of the stage after each chunk.
        number: The number of the stage, from 1.
        name: `diversify` or `back`.
        until: Seconds of all stages at which translating ends; None for no limit.
    """
    first, count, files = run.stage(1, state.stages[0]), 0, []
    data = DataArguments.of_run(RunFolder(first).recipe)
    jobs = list(_jobs(name, first, state, data))
    begin = state.seconds - state.stage_seconds
    for part, job in enumerate(jobs, 1):
        end = None if until is None else begin + (until - begin) * part / len(jobs)

        def goes_on(end: float | None = end) -> bool:
            state.write(state.stage_seconds)
            return end is None or state.seconds < end

        file = run.stage_pairs(number, name, job.name)
        options: dict = {"goes_on": goes_on, "size": SIZE, "num_beams": BEAMS}
        count += len(translate_rows(file, str(job.model), data.languages, job.rows, **options))
        files.append(file.name)
    return count, files


def _jobs(name: str, first: Path, state: State, data: DataArguments) -> Iterator[Job]:
    """The jobs of a stage, which need the model of the first stage, in the folder `first`."""
    reverse = make_reverse(first) if state.stages[0] == BOTH else None
    if name == BACK:
        assert reverse is not None
        texts = load_texts(state.monolingual, data)
        yield Job("", reverse, [(None, text) for text in _in_order(texts)])  # type: ignore[misc]
        return
    pairs = prepare_pairs(data)[0]["train"]
    yield Job("", first, [(text, None) for text in _in_order(pairs["source"][:])])
    if reverse is not None:
        yield Job("-reverse", reverse, [(None, text) for text in _in_order(pairs["target"][:])])  # type: ignore[misc]


def load_texts(paths: Sequence[str], data: DataArguments) -> list[str]:
    """The texts of the setting `monolingual`. Raises `GlossaError` for tables, and for text in another language."""
    local = [path for path in paths if not is_remote(path)]
    if tables := [path for group in file_groups(local) for path in group if is_table(path)]:
        raise GlossaError(f"monolingual has {tables[0]}, which is a table. Give text files with a text on each line.")
    logger.info("monolingual: reading %s", ", ".join(paths))
    try:
        texts = texts_in(paths, data)["target"][:]
    except GlossaError as error:
        raise GlossaError(f"monolingual is {', '.join(paths)}, which has no texts: {error}") from error
    some = texts[:: -(-len(texts) // SAMPLE)]
    other, language = in_other_language(some, data.target_language), data.target_language
    if len(other) > MOST_FOREIGN * len(some):
        message = f"monolingual is {paths[0]}, which is not in {language!r}, such as {some[min(other)][:60]!r}"
        if "language" not in data.trust_data:
            raise GlossaError(f"{message}. Give text in the target language, or set trust_data to language.")
        logger.warning("%s.", message)
    return texts


def _in_order(texts: list[str]) -> list[str]:
    """The different texts in a random order, which is always the same."""
    different = list(dict.fromkeys(texts))
    random.Random(ORDER).shuffle(different)
    return different


def make_reverse(first: Path) -> Path:
    """A folder with the model of the stage `both` as a translator of the opposite direction."""
    folder = RunFolder(first).reverse
    if folder.is_dir():
        return folder
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for path in first.iterdir():
        if path.name in ("config.json", "tokenizer_config.json"):
            write_whole(new / path.name, json.dumps(_reversed(json.loads(path.read_text(encoding="utf-8"))), indent=2))
        elif path.name in ("generation_config.json", "tokenizer.json") or path.suffix in (".safetensors", ".py"):
            shutil.copy(path, new / path.name)
    new.replace(folder)
    return folder


def _reversed(config: dict) -> dict:
    """A configuration of a model or a tokenizer with its languages exchanged, and what depends on them."""
    for one, other in (("source_language", "target_language"), ("src_lang", "tgt_lang")):
        if one in config and other in config:
            config[one], config[other] = config[other], config[one]
    profile = config.get(NAME, {})
    if profile.get("length_ratio"):
        profile["length_ratio"] = round(1 / profile["length_ratio"], 4)
    for learned in ("confidence", "word_confidence", "improbable_score"):
        profile.pop(learned, None)  # from translations in the other direction
    return config
