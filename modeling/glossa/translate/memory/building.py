"""Memories of files: which files, their units, and the memory that an option names."""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...base.errors import GlossaError
from ...base.jobs.records import hash_file, lock_path
from ...base.languages import same_language
from ...base.paths import ending
from ...model.sentences_glossa import split_text
from ...readers.columns import CONTINUED, HEADER, Columns, set_aside
from ...readers.corrections import NEEDED, read_corrections
from ...readers.manifest import MANIFEST, read_manifest
from ...readers.reading import read_rows
from .file import exists, is_memory
from .origins import Details, read_details, written
from .store import Memory
from .units import Counts, Unit

logger = logging.getLogger(__name__)

_TAG = re.compile(r"</?[A-Za-z][\w.-]*(?:\s[^<>]*)?/?>")
READ = (".tmx", ".xliff", ".xlf", ".po", ".tsv", ".csv", ".jsonl")  # of a folder, also packed


def files_of(path: Path, languages: tuple[str, str] | None = None) -> list[Path]:
    """The files of pairs that a path names: itself, those in a folder, the training pairs of a prepared folder.

    Of a prepared folder they are those of two `languages`, if given. Raises `GlossaError` if no file is found.
    """
    if not path.exists():
        raise GlossaError(f"{path} is not there. Give a TMX file or another file of pairs, or a folder of such files.")
    if not path.is_dir():
        return [path]
    if (path / MANIFEST).is_file():
        return _prepared_files(path, languages)
    found = sorted(file for file in path.rglob("*") if ending(file) in READ and file.is_file())
    if not found:
        raise GlossaError(f"{path} has no files of pairs. Read are {' '.join(READ)}, also packed as .gz, .xz or .zst.")
    return found


def _prepared_files(path: Path, languages: tuple[str, str] | None) -> list[Path]:
    entries = read_manifest(path)["sources"]
    pairs = [(entry.source_language, entry.target_language) for entry in entries]
    chosen = [languages is None or all(map(same_language, pair, languages)) for pair in pairs]
    found = [path / name for entry, own in zip(entries, chosen, strict=True) if own for name in entry.files]
    if not found:
        raise GlossaError(f"{path} has no training pairs of {languages}, but of {sorted(set(pairs))}.")
    return found


def units_of(
    paths: Iterable[Path], source_language: str, target_language: str, counts: Counts, sentences: bool = True
) -> Iterator[Unit]:
    """The units in files and folders, whose rows are counted.

    A unit is followed by its parts, as [`parts_of`] has them. A file of a folder that cannot
    be read is left out with a warning; one that is named raises `GlossaError`.
    """
    for path in paths:
        for file in files_of(path, (source_language, target_language)):
            try:
                units = _units_of_file(file, source_language, target_language, counts)
                yield from _with_parts(units, counts) if sentences else units
            except GlossaError as error:
                if file == path:
                    raise
                logger.warning("%s is left out: %s", file, error)
                counts.refused["files that cannot be read"] += 1


def _with_parts(units: Iterable[Unit], counts: Counts) -> Iterator[Unit]:
    """Each unit, followed by its parts, as [`parts_of`] has them, which are counted."""
    for unit in units:
        yield unit
        parts = parts_of(unit)
        counts.parts += len(parts)
        yield from parts


def _units_of_file(file: Path, source: str, target: str, counts: Counts) -> Iterator[Unit]:
    if _has_corrections(file):
        yield from _corrections(file, source, target, counts)
        return
    changed = written(datetime.fromtimestamp(file.stat().st_mtime, UTC))
    details, own = read_details(file), Details(0)
    columns = Columns(((source, target), ("source", "target")))
    for text, translation, line, problem in read_rows((file,), columns, None):
        aside = set_aside(problem)
        if aside in (HEADER, CONTINUED):
            continue
        counts.read += 1
        if not problem:
            while own.line < line:  # only formats with such details have any
                own = next(details, Details(line))
            unit = Unit(text, translation, own.date or changed, str(file), context=own.context)
            yield unit
            if all(own.singular) and text == own.plural:  # not in a catalog that is read from its translations
                yield replace(unit, source=own.singular[0], target=own.singular[1])
        elif aside:
            counts.refused[aside] += 1
        else:
            if not counts.refused["malformed rows"]:
                logger.warning("%s, line %d, is left out: %s", file, line, problem)
            counts.refused["malformed rows"] += 1


def _has_corrections(file: Path) -> bool:
    """Whether it is the file of corrections of a server, by its first line."""
    if file.suffix.lower() != ".jsonl":
        return False
    with open(file, "rb") as lines:
        try:
            first = json.loads(lines.readline(1 << 20))
        except (ValueError, RecursionError):
            return False
    return isinstance(first, dict) and all(name in first for name in NEEDED)


def _corrections(file: Path, source: str, target: str, counts: Counts) -> Iterator[Unit]:
    found, problems = read_corrections(file)
    counts.read += len(found) + len(problems)
    for number, problem in problems.items():
        logger.warning("%s, line %d, is left out: %s", file, number, problem)
    counts.refused += Counter({"malformed rows": len(problems)})
    for row in found.values():
        languages = (row.get("from") or source, source), (row.get("to") or target, target)
        if all(same_language(*pair) for pair in languages):
            yield Unit(row["source"], row["correction"], _text(row.get("time")), str(file), _text(row.get("key")))
        else:
            counts.refused["other language"] += 1


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def parts_of(unit: Unit) -> list[Unit]:
    """What else a unit says: its text without tags, as documents give it, and the sentences of this text."""
    plain = replace(unit, source=_without_tags(unit.source), target=_without_tags(unit.target))
    return [*([plain] if plain.source != unit.source else []), *_sentences(plain)]


def _without_tags(text: str) -> str:
    return _TAG.sub(lambda tag: " " if tag[0].startswith("<br") else "", text)


def _sentences(unit: Unit) -> list[Unit]:
    """The sentences of a unit of several, if both sides have equally many; as `split_sentences` of the data does."""
    sides = [split_text(text)[0] for text in (unit.source, unit.target)]
    if len(sides[0]) != len(sides[1]) or len(sides[0]) < 2:
        return []
    pairs = zip(sides[0], sides[1], strict=True)
    return [replace(unit, source=source, target=target) for source, target in pairs]


# A text, its translation and its file, or why a file cannot be read.
Row = tuple[str, str, Path] | GlossaError


def build(
    path: Path, files: Sequence[Path], source_language: str, target_language: str, rows: Iterable[Row] | None = None
) -> Counts:
    """Make a memory as [`add`] does. Raises `GlossaError`, and leaves nothing, if there is one, or no pair."""
    new = path.with_name(f"{path.name}.new")
    if path.exists():
        raise exists(path)
    with lock_path(path, "file"):
        new.unlink(missing_ok=True)
        try:
            with Memory.create(new, source_language, target_language) as memory:
                counts = add(memory, files, rows)
            new.replace(path)
        finally:
            for left in ("", "-wal", "-shm"):
                Path(f"{new}{left}").unlink(missing_ok=True)
    return counts


def add(memory: Memory, files: Sequence[Path], rows: Iterable[Row] | None = None) -> Counts:
    """Add the pairs of files to a memory; `rows` are their pairs if they are known.

    Raises `GlossaError` if they have none of the memory's languages.
    """
    counts = Counts()
    languages = memory.source_language, memory.target_language
    found = units_of(files, *languages, counts) if rows is None else _with_parts(_units_of_rows(rows, counts), counts)
    counts += memory.add(found)
    if not counts.units + counts.duplicates:
        why = ", ".join(f"{reason}: {number:,}" for reason, number in counts.refused.most_common())
        names, pair = ", ".join(map(str, files)), " and ".join(languages)
        raise GlossaError(f"{names} has no pair of {pair}{f' ({why})' * bool(why)}. Give a file of both languages.")
    return counts


def _units_of_rows(rows: Iterable[Row], counts: Counts) -> Iterator[Unit]:
    for row in rows:
        if isinstance(row, GlossaError):
            logger.warning("left out: %s", row)
            counts.refused["files that cannot be read"] += 1
            continue
        text, translation, file = row
        counts.read += 1
        if translation:
            yield Unit(text, translation, written(datetime.fromtimestamp(file.stat().st_mtime, UTC)), str(file))
        else:
            counts.refused["no translation"] += 1


def open_memory(path: Path, source_language: str, target_language: str) -> Memory:
    """The memory in a file; of another file of pairs, or a folder of such files, a temporary one.

    Raises `GlossaError` if it is of other languages, or the files have no pair.
    """
    if is_memory(path):
        memory = Memory.open(path)
        memory.check_languages(source_language, target_language)
        if memory.is_empty:
            logger.warning("%s has no translation yet.", path)
        return memory
    memory = Memory.temporary((), source_language, target_language)
    memory.name = str(path)
    try:
        add(memory, [path])
    except GlossaError:
        memory.close()
        raise
    return memory


def stamp_of(path: Path) -> list[str]:
    """What changes with the units of a memory, or of the files that it is made of."""
    if is_memory(path):
        with Memory.open(path) as memory:
            return [f"{memory.version} {path}"]
    return [hash_file(file) for file in files_of(path)]
