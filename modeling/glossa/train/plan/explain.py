"""The plan of a run: all values with origin and reason. Neither downloads nor trains."""

import json
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from ...base.paths import is_remote
from ..data.mixture import sources_of
from ..data.pairs import prepare_pairs
from ..data.streaming.streams import Stream, is_stream
from . import catalog
from .arguments import Settings
from .precision import is_open, resolve_precision
from .settings import GROUPS
from .sizing import AUGMENTED_PASSES, adopt_choices, choosable, choose_for_pairs
from .start import MODEL, VOCABULARY, adopt_start, adopt_vocabulary

NAME, VALUE = 30, 34  # widths of the columns
DEFAULT = "default"


def explain(settings: Settings, form: str = "text") -> str:
    """The plan of a run as a table ("text"), or as a recipe with the origins as comments ("yaml").

    It has all settings of Glossa, and the Trainer settings that are set. Defaults come last in each group. For values
    determined during the run, it shows what they depend on.
    """
    settings, unknown = decide(settings)
    values, known = settings.recipe(), catalog.settings()
    lines, left = [], 0
    for group in GROUPS:
        decided, defaults = [], []
        for name in (entry.name for entry in fields(group) if entry.init and entry.name in known):
            origin = settings.origins.get(name)
            value = _json(values.get(name, known[name].default))
            if name in unknown:
                decided.append(Row(name, "", unknown[name]))
            elif origin is not None:
                decided.append(Row(name, value, f"{origin.kind} {origin.reason}".strip()))
            elif not known[name].inherited:
                defaults.append(Row(name, value, DEFAULT))
            else:
                left += 1
        title = str(group._argument_group_name).partition(" (")[0]  # type: ignore[attr-defined]
        lines += ["", f"# {title}" if form == "yaml" else title]
        lines += [row.yaml() if form == "yaml" else row.text() for row in decided + defaults]
    lines += ["", "# " * (form == "yaml") + f"{left} other settings of transformers' Trainer have their defaults."]
    return "\n".join(lines[1:])


class Row(NamedTuple):
    """A setting; `value` is JSON, or "" if not yet known, and `came` describes its origin."""

    name: str
    value: str
    came: str

    def text(self) -> str:
        """A line of the table."""
        return f"  {self.name:{NAME}} {self.value:{VALUE}} {self.came}"

    def yaml(self) -> str:
        """A line of the recipe; commented out for a default or an unknown value."""
        if not self.value:
            return f"# {self.name}: {self.came}"
        return f"{'# ' if self.came == DEFAULT else ''}{self.name}: {self.value}  # {self.came}"


def decide(settings: Settings) -> tuple[Settings, dict[str, str]]:
    """Choose all settings that need no training; returns them, and for each undecided one what will decide it."""
    unknown: dict[str, str] = {}
    settings = resolve_precision(adopt_choices(adopt_vocabulary(settings)))
    start = settings.translator.init_from
    away = start is not None and not Path(start).is_dir()
    if away:
        unknown |= dict.fromkeys((*MODEL, *sorted(VOCABULARY)), f"by {start}, which is not on this machine")
    else:
        settings = adopt_start(settings)
    names = {name for name in choosable(settings) if name not in settings.origins}
    if names and is_here(settings) and not away:
        stream = Stream(settings.data) if is_stream(settings.data) else None
        data, report = prepare_pairs(settings.data, stream)
        settings = choose_for_pairs(settings, data["train"], report)
    else:
        why = "by the number of pairs"
        unknown |= dict.fromkeys(sorted(names), f"{why} and by {start}" if away else why)
    training = settings.training
    if training.device.type == "cpu" and training.cpu_threads is None:
        unknown["cpu_threads"] = "by a trial at the start"
        if training.cpu_processes is None:
            unknown["cpu_processes"] = "by cores and memory at the start"
    if is_open(settings):
        unknown["bf16"] = "by a trial at the start"
    passes = settings.origins.get("num_train_epochs")
    if training.hours is not None and "num_train_epochs" not in unknown and (not passes or passes.kind != "resumed"):
        unknown["num_train_epochs"] = f"at most {training.num_train_epochs:g}, by a trial at the start"
        if getattr(settings.origins.get("augmentation"), "kind", "") == "chosen":
            unknown["augmentation"] = f"standard if {AUGMENTED_PASSES} passes fit, by a trial at the start"
    return settings, unknown


def is_here(settings: Settings) -> bool:
    """Whether all pairs are on this machine."""
    data = settings.data
    given = [*data.validation_path, *data.test_path]
    for source in sources_of(data):
        if not source.settings.data_path and source.settings.dataset != "embedded":
            return False
        given += [*source.settings.data_path, *source.settings.filters.get("exclude", [])]
    return not any(map(is_remote, given))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
