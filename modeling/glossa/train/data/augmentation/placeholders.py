"""Numbers and names that both sides have, as tokens that a model keeps; see `segments_glossa`."""

import re
from random import Random

from ....base.pair import Pair
from ....model.spans_glossa import ADDRESS, PLACEHOLDER, SENTINELS
from .items import PLACES, put

_WORD = r"(?<!\w)\w+(?:[-.,:/'’&]\w+)*"
_SPAN = re.compile(rf"{ADDRESS.pattern}|{PLACEHOLDER.pattern}|{_WORD}")
SHORTEST = 4  # letters of a word in small letters; short ones, such as "in", have their own meaning in each language
PUT = 0.5
MOST = 3  # that are put at places
BETWEEN = 0.7  # of these, between words


def with_sentinels(pair: Pair, generator: Random) -> Pair | None:
    """Both sides with sentinels for some of what they share, or all of it, and at the same kinds of places.

    A pair that shares nothing gets one to three at such places, or between words that are as far along in both sides,
    and others with a probability of `PUT`; None if it has no such place. Which sentinels these are is random, so that
    a model learns all of them from few pairs.
    """
    sentinels = generator.sample(SENTINELS, len(SENTINELS))
    shared = shared_spans(pair)[: len(SENTINELS)]
    chosen = generator.sample(shared, generator.randint(1, len(shared))) if shared else []
    names = dict(zip(chosen, sentinels, strict=False))
    changed = Pair(*(_SPAN.sub(lambda found: names.get(found[0], found[0]), side) for side in pair))
    if not chosen or generator.random() < PUT:
        for sentinel in sentinels[len(chosen) :][: generator.randint(1, MOST)]:
            inside = generator.random() < BETWEEN and _between(changed, sentinel, generator.random())
            changed = inside or put(changed, sentinel, generator.choice(PLACES)) or changed
    return changed if changed != pair else None


def _between(pair: Pair, sentinel: str, share: float) -> Pair | None:
    """Both sides with `sentinel` after this share of their words, at least one; None if one has no two words."""
    sides = [side.split(" ") for side in pair]
    if min(map(len, sides)) < 2:
        return None
    for words in sides:
        words.insert(1 + int(share * (len(words) - 1)), sentinel)
    return Pair(*map(" ".join, sides))


def shared_spans(pair: Pair) -> list[str]:
    """What both sides have once and spell alike: places for values, addresses, numbers and names."""
    source, target = (_SPAN.findall(side) for side in pair)
    return [text for text in source if _is_name(text) and source.count(text) == target.count(text) == 1]


def _is_name(text: str) -> bool:
    return len(text) >= SHORTEST or not (text.isalpha() and text == text.lower())
