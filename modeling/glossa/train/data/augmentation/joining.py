"""Joining of pairs to a pair of several sentences or clauses."""

import re
from collections.abc import Iterable, Sequence, Set
from random import Random

from ....base.pair import Pair
from ....model.facts_glossa import NO_SPACES

_PERIOD = re.compile(r"[.。।]$")
_WORD = re.compile(r"\w+")
_KANA = re.compile("[\u3040-\u30ff]")
MOST = 4  # maximum number of sentences
CLAUSES = 0.7  # share of rows joined as clauses of one sentence

Words = tuple[Set[str], Set[str]]  # lowercase words of source and target


def ordinary_words(pairs: Iterable[Pair]) -> Words:
    """The words of each side that occur in lowercase after the first word, so that they need no capital there."""
    found: tuple[set[str], set[str]] = set(), set()
    for pair in pairs:
        for side, words in zip(pair, found, strict=True):
            words.update(word for word in _WORD.findall(side)[1:] if word[0].islower())
    return found


def join_pairs(pair: Pair, others: Sequence[Pair], generator: Random, words: Words) -> Pair:
    """Join `pair` with one to three of `others`, as several sentences or as clauses of one sentence."""
    chosen = [pair, *(generator.choice(others) for _ in range(generator.randint(1, MOST - 1)))]
    if generator.random() < CLAUSES and (one := as_clauses(chosen, words)):
        return one
    return as_sentences(chosen)


def as_sentences(pairs: Sequence[Pair]) -> Pair:
    """Join all pairs as sentences, with spaces between them in scripts with spaces."""
    return Pair(*(_spaced(side) for side in zip(*pairs, strict=True)))


def as_clauses(pairs: Sequence[Pair], words: Words) -> Pair | None:
    """Join all pairs as clauses of one sentence, with commas; None unless all sides end with a period.

    The first word of a clause keeps its capital unless it is in `words`.
    """
    if not all(_PERIOD.search(side) for pair in pairs for side in pair):
        return None
    sides = []
    for side, known in zip(zip(*pairs, strict=True), words, strict=True):
        first, *others = side
        clauses = [first, *(_lowered(other, known) for other in others)]
        parts = [_PERIOD.sub(_comma(clause), clause) for clause in clauses[:-1]]
        sides.append(_spaced([*parts, clauses[-1]]))
    return Pair(*sides)


def _lowered(text: str, words: Set[str]) -> str:
    first = _WORD.match(text)
    return text[:1].lower() + text[1:] if first and first[0].lower() in words else text


def _comma(text: str) -> str:
    if not NO_SPACES.search(text):
        return ","
    return "、" if _KANA.search(text) else "，"


def _spaced(texts: Sequence[str]) -> str:
    *before, last = texts
    return "".join(text + ("" if NO_SPACES.match(text[-1:]) else " ") for text in before) + last
