"""Raw rows to clean pairs, with counts of dropped rows by reason."""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import ftfy
import numpy
import xxhash
from datasets import Dataset, DatasetDict, Features, Value, concatenate_datasets

from ... import sentences_glossa
from ...errors import GlossaError
from ...sentences_glossa import clean_text, split_text
from .. import han_numbers, languages
from ..arguments import DataArguments
from ..caching import cached_map
from ..intake import readers
from ..intake.columns import CONTINUED, HEADER, OTHER_LANGUAGE, OTHER_VARIANT, UNTRANSLATED, set_aside
from ..prepared import prepared_folder
from . import filters, plausibility, splitting
from .alignment import aligned_rows
from .report import EXAMPLES, DataReport, examples_of, files_of, places_of
from .splitting import excluded_sides, held_out_sides, normalize_side, without_digits

logger = logging.getLogger(__name__)

# Rows that are not pairs, although they are not malformed.
ASIDE = {
    HEADER: "header", CONTINUED: "continued", UNTRANSLATED: "untranslated", OTHER_LANGUAGE: "other_language",
    OTHER_VARIANT: "other_variant",
}  # fmt: skip
UNITS = (UNTRANSLATED, OTHER_LANGUAGE)  # of which an example is shown if no pair is left
# Outcomes of a row, as numbers.
OUTCOMES = ("kept", "malformed", "empty", "identical", "kept_out", *ASIDE.values(), "exclude", "overlap")
OUTCOMES += filters.NAMES
KEPT, MALFORMED, EMPTY, IDENTICAL, KEPT_OUT = range(5)
EXCLUDED, OVERLAP = (OUTCOMES.index(name) for name in ("exclude", "overlap"))
CODE = (sentences_glossa, readers, splitting, filters, plausibility, languages, han_numbers)  # that `check_rows` calls
_CHECKED = {"source": Value("string"), "target": Value("string"), "key": Value("uint64"), "outcome": Value("uint8")}


@dataclass
class Loaded:
    """The raw rows of one source: its name in the report, its splits, its settings, and its target language or ""."""

    name: str
    splits: DatasetDict
    settings: DataArguments
    language: str = ""


@dataclass
class _Seen:
    """The hashes of the pairs of a split so far."""

    keys: dict[str, numpy.ndarray] = field(default_factory=dict)

    def first(self, kind: str, keys: numpy.ndarray) -> numpy.ndarray:
        """The places of the keys that are new, each once, in order; they are then known."""
        unique, earliest = numpy.unique(keys, return_index=True)
        if kind in self.keys:
            new = ~numpy.isin(unique, self.keys[kind], assume_unique=True)
            self.keys[kind] = numpy.union1d(self.keys[kind], unique)
            return numpy.sort(earliest[new])
        self.keys[kind] = unique
        return numpy.sort(earliest)


def clean(
    dataset: DatasetDict, arguments: DataArguments, sides: bool = True, repeated: bool = False
) -> tuple[DatasetDict, DataReport]:
    """Like `clean_sources`, for the rows of one source."""
    return clean_sources([Loaded(arguments.dataset, dataset, arguments)], sides, repeated)


def clean_sources(
    sources: Sequence[Loaded], sides: bool = True, repeated: bool = False
) -> tuple[DatasetDict, DataReport]:
    """Clean pairs (columns `source`, `target`) of all sources, in their order, and a report of what was dropped.

    Held-out pairs also have the column `file`: the file of their row, or the name of a source without files.

    Drops malformed rows, rows with an empty side, pairs with a side in `keep_out` and, unless `repeated` is set,
    repeated pairs of a split, including pairs of an earlier source. From training it also drops pairs that a filter
    rejects, with `drop_identical` pairs with equal sides, and without `keep_overlap` pairs that share a side with an
    evaluation pair of any source. With `split_sentences`, training rows are first split into pairs of sentences.
    Raises `GlossaError` if no pair of a source is left, with `strict` at the first malformed row, and without
    `trust_data` if the data are implausible; `sides=False` says that source and target are the same text. Sources with
    a `language` keep it in a column of this name, and only pairs of the same language count as repeated.
    """
    report, cleaned, held_out = DataReport(), {}, evaluation_sides(sources)
    for split in dict.fromkeys(split for source in sources for split in source.splits):
        seen: dict[str, _Seen] = defaultdict(_Seen)  # by language
        parts = []
        for source in (source for source in sources if split in source.splits):
            title = f"{source.name}, {split}" if len(sources) > 1 else split
            known = None if repeated else seen[source.language]
            part = _clean_split(split, source, title, report, known, held_out, sides)
            parts.append(_with_language(part, source.language) if source.language else part)
        cleaned[split] = concatenate_datasets(parts) if len(parts) > 1 else parts[0]
    return DatasetDict(cleaned), report


def evaluation_sides(sources: Sequence[Loaded]) -> frozenset[int]:
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


def _with_language(pairs: Dataset, language: str) -> Dataset:
    options: dict[str, Any] = {"input_columns": "source", "fn_kwargs": {"language": language}}
    return cached_map(pairs, _add_language, language, desc="adding the language", **options)


def _add_language(sources: list[str], language: str) -> dict:
    return {"language": [language] * len(sources)}


def _clean_split(
    split: str,
    source: Loaded,
    title: str,
    report: DataReport,
    seen: _Seen | None,
    held_out: frozenset[int],
    sides: bool,
) -> Dataset:
    rows, arguments = source.splits[split], source.settings
    counts = {"read": len(rows)}
    if split == "train" and arguments.keep_overlap and prepared_folder(arguments.data_path):
        logger.info("%s: %s pairs, prepared, not cleaned again", title, f"{len(rows):,}")
        report.add_counts(split, source.name, counts | {"kept": len(rows)})
        return rows.remove_columns([name for name in ("line", "problem", "file") if name in rows.column_names])
    if arguments.split_sentences and split == "train":
        rows = _split_rows(rows)
        counts["split"] = len(rows) - counts["read"]
    rules = rules_of(arguments, split == "train", held_out)
    checked = _checked(rows, rules, title)
    outcome = checked.data.column("outcome").to_numpy()
    examples = examples_of(rows, numpy.flatnonzero(outcome == MALFORMED)[:EXAMPLES])
    if arguments.strict and examples:
        _refuse(examples[0])
    outcomes = counted(outcome)
    if not outcomes.get("kept"):
        others = numpy.flatnonzero(numpy.isin(outcome, [OUTCOMES.index(ASIDE[kind]) for kind in UNITS]))[:1]
        where = f"{split} split{f' of {source.name}' * (title != split)}"
        refuse_nothing(where, counts["read"], outcomes, examples or examples_of(rows, others))
    dropped = {
        name: numpy.flatnonzero(outcome == OUTCOMES.index(name)) for name in reasons(arguments, rules, outcomes)
    }
    aligned = arguments.filter_alignment and split == "train"
    kept = _among_themselves(checked, numpy.flatnonzero(outcome == KEPT), dropped, seen, title if aligned else "")
    counts |= {reason: len(found) for reason, found in dropped.items()} | {"kept": len(kept)}
    if rules["repair_text"]:
        dropped["repaired"] = kept[checked.data.column("repaired").to_numpy(zero_copy_only=False)[kept]]
        counts["repaired"] = len(dropped["repaired"])
    report.add_counts(split, source.name, counts)
    report.malformed_rows = (report.malformed_rows + examples)[:EXAMPLES]
    for reason, found in dropped.items():
        if len(found) and reason not in ("malformed", *ASIDE.values()):
            own = examples_of(rows, found[:EXAMPLES], reason, source.name)
            report.examples[reason] = report.examples.get(reason, []) + own
    _log(title, counts, examples)
    pairs = checked.select_columns(["source", "target"]).select(kept)
    if split != "train":
        files = [name or source.name for name in files_of(rows, kept)]
        pairs = pairs.add_column("file", files, feature=Value("string"))
    plausibility.check_malformed(split, counts, examples, arguments)
    if sides and len(kept):
        sample = plausibility.sample(len(kept))
        clear = plausibility.check_sides(pairs.select(sample), places_of(rows, kept[sample]), arguments)
        report.languages |= {split: clear} if clear else {}
    return pairs


def _refuse(row: dict) -> NoReturn:
    raise GlossaError(
        f"{row['file']}, line {row['line']}: {row['reason']}: {row['excerpt']!r}. Correct the row, or set strict to "
        "false to drop such rows."
    )


def _among_themselves(
    checked: Dataset, kept: numpy.ndarray, dropped: dict[str, numpy.ndarray], seen: _Seen | None, alignment_title: str
) -> numpy.ndarray:
    """The `kept` rows that repeat no pair of `seen` and, with a title, are aligned; adds to `dropped`."""
    for kind, reason in (("key", "duplicates"), ("near", "near_duplicates")):
        if seen is not None and kind in checked.column_names:
            new = kept[seen.first(kind, checked.data.column(kind).to_numpy()[kept])]
            dropped[reason], kept = numpy.setdiff1d(kept, new, assume_unique=True), new
    if alignment_title:
        aligned = aligned_rows(checked.select_columns(["source", "target"]).select(kept), alignment_title)
        dropped["filter_alignment"], kept = kept[~aligned], kept[aligned]
    return kept


def _log(title: str, counts: dict[str, int], examples: list[dict]) -> None:
    logger.info("%s: %s", title, ", ".join(f"{count:,} {reason}" for reason, count in counts.items()))
    if examples:
        logger.warning("%s: %d malformed rows dropped, the first: %s", title, counts["malformed"], examples[0])
    if not counts["kept"]:
        filtered = counts.get("filter_alignment", 0) > 0
        why = "no pair is left after filter_alignment" if filtered else "every pair is also in an earlier source"
        logger.warning("%s: %s.", title, why)


def counted(outcome: numpy.ndarray) -> dict[str, int]:
    """The rows of each outcome that occurs, by its name."""
    counts = numpy.bincount(outcome, minlength=len(OUTCOMES))
    return {name: int(count) for name, count in zip(OUTCOMES, counts, strict=True) if count}


def refuse_nothing(where: str, read: int, found: dict[str, int], examples: list[dict]) -> None:
    """Raise `GlossaError`: of the `read` rows with these outcomes no pair is left."""
    why = f" The first row without a pair: {examples[0]}." if examples else ""
    filtered = "".join(f", {found[name]} {name}" for name in OUTCOMES[IDENTICAL + 1 :] if name in found)
    advice = "Check the format and the languages"
    if "overlap" in found:
        advice += ", or set keep_overlap to true: pairs that occur in the evaluation pairs are then kept"
    raise GlossaError(
        f"No pair of the {where} is left of {read} rows ({found.get('malformed', 0)} malformed, "
        f"{found.get('empty', 0)} with an empty side, {found.get('identical', 0)} identical{filtered}).{why} "
        f"{advice}."
    )


def reasons(arguments: DataArguments, rules: dict[str, Any], found: dict[str, int]) -> list[str]:
    """The reasons that the report has: the first three always, the others if their setting is on or they occur."""
    names = ["malformed", "empty", "identical", *(["kept_out"] if rules["keep_out"] else [])]
    names += [name for name in ASIDE.values() if name in found]
    names += [name for name in ("exclude", "overlap") if rules[name]]
    chosen = (name for name in filters.NAMES if name in rules["chosen"])
    return names + [name for name in chosen if getattr(arguments, name) or name in found]


def rules_of(arguments: DataArguments, training: bool, held_out: frozenset[int] = frozenset()) -> dict[str, Any]:
    """The arguments of `check_rows` for a split; training pairs have no side in `held_out`, 64-bit hashes.

    Held-out pairs are not filtered: easy pairs would score too high.
    """
    longest = {"max_characters": filters.CHARACTERS * arguments.max_length}
    return {
        "drop_identical": arguments.drop_identical and training,
        "keep_out": sorted(map(normalize_side, arguments.keep_out)),
        "repair_text": arguments.repair_text and training,
        "near_duplicates": arguments.near_duplicates and training,
        "exclude": excluded_sides(arguments) if training else frozenset(),
        "overlap": held_out if training else frozenset(),
        "chosen": longest | filters.settings(arguments) if training else {},
    }


def _checked(rows: Dataset, rules: dict[str, Any], title: str) -> Dataset:
    """The rows with clean text, the hashes of the pair, and its outcome."""
    features = _CHECKED | ({"near": Value("uint64")} if rules["near_duplicates"] else {})
    features |= {"repaired": Value("bool")} if rules["repair_text"] else {}
    return cached_map(
        rows,
        check_rows,
        stamp_of(rules),
        CODE,
        fn_kwargs=rules,
        remove_columns=rows.column_names,
        features=Features(features),
        desc=f"cleaning {title}",
    )


def stamp_of(rules: dict[str, Any]) -> list:
    """What the result of `check_rows` depends on besides the rows: the rules, their large sets as hashes."""
    hashes = {name: repr(sorted(rules[name])).encode() for name in ("exclude", "overlap")}
    return sorted((rules | {name: xxhash.xxh3_128_hexdigest(text) for name, text in hashes.items()}).items())


def _split_rows(rows: Dataset) -> Dataset:
    return cached_map(rows, split_batch, code=[sentences_glossa], features=rows.features, desc="splitting rows")


def split_batch(batch: dict) -> dict:
    """The rows of a batch, those with equally many sentences on both sides as one row for each."""
    columns: dict[str, list] = {name: [] for name in batch}
    for row in zip(*batch.values(), strict=True):
        record = dict(zip(batch, row, strict=True))
        for source, target in _sentences(record):
            for name, value in (record | {"source": source, "target": target}).items():
                columns[name].append(value)
    return columns


def _sentences(record: dict) -> list[tuple[str, str]]:
    if record["problem"]:
        return [(record["source"], record["target"])]
    sources, targets = split_text(record["source"])[0], split_text(record["target"])[0]
    if len(sources) != len(targets):
        return [(record["source"], record["target"])]
    return list(zip(sources, targets, strict=True))


def check_rows(
    batch: dict,
    drop_identical: bool,
    keep_out: list[str],
    repair_text: bool,
    near_duplicates: bool,
    exclude: frozenset[int],
    overlap: frozenset[int],
    chosen: dict[str, Any],
) -> dict:
    """The clean text of a batch of raw rows, the hashes of the pairs, and their outcome, as a number of `OUTCOMES`."""
    columns: dict[str, Any] = {side: batch[side] for side in ("source", "target")}
    if repair_text:
        repaired = {side: list(map(_repaired, texts)) for side, texts in columns.items()}
        changed = [
            (first, second) != (one, other) and not problem
            for first, second, one, other, problem in zip(
                *columns.values(), *repaired.values(), batch["problem"], strict=True
            )
        ]
        columns = repaired | {"repaired": changed}
    sources, targets = list(map(clean_text, columns["source"])), list(map(clean_text, columns["target"]))
    tests, keys, nears, outcomes = _tests(chosen), [], [], []
    for source, target, problem in zip(sources, targets, batch["problem"], strict=True):
        # Clean text has no line feed, so the key is unambiguous. Two different pairs among ten million share a 64-bit
        # hash with a probability of three in a million.
        keys.append(_hash(f"{source}\n{target}"))
        if problem:
            aside = ASIDE.get(set_aside(problem))
            outcomes.append(OUTCOMES.index(aside) if aside else MALFORMED)
            sides = ("", "")
        elif not source or not target:
            outcomes.append(EMPTY)
            sides = ("", "")
        else:
            needed = near_duplicates or exclude or overlap or keep_out
            sides = (normalize_side(source), normalize_side(target)) if needed else ("", "")
            if keep_out and (sides[0] in keep_out or sides[1] in keep_out):
                outcomes.append(KEPT_OUT)
            elif drop_identical and source == target:
                outcomes.append(IDENTICAL)
            elif exclude and (_hash(sides[0]) in exclude or _hash(sides[1]) in exclude):
                outcomes.append(EXCLUDED)
            elif overlap and (_hash(sides[0]) in overlap or _hash(sides[1]) in overlap):
                outcomes.append(OVERLAP)
            else:
                outcomes.append(next((number for number, test in tests if test(source, target)), KEPT))
        if near_duplicates:
            nears.append(_hash("\n".join(map(without_digits, sides))))
    if "filter_language" in chosen:  # the last test, of all rows at once
        for row in filters.in_other_language(sources, targets, chosen["languages"], numpy.equal(outcomes, KEPT)):
            outcomes[row] = OUTCOMES.index("filter_language")
    columns |= {
        "source": sources,
        "target": targets,
        "key": numpy.array(keys, dtype=numpy.uint64),
        "outcome": outcomes,
    }
    return columns | ({"near": numpy.array(nears, dtype=numpy.uint64)} if near_duplicates else {})


def _tests(chosen: dict[str, Any]) -> list[tuple[int, Callable[[str, str], bool]]]:
    return [(OUTCOMES.index(name), test) for name, test in filters.tests(chosen) if name != "filter_language"]


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def _repaired(text: str) -> str:
    return text if text.isascii() else ftfy.fix_encoding(text)
