"""Chinese and Japanese numbers with Han characters: 三十, 二〇二〇, 15万, 17.16亿."""

import re
from fractions import Fraction

DIGITS = dict(zip("〇零一二三四五六七八九两兩", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2), strict=True))
UNITS = {"十": 10, "百": 100, "千": 1000}
GROUPS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
SIGNS = "".join((*DIGITS, *UNITS, *GROUPS))
LONGEST = 40  # signs of a number that are read
# 多, 余 and 餘: somewhat more, as in 20多万.
_MORE = rf"(?:\d+|[{SIGNS}]){{0,{LONGEST}}}"
NUMBER = re.compile(
    r"(?<!\d)(?<!\d[.,])"  # the start of a number, so that the time is linear
    rf"\d+(?:[.,]\d+)*[ \u00a0]?[多余餘]?[{''.join((*UNITS, *GROUPS))}]{_MORE}|[{SIGNS}]{{1,{LONGEST}}}"
)
TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[{SIGNS}]")


def write_han_numbers(text: str) -> tuple[str, list[str]]:
    """Write figures with Han units, such as 15万, and months with digits alone, and take out numbers without digits.

    Returns the text, and the values of the numbers that were taken out. A number character within a word, as in 一緒,
    counts as a number too, so some are not real numbers.
    """
    if text.isascii() or not any(sign in text for sign in SIGNS):
        return text, []
    values: list[str] = []

    def written(found: re.Match) -> str:
        value = str(_value(found[0]))
        if found[0][0].isdecimal() or text[found.end() : found.end() + 1] == "月":
            return f"{value} "
        values.append(value)
        return " "

    return NUMBER.sub(written, text), values


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
