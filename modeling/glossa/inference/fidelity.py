"""What a translation must keep unchanged: numbers, addresses and placeholders."""

import re
from collections import Counter

from ..data.han_numbers import take_han_numbers
from ..segments_glossa import ADDRESS, PLACEHOLDER

KINDS = ("different in numbers", "different in addresses", "different in placeholders")
# Digits with marks between thousands, which differ by language; India has them also between hundreds. Decimals are
# numbers of their own, as in dates.
_NUMBER = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?!\d)|\d{1,3}(?:[.,٬'’\u00a0\u202f ]\d{3}(?!\d))+|\d+")
SPELLED = 20  # numbers up to this one are often written as words in one of the languages
HOURS = 12  # 5 p.m. is 17 h elsewhere
INVENTED = 100  # numbers of the translation alone from this one on; smaller ones may be words in the source


def find_difference(source: str, translation: str) -> str:
    """One of `KINDS` if numbers, addresses or placeholders of `source` and `translation` differ, or ""."""
    sides = [ADDRESS.findall(side) for side in (source, translation)]
    if Counter(sides[0]) != Counter(sides[1]):
        return KINDS[1]
    sides = [PLACEHOLDER.findall(side) for side in (source, translation)]
    if Counter(sides[0]) != Counter(sides[1]):
        return KINDS[2]
    (first, in_first), (second, in_second) = (_numbers(PLACEHOLDER.sub(" ", side)) for side in (source, translation))
    missing = [n for n in (first - second) if n > SPELLED and n - HOURS not in second and n not in in_second]
    hours = {number + HOURS for number in first}
    invented = [n for n in (second - first) if n >= INVENTED and n not in hours and n not in in_first]
    return KINDS[0] if missing or invented else ""


def _numbers(text: str) -> tuple[Counter[int], set[int]]:
    """The numbers in `text`, each as an integer made of its digits, and those that Chinese characters may be."""
    text, possible = take_han_numbers(text)
    return Counter(int(re.sub(r"\D", "", found)[:300]) for found in _NUMBER.findall(text)), possible
