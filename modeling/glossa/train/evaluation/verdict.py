"""What runs become, by their pairs and passes, and what a finished run is, by its scores."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy

# Pairs, passes and greedy chrF++ on test pairs, of runs of `python -m benchmarks verdict`, which prints these lines.
RUNS = (
    (500, 2, 1.3), (500, 8, 6.2), (500, 25, 14.5), (2_000, 2, 4.1), (2_000, 8, 13.6), (2_000, 25, 22.2),
    (7_000, 2, 10.9), (20_000, 2, 21.2), (20_116, 6, 36.2), (29_000, 3, 37.1), (29_000, 6, 57.3),
    (29_000, 30, 63.1), (165_000, 1, 48.8), (165_000, 5, 62.2), (165_000, 12, 64.3),
)  # fmt: skip
CEILING = 70  # chrF++ that no run of the table reaches; between 0 and this, scores follow a logistic curve
MOST_PASSES = 30  # further passes were not measured
NARROWEST = 5.0  # minimum distance of the interval's ends from its middle
# The least chrF++ or BLEU. In docs/results.md, translations of less than a helper repeat phrases.
HELPER, TRANSLATOR = (30, 10), (50, 28)


class Rank(NamedTuple):
    """What a translator is good for: its name, its use, and a forecast in a sentence."""

    name: str
    use: str
    forecast: str


RANKS = (
    Rank("not yet a translator", "for trying out",
         "It will know phrases of these texts, and will not translate others."),
    Rank("a helper for sentences near its texts", "for sentences near its training texts",
         "It will help with sentences near these texts, and often be wrong with others."),
    Rank("a translator", "for text like its training pairs", "It will translate text like these pairs."),
)  # fmt: skip


def rank(chrf: float, bleu: float = 0.0) -> Rank:
    """The rank of a run with these scores on test pairs: the better of both, as chrF++ is low without spaces."""
    return RANKS[sum(chrf >= least or bleu >= least_bleu for least, least_bleu in (HELPER, TRANSLATOR))]


def expected(pairs: int, passes: float) -> tuple[float, float]:
    """The interval of chrF++ on test pairs that a new model is expected to reach.

    A logistic curve over the logarithms of both numbers, fitted to `RUNS`; twice its error on them is the half width.

    Args:
        pairs: The training pairs; at most the most of `RUNS` are counted.
        passes: The passes over them; at most `MOST_PASSES` are counted.
    """
    runs = numpy.array(RUNS)
    features = numpy.c_[numpy.ones(len(runs)), numpy.log(runs[:, :2])]
    weights = numpy.linalg.lstsq(features, numpy.log(runs[:, 2] / (CEILING - runs[:, 2])), rcond=None)[0]
    errors = _curve(features @ weights) - runs[:, 2]
    width = max(NARROWEST, 2 * math.sqrt((errors**2).mean()))
    counted = numpy.log([min(pairs, runs[:, 0].max()), min(passes, MOST_PASSES)])
    middle = float(_curve(weights[0] + counted @ numpy.maximum(weights[1:], 0)))
    return max(middle - width, 0.0), min(middle + width, 100.0)


def _curve(values: Any) -> Any:
    return CEILING / (1 + numpy.exp(-values))


class Measured(NamedTuple):
    """The scores of a finished run on its test pairs, or without these on its validation pairs."""

    split: str
    bleu: float
    chrf: float
    low: float | None = None  # the ends of the 95% interval of chrF++, if it was measured
    high: float | None = None

    @property
    def interval(self) -> str:
        """The interval in brackets, as in " [38.1, 40.2]", or ""."""
        return "" if self.low is None else f" [{self.low:.1f}, {self.high:.1f}]"

    @property
    def is_unsure(self) -> bool:
        """Whether another rank is in the interval, and it is wide."""
        if self.low is None or self.high is None or self.high - self.low < NARROWEST:
            return False
        return rank(self.low) != rank(self.high)

    @classmethod
    def of(cls, metrics: Mapping[str, Any]) -> "Measured | None":
        """The scores in the metrics of a run; of several languages or decodings, those with the best chrF++."""
        split = next((split for split in ("test", "validation") if metrics.get(split)), None)
        if split is None:
            return None
        found = [result["scores"]["single"] for result in metrics[split].values() if "file" not in result]
        best = max(found, key=lambda scores: scores["chrf"]["score"])
        chrf = best["chrf"]
        return cls(split, best["bleu"]["score"], chrf["score"], chrf.get("low"), chrf.get("high"))


def count_pairs(report: Mapping[str, Any]) -> int:
    """The training pairs in the report of a run's data; 0 if it does not say."""
    return report.get("stream", {}).get("rows") or report.get("sizes", {}).get("train", 0)


def card_line(metrics: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """What a model has seen and what it is for, from the metrics and the data report of its run; "" without them."""
    measured, pairs = Measured.of(metrics), count_pairs(report)
    if measured is None or not pairs:
        return ""
    return (
        f"This model has seen {pairs:,} sentence pairs; BLEU {measured.bleu:.1f} on its {measured.split} pairs: "
        f"{rank(measured.chrf, measured.bleu).use}."
    )
