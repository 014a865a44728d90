"""Texts of one language that are written in two ways: a model learns to write both at random."""

import logging
import re
from collections import Counter
from collections.abc import Sequence

from ..languages import language_code

logger = logging.getLogger(__name__)

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
