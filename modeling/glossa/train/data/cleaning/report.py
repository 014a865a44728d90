"""The report of the data preparation: counts and examples."""

from dataclasses import asdict, dataclass, field

import numpy
import pyarrow.compute
from datasets import Dataset

EXAMPLES = 10  # of each reason and source
SHOWN = 3  # of these, in a terminal


@dataclass
class DataReport:
    """Counts of the data preparation; `to_dict()` is JSON-serializable.

    Attributes:
        splits: Row counts by split and outcome. `read` (every line of a file) and `split` (rows added by
            `split_sentences`) are together malformed, empty, identical, duplicates, kept and, if there are any,
            kept_out, overlap (with given evaluation pairs), header and continued (further lines of a row of several
            lines), and the filters that are on, by the names of their settings. `repaired` are among the kept. Later
            steps add more.
        sources: The same counts of the training rows by source; then the counts of its kept pairs in `train`,
            `validation` and `test`, the `weight`, and the rows `seen` in an epoch.
        malformed_rows: The first ten, each with file, line, reason and excerpt.
        examples: The first ten rows of every other reason in every source, likewise, with the excerpts of both sides.
        sizes: Pairs by split; in "train" rows that are seen twice in an epoch count twice.
        languages: The language of each side that most of a sample is in, by split; only of sides with a clear answer.
        overlap: Evaluation pairs that share a side with training, by split and side.
        stream: The `rows` of a stream, and how many of them are the `sample` that was prepared before training. Its
            counts stand in `splits` and `sources` until training ends, and then the counts of all rows read, with
            `seen` for the rows in batches.
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
        """Header and rows of the counts: a column for each source and each predefined split, a row for each outcome.

        Outcomes that are 0 everywhere are left out.
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
        """All examples, malformed rows first, with what is wrong with each."""
        malformed = [row | {"excerpt": f"{row['reason']}: {row['excerpt']}"} for row in self.malformed_rows]
        return ({"malformed": malformed} if malformed else {}) | self.examples


def _cell(count: int | float | None) -> str:
    return "" if count is None else f"{count:,}"


EXCERPT = 80  # characters of a side in an example


def files_of(rows: Dataset, chosen: numpy.ndarray, first: str = "") -> list[str]:
    """The file of each of the chosen raw rows; "" for rows that are of no file.

    `first` is the file that `rows` begin in, if they are a part of their source.
    """
    # Only the first row of a file, and rows with a problem, name it.
    files = rows.select_columns("file").with_format("arrow")[:]["file"]
    starts = numpy.flatnonzero(pyarrow.compute.not_equal(files, "").to_numpy(zero_copy_only=False))
    names = [first, *files.take(starts).to_pylist()]
    return [names[index] for index in numpy.searchsorted(starts, chosen, side="right")]


def places_of(rows: Dataset, chosen: numpy.ndarray) -> list[str]:
    """The place of each of the chosen rows, as "FILE, line N"."""
    return [f"{row['file']}, line {row['line']}" for row in examples_of(rows, chosen)]


def examples_of(
    rows: Dataset, chosen: numpy.ndarray, reason: str = "", source: str = "", first: str = ""
) -> list[dict]:
    """File, line, reason and excerpt of the chosen raw rows; with a `reason` that is not their problem, both sides.

    `first` is as in `files_of`.
    """
    if not len(chosen):
        return []
    found = zip(rows.select(chosen), files_of(rows, chosen, first), strict=True)
    return [example(row | {"file": name}, reason, source) for row, name in found]


def example(row: dict, reason: str = "", source: str = "") -> dict:
    """A row of the report: file, line, reason and excerpt; with a `reason` that is not its problem, both sides."""
    excerpt = row["source"][:EXCERPT] + (f" | {row['target'][:EXCERPT]}" if reason else "")
    place = {"source": source} if reason else {}
    return place | {"file": row["file"], "line": row["line"], "reason": reason or row["problem"], "excerpt": excerpt}
