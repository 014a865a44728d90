"""How probable it is that each word of a translation is right."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..batches_glossa import encode_texts
from .confidence import WORD_FEATURES, confidence, word_features
from .engines import Engine, Translation

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
        shares = [_probability(engine.word_confidence, own, next(known)) if own else None for own in words]
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
