"""Language identification with py3langid."""

from collections.abc import Sequence
from functools import cache

import numpy

from .languages import language_code

BATCH, LONGEST = 2000, 30  # texts per batch, and how many of the longest among them are identified one by one
CERTAIN = 0.5  # minimum probability of another language; very short texts do not reach it
# Languages too similar to distinguish reliably.
SIMILAR = ({"no", "nb", "nn", "da"}, {"hr", "sr", "bs"}, {"id", "ms"}, {"zh", "yue", "wuu"}, {"ar", "ary", "arz"})
NEAR = 0.001  # distance between probabilities; rounding changes them by less than a hundredth of this


@cache
def identifier():
    """py3langid's identifier, with normalized probabilities."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # its model takes half a second to load

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def same_languages(code: str | None) -> set[str | None]:
    """This language and those that py3langid does not distinguish from it."""
    return next((set(family) for family in SIMILAR if code in family), {code})


def in_other_language(texts: Sequence[str], language: str) -> set[int]:
    """The numbers of the texts that are certainly not in a language; none if py3langid does not know it."""
    codes = same_languages(language_code(language))
    if not codes & set(identifier().labels):
        return set()
    found = enumerate(identify(texts, CERTAIN))
    return {row for row, (label, probability) in found if label not in codes and probability > CERTAIN}


def identify(texts: Sequence[str], certain: float) -> list[tuple[str, float]]:
    """The language of each text and its probability, as from `identifier().classify`, but much faster.

    Numbers are added in another order, so probabilities differ by rounding. They do not cross the threshold `certain`,
    since texts within `NEAR` of it, like the longest texts, are identified again by the library.
    """
    found: list[tuple[str, float]] = []
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        best, probabilities = _classify(list(map(identifier()._encode, part)))
        sure = numpy.abs(probabilities - certain) > NEAR  # false for NaN
        found += [
            (identifier().nb_classes[label], float(probability)) if known else identifier().classify(text)
            for text, label, probability, known in zip(part, best, probabilities, sure, strict=True)
        ]
    return found


def _classify(texts: Sequence[bytes]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The class of each text and its probability; NaN for texts that were not read to the end."""
    from scipy.sparse import csr_matrix

    known, (owners, features, whole) = identifier(), _walk(texts)
    used, places = numpy.unique(features, return_inverse=True)  # a small part of all features
    ones = numpy.ones(len(owners), numpy.float32)
    counts = csr_matrix((ones, (owners, places)), shape=(len(texts), len(used)))
    counts.data = numpy.log1p(counts.data)  # the matrix has summed equal features
    scores = counts @ known.nb_ptc[used].astype(numpy.float32) + known.nb_pc  # [texts, classes]
    scores = scores / numpy.sqrt(numpy.maximum(list(map(len, texts)), 1))[:, None]
    scores = numpy.exp(scores - scores.max(1, keepdims=True))
    scores /= scores.sum(1, keepdims=True)
    for first, same in known._alias_pairs:
        scores[:, first] += scores[:, same]
        scores[:, same] = 0
    whole &= numpy.diff(counts.indptr) > 0
    return scores.argmax(1), numpy.where(whole, scores.max(1), numpy.nan)


def _walk(texts: Sequence[bytes]) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Find the features of py3langid in all texts at once.

    Returns the text index of each feature, the feature, and whether each text was read to its end. The longest texts
    are not, since each byte of the longest one takes a step.
    """
    moves, rows, features = _automaton()
    order = numpy.array(sorted(range(len(texts)), key=lambda row: -len(texts[row])), numpy.int64)
    lengths = numpy.array([len(texts[row]) for row in order], numpy.int64)
    letters = numpy.frombuffer(b"".join(texts[row] for row in order), numpy.uint8)
    starts = numpy.cumsum(lengths) - lengths
    longest = int(lengths[LONGEST]) if len(texts) > LONGEST else 0
    states = numpy.zeros(len(texts), numpy.int64)
    owners, found = [numpy.zeros(0, numpy.int64)], [numpy.zeros(0, numpy.int64)]
    for place in range(longest):
        left = int(numpy.searchsorted(-lengths, -place))  # number of longer texts
        states[:left] = moves[rows[states[:left]] + letters[starts[:left] + place]]
        here = features[states[:left]]
        hits = numpy.flatnonzero(here >= 0)
        owners.append(order[hits])
        found.append(here[hits])
    whole = numpy.zeros(len(texts), bool)
    whole[order] = lengths <= longest
    return numpy.concatenate(owners), numpy.concatenate(found), whole


@cache
def _automaton() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    known = identifier()
    return tuple(numpy.asarray(one, numpy.int64) for one in (known.tk_nextmove, known._rowbase, known.tk_output))  # type: ignore[return-value]
