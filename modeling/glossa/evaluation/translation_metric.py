"""BLEU, chrF++ and TER as a metric of the `evaluate` library, which takes seconds to import."""

import datasets
import evaluate

from .metrics import score


class TranslationMetric(evaluate.Metric):
    """BLEU (cased), chrF++ and TER; works without network.

    `compute(predictions=[...], references=[[...], ...])` takes one prediction and one or more references per source,
    and as `tokenize` the name of BLEU's tokenizer (default: 13a; see [`bleu_tokenizer`]). It returns a dict with
    `single` (scores against the first reference) and `multi` (against all references). Each has `bleu`, `chrf` and
    `ter`, with `score` (0 to 100; TER is an error rate and may exceed 100) and sacreBLEU's `signature`; with
    `n_bootstrap` resamples also `low` and `high`, the bounds of the 95% confidence interval.
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

    def _compute(
        self, predictions: list[str], references: list[list[str]], n_bootstrap: int = 0, tokenize: str = "13a"
    ) -> dict:
        single = score(predictions, [refs[:1] for refs in references], n_bootstrap, tokenize)
        several = any(len(refs) > 1 for refs in references)
        return {
            "single": single,
            "multi": score(predictions, references, n_bootstrap, tokenize) if several else single,
        }
