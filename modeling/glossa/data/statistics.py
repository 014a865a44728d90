"""What the training pairs say about the text that a model can translate."""

from itertools import islice

from datasets import Dataset

from ..sentences_glossa import split_text

SAMPLE = 10_000  # pairs that are looked at; their order is that of the data


def has_paragraphs(pairs: Dataset) -> bool:
    """Whether most pairs (columns `source`, `target`) have several sentences on both sides."""
    sample = _sample(pairs)
    several = sum(all(len(split_text(side)[0]) > 1 for side in pair) for pair in sample)
    return 2 * several > len(sample)


def length_ratio(pairs: Dataset) -> float:
    """Characters of a target for each character of its source."""
    sample = _sample(pairs)
    return round(sum(len(target) for _, target in sample) / sum(len(source) for source, _ in sample), 3)


def _sample(pairs: Dataset) -> list[tuple[str, str]]:
    # Spread over the data, since files are often sorted by length.
    rows = pairs.select(range(0, len(pairs), -(-len(pairs) // SAMPLE)))
    return list(islice(zip(rows["source"], rows["target"], strict=True), SAMPLE))
