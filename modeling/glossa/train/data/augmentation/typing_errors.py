"""Typing errors: a neighboring key, two swapped letters or a missing letter."""

from collections.abc import Mapping
from random import Random

from ....base.pair import Pair
from ....model.facts_glossa import NO_SPACES

_ROWS = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}
_LAYOUTS = {"de": "qwertz", "cs": "qwertz", "hu": "qwertz", "fr": "azerty"}  # by language; qwerty for others
LEAST, MOST = 0.02, 0.12  # share of the letters of a sentence


def typing_errors(pair: Pair, generator: Random, language: str = "en") -> Pair | None:
    """Add errors to 2% to 12% of the letters of the source, at least one; None if it has no letters.

    Texts in scripts without spaces are typed differently, so None is returned for them.
    """
    if NO_SPACES.search(pair.source):
        return None
    source = mistyped(pair.source, generator.uniform(LEAST, MOST), generator, language)
    return Pair(source, pair.target) if source != pair.source else None


def mistyped(text: str, share: float, generator: Random, language: str = "en") -> str:
    """`text` with an error in this share of its letters, at least one."""
    keys = _neighbors(language)
    letters = [place for place, letter in enumerate(text) if letter.isalpha()]
    count = min(max(round(share * len(letters)), 1), len(letters))
    characters = list(text)
    for place in sorted(generator.sample(letters, count), reverse=True):
        _mistype(characters, place, keys, generator)
    return "".join(characters)


def _mistype(characters: list[str], place: int, keys: Mapping[str, str], generator: Random) -> None:
    letter, following = characters[place], characters[place + 1 : place + 2]
    error = generator.choice(("neighbor", "swap", "loss"))
    if error == "neighbor" and letter.lower() in keys:
        typed = generator.choice(keys[letter.lower()])
        characters[place] = typed.upper() if letter.isupper() else typed
    elif error == "swap" and following and following[0].isalpha() and following[0] != letter:
        characters[place : place + 2] = [following[0], letter]
    else:
        del characters[place]


def _neighbors(language: str) -> Mapping[str, str]:
    return NEIGHBORS[_LAYOUTS.get(language, "qwerty")]


def _of_layout(rows: tuple[str, ...]) -> dict[str, str]:
    """The neighbors of each key; each row is offset half a key to the right of the row above."""
    places = {key: (row, column + row / 2) for row, keys in enumerate(rows) for column, key in enumerate(keys)}
    return {
        key: "".join(
            other
            for other, (row, column) in places.items()
            if other != key and abs(row - places[key][0]) <= 1 and abs(column - places[key][1]) <= 1
        )
        for key in places
    }


NEIGHBORS = {name: _of_layout(rows) for name, rows in _ROWS.items()}
