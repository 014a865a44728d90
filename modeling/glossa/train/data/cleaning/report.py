"""The report of the data preparation: counts and examples."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy
import pyarrow.compute
from datasets import Dataset

EXAMPLES = 10  # maximum per reason and source
SHOWN = 3  # examples per reason in a terminal


@dataclass
class DataReport:
    """Counts and examples of the data preparation; `to_dict()` is JSON-serializable.

    Attributes:
        splits: Row counts by split and outcome. `read` (every line of a file) plus `split` (rows added by
            `split_sentences`) equals the sum of malformed, empty, identical, duplicates, kept and, if they occur,
            kept_out, overlap (with given evaluation pairs), header, continued (further lines of a row of several
            lines), and the active filters by name. `replay`, which also has the pairs of stages, has `not_drawn` and,
            for texts, `implausible`. `repaired` pairs are among the kept. Later steps add counts.
        sources: The same counts of training rows by source, the number of its kept pairs in `train`, `validation` and
            `test`, its `weight`, and the rows `seen` in an epoch.
        malformed_rows: The first ten malformed rows, each with file, line, reason and excerpt.
        examples: The first ten rows for every other reason and source, with excerpts of both sides.
        sizes: Pairs by split; training rows seen twice in an epoch count twice.
        languages: The main language of each side in a sample, by split, if it is clear.
        overlap: Evaluation pairs that share a side with training, by split and side.
        stream: The number of `rows` of a stream, and of those in the `sample` prepared before training. `splits` and
            `sources` have the counts of the sample until training ends, then those of all rows read, with the number
            of rows `seen` in batches.
        teachers: What translated training pairs, with its license, as [`Teacher`].
        fingerprints: A hash of the texts of each split, which a resumed run compares.
    """

    splits: dict[str, dict[str, int]] = field(default_factory=dict)
    sources: dict[str, dict[str, int | float]] = field(default_factory=dict)
    malformed_rows: list[dict] = field(default_factory=list)
    examples: dict[str, list[dict]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    languages: dict[str, dict[str, str]] = field(default_factory=dict)
    overlap: dict[str, dict[str, int]] = field(default_factory=dict)
    stream: dict[str, int] = field(default_factory=dict)
    teachers: list[dict[str, Any]] = field(default_factory=list)
    fingerprints: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict:
        return asdict(self)

    def add_counts(self, split: str, source: str, counts: dict[str, int]) -> None:
        """Add the row counts of one split of one source."""
        total = self.splits.setdefault(split, {})
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
        if split == "train":
            self.sources.setdefault(source, {}).update(counts)

    def add_examples(self, examples: dict[str, list[dict]]) -> None:
        """Add examples of dropped or repaired rows, by reason."""
        for reason, found in examples.items():
            self.examples[reason] = self.examples.get(reason, []) + found

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of a table of counts: a column per source and predefined split, a row per outcome.

        Outcomes that never occur are left out.
        """
        columns: dict[str, dict[str, int | float]] = dict(self.sources)
        if len(self.sources) > 1:
            columns["all"] = dict(self.splits["train"])
            for name in ("train", "validation", "test", "seen"):
                columns["all"][name] = sum(counts.get(name, 0) for counts in self.sources.values())
        columns |= {name: dict(counts) for name, counts in self.splits.items() if name != "train"}
        reasons = list(dict.fromkeys(reason for counts in columns.values() for reason in counts))
        reasons = [name for name in reasons if any(counts.get(name) for counts in columns.values())]
        cells = {name: [_cell(counts.get(name)) for counts in columns.values()] for name in reasons}
        return ["", *columns], [[name.replace("_", " "), *row] for name, row in cells.items()]

    def text(self) -> str:
        """The table, and examples of dropped and repaired rows, for a terminal."""
        header, rows = self.table()
        widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
        aligned = [
            "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip()
            for cells in (header, *rows)
        ]
        return "\n".join([*aligned, *(f"\n{title}\n{lines}" for title, lines in self._example_lines())])

    def _example_lines(self):
        for reason, found in self.examples_by_reason().items():
            lines = (
                f"  {row['file']}, line {row['line']}: {row['excerpt']}" for row in found[:: -(-len(found) // SHOWN)]
            )
            yield f"{reason.replace('_', ' ')}, for example:", "\n".join(lines)

    def examples_by_reason(self) -> dict[str, list[dict]]:
        """All examples, malformed rows first, with their problems."""
        malformed = [row | {"excerpt": f"{row['reason']}: {row['excerpt']}"} for row in self.malformed_rows]
        return ({"malformed": malformed} if malformed else {}) | self.examples


def _cell(count: int | float | None) -> str:
    return "" if count is None else f"{count:,}"


EXCERPT = 80  # characters per side in an example


def files_of(rows: Dataset, chosen: numpy.ndarray, first: str = "") -> list[str]:
    """The file of each of the chosen raw rows; "" for rows without a file.

    `first` is the file of the first row, if `rows` are a part of their source.
    """
    # Only the first row of a file, and rows with a problem, name it.
    files = rows.select_columns("file").with_format("arrow")[:]["file"]
    starts = numpy.flatnonzero(pyarrow.compute.not_equal(files, "").to_numpy(zero_copy_only=False))
    names = [first, *files.take(starts).to_pylist()]
    return [names[index] for index in numpy.searchsorted(starts, chosen, side="right")]


def places_of(rows: Dataset, chosen: numpy.ndarray) -> list[str]:
    """The location of each of the chosen rows, as "FILE, line N"."""
    return [f"{row['file']}, line {row['line']}" for row in examples_of(rows, chosen)]


def examples_of(
    rows: Dataset, chosen: numpy.ndarray, reason: str = "", source: str = "", first: str = ""
) -> list[dict]:
    """File, line, reason and excerpt of the chosen raw rows; both sides if `reason` is given instead of a problem.

    `first` is as in [`files_of`].
    """
    if not len(chosen):
        return []
    found = zip(rows.select(chosen), files_of(rows, chosen, first), strict=True)
    return [example(row | {"file": name}, reason, source) for row, name in found]


def example(row: dict, reason: str = "", source: str = "") -> dict:
    """A row of the report: file, line, reason and excerpt; both sides if `reason` is given instead of a problem."""
    excerpt = row["source"][:EXCERPT] + (f" | {row['target'][:EXCERPT]}" if reason else "")
    place = {"source": source} if reason else {}
    return place | {"file": row["file"], "line": row["line"], "reason": reason or row["problem"], "excerpt": excerpt}
