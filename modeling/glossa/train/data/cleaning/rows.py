"""Checks of separate rows, applied to a block of rows."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import ftfy
import numpy
import xxhash
from datasets import Dataset

from ....base import han_numbers, languages, number_words, numbers, same_numbers
from ....base.caching import cached_map
from ....model import sentences_glossa
from ....model.sentences_glossa import clean_text, split_text
from ....readers import reading as readers
from ....readers.columns import CONTINUED, HEADER, OTHER_LANGUAGE, OTHER_VARIANT, UNTRANSLATED, set_aside
from ..arguments import DataArguments
from . import filters, plausibility, splitting
from .splitting import excluded_sides, normalize_side, without_digits

# Rows that are not pairs, but not malformed.
SET_ASIDE = {
    HEADER: "header", CONTINUED: "continued", UNTRANSLATED: "untranslated", OTHER_LANGUAGE: "other_language",
    OTHER_VARIANT: "other_variant",
}  # fmt: skip
UNITS = (UNTRANSLATED, OTHER_LANGUAGE)  # an example is shown if no pair is left
# Outcomes of a row in the order of the checks; the first that applies counts.
OUTCOMES = ("kept", "malformed", *SET_ASIDE.values(), "empty", "kept_out", "identical", "exclude", "overlap")
OUTCOMES += filters.NAMES
NUMBERS = {name: number for number, name in enumerate(OUTCOMES)}
KEPT, MALFORMED = NUMBERS["kept"], NUMBERS["malformed"]
CODE_OF_NUMBERS = (han_numbers, number_words, numbers, same_numbers)
CODE = (
    sentences_glossa,
    readers,
    splitting,
    filters,
    plausibility,
    languages,
    *CODE_OF_NUMBERS,
)  # called by the checks


@dataclass(frozen=True)
class Rules:
    """The checks of separate rows in a split.

    Attributes:
        split: Whether rows are first split into pairs of sentences.
        repair_text: Whether wrongly decoded text is repaired.
        keep_out: Normalized sentences to exclude from all splits.
        drop_identical: Whether pairs with equal sides are dropped.
        exclude: 64-bit hashes of normalized sentences to exclude from training.
        overlap: 64-bit hashes of normalized sides of evaluation pairs to exclude from training.
        chosen: The filters and their values, see [`glossa.train.data.cleaning.filters.chosen_filters`].
        near_duplicates: Whether the hash shared by near duplicates is computed.
    """

    split: bool = False
    repair_text: bool = False
    keep_out: tuple[str, ...] = ()
    drop_identical: bool = False
    exclude: frozenset[int] = frozenset()
    overlap: frozenset[int] = frozenset()
    chosen: dict[str, Any] | None = None
    near_duplicates: bool = False

    def stamp(self) -> list:
        """The rules as plain values, with hashes for large sets."""
        known = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        large = {name: repr(sorted(known[name])).encode() for name in ("exclude", "overlap")}
        return sorted((known | {name: xxhash.xxh3_128_hexdigest(text) for name, text in large.items()}).items())


def rules_of(arguments: DataArguments, training: bool, held_out: frozenset[int] = frozenset()) -> Rules:
    """The rules of a split; `held_out` has 64-bit hashes of sides to exclude from training.

    Held-out pairs are not filtered, since the remaining easy pairs would inflate scores.
    """
    keep_out = tuple(sorted(map(normalize_side, arguments.keep_out)))
    if not training:
        return Rules(keep_out=keep_out)
    return Rules(
        split=arguments.split_sentences,
        repair_text=arguments.repair_text,
        keep_out=keep_out,
        drop_identical="identical" in arguments.filters,
        exclude=excluded_sides(arguments),
        overlap=held_out,
        chosen=filters.chosen_filters(arguments),
        near_duplicates="near_duplicates" in arguments.filters,
    )


def split_rows(rows: Dataset, rules: Rules) -> Dataset:
    """The rows to check, split into pairs of sentences if the rules say so; cached."""
    if not rules.split:
        return rows
    return cached_map(rows, split_batch, code=[sentences_glossa], features=rows.features, desc="splitting rows")


def split_columns(rows: dict, rules: Rules) -> dict:
    """The rows to check, as in [`split_rows`], by column."""
    return split_batch(rows) if rules.split else rows


def split_batch(batch: dict) -> dict:
    """Split the rows of a batch that have equally many sentences on both sides into a row per sentence."""
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


def check_rows(batch: dict, rules: Rules) -> dict:
    """The clean text of a batch of rows, the hashes of the pairs, and their outcomes as indices of `OUTCOMES`."""
    columns: dict[str, Any] = {side: batch[side] for side in ("source", "target")}
    if rules.repair_text:
        columns = _repaired_columns(columns, batch["problem"])
    sources, targets = list(map(clean_text, columns["source"])), list(map(clean_text, columns["target"]))
    # Clean text has no line feed, so the key is unambiguous. Two different pairs among ten million share a 64-bit hash
    # with a probability of three in a million.
    keys = [_hash(f"{source}\n{target}") for source, target in zip(sources, targets, strict=True)]
    tests, nears, outcomes = _tests(rules.chosen or {}), [], []
    needed = rules.near_duplicates or rules.exclude or rules.overlap or rules.keep_out
    for source, target, problem in zip(sources, targets, batch["problem"], strict=True):
        sides = ("", "")
        if problem:
            outcomes.append(NUMBERS[SET_ASIDE.get(set_aside(problem), "malformed")])
        elif not source or not target:
            outcomes.append(NUMBERS["empty"])
        else:
            if needed:
                sides = (normalize_side(source), normalize_side(target))
            outcomes.append(_outcome(source, target, sides, rules, tests))
        if rules.near_duplicates:
            nears.append(_hash("\n".join(map(without_digits, sides))))
    if rules.chosen and "language" in rules.chosen:  # the last test, for all rows at once
        judged = numpy.equal(outcomes, KEPT)
        for row in filters.pairs_in_other_language(sources, targets, rules.chosen["languages"], judged):
            outcomes[row] = NUMBERS["language"]
    columns |= {"source": sources, "target": targets, "outcome": outcomes}
    columns["key"] = numpy.array(keys, dtype=numpy.uint64)
    return columns | ({"near": numpy.array(nears, dtype=numpy.uint64)} if rules.near_duplicates else {})


def check_block(rows: dict, rules: Rules) -> tuple[dict, dict, numpy.ndarray]:
    """Check raw rows by column; returns the (split) rows, the result of [`check_rows`] and the outcomes."""
    columns = split_columns(rows, rules)
    checked = check_rows(columns, rules)
    return columns, checked, numpy.asarray(checked["outcome"], dtype=numpy.int64)


def _outcome(source: str, target: str, sides: tuple[str, str], rules: Rules, tests: list) -> int:
    """The outcome of a non-empty pair."""
    if rules.keep_out and (sides[0] in rules.keep_out or sides[1] in rules.keep_out):
        return NUMBERS["kept_out"]
    if rules.drop_identical and source == target:
        return NUMBERS["identical"]
    for name, known in (("exclude", rules.exclude), ("overlap", rules.overlap)):
        if known and (_hash(sides[0]) in known or _hash(sides[1]) in known):
            return NUMBERS[name]
    return next((number for number, test in tests if test(source, target)), KEPT)


def _tests(chosen: dict[str, Any]) -> list[tuple[int, Callable[[str, str], bool]]]:
    return [(NUMBERS[name], test) for name, test in filters.tests(chosen) if name != "language"]


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def _repaired_columns(columns: dict[str, list[str]], problems: list[str]) -> dict[str, list]:
    """The repaired sides, and whether a pair was changed."""
    repaired = {side: list(map(_repaired, texts)) for side, texts in columns.items()}
    rows = zip(*columns.values(), *repaired.values(), problems, strict=True)
    changed = [(first, second) != (one, other) and not problem for first, second, one, other, problem in rows]
    return repaired | {"repaired": changed}


def _repaired(text: str) -> str:
    return text if text.isascii() else ftfy.fix_encoding(text)


def counted(outcome: numpy.ndarray) -> dict[str, int]:
    """The number of rows per outcome, by name, without outcomes that do not occur."""
    counts = numpy.bincount(outcome, minlength=len(OUTCOMES))
    return {name: int(count) for name, count in zip(OUTCOMES, counts, strict=True) if count}
