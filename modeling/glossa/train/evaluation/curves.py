"""The score of a run as a function of its learning rates, and what it will be at the end."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SHARE = "learning_rate_share"  # in the entries of `history.json`: the learning rates until then, as a share of all
# The logits of a score, of this many chrF++, grow with the logarithm of the learning rates so far: by GROWTH[0] plus
# GROWTH[1] times the logit for each factor e. Fitted to the curves of `python -m benchmarks curves`, which prints it;
# of the laws that were tried on them, the one with the smallest errors (docs/decisions.md).
CEILING = 75.0
GROWTH = (0.643, -0.194)
# Half the width of an interval, in chrF++: at the end, and for each factor e that the share still grows. 95% of the
# ends of the curves of `python -m benchmarks curves` are within it.
LEAST_WIDTH, WIDTH = 1.5, 5.08


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


def logit(score: float) -> float:
    """The logit of a score between 0 and `CEILING`, both excluded."""
    return math.log(score / (CEILING - score))


def predict(points: Sequence[Point], growth: tuple[float, float] = GROWTH) -> Interval | None:
    """The score of a new model at its end; None without points, or if the last score is 0 or over `CEILING`."""
    if not points or points[-1].share <= 0 or not 0 < points[-1].score < CEILING:
        return None
    level, factor = logit(points[-1].score), math.log(1 / points[-1].share)
    then = level + max(growth[0] + growth[1] * level, 0.0) * factor
    middle = CEILING / (1 + math.exp(-then))
    width = LEAST_WIDTH + WIDTH * max(factor, 0.0)
    return Interval(max(middle - width, 0.0), middle, min(middle + width, 100.0))
