"""Directives of printf in strings of programs. They take their arguments in order: in `%s %d`, `%s` takes the first.

A program that gets them in another order prints nonsense or crashes. Where a translation needs another order, they are
numbered, as in `%2$d %1$s`, if the programming language allows that.
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
# The same where `printf` may not read the text: `50% of it` has no directive.
_LIKELY = re.compile(rf"%%|%(?!(?<=\d%)[ ]|(?<=\d\s%)[ ]){DIRECTIVE}")
# A directive right before a letter, such as `%sName`; it is one only in texts that `printf` reads.
GLUED = rf"(?<![\d%])%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?{LENGTH}[sdiu@](?=[^\W\d_])"


class Printf(NamedTuple):
    """How a program prints its texts: whether directives may have numbers, and whether each `%` begins one."""

    numbered: bool = True
    certain: bool = False


def keeping_directives(place: Place, printf: Printf) -> Place:
    """A place whose translation takes the arguments of its text: numbered if it has them in another order.

    A translation with more, fewer or other directives is a problem, and so is another order that has no numbers.
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
    """What each directive in texts prints and how, such as `d` and `.2f`, behind the number of its argument."""
    found = pattern.finditer("".join(texts))
    return [(each["number"] or "") + each["rest"] for each in found if each["rest"]]


def _kinds(directives: Sequence[str]) -> list[str]:
    """Directives without numbers of arguments, sorted."""
    return sorted(each.rpartition("$")[2] for each in directives)


def _numbered(pattern: re.Pattern, wanted: Sequence[str], pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces whose directives have the numbers of their arguments, if they are `wanted` in another order."""
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
