"""Options: each is declared once, unless its meaning differs, and help shows a command's own options first."""

from dataclasses import dataclass

import pytest

from glossa.cli.options import argument, changed, flag, option, read

# Names with another meaning, type or default in another command.


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
