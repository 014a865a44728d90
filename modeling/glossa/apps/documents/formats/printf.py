"""Directives of printf in strings of programs. They take arguments in order: in `%s %d`, `%s` takes the first one.

In another order, a program prints nonsense or crashes. If a translation has another order, directives are numbered, as
in `%2$d %1$s`, if the programming language allows it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ....model.spans_glossa import LENGTH
from ....readers.segments import DIRECTIVE
from ....translate.texts.tags import Part, Piece
from ..places import Place, Written

WRONG = "wrong in format directives"
_DIRECTIVE = re.compile(rf"%%|%{DIRECTIVE}")  # %% takes no argument
# For texts that `printf` may not read: `50% of it` has no directive.
_LIKELY = re.compile(rf"%%|%(?!(?<=\d%)[ ]|(?<=\d\s%)[ ]){DIRECTIVE}")
# A directive before a letter, such as `%sName`, in texts that `printf` reads.
GLUED = rf"(?<![\d%])%(?:\d+\$)?[-+#0]*+\d*(?:(?:\.\d+)?{LENGTH}[sdiu@]|\.\d+[fFeEgG])(?=[^\W\d_])"


class Printf(NamedTuple):
    """How a program prints a text: whether directives may be numbered, and whether each `%` begins a directive."""

    numbered: bool = True
    certain: bool = False


def keeping_directives(place: Place, printf: Printf) -> Place:
    """A place whose translation numbers its directives if they have another order.

    A translation with more, fewer or other directives is a problem, and so is another order without numbers.
    """
    pattern = _DIRECTIVE if printf.certain else _LIKELY
    wanted = _directives(pattern, (part.text for part in place.parts if part.kind in ("text", "alone")))
    alone = {(part.start, part.end): part.text for part in place.parts if part.kind == "alone"}

    def check(written: list[Written]) -> str:
        found = _directives(pattern, (piece if isinstance(piece, str) else alone.get(piece, "") for piece in written))
        right = _kinds(found) == _kinds(wanted) if printf.numbered else found == wanted
        return "" if right else WRONG

    if not wanted:
        return place
    number = [partial(_numbered, pattern, wanted)] if printf.numbered else []
    return replace(place, writing=replace(place.writing, prepare=[*number, *place.writing.prepare], check=check))


def _directives(pattern: re.Pattern, texts: Iterable[str]) -> list[str]:
    """The directives in texts without `%`, such as `d`, `.2f` and `1$s`."""
    found = pattern.finditer("".join(texts))
    return [(each["number"] or "") + each["rest"] for each in found if each["rest"]]


def _kinds(directives: Sequence[str]) -> list[str]:
    """Directives without numbers of arguments, sorted."""
    return sorted(each.rpartition("$")[2] for each in directives)


def _numbered(pattern: re.Pattern, wanted: Sequence[str], pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces with numbered directives, if their order is not `wanted`."""
    texts = [piece.text if isinstance(piece, Part) else piece for piece in pieces]
    found = _directives(pattern, texts)
    numbered = any("$" in each or "*" in each for each in wanted)
    if found == wanted or numbered or sorted(found) != sorted(wanted):
        return list(pieces)
    free: dict[str, list[int]] = {}
    for number, each in enumerate(wanted, 1):
        free.setdefault(each, []).append(number)

    def write(found: re.Match[str]) -> str:
        return f"%{free[found['rest']].pop(0)}${found['rest']}" if found["rest"] else found[0]

    changed = [pattern.sub(write, text) for text in texts]
    return [piece if new == text else new for piece, text, new in zip(pieces, texts, changed, strict=True)]
