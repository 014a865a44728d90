"""How probable a model finds each word of its translations."""

import math
from collections.abc import Sequence
from typing import Any

from ..batches_glossa import encode_texts
from .engines import Engine, Translation

BATCH = 64  # sentences whose tokens are scored together

WordScores = tuple[tuple[str, float | None], ...]


def word_scores(engine: Engine, tokenizer: Any, sources: Sequence[str], targets: Sequence[str]) -> list[WordScores]:
    """The words of each target, between white space, with the mean of the probabilities of their tokens.

    These are the model's own probabilities of each token after those before it. They say which words it hesitated at,
    not how often such words are right.
    """
    found: list[WordScores] = [()] * len(targets)
    rows = [row for row, target in enumerate(targets) if target.split()]
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        labels = [list(tokenizer(text_target=targets[row])["input_ids"]) for row in some]
        scores = engine.token_scores(encode_texts(tokenizer, [sources[row] for row in some]), labels)
        for row, tokens, own in zip(some, labels, scores, strict=True):
            found[row] = _by_word(tokenizer, targets[row], tokens, own)
    return found


def _by_word(tokenizer: Any, target: str, tokens: list[int], scores: Sequence[float]) -> WordScores:
    words = target.split()
    shares: list[list[float]] = [[] for _ in words]
    texts = tokenizer.batch_decode([tokens[:end] for end in range(1, len(tokens))], skip_special_tokens=True)
    for text, score in zip(texts, scores, strict=False):  # not that of the end
        place = len(text.split()) - (not text[-1:].isspace())  # a space alone belongs to the word after it
        shares[min(max(place, 0), len(words) - 1)].append(math.exp(score))
    return tuple((word, sum(own) / len(own) if own else None) for word, own in zip(words, shares, strict=True))


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
