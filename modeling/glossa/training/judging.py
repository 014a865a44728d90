"""A model's own translations of validation pairs, from which it learns what is improbable or needs correction."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..evaluation.calibration import calibration_error, reliability, right_words, sentence_chrf
from ..evaluation.scoring import NORMALIZED
from ..inference.confidence import NEEDS_NONE, confidence, features, tokens_by_word, word_features
from ..inference.engines.forced import force, token_scores
from ..sentences_glossa import clean_text

WORDS_OF = 500  # translations whose words are judged, which is a thousand words and more


class Judged(NamedTuple):
    """A translation: its log-probability per token, its features, whether it needs no correction, and its words.

    Of each word there are the features, and whether it is right: in a reference.
    """

    token_score: float
    features: list[float]
    is_right: bool
    words: Sequence[tuple[list[float], bool]] = ()


def judge(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    results: dict[str, dict],
    words: bool = False,
    shared: bool = False,
) -> list[Judged]:
    """The model's translations with its own beams that are not blank, in `results` of [`score_translators`].

    With `words`, the first `WORDS_OF` of them have their words. With `shared`, all processes must call this.
    """
    whole = [found for name, found in results.items() if "file" not in found and not name.endswith(NORMALIZED)][-1]
    texts = zip(whole["sources"], whole["translations"], whole["references"], strict=True)
    rows = [row for row in texts if row[1]]
    sources, translations, references = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    scores = force(model, tokenizer, sources, translations, shared=shared)
    ratio = getattr(model.config, "length_ratio", None)
    judged, known = [], []
    quality = sentence_chrf(translations, references)
    rows = list(zip(sources, translations, references, strict=True))
    for (source, translation, targets), score, chrf in zip(rows, scores, quality, strict=True):
        if score.tokens:
            pieces = len(tokenizer(clean_text(source))["input_ids"])
            token_score = score.log_probability / score.tokens
            values = features(source, translation, token_score, pieces, ratio)
            judged.append(Judged(token_score, values, chrf >= NEEDS_NONE))
            known.append((source, translation, targets))
    if words:
        some = known[:WORDS_OF]
        for number, own in enumerate(_judged_words(model, tokenizer, some)):
            judged[number] = judged[number]._replace(words=own)
    return judged


def _judged_words(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    known: Sequence[tuple[str, str, Sequence[str]]],
) -> Iterator[list[tuple[list[float], bool]]]:
    """The words of translations, given the source, the translation and the references of each."""
    sources, translations = [source for source, *_ in known], [translation for _, translation, _ in known]
    scores = tokens_by_word(partial(token_scores, model, tokenizer), tokenizer, sources, translations)
    for (_, translation, references), tokens in zip(known, scores, strict=True):
        right = [fits for fits, own in zip(right_words(translation, references), tokens, strict=True) if own]
        yield list(zip(word_features(tokens), right, strict=True))


def measure_confidence(weights: Mapping[str, float], judged: Sequence[Judged]) -> dict:
    """The expected calibration error of a confidence as `error`, and ten bins of equal size as `bins`.

    A bin has the mean confidence of its translations, the share that needs no correction, and their number.
    """
    values = [confidence(weights, each.features) for each in judged]
    right = [each.is_right for each in judged]
    bins = [[round(mean, 4), round(share, 4), size] for mean, share, size in reliability(values, right)]
    return {"error": round(calibration_error(values, right), 4), "bins": bins}
