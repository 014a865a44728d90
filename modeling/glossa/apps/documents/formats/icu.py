"""ICU messages with plural and select forms: the text of each form is translated for itself.

The grammar is that of ICU's MessageFormat (unicode-org.github.io/icu/userguide/format_parse/messages): arguments in
braces, and an apostrophe before a brace, which quotes up to the next one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ....translate.texts.tags import Part
from ..places import Place, has_words
from .tokens import Cutter, trimmed

_INSTEAD = {"break": "\n"}
DEEPEST = 8  # levels of forms inside forms; a message with more is not translated
_BEGINS = re.compile(r"\{\s*[\w.-]+\s*,\s*(plural|selectordinal|select)\s*,\s*(?:offset:\s*-?\d+\s*)?")
_SELECTOR = re.compile(r"\s*(?:=\d+|[^\s{}=,'#]+)\s*\{")
_QUOTED = re.compile(r"'[{}#|](?:[^']|'')*(?:'|\Z)")
_ORDINAL = re.compile(r"#[^\W\d_]{0,3}\.?")  # a number with its ending
# Parts of a message that are not translated: quotations, arguments, and the number in plural forms.
_KEPT = re.compile(rf"{_QUOTED.pattern}|''|\{{[^{{}}]*\}}|#")


class Form(NamedTuple):
    """The characters between the braces of a form."""

    start: int
    end: int


class Argument(NamedTuple):
    """An argument with forms: its characters, its type and its forms."""

    start: int
    end: int
    kind: str
    forms: list[Form]


class _Broken(Exception):
    """A text that looks like a message, but is not valid."""


def with_messages(place: Place, text: str) -> Iterator[Place]:
    """A place in which each ICU argument with forms is one part, and a place for the text of each form.

    An invalid message has no places.
    """
    shown = _shown(place.parts)
    if not _BEGINS.search(shown):
        if has_words(place.parts):
            yield place
        return
    plain = _QUOTED.sub("", shown)
    if "''" in plain and "'" not in plain.replace("''", ""):  # as Java's MessageFormat requires
        place = replace(place, writing=replace(place.writing, escape=_Unquoted(place.writing.escape, "'")))
    try:
        yield from list(_places(place, shown, "", 0))
    except _Broken:
        return


def _shown(parts: Sequence[Part]) -> str:
    """The text of parts, with one character for each part that is not text: white space for a line end."""
    return "".join(part.text if part.kind == "text" else _INSTEAD.get(part.kind, "\ufffc") for part in parts)


def _places(place: Place, shown: str, kind: str, depth: int) -> Iterator[Place]:
    """The places of a message, or of a form in an argument of the type `kind`."""
    if depth > DEEPEST:
        raise _Broken
    cutter = Cutter(place.parts)
    parts: list[Part] = []
    inner: list[tuple[str, list[Part]]] = []
    for argument in _arguments(shown):
        parts += cutter.up_to(argument.start)
        whole: list[Part] = []
        for form in argument.forms:
            whole += cutter.up_to(form.start)
            inner.append((argument.kind, list(cutter.up_to(form.end))))
            whole += inner[-1][1]
        whole += cutter.up_to(argument.end)
        parts.append(Part("alone", whole[0].start, whole[-1].end))
    parts += cutter.up_to(len(shown))
    kept = trimmed(_kept_parts(parts, kind))
    if has_words(kept) and not (kind == "selectordinal" and _ORDINAL.fullmatch(shown.strip())):
        yield _like(place, kept)
    for kind_of_form, own in inner:
        if own:
            yield from _places(_like(place, own), _shown(own), kind_of_form, depth + 1)


def _like(place: Place, parts: list[Part]) -> Place:
    """A place with other parts, written in the same way, with apostrophes that do not quote."""
    writing = place.writing
    if not isinstance(writing.escape, _Unquoted):
        writing = replace(writing, escape=_Unquoted(writing.escape))
    return replace(place, parts=parts, start=parts[0].start, end=parts[-1].end, writing=writing)


class _Unquoted:
    """Escapes text of a message, and doubles apostrophes: by default, those that would begin a quotation."""

    def __init__(self, escape: Callable[[str], str], doubled: str = r"'(?=[{}#|]|\Z)"):
        self.escape, self.doubled = escape, doubled

    def __call__(self, text: str) -> str:
        return self.escape(re.sub(self.doubled, "''", text))


def _kept_parts(parts: Sequence[Part], kind: str) -> list[Part]:
    """Parts of a message in which everything that is not translated is a part "alone"."""
    shown, cutter = _shown(parts), Cutter(parts)
    done: list[Part] = []
    for found in _KEPT.finditer(shown):
        if found[0] == "#" and kind not in ("plural", "selectordinal"):
            continue
        done += cutter.up_to(found.start())
        own = list(cutter.up_to(found.end()))
        if found[0] == "''":
            done.append(Part("text", own[0].start, own[-1].end, "'"))
        else:
            done.append(Part("alone", own[0].start, own[-1].end, found[0]))
    return [*done, *cutter.up_to(len(shown))]


def _arguments(shown: str) -> list[Argument]:
    """The arguments with forms in a message. Raises `_Broken` if a brace is not closed."""
    found, position = [], 0
    while (position := _next_brace(shown, position)) < len(shown):
        argument = _argument(shown, position)
        if argument.forms:
            found.append(argument)
        position = argument.end
    return found


def _next_brace(shown: str, position: int) -> int:
    """The next brace outside quotations, or the length of the text."""
    while found := re.compile(r"['{}]").search(shown, position):
        if found[0] != "'":
            return found.start()
        quoted = _QUOTED.match(shown, found.start())
        position = quoted.end() if quoted else found.end() + shown.startswith("''", found.start())
    return len(shown)


def _argument(shown: str, start: int) -> Argument:
    """The argument that begins with the brace at `start`."""
    begins = _BEGINS.match(shown, start)
    if begins is None or shown[start] == "}":
        end = _closed(shown, start)
        return Argument(start, end, "", [])
    forms, position = [], begins.end()
    while selector := _SELECTOR.match(shown, position):
        end = _closed(shown, selector.end() - 1)
        forms.append(Form(selector.end(), end - 1))
        position = end
    closing = re.compile(r"\s*\}").match(shown, position)
    if closing is None or not forms:
        raise _Broken
    return Argument(start, closing.end(), begins[1], forms)


def _closed(shown: str, start: int) -> int:
    """The character after the brace that closes the one at `start`."""
    depth, position = 0, start
    while (position := _next_brace(shown, position)) < len(shown):
        depth += 1 if shown[position] == "{" else -1
        position += 1
        if depth <= 0:
            return position
    raise _Broken
