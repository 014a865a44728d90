"""Translation memory matches as model input: a match is appended to the source, also in training."""

from collections.abc import Sequence
from random import Random

from ..model.spans_glossa import ITEM, MARK, MEMORY
from .pair import Pair
from .word_links import find_words

USED = 70  # minimum score of a match in training, and the default minimum in translation
RANDOM = 0.03  # share of pairs with a match that see a random pair instead, so that the match is not trusted blindly
MATCH = ["match_source", "match_target"]
MATCH_SCORE = "match_score"


def memory_suffix(source: str, match: Pair) -> str:
    """The text appended to a source: the translation of a match, and the words of the match that `source` lacks.

    These words tell the model which parts of the translation do not apply. Bulté and Tezcan (2019, section 3) append
    only the translation; Xu et al. (2020) mark which of its words have a match.
    """
    if MARK in source:
        match = Pair(*(ITEM.sub(MARK, side) for side in match))
    differing = differing_words(match.source, source)
    return f"{MEMORY} {match.target}" + (f"{MEMORY} {differing}" if differing else "")


def differing_words(known: str, source: str) -> str:
    """The words of `known` that `source` lacks, in order; case is ignored."""
    from rapidfuzz.distance import LCSseq

    words = find_words(known)
    folded = [[text[first:last].casefold() for first, last in find_words(text)] for text in (known, source)]
    lost = [step for step in LCSseq.opcodes(*folded) if step.tag in ("replace", "delete")]
    return " ".join(known[words[step.src_start][0] : words[step.src_end - 1][1]] for step in lost)


def sources_with_matches(batch: dict) -> list[str]:
    """The sources of a batch of rows, with their matches for a model that uses a translation memory."""
    columns = (batch[name] for name in ("source", *MATCH, MATCH_SCORE))
    return [
        source + memory_suffix(source, Pair(known, target)) if score else source
        for source, known, target, score in zip(*columns, strict=True)
    ]


def draw_matches(
    others: Sequence[Pair], pairs: Sequence[Pair], matches: Sequence[Pair], rows: Sequence[int], seed: int, epoch: int
) -> list[Pair]:
    """The matches that `pairs` see in an epoch: their own, or for a share of `RANDOM` a random pair of `others`."""
    chosen = []
    for pair, match, row in zip(pairs, matches, rows, strict=True):
        generator = Random((1 << 200) | (seed << 128) | (epoch << 64) | row)
        other = others[generator.randrange(len(others))] if generator.random() < RANDOM else match
        chosen.append(match if other.source == pair.source else other)
    return chosen
