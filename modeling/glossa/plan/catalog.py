"""Recipes and all settings that they can hold, read without importing torch or transformers.

The settings are fields of dataclasses that need transformers, and importing it takes seconds. This module parses
their source code instead, so that `--help` and errors about unknown settings are immediate.
"""

import ast
import difflib
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from ..data.arguments import RANGES, range_problem
from ..errors import GlossaError
from ..shipped import shipped

PACKAGE = Path(__file__).parents[1]
RECIPES = shipped("configuration")
# Fields of GlossaConfig that other settings, the tokenizer or the data determine.
DERIVED = {"vocab_size", "decoder_vocab_size", "label_smoothing", "use_cache", "is_encoder_decoder"}
DERIVED |= {"split_sentences", "length_ratio", "trained_length", "abbreviations", "improbable_score", "confidence"}
DERIVED |= {"lower_capitals", "add_stops", "mask_items", "keeps_placeholders"}
DERIVED |= {"source_language", "target_language", "word_confidence", "alignment_layer"}
GROUPS = {
    "data": ("data/arguments.py", "DataArguments"),
    "tokenizer": ("data/arguments.py", "TokenizerArguments"),
    "model": ("configuration_glossa.py", "GlossaConfig"),
    "translator": ("plan/settings.py", "TranslatorArguments"),
    "training": ("plan/settings.py", "GlossaTrainingArguments"),
}
# The files that define the base classes of GlossaTrainingArguments.
BASES = {
    "Seq2SeqTrainingArguments": "training_args_seq2seq.py",
    "TrainingArguments": "training_args.py",
}
# Removed settings of earlier versions (docs/decisions.md), with the value that turned them off.
REMOVED = {"r_drop_alpha": 0.0, "ema_decay": None, "bpe_dropout": 0.0}
# Settings of the Trainer that Glossa refuses; its messages say why.
REFUSED = ("per_device_train_batch_size", "generation_num_beams")
NULL = "null"  # None on the command line
EMPTY = ("", NULL, "~")  # how YAML writes None
FORMS = {
    "bool": (r"true|t|yes|y|1|false|f|no|n|0", "true or false"),
    "int": (r"[+-]?\d[\d_]*", "a whole number"),
    "float": (r"[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?", "a number"),
}


@dataclass(frozen=True)
class Setting:
    """One setting. `type` is the source text of its annotation; `default` is None if it is computed.

    `inherited` settings come unchanged from transformers' `Seq2SeqTrainingArguments`.
    """

    name: str
    group: str
    type: str
    default: Any
    meaning: str
    inherited: bool = False

    @property
    def optional(self) -> bool:
        """Whether it can be None."""
        return "None" in {kind.strip() for kind in self.type.split("|")}

    def problem(self, value: str) -> str | None:
        """What is wrong with the text `value`; None if it is valid or only the real parser can check it."""
        if choices := re.fullmatch(r"Literal\[(.*)\]", self.type):
            allowed = [choice.strip(" '\"") for choice in choices[1].split(",")]
            return None if value in allowed else f"it must be one of {', '.join(allowed)}"
        kinds = {kind.strip() for kind in self.type.split("|")} - {"None"}
        if value == NULL and self.optional:
            return None
        if value == NULL and self.type.startswith("list"):
            return "it must be a list; [] is an empty one"
        if not kinds <= FORMS.keys():
            return None
        if any(re.fullmatch(FORMS[kind][0], value, re.I) for kind in kinds):
            return range_problem(self.name, float(value)) if self.name in RANGES else None
        return f"it must be {' or '.join(FORMS[kind][1] for kind in sorted(kinds))}"


@cache
def settings() -> dict[str, Setting]:
    """All settings of a run by name, in the order of their groups."""
    found: dict[str, Setting] = {}
    for group, (file, name) in GROUPS.items():
        own = dict(_fields(PACKAGE / file, name, group))
        if group == "model":
            own = {name: setting for name, setting in own.items() if name not in DERIVED}
            own = {name: setting for name, setting in own.items() if not name.endswith("token_id")}
        found |= own
    return found


def _fields(path: Path, class_name: str, group: str) -> Iterator[tuple[str, Setting]]:
    """Fields of a dataclass, inherited ones first; a redefined field replaces the inherited one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (node,) = (item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == class_name)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in BASES:
            for setting, found in _fields(_transformers() / BASES[base.id], base.id, group):
                yield setting, replace(found, inherited=True)
    meanings = documented(ast.get_docstring(node) or "")
    for item in node.body:
        # transformers keeps class constants as annotated fields with an underscore.
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id[0] != "_":
            name, annotation = item.target.id, ast.unparse(item.annotation)
            default, meaning, is_setting = _value(item.value)
            if is_setting and "ClassVar" not in annotation:
                yield name, Setting(name, group, annotation, default, meaning or meanings.get(name, ""))


def _value(node: ast.expr | None) -> tuple[Any, str, bool]:
    """Default, meaning and whether it can be set, of `field(...)`, `_setting(default, meaning)` or a plain value."""
    if not isinstance(node, ast.Call):
        return _constant(node), "", True
    if getattr(node.func, "id", "") == "_setting":
        return _constant(node.args[0]), str(_constant(node.args[1]) or ""), True
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    makes_list = getattr(keywords.get("default_factory"), "id", "") == "list"
    default = [] if makes_list else _constant(keywords.get("default"))
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


def _transformers() -> Path:
    spec = importlib.util.find_spec("transformers")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


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


def read_recipe(name: str) -> dict[str, str | list | dict]:
    """The settings of a recipe, with every value as text, exactly as written.

    Raises `GlossaError` if the file is not a recipe or has an unknown setting.
    """
    path = find_recipe(name)
    try:
        # The default loader would read `no` as false and `1e-4` as a string.
        recipe = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise GlossaError(f"{path}: not a YAML file: {error}") from error
    if not isinstance(recipe, dict):
        raise GlossaError(f"{path}: a recipe must consist of lines `setting: value`.")
    recipe = {setting: value for setting, value in recipe.items() if not _is_gone(setting, value)}
    for setting, value in recipe.items():
        if setting not in settings():
            raise GlossaError(f"{path}: {unknown(setting)}")
        if value in EMPTY and not settings()[setting].optional and (problem := settings()[setting].problem(NULL)):
            raise GlossaError(f"{path}: {setting} is null; {problem}.")
    return recipe


def _is_gone(name: str, value: Any) -> bool:
    """Whether a setting of a recipe was removed and is off, so that nothing is lost without it."""
    try:
        return name in REMOVED and (value in EMPTY or float(value) == REMOVED[name])
    except (TypeError, ValueError):
        return False


def check(argv: list[str]) -> dict[str, Any]:
    """The settings in `[RECIPE] [--setting value ...]`, converted to their types; the command line has precedence.

    Raises `GlossaError` for an unknown setting or a value of the wrong type.
    """
    given: dict[str, Any] = {}
    if argv and not argv[0].startswith("-"):
        for key, value in read_recipe(argv[0]).items():
            if value not in EMPTY and not isinstance(value, dict):
                given[key] = _convert(argv[0], key, value if isinstance(value, list) else [value])
        argv = argv[1:]
    words: dict[str, list[str]] = {}
    name: str | None = None
    for word in complete(argv):
        if word.startswith("--"):
            name, *value = word[2:].split("=", 1)
            name = name.replace("-", "_")
            if name not in settings():
                raise GlossaError(f"Command line: {unknown(name)}")
            words[name] = value
        elif name is not None:
            words[name].append(word)
    return given | {key: _convert("Command line", key, values) for key, values in words.items()}


def _convert(where: str, name: str, values: list[str]) -> Any:
    setting = settings()[name]
    if setting.type.startswith("list"):
        return values
    if not values:
        return True  # a flag without a value
    if values == [NULL] and setting.optional:
        return None
    if problem := setting.problem(values[0]):
        shown = values[0] if re.fullmatch(FORMS["float"][0], values[0], re.I) else repr(values[0])
        raise GlossaError(f"{where}: {name} is {shown}; {problem}.")
    kinds = {kind.strip() for kind in setting.type.split("|")}
    if "int" in kinds or "float" in kinds:
        return float(values[0]) if "float" in kinds else int(values[0])
    return values[0].lower()[0] in "ty1" if kinds == {"bool"} else values[0]


def take_nulls(argv: list[str]) -> tuple[list[str], list[str]]:
    """`argv` without every `--name null` of a setting that can be None, and the names whose last value it is."""
    kept: list[tuple[str, list[str]]] = []  # name and words of each setting
    nulls: list[str] = []
    for name, values, words in _grouped(argv):
        if values == [NULL] and name in settings() and settings()[name].optional:
            kept = [group for group in kept if group[0] != name]
            nulls.append(name)
        else:
            kept.append((name, words))
            nulls = [other for other in nulls if other != name]
    return [word for _, words in kept for word in words], nulls


def complete(argv: list[str]) -> list[str]:
    """`argv` in which `--trust_data` alone, which once was a flag, is `--trust_data true`."""
    words = ([*own, "true"] if own == ["--trust_data"] else own for _, _, own in _grouped(argv))
    return [word for own in words for word in own]


def names(argv: list[str]) -> list[str]:
    """Names of the settings in `argv`."""
    return [name for name, _, _ in _grouped(argv) if name]


def _grouped(argv: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Name, values and words of each setting in `argv`; the name is "" for words before the first setting."""
    bounds = [0, *(index for index, word in enumerate(argv) if word.startswith("--")), len(argv)]
    for start, end in pairwise(bounds):
        words = argv[start:end]
        if words and words[0].startswith("--"):
            name, *value = words[0][2:].split("=", 1)
            yield name.replace("-", "_"), [*value, *words[1:]], words
        elif words:
            yield "", [], words


def origin(message: str, argv: list[str]) -> str:
    """The origin of the value of the setting that `message` begins with: "Command line: ", "RECIPE: " or ""."""
    name = message.split(" ")[0]
    if name not in settings():
        return ""
    if any(word.split("=")[0].replace("-", "_") == f"__{name}" for word in argv):
        return "Command line: "
    return f"{argv[0]}: " if not argv[0].startswith("-") and name in read_recipe(argv[0]) else ""


def unknown(name: str) -> str:
    """The error message for an unknown setting."""
    if name.lstrip("-").split("=")[0].replace("-", "_") in REMOVED:
        return f"`{name.lstrip('-')}` is no setting any more, since it made translations worse. Leave it out."
    near = difflib.get_close_matches(name.lstrip("-").split("=")[0].replace("-", "_"), settings(), n=1, cutoff=0.5)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    return f"there is no setting `{name}`.{hint} `glossa train --help all` lists them all."
