"""The translations of the segments of a text as translations of the text."""

from collections.abc import Iterable
from math import prod

from ..segments_glossa import Segment, joined_parts
from .confidence import words_of
from .engines.engine import Translation


def joined(pieces: list[list[Translation]], segments: list[Segment], confident: bool = False) -> list[Translation]:
    """Join the translations of a text's segments by rank: the best of each, then the second best, and so on.

    The confidence is the product of the segments' confidences; copied segments count as right.
    """
    whole = []
    for ranked in zip(*pieces, strict=True):
        parts = joined_parts(segments, [found.text for found in ranked])
        whole.append(
            Translation(
                "".join(text + space for text, space in parts),
                None if ranked[0].score is None else sum(found.score or 0.0 for found in ranked),
                next((found.problem for found in ranked if found.problem), ""),
                tokens=sum(found.tokens for found in ranked),
                confidence=_product(ranked) if confident else None,
                terms=tuple(term for found in ranked for term in found.terms),
                parts=tuple((segment.text, text) for segment, (text, _) in zip(segments, parts, strict=True)),
                words=words_of(ranked, [text for text, _ in parts]),
            )
        )
    return whole


def _product(parts: Iterable[Translation]) -> float:
    return prod(1.0 if part.confidence is None else part.confidence for part in parts)
