"""Translations that cannot be right in any language: empty, copied, repetitive, improbable, and so on."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy

from ..base.same_numbers import same_numbers
from ..model.facts_glossa import TextFacts
from ..model.spans_glossa import ADDRESS, PLACEHOLDER

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
DIFFERENCES = ("different in numbers", "different in addresses", "different in placeholders")
KINDS = ("empty", "copied", "repetitive", "too short", "too long", "improbable", *DIFFERENCES)

REPEATED = re.compile(rf"(.{{2,40}}?)\1{{{REPETITIONS - 1}}}")


def find_problem(
    source: str,
    translation: str,
    length_ratio: float | None = None,
    token_score: float | None = None,
    improbable_score: float | None = None,
    languages: Sequence[str | None] = (None, None),
) -> str:
    """One of `KINDS` if `translation` cannot be a translation of `source`, else "".

    Args:
        source: One sentence.
        translation: Its translation.
        length_ratio: Characters of a translation for each character of its source, as in the training data. Without
            it, bytes of UTF-8 are compared, within wider limits: scripts with longer codes need fewer characters.
        token_score: The model's log-probability of the translation (natural logarithm) per token, if known.
        improbable_score: Lower scores are improbable; from [`improbable_score`], or by default `IMPROBABLE`.
        languages: The codes of source and target, if they are known. Their number words count as numbers.
    """
    source, translation = " ".join(source.split()), " ".join(translation.split())
    letters = len(TextFacts(source).letters)
    if letters and not any(map(str.isalnum, translation)):
        return "empty"
    if not translation:
        return ""
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
    return find_difference(source, translation, languages)


def improbable_score(token_scores: Sequence[float]) -> float | None:
    """The limit that a share of `RARE` of a model's own translations falls below; None for fewer than `FEWEST`.

    `token_scores` are their log-probabilities per token, of text like the training text.
    """
    return None if len(token_scores) < FEWEST else round(float(numpy.quantile(token_scores, RARE)), 4)


def _repeats(text: str) -> bool:
    # A row of dots or digits is no repetition of words.
    return any(TextFacts(found[1]).has_letters for found in REPEATED.finditer(text))


def rates(problems: Iterable[str], total: int) -> dict[str, float]:
    """The share of each kind of problem, "" excluded, among `total` translations."""
    counts = Counter(filter(None, problems))
    return {kind: round(counts[kind] / total, 6) for kind in KINDS if counts[kind]}


def find_difference(source: str, translation: str, languages: Sequence[str | None] = (None, None)) -> str:
    """One of `DIFFERENCES` if numbers, addresses or placeholders of `source` and `translation` differ, or "".

    `languages` are the codes of both, see [`same_numbers`].
    """
    for pattern, difference in ((ADDRESS, DIFFERENCES[1]), (PLACEHOLDER, DIFFERENCES[2])):
        first, second = (sorted(pattern.findall(side)) for side in (source, translation))
        if first != second:
            return difference
    plain = [PLACEHOLDER.sub(" ", side) for side in (source, translation)]
    return "" if same_numbers(plain[0], plain[1], languages) else DIFFERENCES[0]
