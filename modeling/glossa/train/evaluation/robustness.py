"""Robustness: scores on held-out sources with perturbed text, and how often inserted items are copied."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase

from datasets import Dataset
from sacrebleu.metrics import CHRF

from ...base.errors import GlossaError
from ...base.metrics import bleu_metric
from ...base.pair import Pair
from ...translate.translator import Translator
from ..data.augmentation.items import insert_item
from ..data.augmentation.joining import as_clauses, as_sentences, ordinary_words
from ..data.augmentation.typing_errors import mistyped
from ..data.augmentation.typography import lower_case, title_case, upper_case, without_ending
from ..data.pairs import group_references

logger = logging.getLogger(__name__)

SEED = 20_000_000_000  # above all training seeds
UNTOUCHED = "as it is"
_EMOJI = "".join(map(chr, (*range(0x1F600, 0x1F645), *range(0x1F300, 0x1F321), *range(0x1F400, 0x1F43F))))
_DOMAINS = ("com", "org", "net", "co.uk", "eu")


@dataclass(frozen=True)
class ChangedPair:
    """A held-out pair with a changed source.

    `item` is the text inserted into both sides, and `rows` are the indices of its original pairs.
    """

    pair: Pair
    rows: tuple[int, ...]
    item: str = ""


Change = Callable[[list[Pair], str], list[ChangedPair]]


def measure_robustness(
    translator: Translator, pairs: Dataset, tokenize: str = "13a", language: str = "en"
) -> list[dict]:
    """A row for each change of the sources: `change`, `pairs`, `bleu`, `chrf`, `possible`, `kept`, `copied`.

    The reference is the first target of a source, with the same change of case, final mark, joined rows or inserted
    item. Since changed references are easier or harder to match, scores are compared with `possible`, the BLEU of the
    translations of the unchanged sources after the same change; `kept` is the ratio of `bleu` to it. `copied` is the
    share of translations that contain the item, or None. Results are deterministic.

    Args:
        translator: The model. Long texts are split according to its settings.
        pairs: A dataset with the columns `source` and `target`.
        tokenize: sacreBLEU's tokenizer for BLEU.
        language: The source language, which determines the keyboard layout.

    Raises:
        GlossaError: if BLEU of the untouched pairs is 0.
    """
    translator = translator.with_checks(on_error="blank")
    originals = [Pair(source, targets[0]) for source, targets in group_references(pairs)]
    untouched = [
        pair._replace(target=text) for pair, text in zip(originals, _best(translator, originals), strict=True)
    ]
    bleu, chrf = bleu_metric(tokenize), CHRF(word_order=2)
    rows: list[dict] = []
    for name, change in CHANGES.items():
        changed = change(originals, language)
        if not changed:
            logger.warning("%s: the change applies to no pair.", name)
            continue
        references = [[row.pair.target for row in changed]]
        translations = _best(translator, [row.pair for row in changed])
        possible = bleu.corpus_score(_changed_translations(change, changed, untouched, language), references).score
        if not possible:
            raise GlossaError("BLEU of the unchanged pairs is 0, so robustness cannot be measured. Train longer.")
        found = [row.item in text for row, text in zip(changed, translations, strict=True) if row.item]
        score = bleu.corpus_score(translations, references).score
        rows.append(
            {"change": name, "pairs": len(changed), "bleu": round(score, 2)}
            | {"chrf": round(chrf.corpus_score(translations, references).score, 2), "possible": round(possible, 2)}
            | {"kept": round(score / possible, 4), "copied": round(sum(found) / len(found), 4) if found else None}
        )
    return rows


def _best(translator: Translator, pairs: Sequence[Pair]) -> list[str]:
    return translator.best([pair.source for pair in pairs])


def _changed_translations(
    change: Change, changed: Sequence[ChangedPair], untouched: list[Pair], language: str
) -> list[str]:
    """For each changed pair, the translations of its rows with the same change, or unchanged if it does not apply."""
    alike = {row.rows: row.pair.target for row in change(untouched, language)}
    return [
        alike[row.rows] if row.rows in alike else as_sentences([untouched[number] for number in row.rows]).target
        for row in changed
    ]


def _generator(row: int) -> Random:
    return Random(SEED + row)


def _change_each(function: Callable[[Pair, Random], Pair | None]) -> Change:
    """All pairs, changed where `function` applies."""

    def change(pairs: list[Pair], language: str) -> list[ChangedPair]:
        return [ChangedPair(function(pair, _generator(row)) or pair, (row,)) for row, pair in enumerate(pairs)]

    return change


def _mistype(share: float) -> Change:
    def change(pairs: list[Pair], language: str) -> list[ChangedPair]:
        return [
            ChangedPair(pair._replace(source=mistyped(pair.source, share, _generator(row), language)), (row,))
            for row, pair in enumerate(pairs)
        ]

    return change


def _join(count: int, clauses: bool = False) -> Change:
    """Rows of `count` randomly chosen pairs, joined as sentences or as clauses; remaining pairs are left out."""

    def change(pairs: list[Pair], language: str) -> list[ChangedPair]:
        order = _generator(0).sample(range(len(pairs)), len(pairs))
        words = ordinary_words(pairs)
        changed = []
        for first in range(0, len(order) - count + 1, count):
            group = order[first : first + count]
            own = [pairs[number] for number in group]
            one = as_clauses(own, words) if clauses else as_sentences(own)
            if one is not None:
                changed.append(ChangedPair(one, tuple(group)))
        return changed

    return change


def _url(generator: Random) -> str:
    first, second = ("".join(generator.choices(ascii_lowercase, k=generator.randint(3, 9))) for _ in range(2))
    return f"https://{first}.{generator.choice(_DOMAINS)}/{second}"


def _insert(make: Callable[[Random], str]) -> Change:
    """All pairs with an item before the final marks, or at the end without such marks."""

    def change(pairs: list[Pair], language: str) -> list[ChangedPair]:
        changed = []
        for row, pair in enumerate(pairs):
            item = make(_generator(row))
            own = insert_item(pair, item, "inside") or Pair(*(f"{side} {item}" for side in pair))
            changed.append(ChangedPair(own, (row,), item))
        return changed

    return change


CHANGES: dict[str, Change] = {
    UNTOUCHED: _change_each(lambda pair, generator: pair),
    "upper case": _change_each(upper_case),
    "title case": _change_each(title_case),
    "lower case": _change_each(lower_case),
    "no final stop": _change_each(lambda pair, generator: without_ending(pair)),
    "5% typing errors": _mistype(0.05),
    "10% typing errors": _mistype(0.1),
    "joined in twos": _join(2),
    "joined in fours": _join(4),
    "two clauses": _join(2, clauses=True),
    "four clauses": _join(4, clauses=True),
    "with a URL inside": _insert(_url),
    "with a number inside": _insert(lambda generator: str(generator.randint(10, 9999))),
    "with an emoji inside": _insert(lambda generator: generator.choice(_EMOJI)),
}


def robustness_cells(rows: Sequence[dict]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the table for [`measure_robustness`]."""
    header = ["change", "pairs", "BLEU", "chrF++", "BLEU possible", "kept", "items copied"]
    cells = [
        [
            row["change"], f"{row['pairs']:,}", f"{row['bleu']:.2f}", f"{row['chrf']:.2f}",
            f"{row['possible']:.2f}", f"{row['kept']:.1%}",
            "" if row["copied"] is None else f"{row['copied']:.1%}",
        ]
        for row in rows
    ]  # fmt: skip
    return header, cells
