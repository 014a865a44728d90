"""What is copied: emoji, addresses, tags, numbers and codes, put into both sides at the same kind of place."""

import re
import string
from random import Random

from .pair import Pair

_EMOJI = "".join(map(chr, (*range(0x1F600, 0x1F645), *range(0x1F300, 0x1F321), *range(0x1F400, 0x1F43F))))
_DOMAINS = ("com", "org", "net", "de", "fr", "io", "co.uk", "eu")
_FINAL = re.compile(r"[ \u00a0\u202f]?[.!?。！？।…]+$")
_NUMBER = re.compile(r"\d+")
_COMMA = re.compile(r"[,，、،]")
ITEMS = ("emoji", "address", "mail", "number", "code", "tag")
PLACES = ("inside", "inside", "start", "end", "comma")  # inside: before the last mark


def with_item(pair: Pair, generator: Random) -> Pair | None:
    """Both sides with an item, or with another number if they have the same one; None if they have no place for it."""
    item = generator.choice(ITEMS)
    if item == "number" and (found := same_number(pair)):
        other = _digits(generator, len(found))
        return Pair(*(side.replace(found, other) for side in pair))
    return put(pair, make_item(item, generator), generator.choice(PLACES))


def make_item(kind: str, generator: Random) -> str:
    """A random item of one of `ITEMS`."""
    if kind == "emoji":
        return generator.choice(_EMOJI)
    if kind == "address":
        path = f"/{_word(generator)}" if generator.random() < 0.5 else ""
        start = generator.choice(("https://", "http://", "https://www.", "www."))
        return f"{start}{_word(generator)}.{generator.choice(_DOMAINS)}{path}"
    if kind == "mail":
        return f"{_word(generator)}@{_word(generator)}.{generator.choice(_DOMAINS)}"
    if kind == "number":
        number = _digits(generator, generator.randint(1, 4))
        return generator.choice((number, number, f"{number}.{generator.randint(0, 99)}", f"{number}%", f"({number})"))
    if kind == "code":
        letters = "".join(generator.choices(string.ascii_uppercase, k=generator.randint(1, 3)))
        return f"{letters}{generator.choice(('', '-'))}{_digits(generator, generator.randint(1, 4))}"
    word = _word(generator)
    return generator.choice((f"<{word}>", f"</{word}>", f"{{{word}}}", f"#{word}", f"@{word}"))


def put(pair: Pair, item: str, place: str) -> Pair | None:
    """Both sides with `item`: at the start, the end, after the first comma, or inside, before the last mark.

    None if only one side has a comma or a last mark.
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


def same_number(pair: Pair) -> str | None:
    """The number that occurs once on each side, if there is one alone; else None."""
    numbers = [_NUMBER.findall(side) for side in pair]
    return numbers[0][0] if numbers[0] == numbers[1] and len(numbers[0]) == 1 else None


def _word(generator: Random) -> str:
    return "".join(generator.choices(string.ascii_lowercase, k=generator.randint(3, 9)))


def _digits(generator: Random, count: int) -> str:
    return str(generator.randint(10 ** (count - 1), 10**count - 1)) if count > 1 else str(generator.randint(0, 9))
