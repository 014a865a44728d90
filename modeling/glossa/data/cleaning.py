"""Raw rows to clean pairs, with counts of dropped rows by reason."""

import logging
from dataclasses import asdict, dataclass, field

import numpy
import xxhash
from datasets import Dataset, DatasetDict, Features, Value

from .. import sentences_glossa
from ..errors import GlossaError
from ..sentences_glossa import clean_text, split_text
from . import plausibility, readers, splitting
from .arguments import DataArguments
from .caching import cached_map
from .readers import CONTINUED, HEADER
from .splitting import normalize_side

logger = logging.getLogger(__name__)

OUTCOMES = ("kept", "malformed", "empty", "identical", "kept_out", "header", "continued")  # of a row, as numbers
KEPT, MALFORMED, EMPTY, IDENTICAL, KEPT_OUT, IS_HEADER, IS_CONTINUED = range(7)
EXAMPLES = 10
_CHECKED = Features(
    {"source": Value("string"), "target": Value("string"), "key": Value("uint64"), "outcome": Value("uint8")}
)


@dataclass
class DataReport:
    """Counts of the data preparation; `to_dict()` is JSON-serializable.

    Attributes:
        splits: Row counts by split and outcome. `read` (every line of a file) and `split` (rows added by
            `split_sentences`) are together malformed, empty, identical, duplicates, kept and, where there are any,
            kept_out, header and continued (further lines of a row of several lines). Later steps add more.
        malformed_rows: The first ten, each with file, line, reason and excerpt.
        sizes: Pairs by split.
        languages: The language of each side that most of a sample is in, by split; only of sides with a clear answer.
        overlap: Evaluation pairs that share a side with training, by split and side.
        fingerprints: A hash of the texts of each split, which a resumed run compares.
    """

    splits: dict[str, dict[str, int]] = field(default_factory=dict)
    malformed_rows: list[dict] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    languages: dict[str, dict[str, str]] = field(default_factory=dict)
    overlap: dict[str, dict[str, int]] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict:
        return asdict(self)


def clean(dataset: DatasetDict, arguments: DataArguments, sides: bool = True) -> tuple[DatasetDict, DataReport]:
    """Clean pairs (columns `source`, `target`) in their original order, and a report of what was dropped.

    Drops malformed rows, rows with an empty side, pairs with a side in `keep_out` and repeated pairs of a split; with
    `drop_identical` also training pairs with equal sides. With `split_sentences`, training rows are first split into
    pairs of sentences. Raises `GlossaError` if no pair is left, with `strict` at the first malformed row, and without
    `trust_data` if the data are implausible; `sides=False` says that source and target are the same text.
    """
    report = DataReport()
    cleaned = {split: _clean_split(split, rows, arguments, report, sides) for split, rows in dataset.items()}
    return DatasetDict(cleaned), report


def _clean_split(split: str, rows: Dataset, arguments: DataArguments, report: DataReport, sides: bool) -> Dataset:
    counts = {"read": len(rows)}
    if arguments.split_sentences and split == "train":
        rows = _split_rows(rows)
        counts["split"] = len(rows) - counts["read"]
    rules = {
        "drop_identical": arguments.drop_identical and split == "train",
        "keep_out": sorted(map(normalize_side, arguments.keep_out)),
    }
    checked = cached_map(
        rows,
        _check_rows,
        sorted(rules.items()),
        [sentences_glossa, readers, splitting],
        fn_kwargs=rules,
        remove_columns=rows.column_names,
        features=_CHECKED,
        desc=f"cleaning {split}",
    )
    outcome = checked.data.column("outcome").to_numpy()
    malformed = rows.select(numpy.flatnonzero(outcome == MALFORMED)[:EXAMPLES])
    examples = [
        {"file": row["file"], "line": row["line"], "reason": row["problem"], "excerpt": row["source"][:80]}
        for row in malformed
    ]
    if arguments.strict and examples:
        first = examples[0]
        raise GlossaError(
            f"{first['file']}, line {first['line']}: {first['reason']}: {first['excerpt']!r}. Correct the row, or set "
            "strict to false to drop such rows."
        )
    report.malformed_rows = (report.malformed_rows + examples)[:EXAMPLES]
    usable = numpy.flatnonzero(outcome == KEPT)
    _, earliest = numpy.unique(checked.data.column("key").to_numpy()[usable], return_index=True)
    kept = usable[numpy.sort(earliest)]
    reasons = [MALFORMED, EMPTY, IDENTICAL, *([KEPT_OUT] if arguments.keep_out else [])]
    reasons += [number for number in (IS_HEADER, IS_CONTINUED) if (outcome == number).any()]
    counts |= {OUTCOMES[number]: int((outcome == number).sum()) for number in reasons}
    counts |= {"duplicates": len(usable) - len(kept), "kept": len(kept)}
    report.splits[split] = counts
    logger.info("%s: %s", split, ", ".join(f"{count:,} {reason}" for reason, count in counts.items()))
    if examples:
        logger.warning("%s: %d malformed rows dropped, the first: %s", split, counts["malformed"], examples[0])
    if not len(kept):
        why = f" The first malformed row: {examples[0]}." if examples else ""
        raise GlossaError(
            f"No pair of the {split} split is left of {counts['read']} rows ({counts['malformed']} malformed, "
            f"{counts['empty']} with an empty side, {counts['identical']} identical).{why} Check the format and "
            "the languages."
        )
    pairs = checked.select_columns(["source", "target"]).select(kept)
    plausibility.check_malformed(split, counts, examples, arguments)
    if sides:
        sample = plausibility.sample(len(kept))
        found = plausibility.check_sides(split, pairs.select(sample), rows.select(kept[sample])["line"][:], arguments)
        report.languages |= {split: found} if found else {}
    return pairs


def _split_rows(rows: Dataset) -> Dataset:
    def split(batch: dict) -> dict:
        columns: dict[str, list] = {name: [] for name in batch}
        for row in zip(*batch.values(), strict=True):
            record = dict(zip(batch, row, strict=True))
            for source, target in _sentences(record):
                for name, value in (record | {"source": source, "target": target}).items():
                    columns[name].append(value)
        return columns

    return cached_map(rows, split, code=[sentences_glossa], features=rows.features, desc="splitting rows")


def _sentences(record: dict) -> list[tuple[str, str]]:
    if record["problem"]:
        return [(record["source"], record["target"])]
    sources, targets = split_text(record["source"])[0], split_text(record["target"])[0]
    if len(sources) != len(targets):
        return [(record["source"], record["target"])]
    return list(zip(sources, targets, strict=True))


def _check_rows(batch: dict, drop_identical: bool, keep_out: list[str]) -> dict:
    sources, targets = list(map(clean_text, batch["source"])), list(map(clean_text, batch["target"]))
    keys, outcomes = [], []
    for source, target, problem in zip(sources, targets, batch["problem"], strict=True):
        # Clean text has no line feed, so the key is unambiguous. Two different pairs among ten million share a 64-bit
        # hash with a probability of three in a million.
        keys.append(xxhash.xxh3_64_intdigest(f"{source}\n{target}".encode()))
        if problem:
            outcomes.append({HEADER: IS_HEADER, CONTINUED: IS_CONTINUED}.get(problem, MALFORMED))
        elif not source or not target:
            outcomes.append(EMPTY)
        elif keep_out and (normalize_side(source) in keep_out or normalize_side(target) in keep_out):
            outcomes.append(KEPT_OUT)
        else:
            outcomes.append(IDENTICAL if drop_identical and source == target else KEPT)
    return {"source": sources, "target": targets, "key": numpy.array(keys, dtype=numpy.uint64), "outcome": outcomes}
