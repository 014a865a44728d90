"""A model's own translations of validation pairs, from which it learns what is improbable or needs correction."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..evaluation.calibration import calibration_error, reliability, sentence_chrf
from ..evaluation.scoring import NORMALIZED
from ..inference.confidence import NEEDS_NONE, confidence, features
from ..inference.forced import force
from ..sentences_glossa import clean_text


class Judged(NamedTuple):
    """A translation: its log-probability per token, its features, and whether it needs no correction."""

    token_score: float
    features: list[float]
    is_right: bool


def judge(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, results: dict[str, dict]) -> list[Judged]:
    """The model's translations with its own beams that are not blank, in `results` of [`score_translators`]."""
    whole = [found for name, found in results.items() if "file" not in found and not name.endswith(NORMALIZED)][-1]
    texts = zip(whole["sources"], whole["translations"], whole["references"], strict=True)
    rows = [row for row in texts if row[1]]
    sources, translations, references = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    scores = force(model, tokenizer, sources, translations)
    ratio = getattr(model.config, "length_ratio", None)
    judged = []
    quality = sentence_chrf(translations, references)
    for source, translation, score, chrf in zip(sources, translations, scores, quality, strict=True):
        if score.tokens:
            pieces = len(tokenizer(clean_text(source))["input_ids"])
            token_score = score.log_probability / score.tokens
            values = features(source, translation, token_score, pieces, ratio)
            judged.append(Judged(token_score, values, chrf >= NEEDS_NONE))
    return judged


def measure_confidence(weights: Mapping[str, float], judged: Sequence[Judged]) -> dict:
    """The expected calibration error of a confidence as `error`, and ten bins of equal size as `bins`.

    A bin has the mean confidence of its translations, the share that needs no correction, and their number.
    """
    values = [confidence(weights, each.features) for each in judged]
    right = [each.is_right for each in judged]
    bins = [[round(mean, 4), round(share, 4), size] for mean, share, size in reliability(values, right)]
    return {"error": round(calibration_error(values, right), 4), "bins": bins}
