"""Checks that the data match the settings. A failed one stops the run, unless `trust_data` names it.

The thresholds are far from the values of real parallel corpora, so that only mistakes are stopped.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy
from datasets import Dataset

from ...errors import GlossaError
from ..arguments import DataArguments
from ..languages import language_code
from .splitting import normalize_side

logger = logging.getLogger(__name__)

MALFORMED = 0.05  # share of the rows
EQUAL = 0.5  # share of pairs with equal sides
RATIO = 6  # of characters, in the median; English has 3 to 4 times as many as Chinese
SAMPLE = 1000  # pairs
FEWEST = 20  # pairs that are judged
TOGETHER, FEW = 2000, 30  # texts that are identified together; the longest few are identified alone
NEAR = 0.001  # to a probability; rounding changes it by less than a hundredth of this
# Sentences are identified in groups of at least so many bytes, since short ones mislead.
GROUP_BYTES, GROUPS, FEWEST_GROUPS, CONFIDENCE = 200, 100, 5, 0.9
# A side is in another language if so many groups are, and fewer than so many are in its own.
OTHER, OWN = 0.5, 0.25
# Too similar to tell apart reliably.
SIMILAR = ({"no", "nb", "nn", "da"}, {"hr", "sr", "bs"}, {"id", "ms"}, {"zh", "yue", "wuu"}, {"ar", "ary", "arz"})


def check_malformed(split: str, counts: dict[str, int], examples: list[dict], arguments: DataArguments) -> None:
    """Raise `GlossaError` if over 5% of the rows are malformed; `counts` and `examples` come from the report."""
    if counts["malformed"] <= MALFORMED * counts["read"]:
        return
    first = examples[0]
    _report(
        "malformed",
        f"{first['file']}, line {first['line']}: {first['reason']}: {first['excerpt']!r}. This is the first of "
        f"{counts['malformed']} malformed rows among {counts['read']} in the {split} split; at most "
        f"{MALFORMED:.0%} may be. Correct the file or its ending",
        arguments,
    )


def sample(total: int) -> numpy.ndarray:
    """The indices of the pairs to judge among `total` pairs: at most 1,000 at even distances."""
    return numpy.linspace(0, total - 1, min(SAMPLE, total), dtype=int)


def check_sides(pairs: Dataset, places: list[str], arguments: DataArguments) -> dict[str, str]:
    """The languages of "source" and "target" of a sample of clean pairs, each only if it is clear.

    `places` has the file and line of each pair. Raises `GlossaError` if the sides are equal, of very different length,
    or in other languages than the settings say. Few pairs, short artificial ones and unknown languages are not judged.
    """
    if len(pairs) < FEWEST:
        return {}
    sources, targets = pairs["source"][:], pairs["target"][:]
    _check_equal(sources, targets, places, arguments)
    _check_lengths(sources, targets, places, arguments)
    warn_of_mixed_writing("source", arguments.source_language, sources)
    warn_of_mixed_writing("target", arguments.target_language, targets)
    return _check_languages(sources, targets, places, arguments)


def _report(check: str, problem: str, arguments: DataArguments) -> None:
    if check not in arguments.trust_data:
        raise GlossaError(f"{problem}. If the data are right, set trust_data to {check} (--trust_data {check}).")
    logger.warning("%s.", problem)


def _check_equal(sources: list[str], targets: list[str], places: list[str], arguments: DataArguments) -> None:
    equal = [normalize_side(one) == normalize_side(other) for one, other in zip(sources, targets, strict=True)]
    if sum(equal) <= EQUAL * len(equal):
        return
    first = equal.index(True)
    _report(
        "equal",
        f"{places[first]}: source and target are both {_excerpt(sources[first])}, as in {sum(equal)} of {len(equal)} "
        "pairs looked at. The target must be a translation; give the right file or column",
        arguments,
    )


def _check_lengths(sources: list[str], targets: list[str], places: list[str], arguments: DataArguments) -> None:
    ratios = numpy.array([len(one) / len(other) for one, other in zip(sources, targets, strict=True)])
    middle = float(numpy.median(ratios))
    if 1 / RATIO <= middle <= RATIO:
        return
    longer, factor = ("source", middle) if middle > 1 else ("target", 1 / middle)
    typical = int(numpy.abs(ratios - middle).argmin())
    _report(
        "length",
        f"{places[typical]}: source {_excerpt(sources[typical])}, target {_excerpt(targets[typical])}. The {longer} "
        f"typically has {factor:.0f} times as many characters; translations have at most {RATIO} times as many. Give "
        "the right files or columns",
        arguments,
    )


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def _check_languages(
    sources: list[str], targets: list[str], places: list[str], arguments: DataArguments
) -> dict[str, str]:
    found, wrong = {}, []
    sides = (("source", sources, arguments.source_language), ("target", targets, arguments.target_language))
    for side, texts, wanted in sides:
        votes = _votes(texts)
        language = next((code for code in votes if code and _share(votes, {code}) > OTHER), None)
        if language is None:
            continue
        found[side] = language
        own = same_languages(language_code(wanted))
        if own & set(identifier().labels) and _share(votes, own) < OWN:
            row = votes[language][0]
            wrong.append(
                f"{places[row]}: the {side} texts are not {wanted!r} but {language!r}, such as {_excerpt(texts[row])}"
            )
    if not wrong:
        return found
    source, target = arguments.source_language, arguments.target_language
    if len(wrong) == 2 and found["source"] in same_languages(language_code(target)):
        advice = f"Set source_language to {target!r} and target_language to {source!r}, or exchange the files"
    else:
        advice = "Give the right files or columns, or set source_language and target_language to what they hold"
    _report("language", f"{'; '.join(wrong)}. {advice}", arguments)
    return found


def _votes(texts: list[str]) -> dict[str | None, list[int]]:
    """For each language (None: unclear), the longest text of each group in it, by index; {} if the groups are few."""
    groups = _groups(texts)
    votes: dict[str | None, list[int]] = {}
    for group in groups if len(groups) >= FEWEST_GROUPS else []:
        code, probability = identifier().classify(" ".join(texts[row] for row in group)[:2000])
        longest = max(group, key=lambda row: len(texts[row]))
        votes.setdefault(code if probability >= CONFIDENCE else None, []).append(longest)
    return votes


def _share(votes: dict[str | None, list[int]], codes: set[str | None]) -> float:
    return sum(len(votes.get(code, [])) for code in codes) / sum(map(len, votes.values()))


def _groups(texts: list[str]) -> list[range]:
    """Ranges of neighboring texts of at least `GROUP_BYTES`, at most `GROUPS` at even distances."""
    groups, start, size = [], 0, 0
    for index, text in enumerate(texts):
        size += len(text.encode())
        if size >= GROUP_BYTES:
            groups.append(range(start, index + 1))
            start, size = index + 1, 0
    return groups[:: max(1, len(groups) // GROUPS)][:GROUPS]


def same_languages(code: str | None) -> set[str | None]:
    """The languages that py3langid does not tell apart from this one, and itself."""
    return next((set(family) for family in SIMILAR if code in family), {code})


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


MIXED = 0.05  # share of the texts that the rarer of two ways has, at least
_IDEOGRAPHS = re.compile("[\u4e00-\u9fff]+")
_FULL, _HALF = re.compile("[Ａ-Ｚａ-ｚ０-９]"), re.compile("[A-Za-z0-9]")
_WIDE_LANGUAGES = ("zh", "ja", "ko")


def warn_of_mixed_writing(side: str, language: str, texts: Sequence[str]) -> None:
    """Warn if both simplified and traditional Chinese, or letters and digits of full and of half width, are common.

    `side` is "source" or "target"; `texts` are some of its texts.
    """
    code = language_code(language)
    ways = []
    if code == "zh":
        ways.append(Counter(filter(None, map(_variant, texts))))
    if code in _WIDE_LANGUAGES:
        ways.append(Counter({"letters or digits of full width": sum(bool(_FULL.search(text)) for text in texts)}))
        ways[-1]["letters or digits of half width"] = sum(bool(_HALF.search(text)) for text in texts)
    for way in ways:
        (first, most), (second, fewer) = (*way.most_common(2), ("", 0), ("", 0))[:2]
        if fewer >= MIXED * max(most + fewer, 1):
            logger.warning(
                "%s: of %s %s texts looked at, %s have %s and %s have %s. A model learns to write both at random; "
                "convert one of them before training (for Chinese, with OpenCC).",
                language, f"{len(texts):,}", side, f"{most:,}", first, f"{fewer:,}", second,
            )  # fmt: skip


def _variant(text: str) -> str:
    """Whether a Chinese text is in simplified or in traditional characters; "" if it may be both, or mixes them.

    GB 2312 has the simplified characters and Big5 the traditional ones.
    """
    characters = "".join(_IDEOGRAPHS.findall(text))
    simplified, traditional = _has(characters, "gb2312"), _has(characters, "big5")
    if simplified == traditional:
        return ""
    return "simplified characters" if simplified else "traditional characters"


def _has(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
