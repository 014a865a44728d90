"""Calibration: how well confidence predicts which translations are correct."""

import re
from collections.abc import Sequence

import numpy
from sacrebleu.metrics import CHRF

BINS = 10


def sentence_chrf(translations: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The chrF of each translation against its most similar reference."""
    metric = CHRF()
    pairs = zip(translations, references, strict=True)
    return [metric.sentence_score(translation, list(targets)).score for translation, targets in pairs]


def right_words(translation: str, references: Sequence[str]) -> list[bool]:
    """Whether each whitespace-separated word of a translation occurs in a reference.

    Position, frequency and surrounding punctuation are ignored.
    """
    known = {_bare(word) for reference in references for word in reference.split()}
    return [_bare(word) in known for word in translation.split()]


def _bare(word: str) -> str:
    """Strip punctuation from the ends of `word`, unless it is all punctuation."""
    return re.sub(r"^\W+|\W+$", "", word) or word


def reliability(confidences: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float, int]]:
    """Mean confidence, share of correct translations and size of ten equal-sized bins, by increasing confidence."""
    order = numpy.argsort(confidences, kind="stable")
    values, wanted = numpy.asarray(confidences, dtype=float)[order], numpy.asarray(right, dtype=float)[order]
    parts = [part for part in numpy.array_split(numpy.arange(len(order)), BINS) if len(part)]
    return [(float(values[part].mean()), float(wanted[part].mean()), len(part)) for part in parts]


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """The expected calibration error (Guo et al. 2017, section 2) with ten equal-sized bins."""
    bins = reliability(confidences, right)
    return sum(abs(mean - share) * size for mean, share, size in bins) / max(len(confidences), 1)
