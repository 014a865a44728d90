"""Directives of printf in strings of programs, which take their arguments in order: `%s` the first, `%d` the next.

A program that gets them in another order prints nonsense or crashes. Where a translation needs another order, they
are numbered: `%2$d %1$s`.
"""

import re
from collections.abc import Sequence

from ...inference.texts.tags import Piece
from ..places import Place, Written

WRONG = "wrong in format directives"
# As GNU gettext and `strings.h` of Apple read them; %% takes no argument.
_DIRECTIVE = re.compile(
    r"%%|%(?P<number>\d+\$)?"
    r"(?P<rest>[-+ #0'I]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|L|q|j|z|t)?(?:<PRI\w+>|[a-zA-Z@]))"
)


def keep_directives(place: Place) -> None:
    """Have the translation of a place take the arguments of its text: numbered if it has them in another order.

    A translation with more, fewer or other directives is a problem.
    """
    wanted = _directives("".join(part.text for part in place.parts if part.kind == "text"))
    inner = place.lay or place.plainly

    def check(written: list[Written]) -> str:
        found = _directives("".join(piece for piece in written if isinstance(piece, str)))
        return "" if _kinds(found) == _kinds(wanted) else WRONG

    if wanted:
        place.lay, place.check = lambda pieces: inner(_numbered(pieces, wanted)), check


def _directives(text: str) -> list[str]:
    """What each directive of a text prints and how, such as `d` and `.2f`, behind the number of its argument."""
    return [(found["number"] or "") + found["rest"] for found in _DIRECTIVE.finditer(text) if found["rest"]]


def _kinds(directives: Sequence[str]) -> list[str]:
    """Directives without numbers of arguments, sorted."""
    return sorted(each.rpartition("$")[2] for each in directives)


def _numbered(pieces: Sequence[Piece], wanted: Sequence[str]) -> list[Piece]:
    """Pieces whose directives have the numbers of their arguments, if they are `wanted` in another order."""
    found = _directives("".join(piece for piece in pieces if isinstance(piece, str)))
    numbered = any("$" in each or "*" in each for each in wanted)
    if found == wanted or numbered or sorted(found) != sorted(wanted):
        return list(pieces)
    free: dict[str, list[int]] = {}
    for number, each in enumerate(wanted, 1):
        free.setdefault(each, []).append(number)

    def write(found: re.Match[str]) -> str:
        return f"%{free[found['rest']].pop(0)}${found['rest']}" if found["rest"] else found[0]

    return [_DIRECTIVE.sub(write, piece) if isinstance(piece, str) else piece for piece in pieces]
