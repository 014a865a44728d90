"""How a source is written: quotes, spaces, accents. Doubled spaces are not here, since cleaning removes them."""

import re
import unicodedata
from random import Random

from .pair import Pair

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
    """Curly quotes and apostrophes for straight ones; straight ones if there are none."""
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
