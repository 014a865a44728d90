"""Strings of programs, as JSON, YAML, PO and properties have them: escapes, tags, line ends."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...facts_glossa import TextFacts
from ...inference.texts.tags import Part
from ...spans_glossa import find_spans
from ..places import Place, Written, has_words, spelled
from .icu import with_messages
from .tokens import trimmed

_TAG = re.compile(r"<(/)?([A-Za-z][\w.-]*|\d+)(?:\s[^<>]*?)?(/)?>|<>|</>")
# Names that programs use: with a mark, a digit or a capital inside, and no space.
_NAME = re.compile(r"\S*(?:\w[_#/\\]\w|[a-z][A-Z]|\d|^[#@$._/-]|\w[.:]\w)\S*|[A-Z_]+_[A-Z_]+")


def marked_parts(parts: Sequence[Part]) -> list[Part]:
    """Text parts with tags as parts of their own, and each line end as a break."""
    text = "".join(part.text for part in parts)
    edges = list(_edges(parts))  # of the characters of `text`: where each begins in the document, and ends
    done: list[Part] = []
    position = 0
    for found in re.finditer(rf"{_TAG.pattern}|[ \t]*\r?\n\s*", text):
        done += _between(parts, position, found.start())
        start, end = edges[found.start()][0], edges[found.end() - 1][1]
        if found[0].isspace():
            done.append(Part("break", start, end))
        else:
            kind = "close" if found[0].startswith("</") else "alone" if found[3] else "open"
            done.append(Part(kind, start, end, "", found[2] or ""))
        position = found.end()
    return [*done, *_between(parts, position, len(text))]


def _edges(parts: Iterable[Part]) -> Iterator[tuple[int, int]]:
    for part in parts:
        if len(part.text) == part.end - part.start:
            yield from ((part.start + index, part.start + index + 1) for index in range(len(part.text)))
        else:
            yield from [(part.start, part.end)] * len(part.text)


def _between(parts: Sequence[Part], first: int, last: int) -> Iterator[Part]:
    """The parts of the characters from `first` to `last` of the text."""
    position = 0
    for part in parts:
        start, end = max(first, position), min(last, position + len(part.text))
        if start < end:
            if len(part.text) == part.end - part.start:
                offset = part.start - position
                yield Part("text", start + offset, end + offset, part.text[start - position : end - position])
            else:
                yield part
        position += len(part.text)


def is_text(text: str) -> bool:
    """Whether a string says something to people, rather than being a name, an address or a value."""
    rest = text
    for start, end in reversed(find_spans(text)):
        rest = rest[:start] + " " + rest[end:]
    return TextFacts(rest).has_letters and not _NAME.fullmatch(text.strip())


def string_places(
    parts: Sequence[Part],
    text: str,
    escape: Callable[[str], str],
    written: tuple[int, int] | None = None,
    quotes: tuple[str, str] = ("", ""),
) -> Iterator[Place]:
    """The places of one string.

    Args:
        parts: Its text.
        text: The document.
        escape: How text is written.
        written: Where the translation goes, if not to the place of the source.
        quotes: What stands around it there.
    """
    if not is_text("".join(part.text for part in parts)):
        return
    marked = marked_parts(parts)
    kept = trimmed(_without_outer_breaks(marked))
    if not has_words(kept):
        return
    place = Place(kept, spelled(kept, text, escape))
    if written is None:
        yield from with_messages(place, text)
        return
    place.start, place.end = written
    place.keep = False
    place.before = [quotes[0], (marked[0].start, kept[0].start)]
    place.after = [(kept[-1].end, marked[-1].end), quotes[1]]
    yield place


def _without_outer_breaks(parts: list[Part]) -> list[Part]:
    while parts and (parts[0].kind == "break" or (not parts[0].text.strip() and parts[0].kind == "text")):
        parts = parts[1:]
    while parts and (parts[-1].kind == "break" or (not parts[-1].text.strip() and parts[-1].kind == "text")):
        parts = parts[:-1]
    return parts


def copied(pieces: Iterable[Written], text: str) -> str:
    """Written pieces as one string."""
    return "".join(piece if isinstance(piece, str) else text[piece[0] : piece[1]] for piece in pieces)
