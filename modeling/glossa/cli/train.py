"""Train a translator: `glossa train RECIPE [--setting value ...]`.

RECIPE is a recipe of the package or a YAML file. Settings on the command line override it. All GPUs of this machine
are used, as with `accelerate launch`. `--help` shows the most common settings, `--help all` each setting of Glossa in
one line, `--help NAME` one setting in full, and `--help trainer` the settings of transformers' Trainer. `--explain`
prints each value of the run with its origin, without training, and `--explain yaml` prints them as a recipe.

`--corrections FILE` trains the model of the run in `init_from` further on corrected translations from `glossa serve
--corrections FILE`, mixed with pairs of its training. Then it compares the new model with the old one on the held-out
pairs. If the new model is worse, the command says so and ends with status 1.
"""

import dataclasses
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError
from ..base.paths import file_groups, is_remote
from ..base.run_folder import RunFolder
from ..train.data.arguments import DataArguments, TokenizerArguments
from ..train.data.filters import FILTERS, PREFIX
from ..train.data.mixture import sources_of
from ..train.plan import catalog
from ..train.stages.names import check_stages
from ..translate.loading import check_name
from . import processes

# In the order in which new users need them.
COMMON = (
    "data_path", "validation_path", "test_path", "source_language", "target_language", "dataset",
    "output_dir", "resume_from_checkpoint", "init_from",
    "vocab_size", "d_model", "encoder_layers", "decoder_layers", "dropout",
    "hours", "stages", "num_train_epochs", "batch_tokens", "learning_rate", "bf16", "num_beams",
)  # fmt: skip

# Options that are not settings, and their allowed values.
OPTIONS = {"corrections": (), "explain": ("text", "yaml")}


def main(argv: list[str]) -> None:
    if wants_help(argv):
        show_help(argv)
        sys.exit(0)
    given = catalog.parse(argv, OPTIONS)
    if "corrections" in given.options:
        learn(given)
    elif "explain" in given.options:
        show_plan(given)
    else:
        train(given)


def train(given: catalog.Given) -> None:
    """Train in one or several processes. Raises `GlossaError` if a setting is wrong, or a process ends early."""
    with given.placed():
        if not check(given):
            processes.start(given)
            return
        from ..train.stages.chain import train_in_stages

        train_in_stages(given, processes.start)


def show_plan(given: catalog.Given) -> None:
    """Print the value of each setting and its origin."""
    from ..train.plan.arguments import parse_settings
    from ..train.plan.explain import explain
    from ..train.stages.chain import chosen_stages
    from ..train.stages.table import plan_lines

    with given.placed():
        names, form = chosen_stages(given, check(given)), given.options["explain"]
        shown = explain(parse_settings(given), form)
    if names:
        plan = plan_lines(names, given.values.get("hours"), given.values.get("monolingual") or ())
        print(*("# " * (form == "yaml") + line for line in ("stages", *plan)), "", sep="\n")
    print(shown)


def learn(given: catalog.Given) -> None:
    """Train the model of `init_from` further on the corrections in a file. Ends with status 1 if it becomes worse."""
    if "explain" in given.options:
        raise GlossaError("--explain is not for --corrections, whose recipe is written later. Leave one of them out.")
    start = given.values.get("init_from")
    if not start or given.recipe is not None:
        raise GlossaError("--corrections is for --init_from RUN and uses its recipe. Give --init_from and no recipe.")
    output_dir = given.values.get("output_dir") or f"{start.rstrip('/')}-corrected"
    if resumes(given):
        raise GlossaError(
            f"To resume training on corrections, use its recipe: glossa train {output_dir}/corrections.yaml "
            f"--output_dir {output_dir} --resume_from_checkpoint true"
        )
    from ..train.corrections import compare, prepare

    selection, recipe = prepare(start, given.options["corrections"], output_dir)
    print(selection, flush=True)
    train(given.on_recipe(str(recipe)).with_flag("output_dir", output_dir))
    if not compare(start, output_dir, selection.rows):
        print(f"Not accepted: the held-out pairs are translated worse. {start} remains the better model.")
        sys.exit(1)
    print(f"Accepted: the held-out pairs are not translated worse. The new model is in {output_dir}.")


def resumes(given: catalog.Given) -> bool:
    """Whether the settings resume a run."""
    return str(given.values.get("resume_from_checkpoint") or "no").lower() not in ("false", "no")


def check(given: catalog.Given) -> tuple[str, ...]:
    """Find errors before libraries and data are loaded; returns the stages. Raises `GlossaError`."""
    stages: tuple[str, ...] = ()
    for kind in (DataArguments, TokenizerArguments):
        names = {field.name for field in dataclasses.fields(kind)}
        settings = kind(**{name: value for name, value in given.values.items() if name in names})
        if isinstance(settings, DataArguments):
            stages = check_stages(given.values, settings)
            for source in sources_of(settings):
                check_paths(source.settings.data_path, source.settings.filters.get("exclude", []))
            others = [path for path in (*settings.watch, *settings.replay) if not RunFolder(path).recipe]
            check_paths(settings.validation_path, settings.test_path, settings.monolingual, others)
    for name in ("init_from", "tokenizer"):
        value = given.values.get(name)
        if value and not resumes(given) and not Path(value).exists():  # resuming needs neither
            try:
                check_name(value)
            except GlossaError as error:
                raise GlossaError(f"{name} is {value}. {error}") from error
    return stages


def check_paths(*lists: list[str]) -> None:
    """Raise `GlossaError` if a file does not exist; files that will be downloaded are not checked."""
    for given in lists:
        file_groups([path for path in given if not is_remote(path)])


def wants_help(argv: list[str]) -> bool:
    """Whether a command line asks for help, or is empty."""
    return not argv or not {"-h", "--help", "help"}.isdisjoint(argv)


def show_help(argv: list[str]) -> None:
    """Print the most common settings, or those that the command line asks for."""
    settings = catalog.settings()
    every = [name for name in settings if name not in catalog.REFUSED]
    if "all" in argv:
        print_help([name for name in every if not settings[name].inherited], brief=True)
    elif "trainer" in argv:
        print_help([name for name in every if settings[name].inherited])
    else:
        print_help([word for word in argv if word in settings] or COMMON)


def print_help(names: Iterable[str], purpose: str | None = __doc__, brief: bool = False) -> None:
    """Print the purpose of a command, and settings by group; `brief` prints one line for each."""
    print(purpose)
    print(f"Recipes: {', '.join(catalog.recipes())}")
    settings = catalog.settings()
    groups: dict[str, list[catalog.Setting]] = {}
    for name in (name for name in names if name in settings):  # the Trainer's are missing without transformers
        groups.setdefault(settings[name].group, []).append(settings[name])
    for group, members in groups.items():
        print(f"\n{group}:")
        for setting in members:
            default = "chosen by the pairs; --explain shows it" if setting.is_chosen else setting.default
            _print_setting(setting.name, setting.meaning, default, brief)
            if setting.name == "filters":
                for one in FILTERS.values():
                    _print_setting(f"{PREFIX}{one.name}", one.meaning, one.default, brief)
    if catalog.transformers_folder() is None:
        print("\ntransformers is not installed, so its Trainer's settings are missing. Install glossa-mt with pip.")


def _print_setting(name: str, meaning: str, default: Any, brief: bool) -> None:
    shown = "" if default in (None, [], {}, "") or "Default: " in meaning else f" (default: {default})"
    meaning = " ".join(meaning.split())
    if brief:
        print(f"  --{name:32} {textwrap.shorten(meaning, 72, placeholder=' ...')}{shown}")
    else:
        print(textwrap.fill(f"  --{name:23} {meaning}{shown}", 100, subsequent_indent=" " * 28))
