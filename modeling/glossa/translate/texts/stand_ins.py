"""Names and numbers that models know, in the place of spans and numbers that they do not keep.

A model that drops 517 or an address translates 12 or Tom well, and where these are in the translation is the place of
what they stand for.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...model.spans_glossa import Span
from .spans import locate

# A number with marks between its digits and signs of currency next to it.
FIGURE = re.compile(r"[$€£¥]?(?<![^\W\d_])\d+(?:[^\w\s]\d+)*(?:[ \u00a0]?[$€£¥])?(?![^\W\d_])")
# For spans and for numbers; the second ones are tried where the first ones are not kept.
NAMES = (("Tom", "Anna", "Peter", "Max", "Maria"), ("X", "Y", "Z", "K", "W"))
NUMBERS = (("12", "30", "15", "40", "25"), ("7", "8", "9", "6", "5"))


class Item(NamedTuple):
    """A part of a sentence that stays as it is.

    Attributes:
        span: Its characters.
        digits: Whether a number stands for it.
        number: Whether it is no span of the sentence, but a number.
    """

    span: Span
    digits: bool
    number: bool


class StandIns(NamedTuple):
    """A sentence with stand-ins, and their characters in it."""

    text: str
    spans: list[Span]


def items_of(text: str, spans: Sequence[Span], numbers: bool) -> list[Item]:
    """The spans of a sentence, and with `numbers` also the numbers between them, from left to right."""
    found = [Item(span, text[span.start].isdigit(), False) for span in spans]
    for figure in FIGURE.finditer(text) if numbers else ():
        if not any(span.start < figure.end() and figure.start() < span.end for span in spans):
            found.append(Item(Span(*figure.span()), True, True))
    return sorted(found)


def with_stand_ins(text: str, items: Sequence[Item]) -> Iterator[StandIns]:
    """The sentence with stand-ins for its items, in the ways that are tried one after the other."""
    for names, numbers in zip(NAMES, NUMBERS, strict=True):
        unused = {False: iter(_absent(text, names)), True: iter(_absent(text, numbers))}
        chosen = [next(unused[item.digits], None) for item in items]
        if None not in chosen:
            yield _replaced(text, [item.span for item in items], [each or "" for each in chosen])


def put_items(source: str, items: Sequence[Item], given: StandIns, translation: str) -> tuple[str, list[Span]] | None:
    """A translation with the items instead of their stand-ins, and their characters; None without each once."""
    places = locate(given.text, given.spans, translation)
    if places is None:
        return None
    order = sorted(range(len(items)), key=lambda index: places[index])
    texts = [source[items[index].span.start : items[index].span.end] for index in order]
    text, spans = _replaced(translation, [places[index] for index in order], texts)
    return text, [span for _, span in sorted(zip(order, spans, strict=True))]


def _absent(text: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in text]


def _replaced(text: str, spans: Sequence[Span], texts: Sequence[str]) -> StandIns:
    """`text` with `texts` instead of `spans`, which are from left to right."""
    done, found, position = "", [], 0
    for (start, end), new in zip(spans, texts, strict=True):
        done += text[position:start]
        found.append(Span(len(done), len(done) + len(new)))
        done, position = done + new, end
    return StandIns(done + text[position:], found)
