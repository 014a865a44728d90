"""Command-line options as the fields of a frozen dataclass, with their help."""

import argparse
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from . import finite, new_parser, whole

Options = TypeVar("Options")


def argument(meaning: str = "", *, default: Any = MISSING, **settings: Any) -> Any:
    """A positional argument. `settings` are arguments of `ArgumentParser.add_argument`."""
    return _field("", meaning, default, settings)


def option(meaning: str = "", *, default: Any = None, required: bool = False, **settings: Any) -> Any:
    """An option `--name`. `settings` are arguments of `ArgumentParser.add_argument`."""
    return _field("--", meaning, MISSING if required else default, settings | {"required": required})


def flag(meaning: str) -> Any:
    """A boolean option: False, or True if it is given."""
    return _field("--", meaning, False, {"action": "store_true"})


def _field(prefix: str, meaning: str, default: Any, settings: dict[str, Any]) -> Any:
    metadata = {"prefix": prefix, "settings": settings | {"help": meaning}}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata, kw_only=True)
    return field(default=default, metadata=metadata, kw_only=True)


def changed(options: Any) -> list[str]:
    """The names of the options whose values are not their defaults."""
    defaults = {
        entry.name: entry.default if entry.default_factory is MISSING else entry.default_factory()
        for entry in fields(options)
    }
    return [name for name, default in defaults.items() if getattr(options, name) != default]


def add_options(parser: argparse.ArgumentParser, kind: type) -> None:
    """Add an option for each field of `kind`: first its own fields, then the fields of its bases in order."""
    types = get_type_hints(kind)
    declared = [inspect.get_annotations(base) for base in kind.__mro__]

    def order(entry: Field) -> int:
        positional = not entry.metadata["prefix"]  # in the order of the fields
        return -1 if positional else next(place for place, names in enumerate(declared) if entry.name in names)

    for entry in sorted(fields(kind), key=order):  # type: ignore[arg-type]
        settings = _settings_of(types[entry.name]) | entry.metadata["settings"]
        if settings.get("action") not in (None, "append"):
            settings = entry.metadata["settings"]
        elif settings.get("action") == "append":
            settings.pop("nargs")
        # The dataclass supplies the defaults.
        parser.add_argument(f"{entry.metadata['prefix']}{entry.name}", default=argparse.SUPPRESS, **settings)


def _settings_of(kind: Any) -> dict[str, Any]:
    """The arguments of `add_argument` for a type: int (from 1), float (finite), Path, str, or a list of these."""
    kinds = [one for one in get_args(kind) if one is not type(None)] if type(None) in get_args(kind) else [kind]
    if get_origin(kinds[0]) is list:
        return {"nargs": "+"} | _settings_of(get_args(kinds[0])[0])
    readers: dict[Any, Callable[[str], Any]] = {int: whole(1), float: finite, Path: Path}
    return {"type": readers[kinds[0]]} if kinds[0] in readers else {}


def read(kind: type[Options], command: str, description: str | None, argv: Sequence[str]) -> Options:
    """Parse the command line of `glossa COMMAND` into the dataclass `kind`. Exits for an unknown option."""
    parser = new_parser(command, description)
    add_options(parser, kind)
    return kind(**vars(parser.parse_args(argv)))


def read_known(
    kind: type[Options], command: str, description: str | None, usage: str, argv: Sequence[str]
) -> tuple[Options, list[str]]:
    """Parse the options of `kind`. Returns them and the remaining words."""
    parser = new_parser(command, description)
    parser.usage = usage
    add_options(parser, kind)
    given, rest = parser.parse_known_args(argv)
    return kind(**vars(given)), rest
