"""BLEU, chrF++ and TER as a metric of the `evaluate` library, which is slow to import."""

from typing import Any

import datasets
import evaluate

from ...base.metrics import score_both


class TranslationMetric(evaluate.Metric):
    """BLEU (cased), chrF++ and TER; works offline.

    `compute(predictions=[...], references=[[...], ...])` takes one prediction and one or more references per source,
    and the other arguments of [`score_both`]. It returns the scores of [`score_both`].
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

    def _compute(self, predictions: list[str], references: list[list[str]], **options: Any) -> dict:
        return score_both(predictions, references, **options)
