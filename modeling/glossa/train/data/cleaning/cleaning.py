"""Cleaning of pairs, at once for training or in stages for `glossa prepare`.

The steps in order:

1. Rows are split into pairs of sentences, with `split_sentences`, and each row is checked separately, see `rows.py`.
   Up to here, processing is block by block.
2. Rows are counted ([`count_rows`]). It is an error if too many are malformed, with `strict` a single one, or if no
   pair is left.
3. Duplicates among all sources are dropped, first equal pairs and then near duplicates ([`repeated_pairs`]).
4. Unaligned pairs are dropped, separately for each source.
5. The remaining pairs are counted ([`count_pairs`]), and a sample of them must be plausible ([`check_sample`]).

For a stream, steps 1 and 2 apply to all rows, and the others only to the sample of its rows.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy
import xxhash
from datasets import Dataset, DatasetDict, Features, Value, concatenate_datasets

from ....base.caching import cached_map
from ....base.errors import GlossaError
from ..arguments import DataArguments
from ..prepared import prepared_folder
from . import filters, plausibility
from .alignment import aligned_rows
from .report import EXAMPLES, DataReport, examples_of, files_of, places_of
from .rows import CODE, KEPT, OUTCOMES, SET_ASIDE, UNITS, Rules, check_rows, counted, rules_of, split_rows
from .splitting import held_out_sides

logger = logging.getLogger(__name__)

ALWAYS = ("malformed", "empty", "identical")  # reasons in every report
DEPENDENT = ("duplicates", "near_duplicates", "alignment")  # reasons that depend on other pairs
_CHECKED = {"source": Value("string"), "target": Value("string"), "key": Value("uint64"), "outcome": Value("uint8")}


@dataclass
class LoadedSource:
    """The raw rows of a source: its name in the report, its splits, its settings, and its target language or ""."""

    name: str
    splits: DatasetDict
    settings: DataArguments
    language: str = ""


@dataclass(frozen=True)
class Cleaning:
    """The rules and settings that clean one split of a source.

    Attributes:
        name: The name of the source.
        settings: The settings of the source.
        rules: The checks of separate rows.
        language: The target language if there are several; duplicates are only pairs of the same language.
        split: "train", "validation" or "test".
        several: Whether there are other sources.
    """

    name: str
    settings: DataArguments
    rules: Rules
    language: str = ""
    split: str = "train"
    several: bool = False

    @classmethod
    def of(cls, source: LoadedSource, split: str, held_out: frozenset[int], several: bool) -> "Cleaning":
        """Create it for a split of `source`; `held_out` has hashes of sides to exclude from training pairs."""
        rules = rules_of(source.settings, split == "train", held_out)
        return cls(source.name, source.settings, rules, source.language, split, several)

    @property
    def title(self) -> str:
        """The title of its progress bar."""
        return f"{self.name}, {self.split}" if self.several else self.split

    def apart(self, hashes: numpy.ndarray) -> numpy.ndarray:
        """Mix the target language into hashes of pairs, so that equal pairs of two languages differ."""
        language = xxhash.xxh3_64_intdigest(self.language.encode()) if self.language else 0
        return numpy.bitwise_xor(hashes, numpy.uint64(language))


def clean(
    dataset: DatasetDict, arguments: DataArguments, sides: bool = True, repeated: bool = False
) -> tuple[DatasetDict, DataReport]:
    """Like `clean_sources`, for the rows of one source."""
    return clean_sources([LoadedSource(arguments.dataset, dataset, arguments)], sides, repeated)


def clean_sources(
    sources: Sequence[LoadedSource], sides: bool = True, repeated: bool = False
) -> tuple[DatasetDict, DataReport]:
    """Clean pairs (columns `source`, `target`) of all sources, in order; returns them with a report.

    Held-out pairs also have the column `file`: the file of their row, or the name of a source without files.

    Drops malformed rows, rows with an empty side, pairs with a side in `keep_out` and, unless `repeated` is set,
    duplicates within a split, including pairs of an earlier source. From training it also drops pairs rejected by a
    filter, and without `keep_overlap` pairs that share a side with an evaluation pair of any source. With
    `split_sentences`, training rows are first split into pairs of sentences. Sources with a `language` have it in a
    column of this name, and only pairs of the same language count as duplicates. With `sides=False`, source and target
    are the same text. Raises `GlossaError` if no pair of a source is left, with `strict` for the first malformed row,
    and without `trust_data` if the data are implausible.
    """
    report, cleaned, held_out = DataReport(), {}, evaluation_sides(sources)
    for split in dict.fromkeys(split for source in sources for split in source.splits):
        given = [source for source in sources if split in source.splits]
        parts = [
            None if _is_prepared(source, split) else _check_part(source, split, held_out, len(sources) > 1, report)
            for source in given
        ]
        if not repeated:
            _drop_repeated([part for part in parts if part is not None])
        found = []
        for source, part in zip(given, parts, strict=True):
            pairs = _as_prepared(source, report) if part is None else _finish(part, sides, report)
            found.append(_with_language(pairs, source.language) if source.language else pairs)
        cleaned[split] = concatenate_datasets(found) if len(found) > 1 else found[0]
    return DatasetDict(cleaned), report


def evaluation_sides(sources: Sequence[LoadedSource]) -> frozenset[int]:
    """The 64-bit hashes of the normalized sides of all evaluation pairs that training must not share."""
    found: frozenset[int] = frozenset()
    for source in sources:
        for split, rows in source.splits.items() if not source.settings.keep_overlap else ():
            if split != "train":
                checked = _checked(rows, rules_of(source.settings, False), split)
                kept = numpy.flatnonzero(checked.data.column("outcome").to_numpy() == KEPT)
                pairs = checked.select_columns(["source", "target"]).select(kept)
                found |= held_out_sides(DatasetDict({split: pairs}))
    return found


def _checked(rows: Dataset, rules: Rules, title: str) -> Dataset:
    """The rows with clean text, hashes of the pair, and outcome; cached."""
    features = _CHECKED | ({"near": Value("uint64")} if rules.near_duplicates else {})
    features |= {"repaired": Value("bool")} if rules.repair_text else {}
    return cached_map(
        rows,
        check_rows,
        rules.stamp(),
        CODE,
        fn_kwargs={"rules": rules},
        remove_columns=rows.column_names,
        features=Features(features),
        desc=f"cleaning {title}",
    )


def _is_prepared(source: LoadedSource, split: str) -> bool:
    """Whether the pairs were cleaned by `glossa prepare`, and need not be compared with other evaluation pairs."""
    settings = source.settings
    return split == "train" and settings.keep_overlap and prepared_folder(settings.data_path) is not None


def _as_prepared(source: LoadedSource, report: DataReport) -> Dataset:
    rows = source.splits["train"]
    logger.info("%s: %s pairs, prepared, not cleaned again", source.name, f"{len(rows):,}")
    report.add_counts("train", source.name, {"read": len(rows), "kept": len(rows)})
    return rows.remove_columns([name for name in ("line", "problem", "file") if name in rows.column_names])


def _with_language(pairs: Dataset, language: str) -> Dataset:
    options: dict[str, Any] = {"input_columns": "source", "fn_kwargs": {"language": language}}
    return cached_map(pairs, _add_language, language, desc="adding the language", **options)


def _add_language(sources: list[str], language: str) -> dict:
    return {"language": [language] * len(sources)}


@dataclass
class _Part:
    """A split of a source: its rows, the results of the checks, the indices of kept rows, and the counts."""

    cleaning: Cleaning
    rows: Dataset
    checked: Dataset
    kept: numpy.ndarray
    counts: dict[str, int]
    dropped: dict[str, numpy.ndarray] = field(default_factory=dict)

    def hashes(self, name: str) -> numpy.ndarray:
        """A column of hashes of the kept pairs."""
        return self.cleaning.apart(self.checked.data.column(name).to_numpy()[self.kept])

    def drop(self, reason: str, places: numpy.ndarray) -> None:
        """Record the pairs at these places among the kept ones as dropped for `reason`."""
        self.dropped[reason] = self.kept[places]


def _check_part(
    source: LoadedSource, split: str, held_out: frozenset[int], several: bool, report: DataReport
) -> _Part:
    cleaning, given = Cleaning.of(source, split, held_out, several), source.splits[split]
    rows = split_rows(given, cleaning.rules)
    checked = _checked(rows, cleaning.rules, cleaning.title)
    outcome = checked.data.column("outcome").to_numpy()
    counts = count_rows(report, cleaning, [judged(cleaning, rows, outcome, len(given))])
    return _Part(cleaning, rows, checked, numpy.flatnonzero(outcome == KEPT), counts)


def _drop_repeated(parts: Sequence[_Part]) -> None:
    if not parts:
        return
    keys = [part.hashes("key") for part in parts]
    nears = [
        part.hashes("near") if part.cleaning.rules.near_duplicates else own
        for part, own in zip(parts, keys, strict=True)
    ]
    rows, near = repeated_pairs(numpy.concatenate(keys), numpy.concatenate(nears))
    starts = numpy.cumsum([0, *map(len, keys)])
    for part, (low, high), start in zip(parts, pairwise(numpy.searchsorted(rows, starts)), starts, strict=False):
        places, nearly = rows[low:high] - start, near[low:high]
        part.drop("duplicates", places[~nearly])
        if part.cleaning.rules.near_duplicates:
            part.drop("near_duplicates", places[nearly])
        part.kept = numpy.delete(part.kept, places)


def _finish(part: _Part, sides: bool, report: DataReport) -> Dataset:
    """The remaining pairs of a split."""
    cleaning, both = part.cleaning, part.checked.select_columns(["source", "target"])
    if cleaning.split == "train" and "alignment" in cleaning.settings.filters:
        aligned = aligned_rows(both.select(part.kept), cleaning.title)
        part.drop("alignment", ~aligned)
        part.kept = part.kept[aligned]
    repaired = part.kept[:0]
    if cleaning.rules.repair_text:
        repaired = part.kept[part.checked.data.column("repaired").to_numpy(zero_copy_only=False)[part.kept]]
    result = judged_pairs(
        part.dropped, len(part.kept), repaired, lambda rows, why: examples_of(part.rows, rows, why, cleaning.name)
    )
    count_pairs(report, cleaning, part.counts, [result])
    pairs = both.select(part.kept)
    if cleaning.split != "train":
        files = [name or cleaning.name for name in files_of(part.rows, part.kept)]
        pairs = pairs.add_column("file", files, feature=Value("string"))
    if sides and len(pairs):
        sample = plausibility.sample(len(pairs))
        check_sample(report, cleaning, pairs.select(sample), places_of(part.rows, part.kept[sample]))
    return pairs


def judged(cleaning: Cleaning, rows: Dataset, outcome: numpy.ndarray, read: int, file: str = "") -> dict:
    """Count the outcomes of a block of `read` rows, with examples of each.

    `file` is the file of the first row, if the rows are a part of their source.
    """
    examples = {}
    for number, name in enumerate(OUTCOMES):
        chosen = numpy.flatnonzero(outcome == number)[:EXAMPLES]
        if number != KEPT and len(chosen):
            own = name == "malformed" or name in SET_ASIDE.values()  # the row has a problem
            examples[name] = examples_of(rows, chosen, "" if own else name, cleaning.name, file)
    return {"read": read, "rows": len(outcome), "outcomes": counted(outcome), "examples": examples}


def judged_pairs(
    dropped: dict[str, numpy.ndarray],
    kept: int,
    repaired: numpy.ndarray,
    examples: Callable[[numpy.ndarray, str], list[dict]],
) -> dict:
    """Count the pairs of a block after the steps that compare pairs, with examples from `examples`."""
    found = {reason: rows for reason, rows in (dropped | {"repaired": repaired}).items() if len(rows)}
    return {
        "counts": {reason: len(rows) for reason, rows in dropped.items()},
        "kept": kept,
        "repaired": len(repaired),
        "examples": {reason: examples(rows[:EXAMPLES], reason) for reason, rows in found.items()},
    }


def count_rows(report: DataReport, cleaning: Cleaning, results: Sequence[dict]) -> dict[str, int]:
    """Add the counts of separately checked rows, from `results` of [`judged`], to the report; returns the counts.

    Raises `GlossaError` if no pair is left, too many rows are malformed or, with `strict`, one is.
    """
    outcomes: Counter = Counter()
    for result in results:
        outcomes.update(result["outcomes"])
    examples = _merged(results)
    malformed = examples.pop("malformed", [])
    if cleaning.settings.strict and malformed:
        refuse_row(malformed[0])
    counts = {"read": sum(result["read"] for result in results)}
    if not outcomes["kept"]:
        first = malformed or [row for kind in UNITS for row in examples.get(SET_ASIDE[kind], [])]
        _refuse_nothing(cleaning, counts["read"], dict(+outcomes), first)
    if cleaning.rules.split:
        counts["split"] = sum(result["rows"] for result in results) - counts["read"]
    counts |= {name: outcomes[name] for name in _reasons(cleaning, dict(+outcomes))}
    report.add_counts(cleaning.split, cleaning.name, counts)
    report.malformed_rows = (report.malformed_rows + malformed)[:EXAMPLES]
    report.add_examples(
        {name: examples[name] for name in counts if name in examples and name not in SET_ASIDE.values()}
    )
    if malformed:
        logger.warning(
            "%s: %d malformed rows dropped, the first: %s", cleaning.title, counts["malformed"], malformed[0]
        )
    plausibility.check_malformed(cleaning.split, counts, malformed, cleaning.settings)
    return counts


def count_pairs(report: DataReport, cleaning: Cleaning, counts: dict[str, int], results: Sequence[dict]) -> None:
    """Add the counts of steps that compare pairs, from `results` of [`judged_pairs`], to the report."""
    found: Counter = Counter()
    for result in results:
        found.update(result["counts"])
    later = {reason: found[reason] for reason in DEPENDENT if reason in found}
    later["kept"] = sum(result["kept"] for result in results)
    if cleaning.rules.repair_text:
        later["repaired"] = sum(result["repaired"] for result in results)
    report.add_counts(cleaning.split, cleaning.name, later)
    examples = _merged(results)
    report.add_examples({reason: examples[reason] for reason in later if reason in examples})
    numbers = ", ".join(f"{count:,} {reason}" for reason, count in (counts | later).items())
    logger.info("%s: %s", cleaning.title, numbers)
    if not later["kept"]:
        filtered = later.get("alignment", 0) > 0
        why = "no pair is left after filters.alignment" if filtered else "every pair is also in an earlier source"
        logger.warning("%s: %s.", cleaning.title, why)


def check_sample(report: DataReport, cleaning: Cleaning, pairs: Dataset, places: list[str]) -> None:
    """Check a sample of the remaining pairs with [`glossa.train.data.cleaning.plausibility.check_sides`]."""
    clear = plausibility.check_sides(pairs, places, cleaning.settings)
    report.languages |= {cleaning.split: clear} if clear else {}


def repeated_pairs(
    keys: numpy.ndarray, groups: numpy.ndarray, rows: numpy.ndarray | None = None
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The pairs to drop, in ascending order, and whether each is only a near duplicate.

    Of pairs with equal `keys`, the first is kept; of the remaining ones, the first in each of the `groups`. `rows` has
    the numbers of the pairs, by default from 0.
    """
    if rows is None:
        rows, order = numpy.arange(len(keys)), numpy.argsort(keys, kind="stable")
    else:
        order = numpy.lexsort((rows, keys))
    repeated = order[1:][keys[order][1:] == keys[order][:-1]]
    first = numpy.setdiff1d(order, repeated, assume_unique=True)
    first = first[numpy.lexsort((rows[first], groups[first]))]
    near = first[1:][groups[first][1:] == groups[first][:-1]]
    dropped = rows[numpy.concatenate([repeated, near])]
    order = numpy.argsort(dropped)
    return dropped[order], (numpy.arange(len(dropped)) >= len(repeated))[order]


def _merged(results: Sequence[dict]) -> dict[str, list[dict]]:
    """The first examples of each reason."""
    found: dict[str, list[dict]] = {}
    for result in results:
        for reason, examples in result["examples"].items():
            found[reason] = (found.get(reason, []) + examples)[:EXAMPLES]
    return found


def refuse_row(row: dict) -> NoReturn:
    """Raise `GlossaError` for a malformed row, as in the report."""
    raise GlossaError(
        f"{row['file']}, line {row['line']}: {row['reason']}: {row['excerpt']!r}. Correct the row, or set strict to "
        "false to drop such rows."
    )


def _refuse_nothing(cleaning: Cleaning, read: int, found: dict[str, int], examples: list[dict]) -> NoReturn:
    where = f"{cleaning.split} split{f' of {cleaning.name}' * cleaning.several}"
    why = f" The first row without a pair: {examples[0]}." if examples else ""
    filtered = "".join(f", {count} {name}" for name, count in found.items() if name not in ALWAYS)
    advice = "Check the format and the languages"
    if "overlap" in found:
        advice += ", or set keep_overlap to true: pairs that occur in the evaluation pairs are then kept"
    raise GlossaError(
        f"No pair of the {where} is left of {read} rows ({found.get('malformed', 0)} malformed, "
        f"{found.get('empty', 0)} with an empty side, {found.get('identical', 0)} identical{filtered}).{why} "
        f"{advice}."
    )


def _reasons(cleaning: Cleaning, found: dict[str, int]) -> list[str]:
    """The reasons in the report: `ALWAYS`, and others if their setting is active or they occur."""
    rules = cleaning.rules
    given = {"kept_out": rules.keep_out, "exclude": rules.exclude, "overlap": rules.overlap}
    on = {*ALWAYS, *found, *(name for name, values in given.items() if values)} - {"kept"}
    on |= {name for name in filters.NAMES if name in (rules.chosen or {}) and name in cleaning.settings.filters}
    return [*ALWAYS, *(name for name in OUTCOMES if name in on and name not in ALWAYS)]
