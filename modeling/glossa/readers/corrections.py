"""Corrections of translations: read from and appended to JSON Lines files, and checked for use in training."""

import json
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError

NEEDED, OPTIONAL = ("source", "correction"), ("output", "from", "to")


def read_corrections(path: Path) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
    """The corrections in a file, and the problems of its invalid lines, both by line number.

    A correction has the texts `source` and `correction`, and optionally `output`, `from` and `to`. Empty lines are
    skipped. Raises `GlossaError` if the file cannot be read.
    """
    try:
        lines = path.read_bytes().split(b"\n")  # JSON may contain the other line separators of Python
    except OSError as error:
        raise GlossaError(f"--corrections {path} cannot be read: {error.strerror}.") from error
    parsed = {number: _parsed(line) for number, line in enumerate(lines, 1) if line.strip()}
    found = {number: row for number, row in parsed.items() if isinstance(row, dict)}
    return found, {number: problem for number, problem in parsed.items() if isinstance(problem, str)}


def _parsed(line: bytes) -> dict[str, Any] | str:
    """The correction in a line, or the problem with the line."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return "The line is not JSON in UTF-8, or is cut off."
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in NEEDED):
        return "The line has no texts `source` and `correction`."
    texts = [row[name] for name in (*NEEDED, *OPTIONAL) if row.get(name) is not None]
    if not all(isinstance(text, str) for text in texts):
        return "`output`, `from` or `to` is not a text."
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        return "A text holds half of a surrogate pair."
    return row


def append_line(path: Path, line: str) -> None:
    """Append `line` to a file, as a new line even if the last one has no newline."""
    with open(path, "ab+") as file:
        if file.tell():  # at the end of the file
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(f"{line}\n".encode())


def refusal(source: str, output: str | None, correction: str) -> str:
    """The reason why a model should not learn a correction of its translation `output`; "" if it should."""
    if not correction.strip() or not any(map(str.isalpha, correction)):
        return "The correction has no words."
    if correction in (source, output):
        return "The correction is equal to the text or to its translation."
    if not 1 / 4 <= len(correction) / max(len(source), 1) <= 4 and abs(len(correction) - len(source)) > 20:
        return "The correction is much shorter or longer than the text."
    return ""
