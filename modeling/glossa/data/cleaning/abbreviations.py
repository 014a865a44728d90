"""Abbreviations found in the training data (Kiss and Strunk 2006): words that almost always have a period."""

import math
import re
from collections import Counter
from collections.abc import Iterable

LEAST = 0.3  # of the score, as in section 3 of the paper
_EDGES = "()[]{}'\"“”‘’„‚«»‹›¿¡,;:!?…–—-"


def learn_abbreviations(texts: Iterable[str]) -> list[str]:
    """The abbreviations in `texts`, sorted, in lower case and without their period.

    A word's log-likelihood ratio says whether its period belongs to it; long words and words that also occur without a
    period count less, words with periods inside count more (section 3.1 of the paper). The last word of a text is left
    out: its period ends the sentence. Single letters and words with digits are left to the rules.
    """
    with_period, without = Counter[str](), Counter[str]()
    for text in texts:
        for token in text.split()[:-1]:
            word = token.strip(_EDGES).casefold()
            counts = with_period if word.endswith(".") and not word.endswith("..") else without
            counts[word.rstrip(".")] += 1
    share = sum(with_period.values()) / max(sum(with_period.values()) + sum(without.values()), 1)
    return sorted(
        word
        for word, count in with_period.items()
        if re.fullmatch(r"[^\W\d_]{2,}|[^\W\d_]+(?:[.-][^\W\d_]+)+", word)
        and _score(word, count, without[word], share) >= LEAST
    )


def _score(word: str, periods: int, without: int, share: float) -> float:
    """The score of a word that was seen `periods` times with a period and `without` times without one."""
    by_chance = periods * math.log(share) + without * math.log(max(1 - share, 1e-12))
    as_abbreviation = periods * math.log(0.99) + without * math.log(0.01)
    inner = word.count(".")
    letters = len(word) - inner
    return 2 * (as_abbreviation - by_chance) * math.exp(-letters) * (inner + 1) * letters**-without
