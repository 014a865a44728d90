"""A sentence pair."""

from typing import NamedTuple


class Pair(NamedTuple):
    """A source and its translation."""

    source: str
    target: str
