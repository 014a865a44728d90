"""Translating held-out pairs and scoring the result."""

import time

from datasets import Dataset

from ..data.pairs import group_references
from ..inference.translator import Translator
from .metrics import TranslationMetric


def score_translator(translator: Translator, pairs: Dataset, n_bootstrap: int = 1000) -> dict:
    """Translate each distinct source of `pairs` once and score it against its references.

    Returns `scores` (as [`TranslationMetric`] gives them), `sources` and `translations` in order, `references` (a
    list for each source), `num_beams` and the `seconds` that translating took.
    """
    grouped = group_references(pairs)
    sources, references = [source for source, _ in grouped], [targets for _, targets in grouped]
    started = time.perf_counter()
    translations = translator.best(sources, progress=True)
    seconds = time.perf_counter() - started
    scores = TranslationMetric().compute(predictions=translations, references=references, n_bootstrap=n_bootstrap)
    return {
        "num_beams": translator.num_beams,
        "scores": scores,
        "seconds": round(seconds, 2),
        "sources": sources,
        "references": references,
        "translations": translations,
    }


def score_table(results: dict[str, dict]) -> str:
    """A table of scores with their 95% intervals; `results` names each result of [`score_translator`]."""
    lines = [f"{'':24}{'BLEU':>22}{'chrF++':>22}{'TER':>22}"]
    for name, result in results.items():
        for references, scores in result["scores"].items():
            cells = (f"{s['score']:.2f} [{s['low']:.1f}, {s['high']:.1f}]" for s in scores.values())
            lines.append(f"{name + ', ' + references:24}" + "".join(f"{cell:>22}" for cell in cells))
    signatures = {s["signature"] for r in results.values() for refs in r["scores"].values() for s in refs.values()}
    return "\n".join([*lines, *sorted(signatures)])
