"""The marks at the end of a sentence: missing, or repeated."""

import re
from random import Random

from .pair import Pair

# One mark with the no-break space that French has before it.
_FINAL = re.compile(r"(?<=[^\s.!?。！？।…])([ \u00a0\u202f]?[.!?。！？।…])$")
MISSING = 0.8  # of the endings; the others are repeated


def changed_ending(pair: Pair, generator: Random) -> Pair | None:
    """Both sides without their last mark, or with two or three of it; None if one of the two has none."""
    marks = [_FINAL.search(side) for side in pair]
    if None in marks:
        return None
    if generator.random() < MISSING:
        return without_ending(pair)
    more = generator.choice((1, 2))
    return Pair(*(side + mark[0][-1] * more for side, mark in zip(pair, marks, strict=True) if mark))


def without_ending(pair: Pair) -> Pair | None:
    """Both sides without their last mark; None if one of the two has none."""
    shorter = Pair(*(_FINAL.sub("", side) for side in pair))
    return shorter if shorter.source != pair.source and shorter.target != pair.target else None
