"""Train in stages: `glossa train --stages both,diversify,back --hours 3 --monolingual target.txt`.

The first stage is a training in both directions, or in the wanted one. Those after it translate texts with its models.
Then the wanted direction is trained further on the pairs and the translations, in the folder of the run itself. The
earlier stages are in its folder `stages`, with their state; a killed run continues in its stage.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ...base.errors import GlossaError
from ...base.jobs.records import lock_path
from ...base.run_folder import RunFolder
from ..data.arguments import DataArguments
from ..data.pairs import prepare_pairs
from ..evaluation.verdict import count_pairs
from ..hub.push import check_account
from ..plan.catalog import Given
from ..plan.table import PLAIN, TrainingSettings
from .names import AUTO, BACK, BOTH, LAST, MEANINGS, TRAININGS, check_stages, given_names
from .pairs import load_texts, make_pairs
from .state import State
from .table import ENDING, FIRST, Part, best, parts

logger = logging.getLogger(__name__)

# Values of `resume_from_checkpoint` that take the newest checkpoint, and those that begin a new run.
YES, NO = ("true", "yes", "last"), ("none", "false", "no")
# Of the first training, which is not yet scored on test pairs; and what is not for it.
FIRST_SETTINGS: dict[str, Any] = {
    "resume_from_checkpoint": "true", "num_beams": 1, "max_test_samples": 0, "hours_share": FIRST - ENDING,
}  # fmt: skip
LEFT = ("stages", "monolingual", "push_to_hub")
UNPLANNED = ("hub_token", "resume_from_checkpoint", "output_dir")  # not in the plan, which others may read and repeat


def data_of(values: Mapping[str, Any]) -> DataArguments:
    """The data settings among the given ones."""
    names = {field.name for field in fields(DataArguments)}
    return DataArguments(**{name: value for name, value in values.items() if name in names})


def train_in_stages(given: Given, start: Callable[[Given], Any]) -> None:
    """Train in the stages of the setting `stages`; `start` trains with given settings.

    Raises `GlossaError` if the settings contradict each other, or the folder has another run.
    """
    data = data_of(given.values)
    names = chosen_stages(given, check_stages(given.values, data))
    run = RunFolder(given.values.get("output_dir") or TrainingSettings.output_dir)
    given = given.with_flag("stages", ",".join(names) or PLAIN)
    if not names:
        start(given)
        return
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise GlossaError(
            f"stages is {given.values['stages']}, but a launcher has started several processes. Start `glossa train` "
            "alone: each stage starts its own."
        )
    state = _state(run, given, names, data.monolingual)
    _check_later(run, given, data)
    run.write_plan({name: value for name, value in given.values.items() if name not in UNPLANNED})
    with lock_path(run.state, "output_dir"):
        state.write(state.unfinished)
        left = list(parts(names))[len(state.done) :]
        for part in left:
            _stage(run, state, part, given, start)
    if not left:  # the last training says so, or goes on with other limits
        start(_for_last(given))


def _check_later(run: RunFolder, given: Given, data: DataArguments) -> None:
    """Raise `GlossaError` for what a later stage would refuse: monolingual text, or an account of the Hub."""
    if data.monolingual:
        load_texts(data.monolingual, data)
    if given.values.get("push_to_hub"):
        check_account(given.values.get("hub_model_id") or run.path.name, given.values.get("hub_token"))


def chosen_stages(given: Given, names: tuple[str, ...]) -> tuple[str, ...]:
    """The stages `names`, or those that `auto` stands for: of a resumed run, or of the table."""
    if names != (AUTO,):
        return names
    if state := State.read(RunFolder(given.values.get("output_dir") or TrainingSettings.output_dir)):
        return tuple(state.stages)
    data = data_of(given.values)
    cell = best(len(prepare_pairs(data)[0]["train"]), given.values.get("hours"))
    if cell is not None and BACK in cell.stages and not data.monolingual:
        cell = None
    names = given_names({"stages": cell.stages}) if cell else ()
    reason = f"by the row {cell}" if cell else "since nothing was measured for so many pairs and hours"
    unused = f" {data.monolingual[0]} is not used." if data.monolingual and not names else ""
    logger.info("stages: %s, %s.%s", ",".join(names) or PLAIN, reason, unused)
    return names


def _state(run: RunFolder, given: Given, names: Sequence[str], monolingual: Sequence[str]) -> State:
    """The state of a new run in stages, or of the one that is resumed."""
    wanted = str(given.values.get("resume_from_checkpoint")).lower()
    if wanted not in (*YES, *NO):
        raise GlossaError(
            f"resume_from_checkpoint is {wanted}, but a run in stages continues in its own place. Set it to true."
        )
    state = State.read(run)
    if wanted in NO and (state or run.holds_work()):
        raise GlossaError(
            f"{run.path} already holds a run. Give another --output_dir, continue with --resume_from_checkpoint true, "
            "or remove the folder."
        )
    if state is None and run.holds_work():
        raise GlossaError(f"{run.path} holds a run without stages. Leave stages out, or give another --output_dir.")
    if state is None:
        return State(run.state, [*names], [*monolingual])
    state.check(names, monolingual)
    return state


def _stage(run: RunFolder, state: State, part: Part, given: Given, start: Callable[[Given], Any]) -> None:
    """One stage, from its first log line to its record in the state."""
    hours = given.values.get("hours")
    title = f"Stage {part.number} of {len(state.stages) + 1}, {part.name} ({MEANINGS[part.name]})"
    until = None if hours is None else 3600 * hours * part.end
    left = "" if until is None else f", for at most {max(until - state.finished_seconds, 0) / 60:.1f} minutes"
    logger.info("%s%s.", title, left)
    try:
        if part.name in TRAININGS:
            folder = run.stage(part.number, part.name)
            start(_for_first(given, part.name, str(folder)))
            found = _result(RunFolder(folder))
        elif part.name == LAST:
            start(_for_last(given))
            found = _result(run)
        else:
            pairs, files = make_pairs(run, state, part.number, part.name, until)
            found = {"pairs": pairs, "score": None, "files": files, "dropped": not pairs}
    except BaseException:
        logger.warning("%s has not ended. The same command with --resume_from_checkpoint true continues it.", title)
        raise
    # A training that was killed and resumed knows the time of its steps before.
    seconds = max(state.stage_seconds, found.pop("training_seconds", 0.0))
    state.finish(part.name, seconds, **found)
    score = "" if found["score"] is None else f", chrF++ {found['score']:.2f} on the validation pairs"
    logger.info("%s: %.1f minutes, %s pairs%s.", title, seconds / 60, f"{found['pairs']:,}", score)
    if found["dropped"]:
        logger.warning("%s is dropped: %s.", title, _reason(run, part))


def _reason(run: RunFolder, part: Part) -> str:
    if part.name != LAST:
        return "it made no pairs"
    blend = run.metrics["blend"]
    before, after = (blend["points"][place][blend["metric"]] for place in (0, -1))
    return (
        f"{blend['metric']} was {before:.2f} before it and {after:.2f} after it. The weights from before it are kept"
    )


def _for_first(given: Given, name: str, folder: str) -> Given:
    """The settings of the first training."""
    values = {key: value for key, value in given.values.items() if key not in LEFT} | FIRST_SETTINGS
    values |= {"output_dir": folder, "both_directions": name == BOTH}
    values.setdefault("metric_for_best_model", "chrf")  # by which stages are compared
    return replace(given, values=values, flags=given.flags & values.keys())


def _for_last(given: Given) -> Given:
    """The settings of the last training, which finds its start and its pairs in the state."""
    return given.with_flag("resume_from_checkpoint", "true")


def _result(run: RunFolder) -> dict[str, Any]:
    """What a training in the folder `run` had and reached."""
    report, metrics = run.data_report, run.metrics
    further = report.get("splits", {}).get("replay", {}).get("kept", 0)
    greedy = [found for name, found in metrics.get("validation", {}).items() if name.endswith("greedy")]
    return {
        "pairs": count_pairs(report) + further,
        "score": greedy[-1]["scores"]["single"]["chrf"]["score"] if greedy else None,
        "dropped": metrics.get("blend", {}).get("share") == 0,
        "training_seconds": metrics["training_seconds"],
    }
