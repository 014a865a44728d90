"""The score of a run as a function of its learning rates, and what it will be at the end."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy

SHARE = "learning_rate_share"  # in the entries of `history.json`: the learning rates until then, as a share of all
# The odds of a score, of this many chrF++, are linear in the square root of the share of the learning rates:
# of the laws that were tried on `python -m benchmarks curves`, the one with the smallest errors (docs/decisions.md).
CEILING = 75.0
FEWEST = 3  # points that a curve is fitted to
WINDOW = 4  # only points with at least the last share divided by this: early ones follow other laws
# Half the width of an interval, in chrF++: at the end, and for each factor e that the share still grows. Nine of ten
# ends of the curves of `python -m benchmarks curves` are within it.
LEAST_WIDTH, WIDTH = 1.5, 8.2


class Point(NamedTuple):
    """An evaluation: the share of the learning rates that is behind it, and its chrF++ on validation pairs."""

    share: float
    score: float

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Point":
        return cls(entry[SHARE], entry["eval_chrf"])


class Interval(NamedTuple):
    """What a score will be: `middle`, or between `low` and `high`."""

    low: float
    middle: float
    high: float


def points_of(history: Sequence[Mapping[str, Any]]) -> list[Point]:
    """The evaluations in the log of a run, whose entries have [`SHARE`] since they are noted."""
    return [Point.of(entry) for entry in history if SHARE in entry and "eval_chrf" in entry]


def predict(points: Sequence[Point], share: float = 1.0) -> Interval | None:
    """The score of a run when the learning rates of its schedule add up to `share` of their sum.

    More than 1 is a longer run with the same rates. None without enough points to fit a curve to.
    """
    last = points[-1].share if points else 0.0
    used = [point for point in points if point.share > 0 and point.share >= last / WINDOW and point.score > 0]
    if len(used) < FEWEST or max(point.score for point in used) >= CEILING:
        return None
    shares, scores = numpy.array(used).T
    odds = scores / (CEILING - scores)
    slope, start = numpy.polyfit(numpy.sqrt(shares), odds, 1)
    then = float(start + slope * math.sqrt(share) if slope > 0 else odds.mean())
    middle = CEILING * then / (1 + then)
    width = LEAST_WIDTH + WIDTH * max(math.log(share / last), 0.0)
    return Interval(max(middle - width, 0.0), middle, min(middle + width, 100.0))
