"""Replacement of shared numbers and names with placeholder tokens that a model keeps; see `segments_glossa`."""

import re
from random import Random

from ....base.pair import Pair
from ....model.spans_glossa import ADDRESS, PLACEHOLDER, SENTINELS
from .items import PLACES, insert_item

_WORD = r"(?<!\w)\w+(?:[-.,:/'’&]\w+)*"
_SPAN = re.compile(rf"{ADDRESS.pattern}|{PLACEHOLDER.pattern}|{_WORD}")
SHORTEST = 4  # minimum letters of a lowercase word; short ones, such as "in", differ in meaning between languages
PUT = 0.5  # probability of inserting sentinels into a pair with replaced spans
MOST = 3  # maximum number of inserted sentinels
BETWEEN = 0.7  # share of these that are inserted between words


def with_sentinels(pair: Pair, generator: Random) -> Pair | None:
    """Replace some or all shared spans of both sides with sentinels, and insert sentinels.

    One to three sentinels are inserted at the same kind of place, or between words at the same relative position:
    always if there are no shared spans, otherwise with probability `PUT`. Returns None if nothing changes. Sentinels
    are chosen at random, so that a model learns all of them from few pairs.
    """
    sentinels = generator.sample(SENTINELS, len(SENTINELS))
    shared = shared_spans(pair)[: len(SENTINELS)]
    chosen = generator.sample(shared, generator.randint(1, len(shared))) if shared else []
    names = dict(zip(chosen, sentinels, strict=False))
    changed = Pair(*(_SPAN.sub(lambda found: names.get(found[0], found[0]), side) for side in pair))
    if not chosen or generator.random() < PUT:
        for sentinel in sentinels[len(chosen) :][: generator.randint(1, MOST)]:
            inside = generator.random() < BETWEEN and _between(changed, sentinel, generator.random())
            changed = inside or insert_item(changed, sentinel, generator.choice(PLACES)) or changed
    return changed if changed != pair else None


def _between(pair: Pair, sentinel: str, share: float) -> Pair | None:
    """Insert `sentinel` after this share of the words of each side, at least one; None if a side has only one word."""
    sides = [side.split(" ") for side in pair]
    if min(map(len, sides)) < 2:
        return None
    for words in sides:
        words.insert(1 + int(share * (len(words) - 1)), sentinel)
    return Pair(*map(" ".join, sides))


def shared_spans(pair: Pair) -> list[str]:
    """The spans that occur exactly once in both sides: placeholders, addresses, numbers and names."""
    source, target = (_SPAN.findall(side) for side in pair)
    return [text for text in source if _is_name(text) and source.count(text) == target.count(text) == 1]


def _is_name(text: str) -> bool:
    return len(text) >= SHORTEST or not (text.isalpha() and text == text.lower())
