"""Variations of case, quotes, spaces, accents and final marks. Not of repeated spaces, which cleaning removes."""

import re
import unicodedata
from random import Random

from ....base.pair import Pair

_CURLY = str.maketrans({"'": "’"})
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_QUOTED = re.compile(r'"([^"]*)"')


def changed_typography(pair: Pair, generator: Random) -> Pair | None:
    """Change the quotes of the source, a space, or its accents; None if it has none of these. Keeps the target."""
    changes = (other_quotes, no_break_space, lost_space, without_accents)
    for change in generator.sample(changes, len(changes)):
        source = change(pair.source, generator)
        if source != pair.source:
            return Pair(source, pair.target)
    return None


def other_quotes(text: str, generator: Random) -> str:
    """Replace straight quotes and apostrophes with curly ones, or if there are none, curly with straight ones."""
    curly = _QUOTED.sub(r"“\1”", text).translate(_CURLY)
    return curly if curly != text else text.translate(_STRAIGHT)


def no_break_space(text: str, generator: Random) -> str:
    """Replace one of the spaces with a no-break space."""
    return _without_space(text, "\u00a0", generator)


def lost_space(text: str, generator: Random) -> str:
    """Remove one of the spaces."""
    return _without_space(text, "", generator)


def without_accents(text: str, generator: Random) -> str:
    """Remove the accents of Latin letters. Marks of other scripts may be vowels and are kept."""
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
    """Convert both sides to uppercase; None if the source does not change."""
    return _if_changed(pair, Pair(pair.source.upper(), pair.target.upper()))


def title_case(pair: Pair, generator: Random) -> Pair | None:
    """Capitalize every word of both sides; None if the source does not change."""
    return _if_changed(pair, Pair(capitalized(pair.source), capitalized(pair.target)))


def lower_case(pair: Pair, generator: Random) -> Pair | None:
    """Convert the source to lowercase; None if it does not change."""
    return _if_changed(pair, Pair(pair.source.lower(), pair.target))


def capitalized(text: str) -> str:
    """Capitalize every word of `text`. Unlike this, `str.title` writes "Don'T"."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def _if_changed(pair: Pair, changed: Pair) -> Pair | None:
    return changed if changed.source != pair.source else None


# A single final mark, with the space before it in French.
_FINAL = re.compile(r"(?<=[^\s.!?。！？।…])([ \u00a0\u202f]?[.!?。！？।…])$")
MISSING = 0.8  # share of final marks that are removed rather than repeated


def changed_ending(pair: Pair, generator: Random) -> Pair | None:
    """Remove the final mark of both sides, or write it two or three times; None if a side has none."""
    marks = [_FINAL.search(side) for side in pair]
    if None in marks:
        return None
    if generator.random() < MISSING:
        return without_ending(pair)
    more = generator.choice((1, 2))
    return Pair(*(side + mark[0][-1] * more for side, mark in zip(pair, marks, strict=True) if mark))


def without_ending(pair: Pair) -> Pair | None:
    """Remove the final mark of both sides; None if a side has none."""
    shorter = Pair(*(_FINAL.sub("", side) for side in pair))
    return shorter if shorter.source != pair.source and shorter.target != pair.target else None
