"""The last training of several stages: it starts from the weights so far, and has further pairs."""

import logging
from collections import Counter

import numpy
from datasets import Dataset, DatasetDict, concatenate_datasets

from ...base.errors import GlossaError
from ...base.run_folder import RunFolder
from ..data.cleaning.report import DataReport
from ..data.pairs import load_pairs
from ..plan.arguments import Origin, Settings
from ..plan.table import PLAIN
from ..replay import SIDES, files_in, without_sides
from .names import LAST
from .state import State
from .table import ENDING

logger = logging.getLogger(__name__)
LEAST = 0.01  # of the hours; the last training has so much even if the stages before it took everything


def state_of(settings: Settings) -> State:
    """The finished stages before the last training. Raises `GlossaError` if some are missing."""
    run = RunFolder(settings.training.output_dir)
    state = State.read(run)
    names = [] if state is None else [record["stage"] for record in state.done if record["stage"] != LAST]
    if state is None or names != state.stages or ",".join(names) != settings.training.stages.replace(" ", ""):
        raise GlossaError(
            f"stages is {settings.training.stages}, but {run.stages} has no such finished stages. They are trained by "
            "`glossa train --stages ...`."
        )
    return state


def adopt_stages(settings: Settings) -> Settings:
    """Return the settings of the last training: with the start, and its share of the hours."""
    if settings.training.stages == PLAIN:
        return settings
    state, run = state_of(settings), RunFolder(settings.training.output_dir)
    values: dict = {"init_from": str(run.stage(1, state.stages[0]))}
    if (hours := settings.training.hours) is not None:
        spent = sum(record["seconds"] for record in state.done if record["stage"] != LAST) / 3600
        begun = run.recipe.get("hours_share") if run.recipe.get("init_from") == values["init_from"] else None
        values["hours_share"] = begun or max(1 - ENDING - spent / hours, LEAST)
    if "metric_for_best_model" not in settings.named:
        values["metric_for_best_model"] = "chrf"  # by which stages are compared
    return settings.with_values(values, Origin("stages", state.stages[0]))


def load_further(settings: Settings, splits: DatasetDict, report: DataReport) -> Dataset | None:
    """The pairs that the stages before the last training made (columns `source`, `target`); None if there are none.

    They are mixed into training as replayed pairs are: a pass has as much of them as of the training pairs.

    Pairs that share a sentence with held-out pairs, and those that are training pairs, are left out. What happens is
    counted in `report`, as "replay".
    """
    if settings.training.stages == PLAIN:
        return None
    held_out = [rows for name, rows in splits.items() if name != "train"]
    own, kept = set(zip(splits["train"]["source"][:], splits["train"]["target"][:], strict=True)), []
    total: Counter[str] = Counter()
    for record in state_of(settings).done:
        for name in record.get("files", []):
            file = RunFolder(settings.training.output_dir).stages / name
            if not file.is_file():
                raise GlossaError(f"{file} is missing. Restore it, or give another --output_dir.")
            if not file.stat().st_size:
                continue
            found = load_pairs(files_in(settings.data, dataset="files", data_path=[str(file)])).select_columns(SIDES)
            apart = without_sides(found, held_out)
            pairs = zip(apart["source"][:], apart["target"][:], strict=True)
            new = apart.select(numpy.flatnonzero([pair not in own for pair in pairs]))
            counts = {"read": len(found), "overlap": len(found) - len(apart), "duplicates": len(apart) - len(new)}
            counts["kept"] = len(new)
            logger.info("%s: %s", name, ", ".join(f"{count:,} {what}" for what, count in counts.items()))
            total.update(counts)
            kept.append(new)
    if not total["kept"]:
        return None
    report.splits["replay"] = dict(total)
    return concatenate_datasets(kept)
