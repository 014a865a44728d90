"""Other ways to write a source: quotes, spaces, accents. Doubled spaces are left out, since cleaning removes them."""

import re
import unicodedata
from random import Random

from ....base.pair import Pair

_CURLY = str.maketrans({"'": "’"})
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_QUOTED = re.compile(r'"([^"]*)"')


def changed_typography(pair: Pair, generator: Random) -> Pair | None:
    """The source with other quotes, a no-break space, a lost space, or without accents; None if it has none of them.

    The target stays.
    """
    changes = (other_quotes, no_break_space, lost_space, without_accents)
    for change in generator.sample(changes, len(changes)):
        source = change(pair.source, generator)
        if source != pair.source:
            return Pair(source, pair.target)
    return None


def other_quotes(text: str, generator: Random) -> str:
    """Curly quotes and apostrophes instead of straight ones; in a text with curly ones, straight ones instead."""
    curly = _QUOTED.sub(r"“\1”", text).translate(_CURLY)
    return curly if curly != text else text.translate(_STRAIGHT)


def no_break_space(text: str, generator: Random) -> str:
    """A no-break space instead of one of the spaces."""
    return _without_space(text, "\u00a0", generator)


def lost_space(text: str, generator: Random) -> str:
    """`text` without one of its spaces."""
    return _without_space(text, "", generator)


def without_accents(text: str, generator: Random) -> str:
    """Latin letters without their accents. Marks of other scripts are vowels, and stay."""
    return "".join(map(_base, text))


def _base(letter: str) -> str:
    if letter.isascii() or not unicodedata.name(letter, "").startswith("LATIN"):
        return letter
    return unicodedata.normalize("NFD", letter)[0]


def _without_space(text: str, instead: str, generator: Random) -> str:
    spaces = [place for place, character in enumerate(text) if character == " "]
    if not spaces:
        return text
    place = generator.choice(spaces)
    return text[:place] + instead + text[place + 1 :]


def upper_case(pair: Pair, generator: Random) -> Pair | None:
    """Both sides in upper case; None if that does not change the source."""
    return _if_changed(pair, Pair(pair.source.upper(), pair.target.upper()))


def title_case(pair: Pair, generator: Random) -> Pair | None:
    """Both sides with a capital at the start of every word; None if that does not change the source."""
    return _if_changed(pair, Pair(capitalized(pair.source), capitalized(pair.target)))


def lower_case(pair: Pair, generator: Random) -> Pair | None:
    """The source in lower case; None if it is already."""
    return _if_changed(pair, Pair(pair.source.lower(), pair.target))


def capitalized(text: str) -> str:
    """`text` with a capital at the start of every word. `str.title` would also write "Don'T"."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def _if_changed(pair: Pair, changed: Pair) -> Pair | None:
    return changed if changed.source != pair.source else None


# One mark with the no-break space that French has before it.
_FINAL = re.compile(r"(?<=[^\s.!?。！？।…])([ \u00a0\u202f]?[.!?。！？।…])$")
MISSING = 0.8  # of the endings; the others are repeated


def changed_ending(pair: Pair, generator: Random) -> Pair | None:
    """Both sides without their last mark, or with two or three of it; None if one of the two has none."""
    marks = [_FINAL.search(side) for side in pair]
    if None in marks:
        return None
    if generator.random() < MISSING:
        return without_ending(pair)
    more = generator.choice((1, 2))
    return Pair(*(side + mark[0][-1] * more for side, mark in zip(pair, marks, strict=True) if mark))


def without_ending(pair: Pair) -> Pair | None:
    """Both sides without their last mark; None if one of the two has none."""
    shorter = Pair(*(_FINAL.sub("", side) for side in pair))
    return shorter if shorter.source != pair.source and shorter.target != pair.target else None
