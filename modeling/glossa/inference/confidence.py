"""How probable it is that a translation, or a word of it, needs no correction, from what is known when it is made."""

import math
from collections.abc import Mapping, Sequence

import numpy

NEEDS_NONE = 80.0  # chrF of a sentence against a reference, from which it is taken to need no correction
FEWEST = 100  # translations to learn from
SHARE, WORD_SHARE = 0.1, 0.01  # of the translations, and of the words, that are right and that are wrong, at least
RIDGE = 1.0  # half of it, times the squares of the weights of standardized features, is added to the costs
UNCERTAIN = "uncertain"  # the problem of a translation with less confidence than asked for

# Log-probability per token, tokens of the source for each of its words (rare words have more), and by how much the
# length differs from the usual one, as the size of a logarithm.
FEATURES = ("token_score", "pieces", "length")
# Of a word: the mean of the probabilities of its tokens and the lowest of them, both as logits, and the mean of the
# log-probabilities of all tokens of its sentence.
WORD_FEATURES = ("mean", "lowest", "sentence")
SUREST = 1 - 1e-4  # the probability above which, and below the same distance from 0, logits do not grow
INTERCEPT = "intercept"


def features(
    source: str, translation: str, token_score: float, pieces: int, length_ratio: float | None
) -> list[float]:
    """The values of `FEATURES` for a sentence.

    Args:
        source: The sentence.
        translation: Its translation, not blank.
        token_score: The model's log-probability of it (natural logarithm) per token, the end of the sentence included.
        pieces: Tokens of the source.
        length_ratio: Characters of a translation for each character of its source in the training data, if known.
    """
    expected = max(len(source) * (length_ratio or 1.0), 1)
    return [
        token_score,
        pieces / max(len(source.split()), 1),
        abs(math.log(max(len(translation), 1) / expected)),
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


def confidence(weights: Mapping[str, float], values: Sequence[float], names: Sequence[str] = FEATURES) -> float:
    """The probability that what has these features needs no correction, by the `weights` of [`learn`]."""
    logit = weights[INTERCEPT] + sum(weights[name] * value for name, value in zip(names, values, strict=True))
    return 1 / (1 + math.exp(-max(min(logit, 700.0), -700.0)))


def learn(
    rows: Sequence[Sequence[float]], right: Sequence[bool], names: Sequence[str] = FEATURES, share: float = SHARE
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
    return {name: float(f"{value:.6g}") for name, value in weights.items()}
