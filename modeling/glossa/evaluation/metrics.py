"""How good translations are: BLEU, chrF++ and TER by sacreBLEU, as a module of `evaluate`."""

from collections.abc import Sequence

import datasets
import evaluate
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest


class TranslationMetric(evaluate.Metric):
    """BLEU (13a, cased), chrF++ and TER of one translation a source, as `evaluate.EvaluationModule`; no network.

    `compute(predictions=[...], references=[[...], ...])` takes one or more references for each prediction and
    returns, under `single` (the first reference of each source) and `multi` (all of them), for each of `bleu`,
    `chrf` and `ter`: `score` (0 to 100; TER is an error rate and may pass 100) and sacreBLEU's `signature`; with
    `n_bootstrap` resamples also `low` and `high`, the ends of the 95% interval.
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
    # `corpus_score` resamples too, but fails where a resample scores exactly 0.
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
    """Whether `system` differs from `baseline` (Koehn 2004): for each metric both scores and the p-value."""
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


_NAMES = {"BLEU": "bleu", "chrF2++": "chrf", "TER": "ter"}  # as sacreBLEU calls them, and as we do


def _metrics() -> dict[str, Metric]:
    return {"bleu": BLEU(), "chrf": CHRF(word_order=2), "ter": TER()}


def _score(metric: Metric, predictions: list[str], streams: list[list[str | None]]) -> dict:
    return {
        "score": metric.corpus_score(predictions, streams).score,
        "signature": str(metric.get_signature()),
    }


def _streams(references: list[list[str]]) -> list[list[str | None]]:
    """Sentences with their references to sacreBLEU's streams of references; a stream is None where there is none."""
    most = max(len(refs) for refs in references)
    return [[refs[index] if index < len(refs) else None for refs in references] for index in range(most)]
