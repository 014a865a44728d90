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
_MARK = re.compile(rf"{_TAG.pattern}|[ \t]*\r?\n\s*")
# Names that programs use: with a mark, a digit or a capital inside, and no space.
_NAME = re.compile(r"\S*(?:\w[_#/\\]\w|[a-z][A-Z]|\d|^[#@$._/-]|\w[.:]\w)\S*|[A-Z_]+_[A-Z_]+")


def marked_parts(parts: Sequence[Part]) -> list[Part]:
    """Text parts with tags as parts of their own, and each line end as a break."""
    text = "".join(part.text for part in parts)
    cutter = _Cutter(parts)
    done: list[Part] = []
    for found in _MARK.finditer(text):
        done += cutter.up_to(found.start())
        start, end = cutter.span_up_to(found.end())
        if found[0].isspace():
            done.append(Part("break", start, end))
        else:
            kind = "close" if found[0].startswith("</") else "alone" if found[3] else "open"
            done.append(Part(kind, start, end, "", found[2] or ""))
    return [*done, *cutter.up_to(len(text))]


class _Cutter:
    """Takes parts apart from left to right, by the characters of their text."""

    def __init__(self, parts: Sequence[Part]):
        self.parts, self.number, self.position = parts, 0, 0  # the next part, and where its text begins
        self.taken = 0  # characters of the text

    def up_to(self, end: int) -> Iterator[Part]:
        """The parts of the next characters; one that is spelled in another way than its text stays whole."""
        while self.taken < end:
            part = self.parts[self.number]
            first = self.taken - self.position
            last = min(end - self.position, len(part.text))
            if len(part.text) == part.end - part.start:
                yield Part("text", part.start + first, part.start + last, part.text[first:last])
            elif part.text:
                yield part
            self.taken = self.position + last
            if last == len(part.text):
                self._advance()

    def _advance(self) -> None:
        self.position += len(self.parts[self.number].text)
        self.number += 1

    def span_up_to(self, end: int) -> tuple[int, int]:
        """Where the next characters are in the document."""
        parts = list(self.up_to(end))
        return parts[0].start, parts[-1].end


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
    inner = [index for index, part in enumerate(parts) if part.kind not in ("break", "text") or part.text.strip()]
    return parts[inner[0] : inner[-1] + 1] if inner else []


def copied(pieces: Iterable[Written], text: str) -> str:
    """Written pieces as one string."""
    return "".join(piece if isinstance(piece, str) else text[piece[0] : piece[1]] for piece in pieces)
