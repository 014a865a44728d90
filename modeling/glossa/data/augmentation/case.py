"""Letter case: headlines and shouting of both sides, and sources in lower case."""

from random import Random

from .pair import Pair


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
