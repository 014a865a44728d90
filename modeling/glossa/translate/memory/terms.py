"""What texts are compared by: a key in which values are equal, and the terms by which similar keys are found."""

import math
import re
from itertools import pairwise
from typing import NamedTuple

from ...model.facts_glossa import IDEOGRAPHS, WIDE
from ...model.spans_glossa import KINDS, SENTINELS, Span

# A number that is no part of a word. In scripts without spaces, and in Korean, it may touch letters.
_LETTER = rf"[^\W{WIDE}가-힣\u0e00-\u0eff]"
_NUMBER = rf"(?<!{_LETTER})\d+(?:[.,:]\d+)*(?!{_LETTER})"
# The character that stands for a value of each kind. These are private, so they are no part of words.
TAG, NUMBER = "\U000fff00", "\U000fff01"
_MARKS = {
    "address": "\U000fff02", "placeholder": "\U000fff03", "path": "\U000fff04", "option": "\U000fff05",
    "emoji": "\U000fff06", "number": NUMBER,
}  # fmt: skip
_KIND_OF = {"version": "number", "measure": "number", "sentinel": "placeholder", "plain": "number"}
# Code, identifiers and account numbers are words of a text: another one seldom has the same translation.
_COMPARED = {kind: KINDS[kind] for kind in KINDS if kind in _MARKS or kind in _KIND_OF} | {"plain": _NUMBER}
_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _COMPARED.items()))
# Texts without these characters have no values; most have none, and the search for values takes most of the time.
_MAYBE = re.compile(rf"[\d%{{<&/\\@#]|\w\.\w|(?<!\w)-|{KINDS['emoji']}|[{SENTINELS}]")
_DIGITS = re.compile(r"[\d.,]*\d")

# Characters of scripts without spaces are words. (Of Thai and its neighbors, which also write none.)
_ALONE = f"{IDEOGRAPHS}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+|[{''.join(_MARKS.values())}{TAG}]")
# In short texts few words are equal, although most characters are: up to these lengths, groups of three and of two
# characters are terms too. Texts that are found may be longer by `REACH`.
THREES, TWOS = 36, 14
REACH = 1.86  # times the length, at a score of 70: 2 * 1 / (1 + 1.86) = 0.7
PER_OCTAVE = 6  # classes of length in which the length doubles
CLASSES = 64


class Value(NamedTuple):
    """A part of a text that another value may replace: the character that stands for its kind, and its place."""

    mark: str
    place: Span


def find_values(text: str) -> list[Value]:
    """The numbers, placeholders, tags, addresses, paths, options and emojis of a text, from left to right."""
    return [_value(found) for found in _VALUE.finditer(text)] if _MAYBE.search(text) else []


def _value(found: re.Match) -> Value:
    kind = str(found.lastgroup)
    start, end = found.span()
    if kind == "measure":  # the unit is text
        end = start + len(_DIGITS.match(found[0])[0])  # type: ignore[index]
    if kind == "placeholder" and found[0].startswith("<") and found[0].endswith(">") and found[0][1] != "%":
        return Value(TAG, Span(start, end))
    return Value(_MARKS[_KIND_OF.get(kind, kind)], Span(start, end))


def key_of(text: str) -> str:
    """A clean text with one character for each of its values, a different one for each kind."""
    parts, position = [], 0
    for mark, (start, end) in find_values(text):
        parts += [text[position:start], mark]
        position = end
    return "".join([*parts, text[position:]]) if parts else text


def terms_of(key: str, reach: float = 1.0) -> set[str]:
    """The terms of a key: its words and pairs of neighbors, and groups of characters if it is short.

    A text that is stored has those of `reach` [`REACH`], so that shorter texts find it.
    """
    folded = key.casefold()
    words = _WORD.findall(folded)
    terms = {*words, *map(" ".join, pairwise(words))}
    folded = f"^{folded}$"
    for size, longest in ((3, THREES), (2, TWOS)):
        if len(folded) <= longest * reach:
            terms |= {f"{size}{folded[start : start + size]}" for start in range(len(folded) - size + 1)}
    return terms


def length_class(key: str) -> int:
    """The class of the length of a key, on a scale of logarithms."""
    return min(int(PER_OCTAVE * math.log2(max(len(key), 1))), CLASSES - 1)
