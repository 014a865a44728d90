"""ICU messages with plural and select forms: the sentences in their braces are texts of their own."""

import re
from collections.abc import Iterator

from ...facts_glossa import TextFacts
from ...inference.texts.tags import Part
from ..places import Place, has_words

_BEGINS = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|selectordinal|select)\s*,")
_FORM = re.compile(r"\s*(?:offset:\s*\d+\s+)?(=\d+|[\w-]+)\s*\{")


def with_messages(place: Place, text: str) -> Iterator[Place]:
    """A place with each ICU argument that has forms as one part, and places for the texts of the forms."""
    parts: list[Part] = []
    inner: list[Place] = []
    for part in place.parts:
        raw = text[part.start : part.end]
        if part.kind != "text" or raw != part.text or not _BEGINS.search(raw):
            parts.append(part)
            continue
        position = part.start
        while found := _BEGINS.search(text, position, part.end):
            end, forms = _argument(text, found.end(), part.end)
            if end is None:
                break
            if found.start() > position:
                parts.append(Part("text", position, found.start(), text[position : found.start()]))
            parts.append(Part("alone", found.start(), end))
            inner += [Place([Part("text", *form, text[slice(*form)])], place.escape) for form in forms]
            position = end
        if position < part.end:
            parts.append(Part("text", position, part.end, text[position : part.end]))
    if inner:
        place.parts = parts
    if has_words(parts):
        yield place
    for form in inner:
        if TextFacts(form.parts[0].text).has_letters:
            yield from with_messages(form, text)


def _argument(text: str, position: int, limit: int) -> tuple[int | None, list[tuple[int, int]]]:
    """The end of an argument whose forms begin at `position`, and the text of each form; None if it is broken."""
    forms = []
    while found := _FORM.match(text, position, limit):
        end = _closing(text, found.end(), limit)
        if end is None:
            return None, []
        forms.append(_stripped(text, found.end(), end))
        position = end + 1
    while position < limit and text[position].isspace():
        position += 1
    return (position + 1, forms) if text[position : min(position + 1, limit)] == "}" and forms else (None, [])


def _closing(text: str, position: int, limit: int) -> int | None:
    depth = 1
    for index in range(position, limit):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return index
    return None


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
