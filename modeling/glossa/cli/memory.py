"""Translation memories: `glossa memory build MEMORY manual.tmx --source_language en --target_language de`.

    glossa memory build MEMORY FILE...   build from files and folders: TMX, XLIFF, PO, TSV, JSONL, prepared pairs
    glossa memory add MEMORY FILE...     add files, or edited ones again; the newest translation of a text is used
    glossa memory search MEMORY TEXT     show matches for a text, with score and id
    glossa memory remove MEMORY ID...    remove units; units that they replaced are used again
    glossa memory show MEMORY            show languages and size

For the options, see `glossa memory build --help` and so on. For more, see docs/memory.md.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError
from . import whole
from .options import argument, option, read


@dataclass(frozen=True)
class ShowOptions:
    """The options of `glossa memory show`, which all actions share."""

    memory: Path = argument("file of the memory", metavar="MEMORY")


@dataclass(frozen=True)
class AddOptions(ShowOptions):
    """The options of `glossa memory add`."""

    files: list[Path] = argument("files of pairs, or folders of these", metavar="FILE")


@dataclass(frozen=True)
class BuildOptions(AddOptions):
    """The options of `glossa memory build`."""

    source_language: str = option("code or name", required=True, metavar="CODE")
    target_language: str = option("code or name", required=True, metavar="CODE")


@dataclass(frozen=True)
class FindOptions(ShowOptions):
    """The options of `glossa memory search`."""

    text: str = argument("a text in its source language", metavar="TEXT")
    threshold: int = option("lowest score (default: 50)", default=50, type=whole(1, 100), metavar="SCORE")
    most: int = option("how many (default: 5)", default=5, metavar="N")


@dataclass(frozen=True)
class RemoveOptions(ShowOptions):
    """The options of `glossa memory remove`."""

    ids: list[int] = argument("ids from `glossa memory search`", metavar="ID")


def main(argv: list[str]) -> None:
    name = argv[0] if argv else "--help"
    if name in ("-h", "--help"):
        print(__doc__)
    elif name in _ACTIONS:
        kind, action = _ACTIONS[name]
        action(read(kind, f"memory {name}", __doc__, argv[1:]))
    else:
        raise GlossaError(f"glossa memory has no action {name!r}. Give one of {', '.join(_ACTIONS)}.")


def build(options: BuildOptions) -> None:
    from ..base.languages import normalized_code
    from ..translate.memory.building import build as build_memory

    languages = normalized_code(options.source_language), normalized_code(options.target_language)
    _show(build_memory(options.memory, options.files, *languages))


def add(options: AddOptions) -> None:
    from ..translate.memory.building import add as add_files
    from ..translate.memory.store import Memory

    with Memory.open(options.memory) as memory:
        _show(add_files(memory, options.files))


def _show(counts) -> None:
    refused = "".join(f", {number:,} left out ({reason})" for reason, number in counts.refused.most_common() if number)
    print(
        f"{counts.read:,} rows read{refused}. {counts.units:,} new units, {counts.duplicates:,} known, "
        f"{counts.conflicts:,} known with another translation; {counts.parts:,} were sentences of longer units, or "
        "units without their tags.",
        file=sys.stderr,
    )


def search(options: FindOptions) -> None:
    from ..translate.memory.store import Memory

    with Memory.open(options.memory) as memory:
        matches = memory.matches(options.text, options.threshold, options.most)
    for match in matches:
        own = match.origin
        origin = ", ".join(filter(None, (own.file, own.key, own.date, own.context and f"context {own.context!r}")))
        print(f"{match.score}%  id {own.id}  {origin}\n  {match.source}\n  {match.target}")
    if not matches:
        print(f"No match of {options.threshold}% or more.", file=sys.stderr)


def remove(options: RemoveOptions) -> None:
    from ..translate.memory.store import Memory

    with Memory.open(options.memory) as memory:
        memory.remove(options.ids)
        print(f"{len(options.ids):,} removed, {len(memory):,} units remain.", file=sys.stderr)


def show(options: ShowOptions) -> None:
    from ..translate.memory.store import Memory

    with Memory.open(options.memory) as memory:
        for name, value in memory.facts().items():
            print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


_ACTIONS: dict[str, tuple[type, Any]] = {
    "build": (BuildOptions, build),
    "add": (AddOptions, add),
    "search": (FindOptions, search),
    "remove": (RemoveOptions, remove),
    "show": (ShowOptions, show),
}
