"""How probable it is that a translation, or a word of it, needs no correction, from what is known when it is made."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from ..model.batches_glossa import encode_texts
from .interface import Engine, Translation

NEEDS_NONE = 80.0  # chrF of a sentence against a reference, from which it is taken to need no correction
FEWEST = 100  # translations to learn from
SHARE, WORD_SHARE = 0.1, 0.01  # of the translations, and of the words, that are right and that are wrong, at least
RIDGE = 1.0  # half of it, times the squares of the weights of standardized features, is added to the costs
UNCERTAIN = "uncertain"  # the problem of a translation with less confidence than asked for

# Log-probability per token, tokens of the source for each of its words (rare words have more), and by how much the
# length differs from the usual one, as the size of a logarithm.
FEATURES = ("token_score", "pieces", "length")
WITH_MATCH = (*FEATURES, "match")  # and, of a model that reads a memory, the score of the match, from 0 to 1
# Of a word: the mean of the probabilities of its tokens and the lowest of them, both as logits, and the mean of the
# log-probabilities of all tokens of its sentence.
WORD_FEATURES = ("mean", "lowest", "sentence")
SUREST = 1 - 1e-4  # the probability above which, and below the same distance from 0, logits do not grow
INTERCEPT = "intercept"


def features(
    source: str, translation: str, token_score: float, pieces: int, length_ratio: float | None, match: int = 0
) -> list[float]:
    """The values of `WITH_MATCH` for a sentence.

    Args:
        source: The sentence.
        translation: Its translation, not blank.
        token_score: The model's log-probability of it (natural logarithm) per token, the end of the sentence included.
        pieces: Tokens of the source.
        length_ratio: Characters of a translation for each character of its source in the training data, if known.
        match: The score of the match in a memory that the model read, from 0 to 100.
    """
    expected = max(len(source) * (length_ratio or 1.0), 1)
    return [
        token_score,
        pieces / max(len(source.split()), 1),
        abs(math.log(max(len(translation), 1) / expected)),
        match / 100,
    ]


def word_features(words: Sequence[Sequence[float]]) -> list[list[float]]:
    """The values of `WORD_FEATURES`, given the log-probabilities of the tokens of each word of a sentence.

    Words without tokens are left out.
    """
    every = [score for own in words for score in own]
    sentence = sum(every) / max(len(every), 1)
    return [[_logit(sum(map(math.exp, own)) / len(own)), _logit(math.exp(min(own))), sentence] for own in words if own]


def _logit(probability: float) -> float:
    probability = max(min(probability, SUREST), 1 - SUREST)
    return math.log(probability / (1 - probability))


def confidence(weights: Mapping[str, float], values: Sequence[float], names: Sequence[str] = WITH_MATCH) -> float:
    """The probability that what has these features needs no correction, by the `weights` of [`learn`].

    A feature without a weight was the same for all translations that were learned from.
    """
    logit = weights[INTERCEPT] + sum(weights.get(name, 0.0) * value for name, value in zip(names, values, strict=True))
    return 1 / (1 + math.exp(-max(min(logit, 700.0), -700.0)))


def learn(
    rows: Sequence[Sequence[float]], right: Sequence[bool], names: Sequence[str] = WITH_MATCH, share: float = SHARE
) -> dict[str, float] | None:
    """The weights of features, by logistic regression on translations of which it is known whether they are right.

    None if there are fewer than `FEWEST`, or less than `share` of them are right, or wrong.
    """
    from scipy.optimize import minimize  # slow to import, and only training needs it

    wanted = numpy.asarray(right, dtype=float)
    if len(wanted) < FEWEST or not share <= wanted.mean() <= 1 - share:
        return None
    values = numpy.asarray(rows, dtype=float)
    center, spread = values.mean(0), values.std(0)
    spread[spread == 0] = 1
    inputs = numpy.column_stack([numpy.ones(len(values)), (values - center) / spread])
    signs = 2 * wanted - 1

    def cost(weights: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        margins = signs * (inputs @ weights)
        penalty = numpy.concatenate([[0], weights[1:]])
        errors = -signs * numpy.exp(-numpy.logaddexp(0, margins))
        return numpy.logaddexp(0, -margins).sum() + RIDGE / 2 * (penalty**2).sum(), inputs.T @ errors + RIDGE * penalty

    found = minimize(cost, numpy.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B").x
    slopes = found[1:] / spread
    weights = dict(zip(names, slopes.tolist(), strict=True)) | {INTERCEPT: float(found[0] - slopes @ center)}
    if names == WITH_MATCH and not values[:, -1].any():
        del weights[WITH_MATCH[-1]]
    return {name: float(f"{value:.6g}") for name, value in weights.items()}


BATCH = 64  # sentences whose tokens are scored together

WordScores = tuple[tuple[str, float | None], ...]


def word_scores(engine: Engine, tokenizer: Any, sources: Sequence[str], targets: Sequence[str]) -> list[WordScores]:
    """The words of each target, between white space, with the probability that they are right.

    Of a model that has not learned this, it is the mean of the probabilities that it gave their tokens, each after
    those before it. These say which words it hesitated at, not how often such words are right.
    """
    found: list[WordScores] = []
    for target, words in zip(targets, tokens_by_word(engine.token_scores, tokenizer, sources, targets), strict=True):
        known = iter(word_features(words))
        shares = [_probability(engine.profile.word_confidence, own, next(known)) if own else None for own in words]
        found.append(tuple(zip(target.split(), shares, strict=True)))
    return found


def _probability(weights: Mapping[str, float] | None, tokens: Sequence[float], values: Sequence[float]) -> float:
    if weights is None:
        return sum(map(math.exp, tokens)) / len(tokens)
    return confidence(weights, values, WORD_FEATURES)


def tokens_by_word(
    score: Callable[[list[list[int]], list[list[int]]], list[list[float]]],
    tokenizer: Any,
    sources: Sequence[str],
    targets: Sequence[str],
) -> list[list[list[float]]]:
    """The log-probabilities of the tokens of each word of each target, the words between white space.

    `score` gives those of a batch, as [`Engine.token_scores`] does.
    """
    found: list[list[list[float]]] = [[] for _ in targets]
    rows = [row for row, target in enumerate(targets) if target.split()]
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        labels = [list(tokenizer(text_target=targets[row])["input_ids"]) for row in some]
        scores = score(encode_texts(tokenizer, [sources[row] for row in some]), labels)
        for row, tokens, own in zip(some, labels, scores, strict=True):
            found[row] = _by_word(tokenizer, targets[row], tokens, own)
    return found


def _by_word(tokenizer: Any, target: str, tokens: list[int], scores: Sequence[float]) -> list[list[float]]:
    words: list[list[float]] = [[] for _ in target.split()]
    texts = tokenizer.batch_decode([tokens[:end] for end in range(1, len(tokens))], skip_special_tokens=True)
    for text, score in zip(texts, scores, strict=False):  # not that of the end
        place = len(text.split()) - (not text[-1:].isspace())  # a space alone belongs to the word after it
        words[min(max(place, 0), len(words) - 1)].append(score)
    return words


def words_of(parts: Sequence[Translation], texts: Sequence[str]) -> WordScores:
    """The words of a text, given the translations of its parts, and what these are in the text.

    Without probabilities if a part has more or fewer words than the model wrote; none if they were not asked for.
    """
    if not any(part.words for part in parts):
        return ()
    found: list[tuple[str, float | None]] = []
    for part, text in zip(parts, texts, strict=True):
        words, shares = text.split(), [share for _, share in part.words]
        found += zip(words, shares if len(shares) == len(words) else [None] * len(words), strict=True)
    return tuple(found)
