"""The languages of texts, by py3langid."""

from collections.abc import Sequence
from functools import cache

import numpy

TOGETHER, FEW = 2000, 30  # texts that are identified together; the longest few are identified alone
NEAR = 0.001  # to a probability; rounding changes it by less than a hundredth of this


@cache
def identifier():
    """The identifier of py3langid, with probabilities."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # its model takes half a second to load

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def identify(texts: Sequence[str], certain: float) -> list[tuple[str, float]]:
    """The language of each text and its probability, as `identifier().classify` gives them, much faster.

    The order in which numbers are added differs, so probabilities differ by rounding, but not across `certain`: the
    library identifies again what is as near to it as `NEAR`, and the longest texts.
    """
    found: list[tuple[str, float]] = []
    for start in range(0, len(texts), TOGETHER):
        part = texts[start : start + TOGETHER]
        best, probabilities = _classify(list(map(identifier()._encode, part)))
        sure = numpy.abs(probabilities - certain) > NEAR  # false for NaN
        found += [
            (identifier().nb_classes[label], float(probability)) if known else identifier().classify(text)
            for text, label, probability, known in zip(part, best, probabilities, sure, strict=True)
        ]
    return found


def _classify(texts: Sequence[bytes]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The class of each text and its probability; NaN of those that were not followed to their end."""
    from scipy.sparse import csr_matrix

    known, (owners, features, whole) = identifier(), _walk(texts)
    used, places = numpy.unique(features, return_inverse=True)  # few, so that their table is small
    ones = numpy.ones(len(owners), numpy.float32)
    counts = csr_matrix((ones, (owners, places)), shape=(len(texts), len(used)))
    counts.data = numpy.log1p(counts.data)  # equal features were added
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
    """The features of py3langid in texts, all followed at once: text and feature of each, and which texts are whole.

    The longest texts are not followed to their end, which takes as many steps as they have bytes.
    """
    moves, rows, features = _automaton()
    order = numpy.array(sorted(range(len(texts)), key=lambda row: -len(texts[row])), numpy.int64)
    lengths = numpy.array([len(texts[row]) for row in order], numpy.int64)
    letters = numpy.frombuffer(b"".join(texts[row] for row in order), numpy.uint8)
    starts = numpy.cumsum(lengths) - lengths
    longest = int(lengths[FEW]) if len(texts) > FEW else 0
    states = numpy.zeros(len(texts), numpy.int64)
    owners, found = [numpy.zeros(0, numpy.int64)], [numpy.zeros(0, numpy.int64)]
    for place in range(longest):
        left = int(numpy.searchsorted(-lengths, -place))  # texts that are longer
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
