"""Translations that cannot be right in any language: empty, copied, repetitive, improbable, and so on."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy

from . import fidelity

COPIED_LETTERS = 25  # names and numbers, which are rightly copied, are shorter
CHECKED_LENGTH = 20  # characters of a source whose translation's length is checked
SPARE_LENGTH = 10  # characters by which any translation may be shorter or longer
SHORTEST, LONGEST = 0.4, 2.5  # times the expected length
REPETITIONS = 4  # of the same characters in a row
# Log-probability per token, for models that have not learned a limit; of the first 300 validation sentences of
# Multi30k the least was -1.16, with one model.
IMPROBABLE = -1.25
RARE = 0.01  # of a model's own validation translations are less probable than its limit
FEWEST = 100  # translations that a limit is learned from
KINDS = ("empty", "copied", "repetitive", "too short", "too long", "improbable", *fidelity.KINDS)

_REPEATED = re.compile(rf"(.{{2,40}}?)\1{{{REPETITIONS - 1}}}")


def find_problem(
    source: str,
    translation: str,
    length_ratio: float | None = None,
    token_score: float | None = None,
    improbable_score: float | None = None,
) -> str:
    """One of `KINDS` if `translation` cannot be a translation of `source`, else "".

    Args:
        source: One sentence.
        translation: Its translation.
        length_ratio: Characters of a translation for each character of its source, as in the training data. Without
            it, bytes of UTF-8 are compared, within wider limits: scripts with longer codes need fewer characters.
        token_score: The model's log-probability of the translation (natural logarithm) per token, if known.
        improbable_score: Lower scores are improbable; from [`improbable_score`], or by default `IMPROBABLE`.
    """
    source, translation = " ".join(source.split()), " ".join(translation.split())
    letters = sum(character.isalpha() for character in source)
    if not translation:
        return "empty" if letters else ""
    if letters >= COPIED_LETTERS and source.casefold() == translation.casefold():
        return "copied"
    if _repeats(translation) and not _repeats(source):
        return "repetitive"
    if length_ratio is None:
        given = len(translation.encode())
        least, most = len(source.encode()) / 2, len(source.encode()) * 2.0
    else:
        given = len(translation)
        least = most = len(source) * length_ratio
    if len(source) >= CHECKED_LENGTH and given + SPARE_LENGTH < SHORTEST * least:
        return "too short"
    if given - SPARE_LENGTH > LONGEST * most:
        return "too long"
    if token_score is not None and token_score < (IMPROBABLE if improbable_score is None else improbable_score):
        return "improbable"
    return fidelity.find_difference(source, translation)


def improbable_score(token_scores: Sequence[float]) -> float | None:
    """The limit that a share of `RARE` of a model's own translations falls below; None for fewer than `FEWEST`.

    `token_scores` are their log-probabilities per token, of text like the training text.
    """
    return None if len(token_scores) < FEWEST else round(float(numpy.quantile(token_scores, RARE)), 4)


def _repeats(text: str) -> bool:
    # A row of dots or digits is no repetition of words.
    return any(any(map(str.isalpha, found[1])) for found in _REPEATED.finditer(text))


def rates(problems: Iterable[str], total: int) -> dict[str, float]:
    """The share of each kind of problem, "" excluded, among `total` translations."""
    counts = Counter(filter(None, problems))
    return {kind: round(counts[kind] / total, 6) for kind in KINDS if counts[kind]}
