"""Rows, and which columns, keys or languages of a file are their two sides."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import GlossaError
from .languages import language_code

Row = tuple[str, str, int, str]  # source, target, line, problem, as `readers` says
HEADER = "header"
CONTINUED = "continues the row above"


@dataclass(frozen=True)
class Columns:
    """The columns that hold the two sides.

    Attributes:
        names: Pairs of column names, tried in order. A pair of equal names reads one column as both sides.
            With `required`, 1-based numbers stand for columns where none has them as names.
        required: A table without these columns is an error; otherwise its first two columns are read.
        swapped: In a table without a header, the target is the first column.
        lines: The file has no columns; every line is a text, read as both sides.
    """

    names: tuple[tuple[str, str], ...]
    required: bool = False
    swapped: bool = False
    lines: bool = False

    @property
    def numbers(self) -> tuple[int, int] | None:
        """The 0-based places of two columns that are given by their 1-based numbers."""
        given = self.names[0] if self.required else ()
        if not given or not all(re.fullmatch(r"[1-9]\d{0,3}", name) for name in given):
            return None
        return int(given[0]) - 1, int(given[1]) - 1

    def find(self, present: Sequence[str]) -> tuple[str, str] | None:
        """The names of the two columns among `present`: the exact ones, or others for the same languages or roles."""
        return _find(self, tuple(present))

    def missing(self, place: str, present: str) -> GlossaError:
        """The error for a table at `place` without these columns; `present` describes the columns it has."""
        first, second = self.names[0]
        if first == second:
            wanted, advice = f"column {first!r}", "Set text_column to one of these."
        else:
            languages = "" if self.required else "source_language and target_language, or "
            wanted = f"columns {self.names[0]}"
            advice = f"Set {languages}source_column and target_column to two of these."
        return GlossaError(f"{place}: no {wanted}; {present}. {advice}")

    def unique(self, place: str, present: Sequence[str]) -> tuple[str, str] | None:
        """Like `find`. Raises `GlossaError` if one of the two names occurs twice."""
        found = self.find(present)
        for name in found or ():
            if present.count(name) > 1:
                raise GlossaError(f"{place}: {present.count(name)} columns are named {name!r}. Rename all but one.")
        return found


@lru_cache(maxsize=64)  # a line of JSON may have a MiB of keys
def _find(columns: Columns, present: tuple[str, ...]) -> tuple[str, str] | None:
    for pair in columns.names:
        if set(pair) <= set(present):
            return pair
    for pair in columns.names if not columns.required else ():
        first, second = (_alike(name, present) for name in pair)
        if len(first) == len(second) == 1:
            return first[0], second[0]
    return None


def _alike(name: str, present: tuple[str, ...]) -> list[str]:
    """The columns for the language or role `name`: that of just this name, or all with another name for it."""
    return [name] if name in present else [other for other in present if _role(other) == _role(name)]


def _role(name: str) -> str:
    name = name.strip().casefold()
    return {"src": "source", "tgt": "target", "trg": "target"}.get(name) or language_code(name) or name


def is_header(fields: list[str], columns: Columns) -> bool:
    """Whether a line without the wanted columns can only be a header: different languages or roles.

    Short codes are words too, such as "is" and "no", so one field must be a name or wanted.
    """
    roles = [_role(field) for field in fields]
    wanted = {_role(name) for pair in columns.names for name in pair}
    known = all(role in ("source", "target") or language_code(role) for role in roles)
    certain = any(role in wanted or len(field) > 3 for role, field in zip(roles, fields, strict=True))
    return known and certain and len(set(roles)) > 1


def pair_of(record: dict, source: str, target: str) -> tuple[str, str, str]:
    """Source, target and problem of a record with the sides under the keys `source` and `target`."""
    for key in (source, target):
        text = record[key]
        if not isinstance(text, str):
            kind = "null" if text is None else f"{type(text).__name__}, not {'UTF-8 ' * isinstance(text, bytes)}text"
            return str(record), "", f"value of {key!r} is {kind}"
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            return ascii(text), "", f"value of {key!r} holds half a surrogate pair"
        if "\0" in text:
            return text, "", f"value of {key!r} holds a NUL character"
    return record[source], record[target], ""


def keyed_pair(record: Any, columns: Columns) -> tuple[str, str, str]:
    """Source, target and problem of a JSON object, which may hold the two sides in its "translation"."""
    if not isinstance(record, dict):
        return "", "", f"not a JSON object but {type(record).__name__}; an object for each pair is expected"
    if isinstance(record.get("translation"), dict) and not columns.required:
        record = record["translation"]
    found = columns.find(list(record))
    if not found:
        missing = [key for key in dict.fromkeys(columns.names[0]) if key not in record]
        return "", "", f"no key {' or '.join(map(repr, missing))}; the keys are {list(record)[:10]}"
    return pair_of(record, *found)
