"""BLEU, chrF++ and TER from sacreBLEU, with signatures and confidence intervals."""

from collections.abc import Sequence
from difflib import get_close_matches

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest

from .errors import GlossaError
from .languages import language_code

METRICS = ("bleu", "chrf", "ter")
# By target language: words of Chinese, Japanese and Korean; characters of other languages without spaces.
BLEU_TOKENIZERS = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
CHARACTERS = ("zh", "ja-mecab", "ko-mecab", "char")  # with these tokenizers, TER compares characters
BLEU_TOKENIZERS |= dict.fromkeys(("th", "lo", "km", "my", "bo", "dz"), "char")


class CharacterTER(TER):
    """TER on characters. sacreBLEU's `asian_support` does not split runs of kana and Hangul."""

    def __init__(self):
        super().__init__()
        self.tokenizer_signature = "char"

    def _preprocess_segment(self, sent: str) -> str:
        return " ".join(character for character in super()._preprocess_segment(sent) if not character.isspace())


def bleu_tokenizer(language: str, choice: str = "auto") -> str:
    """The name of sacreBLEU's tokenizer for a target language, such as "ja" or "zh-CN", or `choice` if not "auto".

    It is 13a for most languages. Raises `GlossaError` for an unknown name, or if a library that the tokenizer needs is
    not installed.
    """
    name = BLEU_TOKENIZERS.get(language_code(language) or language, "13a") if choice == "auto" else choice
    if name not in BLEU.TOKENIZERS:
        near = "".join(f" Did you mean {other}?" for other in get_close_matches(name, BLEU.TOKENIZERS, n=1))
        allowed = ", ".join(["auto", *sorted(BLEU.TOKENIZERS)])
        raise GlossaError(f"bleu_tokenizer is {name}, which sacreBLEU does not have.{near} Allowed are {allowed}.")
    try:
        BLEU(tokenize=name)
    except (ImportError, RuntimeError) as error:
        extra = "glossa-mt[mecab]" if name in ("ja-mecab", "ko-mecab") else "sentencepiece"
        raise GlossaError(
            f"BLEU for the target language {language!r} needs the tokenizer {name}, which is not installed: "
            f"pip install '{extra}'. Or set bleu_tokenizer to char, which compares characters."
        ) from error
    return name


def bleu_metric(tokenize: str) -> BLEU:
    """sacreBLEU's BLEU with a tokenizer. With "none" it does not warn about tokenized text."""
    return BLEU(tokenize=tokenize, force=tokenize == "none")


def score(
    predictions: list[str],
    references: list[list[str]],
    n_bootstrap: int = 0,
    tokenize: str = "13a",
    metrics: Sequence[str] = METRICS,
) -> dict[str, dict]:
    """Score predictions against all of their references; returns the scores by name of the metric.

    A score has `score` (0 to 100; TER is an error rate and may exceed 100) and sacreBLEU's `signature`; with
    `n_bootstrap` resamples also `low` and `high`, the bounds of the 95% confidence interval.

    Args:
        predictions: One translation per source.
        references: One or more references per source.
        n_bootstrap: Number of bootstrap resamples for the intervals; 0 for no intervals.
        tokenize: The name of BLEU's tokenizer, see [`bleu_tokenizer`].
        metrics: Any of `bleu` (cased), `chrf` (chrF++) and `ter`; all by default.
    """
    streams = _streams(references)
    chosen = {name: metric for name, metric in _metrics(tokenize).items() if name in metrics}
    if not n_bootstrap:
        return {name: _score(metric, predictions, streams) for name, metric in chosen.items()}
    # `corpus_score` resamples too, but fails if a resample scores exactly 0.
    signatures, results = PairedTest(
        [("system", predictions)], chosen, references=streams, test_type="bs", n_samples=n_bootstrap
    )()
    intervals = {}
    for name, key in _NAMES.items():
        if key not in chosen:
            continue
        result = results[name][0]
        intervals[key] = {"score": result.score, "signature": str(signatures[name])}
        intervals[key] |= {"low": float(result.mean - result.ci), "high": float(result.mean + result.ci)}
    return intervals


def score_both(
    predictions: list[str],
    references: list[list[str]],
    n_bootstrap: int = 0,
    tokenize: str = "13a",
    metrics: Sequence[str] = METRICS,
) -> dict[str, dict[str, dict]]:
    """Score against the first reference of each source, as `single`, and against all of them, as `multi`."""
    options = (n_bootstrap, tokenize, metrics)
    single = score(predictions, [refs[:1] for refs in references], *options)
    several = any(len(refs) > 1 for refs in references)
    return {"single": single, "multi": score(predictions, references, *options) if several else single}


def paired_bootstrap(
    baseline: list[str],
    system: list[str],
    references: list[list[str]],
    n_samples: int = 1000,
    tokenize: str = "13a",
    metrics: Sequence[str] = METRICS,
) -> dict[str, dict]:
    """Paired bootstrap test of `system` against `baseline` (Koehn 2004): both scores and the p-value per metric.

    The p-value of equal scores is 1.
    """
    systems: list[tuple[str, Sequence[str]]] = [("baseline", baseline), ("system", system)]
    test = PairedTest(
        systems,
        {name: metric for name, metric in _metrics(tokenize).items() if name in metrics},
        references=_streams(references),
        test_type="bs",
        n_samples=n_samples,
    )
    _, results = test()
    return {
        key: {
            "baseline": results[name][0].score,
            "system": results[name][1].score,
            # sacreBLEU counts only larger differences, of which equal translations have none.
            "p_value": results[name][1].p_value if results[name][0].score != results[name][1].score else 1.0,
        }
        for name, key in _NAMES.items()
        if key in metrics
    }


_NAMES = {"BLEU": "bleu", "chrF2++": "chrf", "TER": "ter"}  # sacreBLEU's names and Glossa's


def _metrics(tokenize: str) -> dict[str, Metric]:
    ter = CharacterTER() if tokenize in CHARACTERS else TER()
    return {"bleu": bleu_metric(tokenize), "chrf": CHRF(word_order=2), "ter": ter}


def _score(metric: Metric, predictions: list[str], streams: list[list[str | None]]) -> dict:
    return {
        "score": metric.corpus_score(predictions, streams).score,
        "signature": str(metric.get_signature()),
    }


def _streams(references: list[list[str]]) -> list[list[str | None]]:
    """Convert references by sentence to sacreBLEU's reference streams, padded with None."""
    most = max(len(refs) for refs in references)
    return [[refs[index] if index < len(refs) else None for refs in references] for index in range(most)]
