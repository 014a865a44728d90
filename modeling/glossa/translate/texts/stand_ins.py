"""Names and numbers that models know, in the place of spans and numbers that they do not keep.

A model that drops 517 or an address translates 12 or Tom well, and where these are in the translation is the place of
what they stand for. Digits that it does not know either are written as words: "three" for "trois".
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...base.number_words import forms_of
from ...model.spans_glossa import Span
from .spans import locate

# A number with marks between its digits and signs of currency next to it.
FIGURE = re.compile(r"[$€£¥]?(?<![^\W\d_])\d+(?:[^\w\s]\d+)*(?:[ \u00a0]?[$€£¥])?(?![^\W\d_])")
# For spans and for numbers; where the first ones are not kept, the next ones are tried.
NAMES = (
    ("Tom", "Mary", "John", "Anna", "Peter"), ("Mary", "Paul", "Maria", "Anna", "Max"), ("Max", "Anna", "Peter"),
    ("X", "Y", "Z", "K", "W"),
)  # fmt: skip
NUMBERS = (("12", "30", "15", "40", "25"), ("3", "20", "5", "10", "6"), ("7", "8", "9"), ("6", "5", "4", "2"))
AS_WORDS = 1  # index of the numbers that are written as words, if the words of both languages are known


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
    """A sentence with stand-ins, their characters in it, and the words that each may become, if it is a word."""

    text: str
    spans: list[Span]
    words: Sequence[tuple[str, ...]] = ()


def items_of(text: str, spans: Sequence[Span], numbers: bool) -> list[Item]:
    """The spans of a sentence, and with `numbers` also the numbers between them, from left to right."""
    found = [Item(span, text[span.start].isdigit(), False) for span in spans]
    for figure in FIGURE.finditer(text) if numbers else ():
        if not any(span.start < figure.end() and figure.start() < span.end for span in spans):
            found.append(Item(Span(*figure.span()), True, True))
    return sorted(found)


def with_stand_ins(
    text: str, items: Sequence[Item], languages: Sequence[str | None] = (None, None)
) -> Iterator[StandIns]:
    """The sentence with stand-ins for its items, in the ways that are tried one after the other.

    `languages` are those of the sentence and of its translation.
    """
    spans = [item.span for item in items]
    for row, (names, numbers) in enumerate(zip(NAMES, NUMBERS, strict=True)):
        words = _words(numbers, languages) if row == AS_WORDS else {}
        unused = {False: iter(_absent(text, names)), True: iter(_absent(text, list(words) or numbers))}
        chosen = [next(unused[item.digits], "") for item in items]
        if all(chosen):
            known = [words.get(each, (each,)) for each in chosen] if words else ()
            yield _replaced(text, spans, chosen)._replace(words=known)


def _words(numbers: Sequence[str], languages: Sequence[str | None]) -> dict[str, tuple[str, ...]]:
    """The words of numbers, where a language has one only, with what they become in the other language."""
    own, theirs = ([forms_of(number, language) for number in numbers] for language in languages)
    return {mine[0]: others for mine, others in zip(own, theirs, strict=True) if len(mine) == 1 and others}


def put_items(source: str, items: Sequence[Item], given: StandIns, translation: str) -> tuple[str, list[Span]] | None:
    """A translation with the items instead of their stand-ins, and their characters; None without each once."""
    places = _find_words(given.words, translation) if given.words else locate(given.text, given.spans, translation)
    if places is None:
        return None
    order = sorted(range(len(items)), key=lambda index: places[index])
    texts = [source[items[index].span.start : items[index].span.end] for index in order]
    text, spans, _ = _replaced(translation, [places[index] for index in order], texts)
    return text, [span for _, span in sorted(zip(order, spans, strict=True))]


def _find_words(words: Sequence[tuple[str, ...]], translation: str) -> list[Span] | None:
    """The place of one form of each word in a translation; None unless there is exactly one."""
    places = []
    for forms in words:
        found = [*re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, forms))})(?!\w)", translation, re.IGNORECASE)]
        if len(found) != 1:
            return None
        places.append(Span(*found[0].span()))
    return places


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
