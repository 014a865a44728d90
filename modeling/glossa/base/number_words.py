"""Words that stand for numbers: "two hundred", "zweiundzwanzig", "milioni".

The words are in `number_words.json.gz`, which `scripts/number_words.py` wrote from data of Unicode's CLDR 48.2,
copyright 2004-2025 Unicode, Inc., under the Unicode License V3: https://www.unicode.org/license.txt. Permission is
granted, free of charge, to use, copy, modify and distribute them if this notice appears with all copies. They come as
they are, without warranty.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("number_words.json.gz")
# A character of a word: no white space, digit, punctuation or symbol.
LETTER = "[^\\s\\d!-@\\[-`{-©«-´¶-¹»-¿\u2000-\u206f\u2190-\u2bff\u3000-\u303f\uff00-\uff0f।॥،؛؟۔]"
ONE_LETTER = re.compile(LETTER)
WORD = re.compile(f"{LETTER}+")
HYPHEN = re.compile(f"(?<={LETTER})[-‐‑](?={LETTER})")
UNREAD = re.compile("[\u00ad\u093c\u200b]")
BLANK = re.compile("[ \u00a0\u2009\u202f]")
LAST_WORD = re.compile(f"(?<!{LETTER})({LETTER}+) [$€£]?$")
UNSPACED = ("ja", "km", "lo", "my", "th", "yue", "zh")  # languages that write no spaces between words
# Languages whose number words have no other forms than those in the table.
WHOLE = (
    *(
        "af",
        "ca",
        "da",
        "de",
        "en",
        "eo",
        "es",
        "fr",
        "hi",
        "id",
        "it",
        "ja",
        "ms",
        "nl",
        "nn",
        "no",
        "pt",
        "ru",
        "sv",
    ),
    *("sw", "th", "vi", "yue", "zh"),
)
LIKE = {"nb": "no"}  # languages with the words of others
PREFIX = 4  # letters of a number word that others may follow, as in "zweizeilig"
LARGE = 1000  # from here on, what a power of ten is multiplied by is complete: "two hundred thousand five"
# The kinds of number words. Clear ones mean nothing else; others are ordinals, fractions, "one" and powers of ten;
# weak ones are articles and words for several of something.
CLEAR, OTHER, WEAK, MONTH = "", "+", "=", "month "

Values = tuple[str, ...]  # of a phrase, each with its kind before it


class Words(NamedTuple):
    """The number words of a language: their values, the lengths of those with the same start, and "and"."""

    values: dict[str, Values]
    lengths: dict[str, tuple[int, ...]]
    links: frozenset[str]
    spaced: bool
    whole: bool


@cache
def number_table() -> dict[str, dict[str, str]]:
    """The words by language and value, with bars between them."""
    return json.loads(gzip.decompress(TABLE.read_bytes()))


def forms_of(value: str, language: str | None) -> tuple[str, ...]:
    """The words of a language that mean a number and nothing else; none if they are not known."""
    found = number_table().get(table_code(language), {}).get(value, "")
    return tuple(filter(None, found.split("|")))


def table_code(language: str | None) -> str:
    """The language of the table that has the words of a language."""
    plain = (language or "").replace("_", "-").partition("-")[0].lower()
    return LIKE.get(plain, plain)


@cache
def number_words(language: str | None) -> Words | None:
    """The number words of a language by its code; None if they are not known."""
    code = table_code(language)
    if code not in number_table():
        return None
    own = dict(number_table()[code])
    links = own.pop("and", "")
    values: dict[str, list[str]] = {}
    for value, phrases in own.items():
        for phrase in phrases.split("|"):
            values.setdefault(phrase, []).append(value)
    lengths: dict[str, set[int]] = {}
    for phrase, found in values.items():
        values[phrase] = sorted(value for value in found if WEAK + value not in found)  # an article is no clear number
        lengths.setdefault(phrase[:2].ljust(2), set()).add(len(phrase))
    return Words(
        {phrase: tuple(found) for phrase, found in values.items()},
        {start: tuple(sorted(found, reverse=True)) for start, found in lengths.items()},
        frozenset(links.split("|")) - {""},
        code not in UNSPACED,
        code in WHOLE,
    )


def folded(text: str) -> str:
    """A text as its number words are found in it: in lower case, and with spaces for hyphens."""
    return HYPHEN.sub(" ", UNREAD.sub("", text)).casefold()


def zeros_of(value: str) -> int:
    """The zeros of a power of ten from a hundred on; else 0."""
    return len(value) - 1 if len(value) > 2 and value.rstrip("0") == "1" else 0


def scale_after(text: str, at: int, words: Words) -> tuple[int, int]:
    """The zeros of the power of ten that the words behind a figure say, as in "2 million", and where they end."""
    zeros = 0
    while (found := _phrase(text, _after_blank(text, at), words)) and _ends(text, found[1], words):
        more = max(map(zeros_of, found[0]))
        if not more:
            break
        zeros, at = zeros + more, found[1]
    return zeros, at


def scale_before(text: str, words: Words) -> tuple[int, int]:
    """The same for a power of ten at the end of the text before a figure, as in "milioni 2", and where it begins."""
    found = LAST_WORD.search(text)
    zeros = max(map(zeros_of, words.values.get(found[1], ("",)))) if found else 0
    return (zeros, found.start()) if found and zeros > 2 else (0, len(text))


def spelled(text: str, words: Words) -> Iterator[tuple[str, str]]:
    """The values of the number words in a [`folded`] text, and their kinds."""
    done = 0
    for word in WORD.finditer(text):
        at = max(word.start(), done)
        while at < word.end():
            if not _may_begin(text, at, words):  # most words, in less time than the next line takes
                at = word.end() if words.spaced else at + 1
                continue
            values, end = _row(text, at, words)
            whole = _ends(text, end, words)
            for value, kind in _combined(values):
                yield value, OTHER if kind == CLEAR and (not whole or value in ("0", "1")) else kind
            at = done = word.end() if end == at and words.spaced else max(end, at + 1)


def _row(text: str, at: int, words: Words) -> tuple[list[Values], int]:
    """The values of number words that follow each other from a place on, () for "and", and where they end."""
    values: list[Values] = []
    end, linked = at, False
    while (found := _parts_of_word(text, at, words)) is not None:
        if values and not _ends(text, found[1], words):
            break  # "zweizeilig" is no part of a larger number
        values += [(), *found[0]] if linked else found[0]
        at = end = found[1]
        if not _ends(text, end, words):
            break
        at = _after_blank(text, end)
        if at == end and words.spaced:
            break
        link = WORD.match(text, at)
        linked = bool(link and link[0] in words.links)
        if linked:
            at = _after_blank(text, link.end())
    return values, end


def _parts_of_word(text: str, at: int, words: Words) -> tuple[list[Values], int] | None:
    """The values of a word's parts ("zweihundertfünfzig") and where they end; None if it does not begin with one."""
    values, start = [], at
    while (found := _phrase(text, at, words)) is not None:
        values.append(found[0])
        at = found[1]
        if _ends(text, at, words):
            return values, at
    return (values, at) if at - start >= PREFIX else None


def _phrase(text: str, at: int, words: Words) -> tuple[Values, int] | None:
    """The values of the number words at a place and their end: the longest that end where a word does, or any."""
    if not _may_begin(text, at, words):
        return None
    lengths = words.lengths[_start(text, at)]
    ends = [end for end in (at + length for length in lengths) if end <= len(text) and text[at:end] in words.values]
    if not ends:
        return None
    end = next((end for end in ends if _ends(text, end, words)), ends[0])
    return words.values[text[at:end]], end


def _start(text: str, at: int) -> str:
    return text[at : at + 2].ljust(2)


def _may_begin(text: str, at: int, words: Words) -> bool:
    """Whether a number word begins with the next two letters."""
    return _start(text, at) in words.lengths


def _ends(text: str, at: int, words: Words) -> bool:
    return not words.spaced or not ONE_LETTER.match(text, at)


def _after_blank(text: str, at: int) -> int:
    return at + 1 if BLANK.match(text, at) else at


def _combined(row: Iterable[Values]) -> Iterator[tuple[str, str]]:
    """The numbers of words that follow each other: "two hundred and five" is one, "two or three" two."""
    total = current = 0
    begun: str | None = None  # the kind of the number that has begun
    linked = False
    for values in row:
        for kind in (WEAK, OTHER, MONTH):
            for alone in (value.removeprefix(kind) for value in values if value.startswith(kind)):
                yield from ((number, OTHER if "/" in alone else kind) for number in alone.split("/"))
        plain = next((value for value in values if value.isdecimal()), "")
        if not plain:
            if values and begun is not None:
                yield str(total + current), begun
                total, current, begun = 0, 0, None
            linked = not values
            continue
        value, size = int(plain), 10 ** len(plain)
        if zeros_of(plain) and not linked and 0 < current < value:
            current *= value
        elif not (current or total) % size:
            current += value
        else:
            yield str(total + current), begun or CLEAR
            total, current, begun = 0, value, None
        if current >= LARGE:
            total, current = total + current, 0
        begun, linked = OTHER if begun is None and zeros_of(plain) else CLEAR, False
    if begun is not None:
        yield str(total + current), begun
