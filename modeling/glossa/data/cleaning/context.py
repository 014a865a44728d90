"""The sentences before a sentence in its document."""

from collections.abc import Sequence, Set
from typing import Any

import numpy
import pyarrow.compute
import xxhash
from datasets import Dataset, DatasetDict, Value

from ... import segments_glossa, sentences_glossa
from ...segments_glossa import in_context, split_context
from ..caching import cached_map
from . import splitting
from .splitting import held_out_sides, normalize_side

CONTEXT = "context"  # a column of pairs: the sources before the pair in its document, one text


def sentences_before(
    raw: Dataset, checked: Dataset, kept: numpy.ndarray, usable: numpy.ndarray, count: int
) -> list[str]:
    """The sources before each of the `kept` rows, at most `count`, joined; "" for the first row of a file.

    Args:
        raw: The raw rows; the first of each file names it, and rows with a problem do.
        checked: The same rows with clean sources.
        kept: Numbers of rows.
        usable: Whether each row is a pair; what comes before one that is not is not read.
        count: Most sentences before.
    """
    if not count:
        return [""] * len(kept)
    names = raw.select_columns("file").with_format("arrow")[:]["file"]
    begins = pyarrow.compute.not_equal(names, "").to_numpy(zero_copy_only=False)
    texts = checked.select_columns("source").with_format("arrow")[:]["source"]
    follows, columns = numpy.ones(len(kept), dtype=bool), []
    for distance in range(1, count + 1):
        rows = kept - distance
        follows &= (rows >= 0) & ~begins[rows + 1] & usable[rows]
        found = texts.take(numpy.where(follows, rows, 0)).to_pylist()
        columns.append([text if known else "" for text, known in zip(found, follows, strict=True)])
    return [joined([text for text in reversed(row) if text]) for row in zip(*columns, strict=True)]


def joined(sentences: Sequence[str]) -> str:
    """The sentences as one text."""
    return in_context(sentences[:-1], sentences[-1]) if sentences else ""


def after(before: str, text: str) -> str:
    """`text` after the sentences in `before`, of the column, which may be ""."""
    return in_context([before] if before else [], text)


def with_context(pairs: Dataset, before: Sequence[str]) -> Dataset:
    """`pairs` with the column of the sentences before."""
    return pairs.add_column(CONTEXT, list(before), feature=Value("string"))  # type: ignore[call-arg]


def without_held_out(pairs: Dataset, dataset: DatasetDict) -> Dataset:
    """Training `pairs` without sentences before them that a held-out split of `dataset` has, nor any before those."""
    sides = held_out_sides(dataset)
    settings = xxhash.xxh3_128_hexdigest(repr(sorted(sides)).encode())
    options: dict[str, Any] = {"input_columns": CONTEXT, "fn_kwargs": {"held_out": sides}}
    code = [segments_glossa, sentences_glossa, splitting]
    return cached_map(pairs, clear, settings, code, desc="comparing the sentences before", **options)


def clear(contexts: list[str], held_out: Set[int]) -> dict:
    """A batch of sentences before, from after the last one with its 64-bit hash in `held_out`."""
    return {CONTEXT: [_after_held_out(text, held_out) for text in contexts]}


def _after_held_out(text: str, held_out: Set[int]) -> str:
    before, last = split_context(text)
    sentences = [*before, last]
    known = [xxhash.xxh3_64_intdigest(normalize_side(sentence).encode()) in held_out for sentence in sentences]
    first = max((place + 1 for place, each in enumerate(known) if each), default=0)
    return joined(sentences[first:])
