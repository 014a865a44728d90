"""Cuts sentences that are too long, at clauses, or else between words or characters. Saved with the model."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable

# Marks between clauses. In scripts with spaces, white space follows them; elsewhere any character but a digit may.
CLAUSE_END = re.compile(r"[,;:·՝׃፣፤၊،؛–—…][)\]'\"”’»]*+\s++|[、，；：､﹐﹑﹔﹕፣፤၊،؛](?![\d」』”’）】》])\s*+")
SPACES = re.compile(r"\s++")
JOINERS = "\u200c\u200d\u2060\ufe0e\ufe0f"
THAI_LEADING, THAI_FOLLOWING = "เแโใไເແໂໃໄ", "ะาำๅๆຯະາຳໆ"


def cut_text(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Cut `text` into as few pieces of about equal length as possible; joined, they are `text`.

    A piece ends at the mark of a clause near the even place, else between words, else between characters, but never
    inside a number, a combined character or an emoji. A single character that does not fit stays whole.
    """
    if fits(text):
        return [text]
    halves: list[str] = []
    for count in (2, 3):
        pieces = _cut(text, count)
        if all(map(fits, pieces)):
            return pieces
        halves = halves or pieces
    return [text] if len(halves) < 2 else [part for half in halves for part in cut_text(half, fits)]


def _cut(text: str, count: int) -> list[str]:
    """`text` in at most `count` pieces."""
    body = len(text.rstrip())
    clauses = [place.end() for place in CLAUSE_END.finditer(text, 0, body) if place.end() < body]
    spaces = [place.end() for place in SPACES.finditer(text, 0, body) if not _in_number(text, place.end())]
    share, cuts = len(text) / count, [0]
    for number in range(1, count):
        even = round(share * number)
        place = _nearest(clauses, even, share / 2) or _nearest(spaces, even, share) or _between(text, even)
        if cuts[-1] < place < len(text):
            cuts.append(place)
    return [text[first:last] for first, last in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _nearest(places: list[int], wanted: int, distance: float) -> int:
    """The place nearest to `wanted` and at most `distance` from it, or 0."""
    index = bisect_left(places, wanted)
    near = [place for place in places[max(index - 1, 0) : index + 1] if place > 0 and abs(place - wanted) <= distance]
    return min(near, key=lambda place: abs(place - wanted), default=0)


def _between(text: str, wanted: int) -> int:
    """The place nearest to `wanted` that is not inside a combined character or a number, or 0."""
    for distance in range(len(text)):
        for place in (wanted - distance, wanted + distance):
            if 0 < place < len(text) and not _in_character(text, place) and not _in_number(text, place):
                return place
    return 0


def _in_character(text: str, place: int) -> bool:
    """Whether a cut at `place` would divide what readers see as one character."""
    left, right = text[place - 1], text[place]
    if unicodedata.category(right)[0] == "M" or right in JOINERS or left in "\u200d\u2060":
        return True
    if right in THAI_FOLLOWING or left in THAI_LEADING or "\U0001f3fb" <= right <= "\U0001f3ff":
        return True
    if unicodedata.combining(left) == 9:  # a virama joins the letters next to it
        return True
    if "\u1160" <= right <= "\u11ff":  # vowels and final consonants of a Hangul syllable
        return True
    flags = re.search("[\U0001f1e6-\U0001f1ff]*$", text[max(place - 40, 0) : place])
    return "\U0001f1e6" <= right <= "\U0001f1ff" and bool(flags) and len(flags[0]) % 2 == 1


def _in_number(text: str, place: int) -> bool:
    """Whether a cut at `place` would divide a number, such as 1,299.50, 12:30 or 1 000."""
    left, right = text[max(place - 2, 0) : place], text[place : place + 2]
    if not left[-1:].isdigit():
        inside = left[:1].isdigit() and left[-1:] in ".,:/-٫٬\u00a0\u202f "
        return inside and right[:1].isdigit()
    return right[:1].isdigit() or (right[:1] in ".,:/-٫٬" and right[1:].isdigit())


__all__ = ["cut_text"]
