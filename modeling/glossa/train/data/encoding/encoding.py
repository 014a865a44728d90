"""Tokenization of sentence pairs, cached as Arrow files."""

import json
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from datasets import Dataset, DatasetDict, Features, List, Value

from ....base import matches
from ....base.caching import cached_map
from ....base.errors import GlossaError
from ....base.jobs.records import hash_bytes
from ....base.matches import MATCH, MATCH_SCORE, sources_with_matches
from ..arguments import DataArguments
from ..cleaning.report import DataReport
from ..mixture import sources_of
from ..prepared import tokens_of
from . import links
from .links import WORD_LINKS, token_links, with_word_links
from .vocabulary import vocabulary_files

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = logging.getLogger(__name__)

AT_ONCE = 1 << 20  # characters per tokenizer call, which needs some 250 bytes per character
IDS = ["input_ids", "labels"]
LENGTHS = ["source_length", "target_length"]
TEXTS = ["source", "target", "language"]  # columns for augmentation
TRAINED = ("train", "replay")  # splits of training pairs
TOKENIZED = Features(
    {
        "input_ids": List(Value("int32")),
        "labels": List(Value("int32")),
        "source_length": Value("int32"),
        "target_length": Value("int32"),
    }
)


def tokenize_pairs(
    pairs: DatasetDict,
    tokenizer: "PreTrainedTokenizerBase",
    arguments: DataArguments,
    report: DataReport,
    linked: bool = False,
) -> DatasetDict:
    """Tokenize pairs to `input_ids` and `labels` (with special tokens), and their lengths in tokens.

    Matches of evaluation pairs ([`with_matches`]) are appended to their sources.

    Training pairs, in "train" and "replay", that exceed `max_length` or the filter `length_ratio` are dropped and
    counted in `report`. With augmentation or memory, they keep their text. If `linked`, they have the `links` of their
    tokens. All evaluation pairs are kept, since dropping hard ones would inflate the scores.

    Token ids of a prepared folder are kept if they are from `tokenizer` and no links are needed.
    """
    pairs = DatasetDict(pairs)
    if set(TOKENIZED) <= set(pairs["train"].features) and (linked or not _are_known(arguments, tokenizer)):
        pairs["train"] = pairs["train"].remove_columns(list(TOKENIZED))
    trained = [name for name in TRAINED if name in pairs]
    if linked:
        pairs |= {name: with_word_links(pairs[name]) for name in trained}
    changed = bool(arguments.shares) or arguments.memory
    kept = dict.fromkeys(trained, [*TEXTS, *MATCH, MATCH_SCORE] if changed else [])
    tokenized = DatasetDict(
        {
            name: _tokenize(name, rows, tokenizer, kept.get(name, []), linked and name in trained)
            for name, rows in pairs.items()
        }
    )
    before = tokens_before(tokenizer)
    tokenized["train"] = _within_limits(tokenized["train"], arguments, report, before)
    if "replay" in tokenized:
        limits = arguments.max_length, arguments.filters["length_ratio"], before
        too_long, unequal = beyond_limits(_lengths(tokenized["replay"]), *limits)
        report.splits["replay"] |= {"too_long": int(too_long.sum()), "length_ratio": int(unequal.sum())}
        tokenized["replay"] = tokenized["replay"].select(numpy.flatnonzero(~too_long & ~unequal))
    return tokenized


def _are_known(arguments: DataArguments, tokenizer: "PreTrainedTokenizerBase") -> bool:
    """Whether the token ids of the prepared folder are from this tokenizer; warns if they are from another one."""
    sources = sources_of(arguments)
    known = tokens_of(sources)
    if known is None or known.stamp == stamp_of(tokenizer, any(source.language for source in sources)):
        return known is not None
    logger.warning("The token ids in %s are from another vocabulary. Tokenizing the pairs again.", known.folder)
    return False


def stamp_of(tokenizer: "PreTrainedTokenizerBase", several: bool) -> str:
    """A hash of everything that determines token ids; `several` if the pairs have several target languages."""
    vocabularies = [
        json.loads(vocabulary) | {"padding": None, "truncation": None}  # state from the last call
        for vocabulary in vocabulary_files(tokenizer)
    ]
    tag = None if several else _tag(tokenizer)
    return hash_bytes([json.dumps((vocabularies, tag, tokenizer.split_special_tokens)).encode()])


def _tag(tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """The languages with tokens in the ids: the target language, and for other families also the source language."""
    target = getattr(tokenizer, "target_languages", None) and tokenizer.tgt_lang  # type: ignore[attr-defined]
    return f"{tokenizer.src_lang} {target}" if getattr(tokenizer, "codes", None) else target  # type: ignore[attr-defined]


def _tokenize(
    name: str, rows: Dataset, tokenizer: "PreTrainedTokenizerBase", keep: Sequence[str], linked: bool
) -> Dataset:
    if set(TOKENIZED) <= set(rows.features):
        return rows.select_columns([*TOKENIZED, *(column for column in keep if column in rows.features)])

    def encode(batch: dict) -> dict:
        texts = sources_with_matches(batch) if name not in TRAINED and MATCH[0] in batch else batch["source"]
        sources, targets = encode_rows(tokenizer, texts, batch["target"], batch.get("language"))
        encoded = {
            "input_ids": sources,
            "labels": targets,
            "source_length": [len(ids) for ids in sources],
            "target_length": [len(ids) for ids in targets],
        }
        if linked:
            encoder: Any = tokenizer.into(batch["language"][0]) if "language" in batch else tokenizer  # type: ignore[attr-defined]
            encoded["links"] = token_links(encoder, batch["source"], batch["target"], batch[WORD_LINKS])
        return encoded

    vocabularies = vocabulary_files(tokenizer)
    kept = {column: feature for column, feature in rows.features.items() if column in keep}
    own = TOKENIZED | ({"links": List(Value("int32"))} if linked else {})
    return cached_map(
        rows,
        encode,
        (*vocabularies, _tag(tokenizer), *kept),
        code=[links, matches],
        remove_columns=[column for column in rows.column_names if column not in kept],
        features=Features(kept | own),
        desc=f"tokenizing {name}",
    )


def encode_rows(
    tokenizer: "PreTrainedTokenizerBase",
    sources: Sequence[str],
    targets: Sequence[str],
    languages: Sequence[str] | None = None,
) -> tuple[list, list]:
    """The ids of sources and targets, with special tokens; `languages` are those of the targets if several."""
    if not languages:
        return encode_pairs(tokenizer, sources, targets)
    ids: tuple[list, list] = [[]] * len(sources), [[]] * len(sources)
    for language in dict.fromkeys(languages):
        rows = [row for row, own in enumerate(languages) if own == language]
        encoder = tokenizer.into(language)  # type: ignore[attr-defined]
        found = encode_pairs(encoder, [sources[row] for row in rows], [targets[row] for row in rows])
        for row, source, target in zip(rows, *found, strict=True):
            ids[0][row], ids[1][row] = source, target
    return ids


def lengths_of(sides: Sequence[Sequence[Sequence[int]]]) -> list[numpy.ndarray]:
    """The lengths of the rows of each side."""
    return [numpy.fromiter(map(len, side), numpy.int64, len(side)) for side in sides]


def encode_pairs(encoder: Any, sources: Sequence[str], targets: Sequence[str]) -> tuple[list, list]:
    """The ids of sources and targets, with special tokens. Memory is bounded for any number of long texts."""
    ids: tuple[list, list] = [], []
    for part in parts(sources, targets):
        encoded = encoder(sources[part], text_target=targets[part])
        ids[0].extend(encoded["input_ids"])
        ids[1].extend(encoded["labels"])
    return ids


def parts(*columns: Sequence[str]) -> Iterator[slice]:
    """Yield slices of the rows with at most `AT_ONCE` characters, or of one row."""
    start = size = 0
    for end, texts in enumerate(zip(*columns, strict=True)):
        size += sum(map(len, texts))
        if size > AT_ONCE and end > start:
            yield slice(start, end)
            start, size = end, sum(map(len, texts))
    if columns[0]:
        yield slice(start, len(columns[0]))


def beyond_limits(
    lengths: Sequence[numpy.ndarray], max_length: int, ratio: float | numpy.ndarray, before: int = 0
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Whether each pair exceeds `max_length`, and whether each of the others exceeds the length `ratio`.

    `before` is the number of tokens of a prefix that each source begins with, see [`tokens_before`].
    """
    source, target = lengths
    too_long, source = numpy.maximum(source, target) > max_length, source - before
    return too_long, ~too_long & (numpy.maximum(source, target) > ratio * numpy.minimum(source, target))


def tokens_before(tokenizer: "PreTrainedTokenizerBase") -> int:
    """The number of tokens in the prefix that T5 reads before each source; 0 for other models."""
    return getattr(tokenizer, "tokens_before", 0)


def _lengths(rows: Dataset) -> list[numpy.ndarray]:
    table = rows.select_columns(LENGTHS).with_format("arrow")[:]
    return [table.column(side).to_numpy() for side in LENGTHS]


def _within_limits(rows: Dataset, arguments: DataArguments, report: DataReport, before: int) -> Dataset:
    ratios = [source.settings.filters["length_ratio"] for source in sources_of(arguments)]
    seen = [int(own["seen"]) for own in report.sources.values()]  # their rows are in this order
    each = numpy.repeat(ratios, seen) if len(set(ratios)) > 1 else max(ratios)
    too_long, unequal = beyond_limits(_lengths(rows), arguments.max_length, each, before)
    counts = {"too_long": int(too_long.sum()), "length_ratio": int(unequal.sum())}
    kept = numpy.flatnonzero(~too_long & ~unequal)
    report.splits["train"] |= counts
    start = 0
    for own in report.sources.values():
        end = start + int(own["seen"])
        own |= {"too_long": int(too_long[start:end].sum()), "length_ratio": int(unequal[start:end].sum())}
        own["seen"] = int(own["seen"]) - int(own["too_long"]) - int(own["length_ratio"])
        start = end
    report.sizes["train"] = len(kept)
    logger.info("train: %s", ", ".join(f"{count:,} {reason}" for reason, count in counts.items()))
    if not len(kept):
        raise GlossaError(
            f"No training pair is left of {len(rows)}: {counts['too_long']} have more than max_length "
            f"({arguments.max_length}) tokens on a side, {counts['length_ratio']} differ by more than "
            f"filters.length_ratio ({max(ratios):g}). Raise these limits, or split the text into sentences."
        )
    return rows.select(kept)


def by_length(rows: Dataset) -> list[int]:
    """Row indices sorted by source length, so that evaluation batches have little padding."""
    return numpy.argsort(rows["source_length"][:], kind="stable").tolist()
