"""The names of the stages, and what they need. Imports no library."""

from collections.abc import Mapping
from typing import Any

from ...base.errors import GlossaError
from ...base.values import nearest
from ..data.arguments import DataArguments
from ..data.mixture import target_languages
from ..plan.table import PLAIN

AUTO, BOTH, DIVERSIFY, BACK, LAST = "auto", "both", "diversify", "back", "last"
MEANINGS = {
    PLAIN: "a training in the wanted direction",
    BOTH: "a training in both directions",
    DIVERSIFY: "translations of the training pairs",
    BACK: "translations of monolingual text",
    LAST: "a training in the wanted direction, from the weights so far",
}
TRAININGS = (PLAIN, BOTH)
# Settings of runs that start or choose in another way.
OTHERS = ("init_from", "tokenizer", "replay", "watch", "both_directions")


def given_names(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The stages before the last training in the setting `stages`; none for plain training, and `AUTO` alone.

    Without this setting, the table chooses for monolingual text and hours, and the training is plain otherwise.
    Raises `GlossaError` for unknown names, and an order that cannot be.
    """
    text = str(values.get("stages") or (AUTO if values.get("monolingual") and values.get("hours") else PLAIN))
    names = tuple(name.strip() for name in text.split(","))
    if names in ((PLAIN,), (AUTO,)):
        return () if names == (PLAIN,) else names
    allowed = (PLAIN, BOTH, DIVERSIFY, BACK)
    for number, name in enumerate(names):
        problem = ""
        if name not in allowed:
            problem = (
                f"{name!r} is no stage.{nearest(name, (*allowed, AUTO))} Allowed are auto, or {', '.join(allowed)}"
            )
        elif name in names[:number]:
            problem = f"{name} is there twice. Name it once"
        elif name == BACK and BOTH not in names[:number]:
            problem = "back needs the model of the opposite direction, which both trains. Put both before it"
        elif (name in TRAININGS) != (number == 0):
            problem = "the first stage is a training, plain or both, and those after it make pairs. Put it in order"
        if problem:
            raise GlossaError(f"stages is {text}, but {problem}.")
    return names


def check_stages(values: Mapping[str, Any], data: DataArguments) -> tuple[str, ...]:
    """The stages of the given settings, as [`given_names`]; raises `GlossaError` for settings that contradict them.

    Args:
        values: The settings of a recipe and of a command line.
        data: The data settings among them.
    """
    names = given_names(values)
    if data.monolingual and names != (AUTO,) and BACK not in names:
        raise GlossaError(
            f"monolingual is {data.monolingual[0]}, but stages is {','.join(names) or PLAIN}, which has no back. "
            "Give --stages both,back with --hours or --max_steps, or leave monolingual out."
        )
    if not names:
        return ()
    given, problem = {name: value for name in OTHERS if (value := values.get(name))}, ""
    if BACK in names and not data.monolingual:
        problem = "monolingual is empty, and back translates it. Give --monolingual FILE, or leave back out"
    elif given:
        name, value = next(iter(given.items()))
        problem = f"{name} is {value[0] if isinstance(value, list) else value}. Leave one of the two out"
    elif data.streaming:
        problem = "streaming is true. Set it to false, which copies the rows to the cache once"
    elif several := target_languages(data):
        problem = f"the data have several target languages ({', '.join(several)}). Train them without stages"
    elif (objective := values.get("objective") or "translation") != "translation":
        problem = f"objective is {objective}, which does not translate. Leave one of the two out"
    elif not values.get("hours") and (values.get("max_steps") or 0) <= 0:
        problem = "neither hours nor max_steps is set. Give --hours N, which counts all stages"
    if problem:
        raise GlossaError(f"stages is {','.join(names)}, but {problem}.")
    return names
