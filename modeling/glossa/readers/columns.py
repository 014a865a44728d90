"""The columns, keys or languages of a file that hold source and target."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..base.errors import GlossaError
from ..base.languages import language_code, same_variant
from .files import MAX_LINE

Row = tuple[str, str, int, str]  # source, target, line, problem, see `reading`
# Why a row is not a pair, although it is not malformed; details follow a colon.
HEADER = "header"
CONTINUED = "continues the row above"
UNTRANSLATED = "untranslated"
OTHER_LANGUAGE = "other language"
OTHER_VARIANT = "other variant of a language"
SET_ASIDE = (HEADER, CONTINUED, UNTRANSLATED, OTHER_LANGUAGE, OTHER_VARIANT)
_VARIANT = re.compile(r"([a-z]{2,3})([-_]([a-z]{2}|[a-z]{4}|\d{3}))+", re.I)
_ROLES = {"src": "source", "tgt": "target", "trg": "target"}
_TEXT = ("text", "texts", "sentence", "sentences", "segment", "segments", "string", "phrase", "side", "word", "words")


@dataclass(frozen=True)
class Columns:
    """The columns that hold source and target.

    Attributes:
        names: Pairs of column names, tried in order. With a pair of equal names, one column is read as both sides.
            With `required`, a name may be the 1-based number of a column, unless a column has this name.
        required: Whether a table without these columns is an error; otherwise its first two columns are read.
        swapped: Whether the target is the first column in a table without a header.
        lines: Whether the file has no columns and every line is a text, read as both sides.
    """

    names: tuple[tuple[str, str], ...]
    required: bool = False
    swapped: bool = False
    lines: bool = False

    @property
    def numbers(self) -> tuple[int, int] | None:
        """The 0-based indices of two columns given by their 1-based numbers; None if given by name."""
        given = self.names[0] if self.required else ()
        if not given or not all(re.fullmatch(r"[1-9]\d{0,3}", name) for name in given):
            return None
        return int(given[0]) - 1, int(given[1]) - 1

    def find(self, present: Sequence[str]) -> tuple[str, str] | None:
        """The names in `present` of the two columns: exact matches, or names of the same languages or roles."""
        return _find(self, tuple(present))

    def names_one_of(self, present: Sequence[str]) -> bool:
        """Whether `present` has a name of one of the two languages or sides."""
        return bool({role_of(name) for pair in self.names for name in pair} & set(map(role_of, present)))

    def choose(self, present: Sequence[str]) -> tuple[str, str] | None:
        """Like `find`, but of several variants of a language chooses the most common, or else the first."""
        return self.find(present) or _choose(self, tuple(present))

    def variants(self, present: Sequence[str]) -> list[str]:
        """The names in `present` of variants of the two languages that `choose` does not return."""
        found = self.choose(present) or ()
        roles = {role_of(name) for name in found}
        return [name for name in present if name not in found and role_of(name) in roles]

    def missing(self, place: str, present: str) -> GlossaError:
        """The error for a table at `place` that lacks these columns; `present` describes its columns."""
        first, second = self.names[0]
        if first == second:
            wanted, advice = f"column {first!r}", "Set source_column and target_column to one of these."
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


def set_aside(problem: str) -> str:
    """The kind of a problem if it is one of `SET_ASIDE`; "" if the row is malformed."""
    kind = problem.partition(":")[0]
    return kind if kind in SET_ASIDE else ""


def _alike(name: str, present: tuple[str, ...]) -> list[str]:
    """The column named `name`, or else all columns with another name of the same language or role."""
    return [name] if name in present else [other for other in present if role_of(other) == role_of(name)]


@lru_cache(maxsize=64)
def _choose(columns: Columns, present: tuple[str, ...]) -> tuple[str, str] | None:
    chosen = []
    for name in columns.names[0]:
        found = _alike(name, present)
        if not found or (len(set(found)) > 1 and not all(_VARIANT.fullmatch(other.strip()) for other in found)):
            return None
        chosen.append(next((other for other in found if same_variant(name, other)), found[0]))
    return chosen[0], chosen[1]


def role_of(name: str) -> str:
    """The language or side of a column name: "source" for "src", and "en" for "en_US", "English" and "en_text".

    It is "en" also for "English words/sentences", and for "sentence_eng_Latn", as in FLORES.
    """
    name = name.strip().casefold()
    if known := _ROLES.get(name) or language_code(name):
        return known
    words = [word for word in re.split(r"[ _/-]", name) if word not in _TEXT]
    if len(words) == 1 and words[0] != name:
        return _ROLES.get(words[0]) or language_code(words[0]) or words[0]
    if len(words) == 2 and "_".join(words) != name and re.fullmatch(r"[a-z]{3} [a-z]{4}", " ".join(words)):
        name = language_code(words[0]) or name  # a language with its script
    variant = _VARIANT.fullmatch(name)
    return variant[1] if variant else name


def is_header(fields: list[str], columns: Columns) -> bool:
    """Whether a line without the wanted columns must be a header, since it names different languages or roles.

    Short codes such as "is" and "no" are also words, so at least one field must be longer or a wanted name.
    """
    roles = [role_of(field) for field in fields]
    wanted = {role_of(name) for pair in columns.names for name in pair}
    known = all(role in ("source", "target") or language_code(role) for role in roles)
    certain = any(role in wanted or len(field) > 3 for role, field in zip(roles, fields, strict=True))
    return known and certain and len(set(roles)) > 1


def pair_of(record: dict, source: str, target: str) -> tuple[str, str, str]:
    """Source, target and problem of a record with its sides at the keys `source` and `target`."""
    for key in (source, target):
        text = record[key]
        if not isinstance(text, str):
            kind = "null" if text is None else f"{type(text).__name__}, not {'UTF-8 ' * isinstance(text, bytes)}text"
            return str(record), "", f"value of {key!r} is {kind}"
        if len(text) >= MAX_LINE // 4 and len(text.encode(errors="surrogatepass")) >= MAX_LINE:
            return text[:80], "", f"value of {key!r} has over {MAX_LINE} bytes"
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            return ascii(text), "", f"value of {key!r} has half a surrogate pair"
        if "\0" in text:
            return text, "", f"value of {key!r} has a NUL character"
    return record[source], record[target], ""


def keyed_pair(record: Any, columns: Columns) -> tuple[str, str, str]:
    """Source, target and problem of a JSON object, which may have the two sides in its "translation"."""
    if not isinstance(record, dict):
        return "", "", f"not a JSON object but {type(record).__name__}; an object for each pair is expected"
    if isinstance(record.get("translation"), dict) and not columns.required:
        record = record["translation"]
    found = columns.find(list(record))
    if not found:
        missing = [key for key in dict.fromkeys(columns.names[0]) if key not in record]
        return "", "", f"no key {' or '.join(map(repr, missing))}; the keys are {list(record)[:10]}"
    return pair_of(record, *found)
