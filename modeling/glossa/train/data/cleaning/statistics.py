"""Statistics of training pairs that determine how a model splits and normalizes the text to translate."""

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

SAMPLE = 10_000  # sampled pairs, in the order of the data
TEXTS = 200_000  # sampled sources for abbreviations
CAPITALS = 0.01  # maximum share of sources in capitals
OPEN, ENDED = 0.1, 0.8  # maximum share of sources that end with a letter or digit, minimum share with a final mark
QUANTILE = 0.999  # of the lengths; a lower one splits sentences that the model translates well (docs/serving.md)


def has_paragraphs(pairs: Dataset) -> bool:
    """Whether most pairs (columns `source`, `target`) have several sentences on both sides."""
    sample = _sample(pairs)
    several = sum(all(len(split_text(side)[0]) > 1 for side in pair) for pair in sample)
    return 2 * several > len(sample)


def length_ratio(pairs: Dataset) -> float:
    """The number of target characters per source character."""
    sample = _sample(pairs)
    return round(sum(len(target) for _, target in sample) / sum(len(source) for source, _ in sample), 3)


def trained_length(
    pairs: Dataset, tokenizer: PreTrainedTokenizerBase, longest: int | None = None, quantile: float = QUANTILE
) -> int:
    """The maximum length in source tokens, end of sentence included, that is well represented in the pairs.

    It is the quantile of the source lengths or, if lower, of the target lengths, converted to source tokens by the
    average ratio. Pairs with more than `longest` tokens on a side, which training drops, do not count.
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
    """Whether too few sources are in capitals for the model to learn them."""
    sample = _sample(pairs)
    return sum(bool(TextFacts(source).capitals) for source, _ in sample) <= CAPITALS * len(sample)


def add_stops(pairs: Dataset) -> bool:
    """Whether nearly all sources end with a mark directly after a word, so that the model expects one."""
    sources = [source for source, _ in _sample(pairs)]
    ended = sum(source[-1] in f".!?…{END_MARKS}" and not source[-2:-1].isspace() for source in sources)
    return ended >= ENDED * len(sources) and sum(source[-1].isalnum() for source in sources) <= OPEN * len(sources)


def abbreviations(pairs: Dataset) -> list[str]:
    """The abbreviations in the sources, see [`learn_abbreviations`]."""
    return learn_abbreviations(source for source, _ in _sample(pairs, TEXTS))


def _sample(pairs: Dataset, size: int = SAMPLE) -> list[tuple[str, str]]:
    # Spread over the data, since files are often sorted by length.
    rows = pairs.select(range(0, len(pairs), -(-len(pairs) // size)))[:size]  # far faster than row by row
    return list(zip(rows["source"], rows["target"], strict=True))


LEAST = 0.3  # minimum score, as in section 3 of the paper
_EDGES = "()[]{}'\"“”‘’„‚«»‹›¿¡,;:!?…–—-"


def learn_abbreviations(texts: Iterable[str]) -> list[str]:
    """The abbreviations in `texts`, sorted, in lower case and without their period.

    The log-likelihood ratio of a word indicates whether its period belongs to it. It is lowered for long words and for
    words that also occur without a period, and raised for words with inner periods (section 3.1 of the paper). The
    last word of a text is ignored, since its period ends the sentence. Rules handle single letters and digits.
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
    """The score of a word that occurs `periods` times with a period and `without` times without one."""
    by_chance = periods * math.log(share) + without * math.log(max(1 - share, 1e-12))
    as_abbreviation = periods * math.log(0.99) + without * math.log(0.01)
    inner = word.count(".")
    letters = len(word) - inner
    return 2 * (as_abbreviation - by_chance) * math.exp(-letters) * (inner + 1) * letters**-without
