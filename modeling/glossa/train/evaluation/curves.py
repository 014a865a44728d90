"""The score of a run as a function of its learning rates, and what it will be at the end."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SHARE = "learning_rate_share"  # in the entries of `history.json`: the learning rates until then, as a share of all


class Point(NamedTuple):
    """An evaluation: the share of the learning rates that is behind it, and its chrF++ on validation pairs."""

    share: float
    score: float

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Point":
        return cls(entry[SHARE], entry["eval_chrf"])


class Interval(NamedTuple):
    """Between `low` and `high`, most probably `middle`."""

    low: float
    middle: float
    high: float


def predict(points: Sequence[Point]) -> Interval | None:
    return None
