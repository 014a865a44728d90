"""Robustness: scores on held-out sources with changed writing, and how often items in them are copied."""

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
from ..data.augmentation.items import put
from ..data.augmentation.joining import as_clauses, as_sentences, ordinary_words
from ..data.augmentation.typing_errors import mistyped
from ..data.augmentation.typography import lower_case, title_case, upper_case, without_ending
from ..data.pairs import group_references

logger = logging.getLogger(__name__)

SEED = 20_000_000_000  # beyond every seed of a training
UNTOUCHED = "as it is"
_EMOJI = "".join(map(chr, (*range(0x1F600, 0x1F645), *range(0x1F300, 0x1F321), *range(0x1F400, 0x1F43F))))
_DOMAINS = ("com", "org", "net", "co.uk", "eu")


@dataclass(frozen=True)
class Changed:
    """A held-out pair with a changed source.

    `item` is what was put into both sides, and `rows` are the pairs that it is made of.
    """

    pair: Pair
    rows: tuple[int, ...]
    item: str = ""


Change = Callable[[list[Pair], str], list[Changed]]


def measure_robustness(
    translator: Translator, pairs: Dataset, tokenize: str = "13a", language: str = "en"
) -> list[dict]:
    """A row for each change of the sources: `change`, `pairs`, `bleu`, `chrf`, `possible`, `kept`, `copied`.

    The first target of a source is its reference, and changes as the source does: its case, its last mark, joined
    rows, the item inside. Changed references are easier or harder to match, so the scores are compared with
    `possible`, the BLEU of the translations of the untouched sources after the same change; `kept` is the share of it.
    `copied` is the share of translations that have the item, or None. Equal calls give equal rows.

    Args:
        translator: The model. Long texts are split and cut as its settings say.
        pairs: Columns `source` and `target`.
        tokenize: sacreBLEU's tokenizer for BLEU.
        language: Of the sources, for the layout of the keyboard.

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
            logger.warning("%s: no pair can be changed in this way.", name)
            continue
        references = [[row.pair.target for row in changed]]
        translations = _best(translator, [row.pair for row in changed])
        possible = bleu.corpus_score(_changed_alike(change, changed, untouched, language), references).score
        if not possible:
            raise GlossaError("BLEU of the untouched pairs is 0, so no share of it can be kept. Train longer.")
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


def _changed_alike(change: Change, changed: Sequence[Changed], untouched: list[Pair], language: str) -> list[str]:
    """For each changed pair the translations of its rows, changed in the same way, or as they are if that fails."""
    alike = {row.rows: row.pair.target for row in change(untouched, language)}
    return [
        alike[row.rows] if row.rows in alike else as_sentences([untouched[number] for number in row.rows]).target
        for row in changed
    ]


def _generator(row: int) -> Random:
    return Random(SEED + row)


def _each(function: Callable[[Pair, Random], Pair | None]) -> Change:
    """All pairs, those changed to which `function` applies."""

    def change(pairs: list[Pair], language: str) -> list[Changed]:
        return [Changed(function(pair, _generator(row)) or pair, (row,)) for row, pair in enumerate(pairs)]

    return change


def _mistyped(share: float) -> Change:
    def change(pairs: list[Pair], language: str) -> list[Changed]:
        return [
            Changed(pair._replace(source=mistyped(pair.source, share, _generator(row), language)), (row,))
            for row, pair in enumerate(pairs)
        ]

    return change


def _joined(count: int, clauses: bool = False) -> Change:
    """Rows of `count` pairs in a random order, as sentences or as clauses; the last ones are left out."""

    def change(pairs: list[Pair], language: str) -> list[Changed]:
        order = _generator(0).sample(range(len(pairs)), len(pairs))
        words = ordinary_words(pairs)
        changed = []
        for first in range(0, len(order) - count + 1, count):
            group = order[first : first + count]
            own = [pairs[number] for number in group]
            one = as_clauses(own, words) if clauses else as_sentences(own)
            if one is not None:
                changed.append(Changed(one, tuple(group)))
        return changed

    return change


def _url(generator: Random) -> str:
    first, second = ("".join(generator.choices(ascii_lowercase, k=generator.randint(3, 9))) for _ in range(2))
    return f"https://{first}.{generator.choice(_DOMAINS)}/{second}"


def _with(make: Callable[[Random], str]) -> Change:
    """All pairs with an item before their last marks, or at the end if they have none."""

    def change(pairs: list[Pair], language: str) -> list[Changed]:
        changed = []
        for row, pair in enumerate(pairs):
            item = make(_generator(row))
            own = put(pair, item, "inside") or Pair(*(f"{side} {item}" for side in pair))
            changed.append(Changed(own, (row,), item))
        return changed

    return change


CHANGES: dict[str, Change] = {
    UNTOUCHED: _each(lambda pair, generator: pair),
    "upper case": _each(upper_case),
    "title case": _each(title_case),
    "lower case": _each(lower_case),
    "no final stop": _each(lambda pair, generator: without_ending(pair)),
    "5% typing errors": _mistyped(0.05),
    "10% typing errors": _mistyped(0.1),
    "joined in twos": _joined(2),
    "joined in fours": _joined(4),
    "two clauses": _joined(2, clauses=True),
    "four clauses": _joined(4, clauses=True),
    "with a URL inside": _with(_url),
    "with a number inside": _with(lambda generator: str(generator.randint(10, 9999))),
    "with an emoji inside": _with(lambda generator: generator.choice(_EMOJI)),
}


def robustness_cells(rows: Sequence[dict]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the table of [`measure_robustness`]."""
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
