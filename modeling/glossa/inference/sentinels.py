"""Placeholders as tokens of their own, for models that have learned to keep these."""

from collections.abc import Sequence

from ..segments_glossa import Segment, has_sentinels, masked, model_texts
from .engines import Engine, Translation


def asked_texts(texts: Sequence[Sequence[Segment]], prefixes: Sequence[str]) -> list[tuple[str, str]]:
    """The sentences of all texts as the model reads them, each with the beginning of its translation.

    The first sentence of a text has the text's prefix.
    """
    return [
        (read, "" if place else prefix)
        for segments, prefix in zip(texts, prefixes, strict=True)
        for place, read in enumerate(model_texts(segments))
    ]


def put_other_marks(
    texts: Sequence[list[Segment]], found: Sequence[Sequence[Translation]], engine: Engine
) -> list[int]:
    """Let the model read sentences whose translations do not have exactly their sentinels as others read them.

    Args:
        texts: The segments of each text, which are changed.
        found: The translations of all sentences.
        engine: What translates.

    Returns:
        The numbers of these sentences.
    """
    wrong, number = [], 0
    for segments in texts:
        for place, segment in enumerate(segments):
            if segment.copied:
                continue
            best, *others = found[number]
            checked = [best, *(other for other in others if other.text)]
            if segment.numbered and not all(has_sentinels(segment, each.text) for each in checked):
                segments[place] = masked(segment, engine.mask_items, engine.lower_capitals)
                wrong.append(number)
            number += 1
    return wrong
