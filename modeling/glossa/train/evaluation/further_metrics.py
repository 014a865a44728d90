"""ROUGE, character error rate and word error rate, for `glossa score --metrics`."""

from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy
import regex
from sacrebleu.metrics import BLEU

from ...base.errors import require

FURTHER = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "cer": "CER", "wer": "WER"}
PACKAGES = {"rouge": "rouge_score", "cer": "jiwer", "wer": "jiwer"}
SEED = 12345  # of the resampling, as in sacreBLEU

# Maps a translation and a reference to numerator and denominator. A score is 100 times the ratio of their sums.
Count = Callable[[str, str], tuple[float, float]]


def check_packages(metrics: Sequence[str]) -> None:
    """Raise `GlossaError` if the library of one of `metrics` is missing."""
    for name in metrics:
        if name in PACKAGES:
            require(PACKAGES[name], "metrics")


def choose_scores(
    results: dict[str, dict], metrics: Sequence[str], tokenize: str = "13a", n_bootstrap: int = 1000
) -> dict[str, dict]:
    """Copy `results` of [`score_translators`] with only the scores of `metrics`, in their order.

    ROUGE (Lin 2004) is the mean F1 over translations of words (`rouge1`), word bigrams (`rouge2`) and the longest
    common subsequence (`rougeL`), case-insensitive, with the best of several references. `cer` and `wer` are the edit
    distance in characters or whitespace-separated words, divided by their number in the references, with the nearest
    of several references. All scores are in percent; error rates may exceed 100.

    Args:
        results: The results of all decoding methods.
        metrics: Any of bleu, chrf, ter, rouge, cer and wer.
        tokenize: sacreBLEU's tokenizer. ROUGE uses its words for languages without spaces.
        n_bootstrap: Resamples for the bounds of the 95% confidence interval (`low`, `high`); 0 for none.
    """
    counts = _counts(metrics, tokenize)
    return {
        name: result
        | {
            "scores": {
                kind: _chosen(scores, result, kind == "multi", metrics, counts, n_bootstrap)
                for kind, scores in result["scores"].items()
            }
        }
        for name, result in results.items()
    }


def _chosen(scores: dict, result: dict, several: bool, metrics: Sequence[str], counts: dict, n_bootstrap: int) -> dict:
    chosen = {}
    for metric in metrics:
        if metric in scores:
            chosen[metric] = scores[metric]
        for name, (count, best, signature) in counts.get(metric, {}).items():
            references = result["references"] if several else [targets[:1] for targets in result["references"]]
            pairs = [
                best((count(translation, target) for target in targets), key=_share)
                for translation, targets in zip(result["translations"], references, strict=True)
            ]
            chosen[name] = _score(numpy.array(pairs, dtype=float), n_bootstrap)
            chosen[name]["signature"] = f"nrefs:{'var' if several else 1}|{signature}"
    return chosen


def _share(count: tuple[float, float]) -> float:
    return count[0] / max(count[1], 1)


def _score(counts: numpy.ndarray, n_bootstrap: int) -> dict:
    """The score of `counts` [sentences, 2], with its interval if `n_bootstrap` is above 0."""

    def score(rows: numpy.ndarray) -> float:
        part, whole = rows.sum(0)
        return float(100 * part / max(whole, 1))

    found = {"score": score(counts)}
    if n_bootstrap:
        draw = numpy.random.default_rng(SEED)
        drawn = [score(counts[draw.integers(len(counts), size=len(counts))]) for _ in range(n_bootstrap)]
        low, high = numpy.percentile(drawn, [2.5, 97.5])
        found |= {"low": float(low), "high": float(high)}
    return found


def _counts(metrics: Sequence[str], tokenize: str) -> dict[str, dict[str, tuple[Count, Callable, str]]]:
    """The scores of each metric by name: counting function, function that selects the reference, and signature."""
    found: dict[str, dict[str, tuple[Count, Callable, str]]] = {}
    if "rouge" in metrics:
        names = ["rouge1", "rouge2", "rougeL"]
        by_space = tokenize in ("13a", "intl", "none")
        scorer = require("rouge_score.rouge_scorer", "metrics").RougeScorer(names, tokenizer=_Words(tokenize))
        signature = f"case:lc|tok:{'words' if by_space else tokenize}|rouge-score:{version('rouge-score')}"
        found["rouge"] = {name: (_rouge(scorer, name), max, signature) for name in names}
    for name, process in (("cer", "process_characters"), ("wer", "process_words")):
        if name in metrics:
            compare = getattr(require("jiwer", "metrics"), process)
            units: Callable = list if name == "cer" else str.split
            if name == "wer":  # jiwer splits words only at spaces
                compare = _between_spaces(compare)
            found[name] = {name: (_errors(compare, units), min, f"case:mixed|jiwer:{version('jiwer')}")}
    return found


class _Words:
    """A tokenizer for rouge-score, whose default keeps only the letters a to z."""

    def __init__(self, tokenize: str):
        self.segment = None if tokenize in ("13a", "intl", "none") else BLEU(tokenize=tokenize).tokenizer

    def tokenize(self, text: str) -> list[str]:
        if self.segment is None:
            return regex.findall(r"[\p{L}\p{M}\p{N}]+", text.lower())  # marks include vowels, as in Hindi
        return [word for word in self.segment(text.lower()).split() if regex.search(r"\w", word)]


def _rouge(scorer, name: str) -> Count:
    return lambda translation, reference: (scorer.score(reference, translation)[name].fmeasure, 1.0)


def _between_spaces(compare: Callable) -> Callable:
    return lambda wanted, found: compare(" ".join(wanted.split()), " ".join(found.split()))


def _errors(compare: Callable, units: Callable) -> Count:
    def count(translation: str, reference: str) -> tuple[float, float]:
        wanted, found = reference.strip(), translation.strip()
        if not wanted:  # normalization may empty a reference, which jiwer rejects
            return float(len(units(found))), 0.0
        result = compare(wanted, found)
        return float(result.substitutions + result.deletions + result.insertions), float(len(units(wanted)))

    return count
