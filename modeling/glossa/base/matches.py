"""What a model reads of a translation memory: a match behind the source, and how often in training."""

from collections.abc import Sequence
from random import Random

from ..model.spans_glossa import ITEM, MARK, MEMORY
from .pair import Pair
from .word_links import find_words

USED = 70  # the least score of a match in training, and in use unless another is asked for
RANDOM = 0.03  # of the pairs with a match, which see any other pair instead, so that a model does not trust it blindly
MATCH = ["match_source", "match_target"]
MATCH_SCORE = "match_score"


def behind(source: str, match: Pair) -> str:
    """What a model reads behind a source: the translation of a match, and words of its source that the source lacks.

    What holds of the translation follows from the words that do not (the idea of Bulté and Tezcan 2019, section 3, who
    put the translation alone behind the source; Xu et al. 2020 mark which of its words have a match).
    """
    if MARK in source:
        match = Pair(*(ITEM.sub(MARK, side) for side in match))
    differing = differing_words(match.source, source)
    return f"{MEMORY} {match.target}" + (f"{MEMORY} {differing}" if differing else "")


def differing_words(known: str, source: str) -> str:
    """The words of `known` that `source` does not have, in order; case is ignored."""
    from rapidfuzz.distance import LCSseq

    words = find_words(known)
    folded = [[text[first:last].casefold() for first, last in find_words(text)] for text in (known, source)]
    lost = [step for step in LCSseq.opcodes(*folded) if step.tag in ("replace", "delete")]
    return " ".join(known[words[step.src_start][0] : words[step.src_end - 1][1]] for step in lost)


def sources_with_matches(batch: dict) -> list[str]:
    """The sources of evaluated rows as a model reads them that uses a memory."""
    columns = (batch[name] for name in ("source", *MATCH, MATCH_SCORE))
    return [
        source + behind(source, Pair(known, target)) if score else source
        for source, known, target, score in zip(*columns, strict=True)
    ]


def shown(
    others: Sequence[Pair], pairs: Sequence[Pair], matches: Sequence[Pair], rows: Sequence[int], seed: int, epoch: int
) -> list[Pair]:
    """The matches that pairs see in an epoch: mostly their own, and a share of `RANDOM` any pair of `others`."""
    chosen = []
    for pair, match, row in zip(pairs, matches, rows, strict=True):
        generator = Random((1 << 200) | (seed << 128) | (epoch << 64) | row)
        other = others[generator.randrange(len(others))] if generator.random() < RANDOM else match
        chosen.append(match if other.source == pair.source else other)
    return chosen
