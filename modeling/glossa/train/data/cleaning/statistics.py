"""Statistics of training pairs, by which a model knows how to cut and change the text that it translates."""

import math
import re
from collections import Counter
from collections.abc import Iterable

import numpy
from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from ....model.abbreviations_glossa import END_MARKS
from ....model.facts_glossa import TextFacts
from ....model.sentences_glossa import split_text

SAMPLE = 10_000  # pairs that are looked at, in the order of the data
TEXTS = 200_000  # sources in which abbreviations are looked for
CAPITALS = 0.01  # share of the sources
OPEN, ENDED = 0.1, 0.8  # shares of the sources that end with a letter or digit at most, and with a mark at least
QUANTILE = 0.999  # of the lengths: lower ones cut sentences that the model translates well (docs/serving.md)


def has_paragraphs(pairs: Dataset) -> bool:
    """Whether most pairs (columns `source`, `target`) have several sentences on both sides."""
    sample = _sample(pairs)
    several = sum(all(len(split_text(side)[0]) > 1 for side in pair) for pair in sample)
    return 2 * several > len(sample)


def length_ratio(pairs: Dataset) -> float:
    """Characters of a target for each character of its source."""
    sample = _sample(pairs)
    return round(sum(len(target) for _, target in sample) / sum(len(source) for source, _ in sample), 3)


def trained_length(
    pairs: Dataset, tokenizer: PreTrainedTokenizerBase, longest: int | None = None, quantile: float = QUANTILE
) -> int:
    """Source tokens, with the end of sentence, up to which the pairs teach how to translate.

    It is the quantile of the sources' lengths or, if lower, the quantile of the targets' lengths, converted to source
    tokens by the average ratio. Pairs with more than `longest` tokens on a side, which training drops, do not count.
    """
    sources, targets = zip(*_sample(pairs), strict=True)
    several = getattr(tokenizer, "target_languages", None)
    encoder = tokenizer.into(several[0]) if several else tokenizer  # type: ignore[attr-defined]
    encoded = encoder(list(sources), text_target=list(targets), verbose=False)
    lengths = numpy.array([list(map(len, encoded[side])) for side in ("input_ids", "labels")])  # [2, pairs]
    if longest is not None and (lengths.max(0) <= longest).any():
        lengths = lengths[:, lengths.max(0) <= longest]
    source, target = numpy.quantile(lengths, quantile, axis=1)
    return round(min(source, target * lengths[0].sum() / lengths[1].sum()))


def lower_capitals(pairs: Dataset) -> bool:
    """Whether so few sources are in capitals that the model cannot learn to read them."""
    sample = _sample(pairs)
    return sum(bool(TextFacts(source).capitals) for source, _ in sample) <= CAPITALS * len(sample)


def add_stops(pairs: Dataset) -> bool:
    """Whether nearly all sources end with a mark right after a word, so that the model expects one."""
    sources = [source for source, _ in _sample(pairs)]
    ended = sum(source[-1] in f".!?…{END_MARKS}" and not source[-2:-1].isspace() for source in sources)
    return ended >= ENDED * len(sources) and sum(source[-1].isalnum() for source in sources) <= OPEN * len(sources)


def abbreviations(pairs: Dataset) -> list[str]:
    """The abbreviations that the sources teach; see [`learn_abbreviations`]."""
    return learn_abbreviations(source for source, _ in _sample(pairs, TEXTS))


def _sample(pairs: Dataset, size: int = SAMPLE) -> list[tuple[str, str]]:
    # Spread over the data, since files are often sorted by length.
    rows = pairs.select(range(0, len(pairs), -(-len(pairs) // size)))[:size]  # far faster than row by row
    return list(zip(rows["source"], rows["target"], strict=True))


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
