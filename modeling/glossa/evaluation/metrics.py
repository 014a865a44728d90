"""BLEU, chrF++ and TER by sacreBLEU, as a metric of the `evaluate` library."""

from collections.abc import Sequence

import datasets
import evaluate
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest


class TranslationMetric(evaluate.Metric):
    """BLEU (13a tokenization, cased), chrF++ and TER; works without network.

    `compute(predictions=[...], references=[[...], ...])` takes one prediction and one or more references per source.
    It returns a dict with `single` (scores against the first reference) and `multi` (against all references). Each
    has `bleu`, `chrf` and `ter`, with `score` (0 to 100; TER is an error rate and may exceed 100) and sacreBLEU's
    `signature`; with `n_bootstrap` resamples also `low` and `high`, the bounds of the 95% confidence interval.
    """

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description="BLEU, chrF++ and TER by sacreBLEU, against the first and against all references.",
            citation="Post, 2018. A Call for Clarity in Reporting BLEU Scores. WMT.",
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.List(datasets.Value("string")),
                }
            ),
        )

    def _compute(self, predictions: list[str], references: list[list[str]], n_bootstrap: int = 0) -> dict:
        return {
            "single": score(predictions, [refs[:1] for refs in references], n_bootstrap),
            "multi": score(predictions, references, n_bootstrap),
        }


def score(predictions: list[str], references: list[list[str]], n_bootstrap: int = 0) -> dict[str, dict]:
    """`{"bleu": {...}, "chrf": {...}, "ter": {...}}` as in [`TranslationMetric`]."""
    streams = _streams(references)
    if not n_bootstrap:
        return {name: _score(metric, predictions, streams) for name, metric in _metrics().items()}
    # `corpus_score` resamples too, but fails if a resample scores exactly 0.
    signatures, results = PairedTest(
        [("system", predictions)], _metrics(), references=streams, test_type="bs", n_samples=n_bootstrap
    )()
    intervals = {}
    for name, key in _NAMES.items():
        result = results[name][0]
        intervals[key] = {"score": result.score, "signature": str(signatures[name])}
        intervals[key] |= {"low": float(result.mean - result.ci), "high": float(result.mean + result.ci)}
    return intervals


def paired_bootstrap(
    baseline: list[str], system: list[str], references: list[list[str]], n_samples: int = 1000
) -> dict[str, dict]:
    """Paired bootstrap test of `system` against `baseline` (Koehn 2004): both scores and the p-value per metric."""
    systems: list[tuple[str, Sequence[str]]] = [("baseline", baseline), ("system", system)]
    test = PairedTest(systems, _metrics(), references=_streams(references), test_type="bs", n_samples=n_samples)
    _, results = test()
    return {
        key: {
            "baseline": results[name][0].score,
            "system": results[name][1].score,
            "p_value": results[name][1].p_value,
        }
        for name, key in _NAMES.items()
    }


_NAMES = {"BLEU": "bleu", "chrF2++": "chrf", "TER": "ter"}  # sacreBLEU's names and ours


def _metrics() -> dict[str, Metric]:
    return {"bleu": BLEU(), "chrf": CHRF(word_order=2), "ter": TER()}


def _score(metric: Metric, predictions: list[str], streams: list[list[str | None]]) -> dict:
    return {
        "score": metric.corpus_score(predictions, streams).score,
        "signature": str(metric.get_signature()),
    }


def _streams(references: list[list[str]]) -> list[list[str | None]]:
    """References by sentence to sacreBLEU's reference streams, padded with None."""
    most = max(len(refs) for refs in references)
    return [[refs[index] if index < len(refs) else None for refs in references] for index in range(most)]
