"""Insertion of items to copy into both sides: the mark for spans, numbers and codes, also in place of shared words.

A trained model reads the mark instead of an item, which is then restored in the translation, see `segments_glossa`.
"""

import re
import string
from random import Random

from ....base.pair import Pair
from ....model.spans_glossa import MARK

_FINAL = re.compile(r"[ \u00a0\u202f]?[.!?。！？।…]+$")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMA = re.compile(r"[,，、،]")
SHARED = 0.5  # share of pairs whose shared number is replaced by another number, or shared word by the mark
ITEMS = ("mark", "mark", "number", "number", "code")
PLACES = ("inside", "inside", "start", "end", "comma")  # inside: before the last mark of the sentence


def with_item(pair: Pair, generator: Random) -> Pair | None:
    """Insert an item at the same kind of place in both sides; None if a side lacks this place."""
    if generator.random() < SHARED:
        if number := only_shared(_NUMBER, pair):
            other = _digits(generator, len(number))
            return Pair(*(side.replace(number, other) for side in pair))
        if word := only_shared(_WORD, pair):
            return Pair(*(side.replace(word, MARK) for side in pair))
    return insert_item(pair, make_item(generator.choice(ITEMS), generator), generator.choice(PLACES))


def make_item(kind: str, generator: Random) -> str:
    """Draw an item: the mark, or a random number or code."""
    if kind == "mark":
        return MARK
    if kind == "code":
        letters = "".join(generator.choices(string.ascii_uppercase, k=generator.randint(1, 3)))
        return f"{letters}{generator.choice(('', '-'))}{_digits(generator, generator.randint(1, 4))}"
    number = _digits(generator, generator.randint(1, 4))
    return generator.choice((number, number, f"{number}.{generator.randint(0, 99)}", f"{number}%", f"({number})"))


def insert_item(pair: Pair, item: str, place: str) -> Pair | None:
    """Insert `item` into both sides: at the start, the end, after the first comma, or inside, before the final mark.

    Returns None if a side lacks the comma or the final mark.
    """
    if place == "start":
        return Pair(*(f"{item} {side}" for side in pair))
    if place == "end":
        return Pair(*(f"{side} {item}" for side in pair))
    found = [(_COMMA if place == "comma" else _FINAL).search(side) for side in pair]
    if None in found:
        return None
    ends = [(mark.end() if place == "comma" else mark.start()) for mark in found if mark]
    return Pair(*(f"{side[:end]} {item}{side[end:]}" for side, end in zip(pair, ends, strict=True)))


def only_shared(pattern: re.Pattern, pair: Pair) -> str | None:
    """The only match of `pattern` shared by both sides, if each has it once and not within another word; else None."""
    source, target = (pattern.findall(side) for side in pair)
    shared = set(source) & set(target)
    if len(shared) != 1:
        return None
    (found,) = shared
    return found if all(side.count(found) == 1 for side in pair) else None


def _digits(generator: Random, count: int) -> str:
    return str(generator.randint(10 ** (count - 1), 10**count - 1)) if count > 1 else str(generator.randint(0, 9))
