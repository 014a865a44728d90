"""Data that cannot be what the settings say stop a run before training, unless `trust_data` is set.

The thresholds are far from what real parallel corpora have, so that what they stop is a mistake.
"""

import logging
from collections import Counter
from functools import cache

import numpy
from datasets import Dataset

from ..errors import GlossaError
from .arguments import DataArguments
from .languages import language_code
from .splitting import normalize_side

logger = logging.getLogger(__name__)

MALFORMED = 0.05  # share of the rows
EQUAL = 0.5  # share of pairs with equal sides
RATIO = 6  # of characters, in the median; English has 3 to 4 times as many as Chinese
SAMPLE = 1000  # pairs
FEWEST = 20  # pairs that are judged
# Sentences are identified in groups of at least so many bytes, since short ones mislead.
GROUP_BYTES, GROUPS, FEWEST_GROUPS, CONFIDENCE = 200, 100, 5, 0.9
# A side is in another language if so many groups are, and fewer than so many are in its own.
OTHER, OWN = 0.5, 0.25
# Too similar to tell apart for certain.
SIMILAR = ({"no", "nb", "nn", "da"}, {"hr", "sr", "bs"}, {"id", "ms"}, {"zh", "yue", "wuu"}, {"ar", "ary", "arz"})


def check_malformed(split: str, counts: dict[str, int], examples: list[dict], arguments: DataArguments) -> None:
    """Raise `GlossaError` if over 5% of the rows are malformed; `counts` and `examples` are those of the report."""
    if counts["malformed"] <= MALFORMED * counts["read"]:
        return
    first = examples[0]
    _report(
        f"{first['file']}, line {first['line']}: {first['reason']}: {first['excerpt']!r}. This is the first of "
        f"{counts['malformed']} malformed rows among {counts['read']} in the {split} split; at most "
        f"{MALFORMED:.0%} may be. Correct the file or its ending",
        arguments,
    )


def check_sides(split: str, pairs: Dataset, lines: Dataset, arguments: DataArguments) -> dict[str, str]:
    """The languages of "source" and "target" of clean pairs, each only if it is clear.

    `lines` has the line of each pair. Raises `GlossaError` if the sides are equal, of very different length, or in
    other languages than the settings say. Few pairs, short artificial ones and unknown languages are not judged.
    """
    if len(pairs) < FEWEST:
        return {}
    chosen = numpy.linspace(0, len(pairs) - 1, min(SAMPLE, len(pairs)), dtype=int)
    sample = pairs.select(chosen)
    sources, targets, numbers = sample["source"][:], sample["target"][:], lines.select(chosen)["line"][:]
    paths = {"train": arguments.data_path, "validation": arguments.validation_path, "test": arguments.test_path}
    name = " and ".join(paths.get(split, [])) or f"{arguments.dataset}, {split}"
    places = [f"{name}, line {number}" for number in numbers]
    _check_equal(sources, targets, places, arguments)
    _check_lengths(sources, targets, places, arguments)
    return _check_languages(sources, targets, places, arguments)


def _report(problem: str, arguments: DataArguments) -> None:
    if not arguments.trust_data:
        raise GlossaError(f"{problem}. If the data are right, set trust_data to true (--trust_data).")
    logger.warning("%s.", problem)


def _check_equal(sources: list[str], targets: list[str], places: list[str], arguments: DataArguments) -> None:
    equal = [normalize_side(one) == normalize_side(other) for one, other in zip(sources, targets, strict=True)]
    if sum(equal) <= EQUAL * len(equal):
        return
    first = equal.index(True)
    _report(
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
    wanted = {"source": arguments.source_language, "target": arguments.target_language}
    found = {}
    wrong = {}
    for side, texts in (("source", sources), ("target", targets)):
        groups = _groups(texts)
        if len(groups) < FEWEST_GROUPS:
            continue
        votes = [_language(" ".join(texts[first:last])) for first, last in groups]
        counts = Counter(filter(None, votes))
        language, most = counts.most_common(1)[0] if counts else ("", 0)
        if most <= OTHER * len(votes):
            continue
        found[side] = language
        own = _same(language_code(wanted[side]) or "")
        if own & _known() and sum(counts[code] for code in own) < OWN * len(votes):
            first = groups[votes.index(language)][0]
            wrong[side] = f"{places[first]}: the {side} texts are not {wanted[side]!r} but {language!r}, such as "
            wrong[side] += _excerpt(texts[first])
    if len(wrong) == 2 and found["source"] in _same(language_code(wanted["target"])):
        advice = f"The sides are swapped: set source_language to {wanted['target']!r} and target_language to "
        advice += f"{wanted['source']!r}, or exchange the files or columns"
    else:
        side = next(iter(wrong), "")
        advice = f"Give the right file, or set {side}_language to {found.get(side)!r}"
    if wrong:
        _report(f"{'; '.join(wrong.values())}. {advice}", arguments)
    return found


def _groups(texts: list[str]) -> list[tuple[int, int]]:
    """Ranges of neighboring texts of at least `GROUP_BYTES`, at most `GROUPS` at even distances."""
    groups, start, size = [], 0, 0
    for index, text in enumerate(texts):
        size += len(text.encode())
        if size >= GROUP_BYTES:
            groups.append((start, index + 1))
            start, size = index + 1, 0
    return groups[:: max(1, len(groups) // GROUPS)][:GROUPS]


def _language(text: str) -> str | None:
    """The code of the language of a text; None if it is not clear."""
    code, probability = _identifier().classify(text[:2000])
    return code if probability >= CONFIDENCE else None


def _same(code: str) -> set[str]:
    return next((family for family in SIMILAR if code in family), {code})


def _known() -> set[str]:
    return set(_identifier().labels)


@cache
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # its model takes half a second to load

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
