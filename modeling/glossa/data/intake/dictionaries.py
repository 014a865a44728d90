"""Dictionaries: tables of words and phrases with their translations."""

from pathlib import Path

from ...errors import GlossaError
from ...sentences_glossa import clean_text
from ..augmentation.dictionary import Entry
from .files import NOT_UTF8, lines, wrong_encoding

FIELDS = ("source", "target", "kind")


def read_dictionary(path: str) -> list[Entry]:
    """The entries of a file with one in each line: source, target and perhaps a kind, with tabs between them.

    The file may be packed. Blank lines are ignored, and entries that are repeated. Raises `GlossaError` if it is
    damaged, not UTF-8 or empty, and for a line with other fields or an empty one.
    """
    found: dict[Entry, None] = {}
    for number, (text, problem) in enumerate(lines(Path(path)), 1):
        if problem.startswith(NOT_UTF8):
            raise wrong_encoding(Path(path), number, problem, "WINDOWS-1252")
        fields = [clean_text(field) for field in text.split("\t")]
        if not problem and not any(fields):
            continue
        if not problem and len(fields) not in (2, 3):
            problem = f"{len(fields)} field{'s' * (len(fields) > 1)}, not two or three"
        if not problem and not all(fields[:2]):
            problem = f"the {FIELDS[fields.index('')]} is empty"
        if problem:
            raise GlossaError(
                f"dictionary: {path}, line {number}: {problem}: {text[:80]!r}. Give a source, a target and perhaps a "
                "kind, with tabs between them."
            )
        found[Entry(*fields)] = None
    if not found:
        raise GlossaError(f"dictionary: {path} has no entries. Give a line for each: source, tab, target.")
    return list(found)
