"""Report on translations that failed or cannot be right, worst first."""

import json
import math
import sys
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from ..base.errors import GlossaError
from .search.terms import BOTH, MISSING, summary

if TYPE_CHECKING:
    from .interface import Translation

SHOWN = 5  # lines of each problem


def find_problems(line: int, source: str, translation: "Translation", every: bool = False) -> list[dict]:
    """The row of a report, if the line could not be translated, its translation cannot be right, or `every` is set."""
    if not translation.problem and not every:
        return []
    row = {"line": line, "problem": translation.problem, "translated": not translation.failed}
    if translation.token_score is not None:
        row |= {"score": round(translation.score or 0.0, 4), "token_score": round(translation.token_score, 4)}
    if translation.confidence is not None:
        row["confidence"] = round(translation.confidence, 4)
    if translation.matches:
        row["matches"] = [[match.score, match.use] for match in translation.matches]
    if translation.words:
        row["words"] = [[word, None if share is None else round(share, 4)] for word, share in translation.words]
    for state in (MISSING, BOTH):
        if terms := [f"{term} -> {targets}" for term, targets, found in translation.terms if found == state]:
            row[state] = terms
    return [row | {"source": source, "translation": translation.text}]


class Problems:
    """The report on lines that could not be translated, or whose translation cannot be right.

    Args:
        report: Where each of them is written, as a line of JSON: at the end and worst first, or with `every` at once.
        every: Whether the other lines are written too, all in their order.
    """

    def __init__(self, report: TextIO | None, every: bool = False):
        self.report, self.every = report, every
        self.lines = 0
        self.terms: Counter[str] = Counter()
        self.failures: list[dict] = []
        self.implausible: list[dict] = []

    def add(self, lines: int, rows: list[dict], terms: Mapping[str, int] = MappingProxyType({})) -> None:
        """Count further lines, their rows of [`find_problems`], and their terms as [`count`] does."""
        self.lines += lines
        self.terms.update(terms)
        for row in rows:
            if self.every:
                self._write(row)
            if not row["translated"]:
                self.failures.append(row)
            elif row["problem"]:
                self.implausible.append(row)

    def finish(self) -> None:
        """Print the counts and the worst lines. Raises `GlossaError` if a line was not translated."""
        self.implausible.sort(key=_badness)
        if self.terms:
            print(summary(self.terms), file=sys.stderr)
        if not self.every:
            for row in [*self.failures, *self.implausible]:
                self._write(row)
        for problem in dict.fromkeys(row["problem"] for row in sorted(self.implausible, key=lambda row: row["line"])):
            lines = [row["line"] for row in self.implausible if row["problem"] == problem]
            numbers = ", ".join(map(str, lines[:SHOWN])) + (", ..." if len(lines) > SHOWN else "")
            print(f"{len(lines):,} of {self.lines:,} translations look {problem}: line {numbers}", file=sys.stderr)
        if self.failures:
            shown = " ".join(f"Line {row['line']}: {row['problem']}" for row in self.failures[:SHOWN])
            raise GlossaError(
                f"{len(self.failures):,} of {self.lines:,} lines could not be translated; the others were. {shown}"
            )

    def _write(self, row: dict) -> None:
        if self.report is not None:
            print(json.dumps(row, ensure_ascii=False), file=self.report)


def _badness(row: dict) -> tuple[float, int]:
    """Sort key: translations without a score (empty ones) first, then the most improbable ones."""
    return row.get("token_score", -math.inf), row["line"]
