"""Recipes and all their settings, read without importing torch or transformers.

Glossa's own settings are tables that need no library. Those of transformers are read from its source code, since
importing it takes seconds: `--help` and errors about unknown settings are immediate.
"""

import ast
import difflib
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from ...base.errors import GlossaError
from ...base.shipped import shipped
from ...base.values import MEANINGS, from_json, interval_problem, nearest, typed
from ..data.arguments import RANGES, DataArguments, TokenizerArguments
from ..data.filters import FILTERS, FORMER_NAMES, PREFIX, check_filters, nest_filters
from .table import CHOSEN, ModelArguments, TrainingSettings, TranslatorArguments

RECIPES = shipped("configuration")
# The tables of Glossa's own settings, by group.
GROUPS = {
    "data": DataArguments,
    "tokenizer": TokenizerArguments,
    "model": ModelArguments,
    "translator": TranslatorArguments,
    "training": TrainingSettings,
}
# The transformers classes that GlossaTrainingArguments inherits from, and their files, base class first.
INHERITED = {"TrainingArguments": "training_args.py", "Seq2SeqTrainingArguments": "training_args_seq2seq.py"}
# Settings of earlier versions (see the changelog), with the only value that a recipe may still give them.
REMOVED = {
    "r_drop_alpha": 0.0, "ema_decay": None, "bpe_dropout": 0.0, "rotary_cross_attention": False,
    "embedding_norm": False, "init_std": 0.02, "initialization": "xavier_uniform", "rotary_base": 10000.0,
    "head_dim": None, "text_column": None, "average_by": "last", "hub_license": None, "publish_samples": None,
}  # fmt: skip
# Settings of the Trainer that Glossa refuses; its messages say why.
REFUSED = ("per_device_train_batch_size", "generation_num_beams")
NULL = "null"  # None on the command line
EMPTY = ("", NULL, "~")  # how YAML writes None
KINDS = {kind.__name__: kind for kind in (bool, int, float)}  # types parsed here; others are texts


@dataclass(frozen=True)
class Setting:
    """One setting. `type` is the text of its annotation; `default` is None if it is computed.

    `interval` is its range, see [`interval_problem`], or "". `inherited` settings come unchanged from transformers'
    `Seq2SeqTrainingArguments`.
    """

    name: str
    group: str
    type: str
    default: Any
    meaning: str
    interval: str = ""
    inherited: bool = False

    @property
    def is_chosen(self) -> bool:
        """Whether `glossa train` chooses it by the pairs, unless it is given."""
        return any(self.name in group.partition("|")[0].split() for group in CHOSEN)

    @property
    def optional(self) -> bool:
        """Whether it can be None."""
        return "None" in {kind.strip() for kind in self.type.split("|")}

    @property
    def kinds(self) -> list[Any]:
        """The types of its values that are parsed here; empty for texts and types left to the final parser."""
        names = {kind.strip() for kind in self.type.split("|")} - {"None"}
        return [KINDS[name] for name in sorted(names)] if names <= KINDS.keys() else []

    def read(self, value: str) -> Any:
        """Parse the text `value`; None if it is not of the setting's type."""
        if self.kinds:
            return next((found for kind in self.kinds if (found := typed(kind, value)) is not None), None)
        choices = re.fullmatch(r"Literal\[(.*)\]", self.type)
        return value if choices is None or value in _choices(choices[1]) else None

    def problem(self, value: str) -> str | None:
        """The problem with the text `value`; None if it is valid, or left to the final parser."""
        if value == NULL and self.optional:
            return None
        if value == NULL and self.type.startswith("list"):
            return "it must be a list; [] is an empty one"
        found = self.read(value)
        if found is not None:
            return interval_problem(self.interval, found) if self.interval else None
        if not self.kinds:
            return f"it must be one of {', '.join(_choices(self.type[8:-1]))}"
        return f"it must be {' or '.join(MEANINGS[kind] for kind in self.kinds)}"


def _choices(text: str) -> list[str]:
    return [choice.strip(" '\"") for choice in text.split(",")]


@cache
def settings() -> dict[str, Setting]:
    """All settings of a run by name, in the order of their groups."""
    found: dict[str, Setting] = {}
    for group, table in GROUPS.items():
        if group == "training":
            found |= _inherited()
        for one in fields(table):
            default = one.default_factory() if callable(one.default_factory) else one.default
            meaning, interval = one.metadata["help"], one.metadata["interval"]
            found[one.name] = Setting(one.name, group, _type_name(one.type), default, meaning, interval)
    return found


def _type_name(annotation: Any) -> str:
    name = annotation.__name__ if type(annotation) is type else str(annotation)
    return name.replace("typing.", "")


def _inherited() -> dict[str, Setting]:
    """The settings of transformers' arguments, parsed from its source, since importing it takes seconds."""
    found: dict[str, Setting] = {}
    if (folder := transformers_folder()) is None:
        return found
    for class_name, file in INHERITED.items():
        tree = ast.parse((folder / file).read_text(encoding="utf-8"))
        (node,) = (item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == class_name)
        meanings = documented(ast.get_docstring(node) or "")
        for item in node.body:
            # transformers keeps class constants as annotated fields with an underscore.
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id[0] != "_":
                name, annotation = item.target.id, ast.unparse(item.annotation)
                default, meaning, is_setting = _value(item.value)
                if is_setting and "ClassVar" not in annotation:
                    meaning = meaning or meanings.get(name, "")
                    found[name] = Setting(name, "training", annotation, default, meaning, RANGES.get(name, ""), True)
    return found


def _value(node: ast.expr | None) -> tuple[Any, str, bool]:
    """The default, the meaning and whether it can be set, of `field(...)` or a plain value."""
    if not isinstance(node, ast.Call):
        return _constant(node), "", True
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    empty: dict[str, Any] = {"list": [], "dict": {}}
    default = empty.get(getattr(keywords.get("default_factory"), "id", ""), _constant(keywords.get("default")))
    metadata = keywords.get("metadata")
    help_text = _constant(metadata.values[0]) if isinstance(metadata, ast.Dict) else None
    return default, " ".join(str(help_text or "").split()), _constant(keywords.get("init")) is not False


def _constant(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def documented(docstring: str) -> dict[str, str]:
    """Meanings of arguments by name, from a docstring with entries `name (type): meaning`."""
    entries = re.findall(r"^ {4}(\w+) \(.*?\): (.*?)(?=^ {4}\w+ \(|\Z)", docstring, re.M | re.S)
    return {name: " ".join(meaning.split()) for name, meaning in entries}


def transformers_folder() -> Path | None:
    """The folder of transformers, without importing it; None if it is not installed."""
    spec = importlib.util.find_spec("transformers")
    return Path(spec.submodule_search_locations[0]) if spec is not None and spec.submodule_search_locations else None


def recipes() -> list[str]:
    """Names of the recipes in the package."""
    return sorted(path.stem for path in RECIPES.glob("*.yaml"))


def find_recipe(name: str) -> Path:
    """The file of a recipe: a path as given, or the name of a recipe in the package."""
    path = Path(name)
    if path.is_file():
        return path
    if name in recipes():
        return RECIPES / f"{name}.yaml"
    near = difflib.get_close_matches(path.stem, recipes(), n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise GlossaError(f"{name}: there is no such recipe.{hint} Give a YAML file, or one of {', '.join(recipes())}.")


@dataclass(frozen=True)
class Given:
    """The settings of a recipe and of a command line, before their values are checked together.

    Attributes:
        recipe: The name of the recipe as given, or `None`.
        values: The settings that one of the two names, of their types; the command line has precedence. None: null.
        flags: Names of those on the command line.
        options: Options of the command that are not settings, such as `--explain`, and their values.
    """

    recipe: str | None
    values: Mapping[str, Any]
    flags: frozenset[str]
    options: Mapping[str, str] = field(default_factory=dict)

    def place(self, message: str) -> str:
        """The prefix for an error message that begins with a setting: "Command line: ", "RECIPE: " or ""."""
        name = message.split(" ")[0].partition(".")[0]
        if name in self.flags:
            return "Command line: "
        return f"{self.recipe}: " if name in self.values else ""

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Add the origin of the value to errors about a setting."""
        try:
            yield
        except GlossaError as error:
            raise GlossaError(self.place(str(error)) + str(error)) from error

    def with_flag(self, name: str, value: Any) -> "Given":
        """A copy with one more setting of the command line."""
        return replace(self, values={**self.values, name: value}, flags=self.flags | {name})

    def on_recipe(self, name: str) -> "Given":
        """The settings of a command line without a recipe, on this one."""
        values = read_recipe(name)
        merged = {**values, **self.values}
        if "filters" in self.values:
            merged["filters"] = values.get("filters", {}) | self.values["filters"]
        return replace(self, recipe=name, values=merged)

    def save(self, path: Path) -> None:
        """Write the settings to a file, for [`Given.load`]."""
        path.write_text(json.dumps(asdict(self) | {"flags": sorted(self.flags)}), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Given":
        """Read a file of [`Given.save`]."""
        saved = json.loads(path.read_text(encoding="utf-8"))
        return cls(**saved | {"flags": frozenset(saved["flags"])})


def parse(argv: Sequence[str], options: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Given:
    """The settings in `[RECIPE] [--setting value ...]`.

    Args:
        argv: The words of a command line.
        options: Options of the command that are not settings, and their allowed values, of which the first is the
            default. An option with an empty list takes any value, and needs one.

    Raises:
        GlossaError: For an unknown setting, or a value that is missing or of the wrong type.
    """
    words = list(argv)
    taken = {name: value for name in options if (value := _take_option(words, name, options[name])) is not None}
    recipe = words.pop(0) if words and not words[0].startswith("-") else None
    flags: dict[str, Any] = {}
    for name, own in _grouped(words):
        if not name:
            raise GlossaError(f"Command line: {unknown(own[0])}")
        if name.startswith(PREFIX) or name in FORMER_NAMES:
            kind = FILTERS[one].kind if (one := FORMER_NAMES.get(name, name.removeprefix(PREFIX))) in FILTERS else str
            flags[name] = own if kind is list else _one(name, own or ["true"])
        elif name not in settings():
            raise GlossaError(f"Command line: {unknown(name)}")
        else:
            flags[name] = _read("Command line", name, own)
    flags = nest_filters(flags)
    if "filters" in flags:
        flags["filters"] = check_filters(flags["filters"], "Command line: ")
    given = Given(None, flags, frozenset(flags), taken)
    return given if recipe is None else given.on_recipe(recipe)


def _take_option(words: list[str], name: str, values: Sequence[str]) -> str | None:
    """Remove `--name [VALUE]` from `words`, and return its value, or None without the option."""
    place = next((place for place, word in enumerate(words) if word.partition("=")[0] == f"--{name}"), None)
    if place is None:
        return None
    value, following = words.pop(place).partition("=")[2], words[place : place + 1]
    if not value and following and (following[0] in values if values else not following[0].startswith("--")):
        value = words.pop(place)
    value = value or next(iter(values), "")
    if not value:
        raise GlossaError(f"--{name} names no file. Give one.")
    if values and value not in values:
        raise GlossaError(f"--{name} is {value}; it must be {' or '.join(values)}.")
    return value


def read_recipe(name: str) -> dict[str, Any]:
    """The settings of a recipe, of their types. Raises `GlossaError` if the file is not a recipe, or for a setting."""
    path = find_recipe(name)
    try:
        # The default loader reads `no` as false and `1e-4` as a string.
        recipe = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise GlossaError(f"{path}: not a YAML file: {error}") from error
    if not isinstance(recipe, dict):
        raise GlossaError(f"{path}: a recipe must consist of lines `setting: value`.")
    values: dict[str, Any] = {}
    for setting, value in nest_filters(
        {key: value for key, value in recipe.items() if not _is_gone(key, value)}
    ).items():
        if setting not in settings():
            raise GlossaError(f"{path}: {unknown(setting)}")
        values[setting] = _from_yaml(path, setting, value)
    return values


def _from_yaml(path: Path, name: str, value: Any) -> Any:
    setting = settings()[name]
    if name == "filters":
        return check_filters(value, f"{path}: ")
    if isinstance(value, dict):  # values in mappings have no declared types
        return json.dumps({key: from_json(text) for key, text in value.items()})
    if value in EMPTY:
        if not setting.optional and (problem := setting.problem(NULL)):
            raise GlossaError(f"{path}: {name} is null; {problem}.")
        return None
    return _read(str(path), name, value if isinstance(value, list) else [value])


def _is_gone(name: str, value: Any) -> bool:
    """Whether a setting of a recipe was removed, and its value is the one that turned it off."""
    if name not in REMOVED or value in EMPTY:
        return name in REMOVED
    neutral = REMOVED[name]
    if neutral is None:
        return False
    try:
        return float(value) == neutral if isinstance(neutral, float) else typed(type(neutral), value) == neutral
    except (TypeError, ValueError):
        return False


def _read(where: str, name: str, words: list) -> Any:
    """Parse the value of a setting from words."""
    setting = settings()[name]
    if name == "trust_data" and not words:
        return ["true"]  # formerly a flag
    if setting.type.startswith("list"):
        if words == [NULL] and not setting.optional:
            raise GlossaError(f"{where}: {name} is {NULL}; {setting.problem(NULL)}.")
        return None if words == [NULL] else words
    value = _one(name, words)
    if value is True or (value == NULL and setting.optional):
        return value is True or None
    if problem := setting.problem(value):
        raise GlossaError(
            f"{where}: {name} is {value if typed(float, value) is not None else repr(value)}; {problem}."
        )
    return setting.read(value)


def _one(name: str, words: list[str]) -> Any:
    """The single word; "true" without words, as for a flag."""
    if len(words) > 1:
        raise GlossaError(f"Command line: {name} takes one value, not {len(words)}: {', '.join(map(str, words))}.")
    return words[0] if words else True


def _grouped(argv: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Name and values of each setting in `argv`; the name is "" for words before the first setting."""
    bounds = [0, *(index for index, word in enumerate(argv) if word.startswith("--")), len(argv)]
    for start, end in pairwise(bounds):
        words = argv[start:end]
        if words and words[0].startswith("--"):
            name, *value = words[0][2:].split("=", 1)
            yield name.replace("-", "_"), [*value, *words[1:]]
        elif words:
            yield "", words


def unknown(name: str) -> str:
    """The error message for an unknown setting."""
    plain = name.lstrip("-").split("=")[0].replace("-", "_")
    if plain in REMOVED:
        return f"`{name.lstrip('-')}` is no setting any more (see the changelog). Leave it out."
    hint = nearest(plain, settings())
    return f"there is no setting `{name}`.{hint} `glossa train --help all` lists them all."
