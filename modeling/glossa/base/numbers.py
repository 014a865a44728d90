"""Numbers of a text, as figures and as words.

A figure is a number with digits of any script. Values are strings such as "1234.5", so that none is rounded.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from .han_numbers import write_han_numbers
from .number_words import (
    CLEAR,
    LETTER,
    MONTH,
    OTHER,
    WEAK,
    Words,
    folded,
    number_words,
    scale_after,
    scale_before,
    spelled,
)  # fmt: skip

# Digits with marks between them; a blank only before three digits, as it may also stand between two numbers.
FIGURE = re.compile("(?<![^\\s(<>=~≤≥])[.,]\\d+|\\d+(?:(?:[.,'’٫٬]|[ \u00a0\u2009\u202f](?=\\d{3}(?!\\d)))\\d+)*")
MARK = re.compile(r"\D")
BLANKS = re.compile("[ \u00a0\u2009\u202f]+")
JOINT = re.compile("[/:–-]")
ROMAN = re.compile(r"(?<![^\W_])(?:[IVXLCDM]{2,}|[VX])(?=(?:er?|[èe]me|th|st|nd|rd|º|ª)?(?![^\W_]))")
# Words behind numbers that count nothing.
UNCOUNTED = (
    *("and", "as", "at", "for", "in", "indicates", "is", "of", "or", "to", "with", "bis", "ist", "oder", "und"),
    *("à", "est", "et", "indique", "ou", "pour", "até", "e", "é", "em", "para", "y", "o", "en", "es"),
)
# Before digits of a name (COVID-19, F5), before the end of a range of years (2019–20), and of an hour (10:00).
NAME = re.compile(r"(?:(?<!\d)|[a-z]\d)[A-Za-z\u00c0-\u024f\u0370-\u052f_][-‐‑]?$")
# Behind digits of a word that other languages may write without them: 1-dimensional, 90-degree.
COMPOUND = re.compile("[-‐‑][a-z]{3}")
YEAR = re.compile(r"(?<!\d)(1[89]|20)\d\d[-–/]$")
HOUR = re.compile(r"\d[ \u00a0\u202f]?[:h][ \u00a0\u202f]?$")
BEFORE = 6  # characters that these need
# Behind digits that count things: 1 file, 1st; not 1 to 8.
COUNTS = re.compile(rf"[ \u00a0\u202f]?(?!(?:{'|'.join(UNCOUNTED)})(?!{LETTER})){LETTER}")
CLOCK = re.compile(
    r"\d[:.h]\d\d(?!\d)|\d[ \u00a0\u202f]?(?:[ap]\.?[ \u00a0]?m(?![^\W_])|h(?![^\W_])|[時时点點])"
    r"|heure|(?<![^\W_])uhr(?![^\W_])|(?<![^\W_])horas?(?![^\W_])|o['’]clock",
    re.IGNORECASE,
)
DATED = re.compile("[月월]")  # months by their numbers
ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
DIGITS = 300  # of a number that are read
WEAK_VALUES = ("0", "1")  # articles and such stand for these


class Figure(NamedTuple):
    """A number with digits.

    Attributes:
        wholes: What it may be as a whole.
        parts: The numbers that its runs of digits may be by themselves, as in a date.
        name: Whether it belongs to a name, such as COVID-19.
        counts: Whether it counts things.
    """

    wholes: tuple[str, ...]
    parts: tuple[str, ...]
    name: bool
    counts: bool


class Numbers(NamedTuple):
    """The numbers of a text.

    Attributes:
        figures: Those with digits.
        doubled: Figures with the same one before them.
        pairs: Two figures with a slash, colon or dash between them.
        words: Values of its number words, but weak ones.
        clear: Of those that mean nothing else.
        weak: Values of articles and of other words that are seldom written with digits.
        han: Values that Han characters may have.
        months: Numbers of the months that words name.
        clock: Whether it has a time of day.
        dated: Whether it names months by their numbers, as Chinese does.
    """

    figures: list[Figure]
    doubled: set[str]
    pairs: set[tuple[str, str]]
    words: Counter[str]
    clear: Counter[str]
    weak: Counter[str]
    han: Counter[str]
    months: Counter[str]
    clock: bool
    dated: bool


def find_numbers(text: str, language: str | None = None) -> Numbers:
    """The numbers of a text. Without known words of its language, only Han characters and Roman numerals are words."""
    clock, dated = bool(CLOCK.search(text)), bool(DATED.search(text))
    text, han = write_han_numbers(text)
    roman = Counter(str(_roman(found[0])) for found in ROMAN.finditer(text))
    words = number_words(language)
    figures, doubled, pairs, rest = _read_figures(folded(text), words)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for value, kind in spelled(rest, words) if words else ():
        kinds[kind][value] += 1
    weak = Counter({value: kinds[WEAK][value] for value in WEAK_VALUES})
    values = kinds[CLEAR] + kinds[OTHER] + (kinds[WEAK] - weak) + roman
    return Numbers(figures, doubled, pairs, values, kinds[CLEAR], weak, Counter(han), kinds[MONTH], clock, dated)


def _read_figures(text: str, words: Words | None) -> tuple[list[Figure], set[str], set[tuple[str, str]], str]:
    """The figures of a text, those that are doubled, those in pairs, and the text without them."""
    figures: list[Figure] = []
    doubled: set[str] = set()
    runs: list[list[Figure]] = [[]]  # of figures with a joint between them
    pieces, done = [], 0
    for found in FIGURE.finditer(text):
        between, end, zeros = text[done : found.start()], found.end(), 0
        if words:
            zeros, end = scale_after(text, end, words)
        if words and not zeros:
            zeros, start = scale_before(between, words)
            between = between[:start]
        own = _figures(found, text, zeros)
        if own and figures and figures[-1].wholes == own[0].wholes and BLANKS.fullmatch(between):
            doubled.add(own[0].wholes[0])
        if not JOINT.fullmatch(between):
            runs.append([])
        runs[-1] += own
        figures += own
        pieces.append(between)
        done = end
    both = [run for run in runs if len(run) == 2]
    pairs = {(one, other) for run in both for one in run[0].wholes for other in run[1].wholes if one != other}
    # Digits between the pieces, so that the words on both sides of a figure are apart.
    return figures, doubled, pairs, "0".join([*pieces, text[done:]])


def _figures(found: re.Match, text: str, zeros: int) -> list[Figure]:
    """The figure at a place of a text, with the zeros that a word says; of a list such as 0.5,2 several."""
    start, end = found.span()
    before = text[max(start - BEFORE, 0) : start]
    if found[0] == "00" and HOUR.search(before):
        return []
    figures, named = [], bool(NAME.search(before) or COMPOUND.match(text, end))
    for one in _items(found[0]):
        wholes, parts = _readings(one)
        if year := YEAR.search(before) if len(one) == 2 else None:
            wholes = (year[1] + _ascii(one), *wholes)
        if zeros:
            larger = tuple(_shifted(whole, zeros) for whole in wholes)
            wholes, parts = (larger, larger[:1]) if zeros > 2 else (wholes + larger, parts)  # "cents" are also coins
        figures.append(Figure(wholes, parts, named, one.isdecimal() and bool(COUNTS.match(text, end))))
    return figures


def _items(figure: str) -> list[str]:
    """A figure, or those of a list with commas and decimals."""
    several = "," in figure and "." in figure and _readings(figure)[0][0].count(".") > 1
    return [one for one in figure.split(",") if one] if several else [figure]


def _readings(figure: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a figure may be as a whole, with marks between thousands or before decimals, and the numbers in it."""
    marks, runs = MARK.findall(figure), MARK.split(figure)
    runs[0] = runs[0] or "0"
    parts = tuple(map(_plain, runs))
    if not marks:
        return parts, parts
    wholes = [_plain("".join(runs))] if _grouped(marks, runs) else []
    decimal = len(marks) == 1 or (marks[-1] != marks[0] and _grouped(marks[:-1], runs[:-1]))
    if marks[-1] in ".,٫" and decimal and not (wholes and parts[-1].endswith("0")):
        wholes.append(_decimal(_plain("".join(runs[:-1])), runs[-1]))
    if not wholes:
        return (".".join(parts),), parts
    divides = len(parts) == 2 and parts[0] != "0" and max(map(len, runs)) < 3  # as a time does
    return tuple(wholes), parts if divides else (wholes[0],)


def _grouped(marks: Sequence[str], runs: Sequence[str]) -> bool:
    """Whether marks stand between thousands, or as in India, also between hundreds."""
    first, *middle, last = map(len, runs)
    same = len(set(marks)) == 1 and _plain(runs[0]) != "0"
    return same and last == 3 and first <= 3 and set(middle) in (set(), {3}, {2})


def _plain(digits: str) -> str:
    """Digits of any script without leading zeros; of very many, the first."""
    return str(int(digits[:DIGITS]))


def _ascii(digits: str) -> str:
    return "".join(str(int(digit)) for digit in digits)


def _decimal(whole: str, digits: str) -> str:
    fraction = _ascii(digits[:DIGITS]).rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _shifted(number: str, zeros: int) -> str:
    """A number times a power of ten; a date or a list stays."""
    if number.count(".") > 1:
        return number
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(zeros, "0")
    return _decimal(_plain(whole + fraction[:zeros]), fraction[zeros:])


def _roman(numeral: str) -> int:
    values = [ROMAN_DIGITS[letter] for letter in numeral]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))
