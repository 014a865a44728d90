"""Checks that the data match the settings. A failed check stops the run, unless it is named in `trust_data`.

The thresholds are far from the values of real parallel corpora, so that only mistakes fail.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence

import numpy
from datasets import Dataset

from ....base.errors import GlossaError
from ....base.identification import identifier, same_languages
from ....base.languages import language_code
from ..arguments import DataArguments
from .splitting import normalize_side

logger = logging.getLogger(__name__)

MALFORMED = 0.05  # maximum share of malformed rows
EQUAL = 0.5  # maximum share of pairs with equal sides
RATIO = 6  # maximum median ratio of characters; English has 3 to 4 times as many as Chinese
SAMPLE = 1000  # maximum number of pairs
FEWEST = 20  # minimum number of pairs
# Languages are identified for groups of sentences with this number of bytes, since short texts are unreliable.
GROUP_BYTES, GROUPS, FEWEST_GROUPS, CONFIDENCE = 200, 100, 5, 0.9
# A side is in another language if over half of the groups are, and under a quarter are in the expected one.
OTHER, OWN = 0.5, 0.25


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
    """The indices of the pairs to check among `total` pairs: at most 1,000, evenly spaced."""
    return numpy.linspace(0, total - 1, min(SAMPLE, total), dtype=int)


def check_sides(pairs: Dataset, places: list[str], arguments: DataArguments) -> dict[str, str]:
    """Check a sample of clean pairs; returns the languages of "source" and "target" that are clear.

    `places` has the file and line of each pair. Raises `GlossaError` if the sides are equal, very different in length,
    or in other languages than in the settings. Few pairs, short artificial texts and unknown languages are ignored.
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
    """For each language (None: unclear), the indices of the longest text of each group; empty for too few groups."""
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
    """Ranges of neighboring texts of at least `GROUP_BYTES`, at most `GROUPS`, evenly spaced."""
    groups, start, size = [], 0, 0
    for index, text in enumerate(texts):
        size += len(text.encode())
        if size >= GROUP_BYTES:
            groups.append(range(start, index + 1))
            start, size = index + 1, 0
    return groups[:: max(1, len(groups) // GROUPS)][:GROUPS]


MIXED = 0.05  # minimum share of texts with the rarer of two writing variants
_IDEOGRAPHS = re.compile("[\u4e00-\u9fff]+")
_FULL, _HALF = re.compile("[Ａ-Ｚａ-ｚ０-９]"), re.compile("[A-Za-z0-9]")
_WIDE_LANGUAGES = ("zh", "ja", "ko")


def warn_of_mixed_writing(side: str, language: str, texts: Sequence[str]) -> None:
    """Warn if both simplified and traditional Chinese, or both full-width and half-width letters, are common.

    `side` is "source" or "target"; `texts` is a sample of its texts.
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
                "%s: of %s %s texts looked at, %s have %s and %s have %s. A model would mix both at random. Convert "
                "one of them before training (for Chinese, with OpenCC).",
                language, f"{len(texts):,}", side, f"{most:,}", first, f"{fewer:,}", second,
            )  # fmt: skip


def _variant(text: str) -> str:
    """Whether a Chinese text has simplified or traditional characters; "" if ambiguous or mixed.

    GB 2312 has the simplified characters, and Big5 the traditional ones.
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
