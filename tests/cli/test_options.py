"""Options: each is declared once, unless its meaning differs, and help shows a command's own options first."""

import importlib
import inspect
import pkgutil
from collections import Counter
from dataclasses import dataclass, is_dataclass

import pytest

from glossa import cli
from glossa.cli.options import argument, changed, flag, option, read

# Names with another meaning, type or default in another command.
DIFFERENT = {
    "keys", "length_penalty", "memory", "model", "models", "num_beams", "output", "source", "source_language",
    "target", "target_language", "text",
}  # fmt: skip


def test_an_option_is_declared_once_unless_its_meaning_differs():
    modules = [importlib.import_module(f"glossa.cli.{module.name}") for module in pkgutil.iter_modules(cli.__path__)]
    kinds = {kind for module in modules for _, kind in inspect.getmembers(module, is_dataclass)}
    names = Counter(
        name for kind in kinds if kind.__name__.endswith("Options") for name in inspect.get_annotations(kind)
    )
    assert {name for name, count in names.items() if count > 1} == DIFFERENT


@dataclass(frozen=True)
class Shared:
    first: str = argument()
    verbose: bool = flag("more output")


@dataclass(frozen=True)
class Own(Shared):
    second: str = argument()
    size: int = option("size", default=3)
    words: list[str] = option("words", default=["a"])  # noqa: RUF009


def test_positional_arguments_keep_their_order_and_own_options_come_first(capsys):
    found = read(Own, "test", "", ["a", "b"])
    assert (found.first, found.second, found.size, found.words) == ("a", "b", 3, ["a"])
    with pytest.raises(SystemExit):
        read(Own, "test", "", ["--help"])
    shown = capsys.readouterr().out
    assert 0 < shown.index("--size SIZE") < shown.index("--words WORDS") < shown.index("--verbose")


def test_options_that_are_changed_are_those_with_another_value():
    assert changed(read(Own, "test", "", ["a", "b", "--size", "3", "--words", "a"])) == ["first", "second"]
    assert {"words", "verbose"} < {*changed(read(Own, "test", "", ["a", "b", "--words", "b", "--verbose"]))}
