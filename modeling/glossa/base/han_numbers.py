"""Chinese and Japanese numbers with Han characters: 三十, 二〇二〇, 15万, 17.16亿."""

import re
from fractions import Fraction

DIGITS = dict(zip("〇零一二三四五六七八九两兩", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2), strict=True))
UNITS = {"十": 10, "百": 100, "千": 1000}
GROUPS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
SIGNS = "".join((*DIGITS, *UNITS, *GROUPS))
NUMBER = re.compile(rf"(?:\d+(?:[.,]\d+)*[ \u00a0]?)?[{SIGNS}](?:\d+|[{SIGNS}])*")
TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[{SIGNS}]")


def take_han_numbers(text: str) -> tuple[str, set[int]]:
    """Remove the numbers with Han characters from `text`; returns the rest and their values.

    A number character within a word, as in 一緒, counts as a number too, so some values are not real numbers.
    """
    if text.isascii() or not any(sign in text for sign in SIGNS):
        return text, set()
    return NUMBER.sub(" ", text), {_value(found[0]) for found in NUMBER.finditer(text)}


def _value(number: str) -> int:
    total = section = Fraction(0)
    last: Fraction | None = None  # digits not yet followed by a unit
    for token in TOKEN.findall(number):
        if token in UNITS:
            section += (1 if last is None else last) * UNITS[token]
            last = None
        elif token in GROUPS:
            total += ((section + (last or 0)) or 1) * GROUPS[token]
            section, last = Fraction(0), None
        elif token in DIGITS:
            last = (last or 0) * 10 + Fraction(DIGITS[token])
        else:
            last = Fraction(token.replace(",", "")) if token.count(".") < 2 else Fraction(0)
    return int(total + section + (last or 0))
