"""Translation memories: `glossa memory build MEMORY manual.tmx --source_language en --target_language de`.

    glossa memory build MEMORY FILE...   build from files and folders: TMX, XLIFF, PO, TSV, JSONL, prepared pairs; or
                                         from two files or folders of one language each, by keys: en.json fr.json
    glossa memory add MEMORY FILE...     add files, or edited ones again; the newest translation of a text is used
    glossa memory search MEMORY TEXT     show matches for a text, with score and id
    glossa memory remove MEMORY ID...    remove units; units that they replaced are used again
    glossa memory show MEMORY            show languages and size
    glossa memory export MEMORY --output FILE.tmx   write the units that count as TMX or TSV
    glossa memory analyze FILE...        count segments, words and characters: what a memory knows, repetitions, new

For the options, see `glossa memory build --help` and so on. For more, see docs/memory.md.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..apps.documents.formats import MODULES
from ..apps.documents.formats.format import LanguagePair
from ..apps.documents.formats.opening import format_of, open_keyed
from ..base.errors import GlossaError
from . import whole
from .check import KEYED
from .options import argument, flag, option, read
from .shared_options import LanguageOptions, MemoryOptions

if TYPE_CHECKING:
    from ..translate.memory.building import Row


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


@dataclass(frozen=True)
class ExportOptions(ShowOptions):
    """The options of `glossa memory export`."""

    output: Path = option("file to write: .tmx or .tsv", required=True, metavar="FILE")


@dataclass(frozen=True)
class AnalyzeOptions(LanguageOptions, MemoryOptions):
    """The options of `glossa memory analyze`."""

    files: list[Path] = argument("documents, or folders of these", metavar="FILE")
    format: str | None = option("format of the documents (default: from their names)", choices=tuple(MODULES))
    json: bool = flag("write the counts as JSON")


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
    _show(build_memory(options.memory, options.files, *languages, _keyed_rows(options.files)))


def add(options: AddOptions) -> None:
    from ..translate.memory.building import add as add_files
    from ..translate.memory.store import Memory

    with Memory.open(options.memory) as memory:
        _show(add_files(memory, options.files, _keyed_rows(options.files)))


def keyed_files(files: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Pairs of a source file and its translation with the same keys: two files, or the files of two folders."""
    if len(files) != 2:
        return []
    one, other = files
    if one.is_dir() and other.is_dir():
        names = (path.relative_to(one) for path in sorted(one.rglob("*")) if path.is_file())
        return [pair for name in names for pair in keyed_files([one / name, other / name])]
    kinds = {format_of(path.name) for path in files}
    rows = (path.suffix == ".json" and path.is_file() and path.read_bytes().lstrip()[:1] == b"[" for path in files)
    return [(one, other)] if len(kinds) == 1 and kinds <= set(KEYED) and not any(rows) else []


def _keyed_rows(files: Sequence[Path]) -> "Iterator[Row] | None":
    """The texts and translations of files with equal keys; None if these have no keys."""
    found = keyed_files(files)
    return chain.from_iterable(_rows_of(*pair, is_named=pair[0] in files) for pair in found) if found else None


def _rows_of(file: Path, translation: Path, is_named: bool) -> "Iterator[Row]":
    try:
        pairs = open_keyed(file, translation, str(format_of(file.name))).pairs
    except GlossaError as error:
        if is_named:
            raise
        yield error
        return
    yield from ((pair.source, pair.target, translation) for pair in pairs)


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


def export(options: ExportOptions) -> None:
    from ..translate.memory.exporting import export as export_memory
    from ..translate.memory.store import Memory

    with Memory.open(options.memory) as memory:
        print(f"{export_memory(memory, options.output):,} units in {options.output}.", file=sys.stderr)


def analyze(options: AnalyzeOptions) -> None:
    from ..apps.documents.analysis import ALL, BANDS, COUNTED, Amount, Analysis
    from ..apps.documents.job import DocumentJob
    from ..translate.build import pseudo_translator
    from ..translate.memory.store import Memory

    languages, memory = options.pair, None
    if options.memory and (languages.source is None or languages.target is None):  # those of the memory
        memory = Memory.open(options.memory)
        languages = LanguagePair(memory.source_language, memory.target_language)
    elif recall := options.open_memory(languages.source, languages.target):
        memory = recall.memories[0]
    analysis = Analysis(pseudo_translator(), memory)
    rows: dict[str, dict[str, Amount]] = {}
    for path in options.files:
        found, broken = DocumentJob(path, path, options.format, languages).open()
        rows |= {str(file): analysis.count(opened.documents) for file, _, opened in found}
        for problem in broken:
            print(problem, file=sys.stderr)
    total = {band: reduce(Amount.plus, (row[band] for row in rows.values())) for band in (*BANDS, ALL)}
    if options.json:
        files = {
            name: {band: dict(zip(COUNTED, own, strict=True)) for band, own in row.items()}
            for name, row in rows.items()
        }
        print(
            json.dumps(
                {"files": files, ALL: {band: dict(zip(COUNTED, own, strict=True)) for band, own in total.items()}},
                indent=1,
            )
        )
        return
    tables = [*rows.items(), (f"{len(rows):,} files", total)] if len(rows) > 1 else rows.items()
    for name, row in tables:
        print(f"\n{name}\n{'':26}{''.join(f'{title:>12}' for title in COUNTED)}")
        for band in (*analysis.bands, ALL):
            print(f"{band:26}{''.join(f'{number:>12,}' for number in row[band])}")


_ACTIONS: dict[str, tuple[type, Any]] = {
    "build": (BuildOptions, build),
    "add": (AddOptions, add),
    "search": (FindOptions, search),
    "remove": (RemoveOptions, remove),
    "show": (ShowOptions, show),
    "export": (ExportOptions, export),
    "analyze": (AnalyzeOptions, analyze),
}
