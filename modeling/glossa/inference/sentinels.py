"""Placeholders as tokens of their own, for models that have learned to keep these."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..segments_glossa import ADDRESS, EMOJI, PLACEHOLDER, SENTINELS, Segment, has_sentinels, masked, model_texts
from .engines.engine import Engine, Translation


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


_UNITS = (
    r"(?:[kKMGTP]i?B(?:/s|it)?|[kMG]?bit/s|[kMG]?Hz|[munµpk]?[gmsLlWVAJ]|cm|dm|km|kg|mg|ml|cl|kW|MW|kWh|px|pt|em|rem"
    r"|dpi|fps|ms|min|km/h|m/s|°[CF]?|%|‰)"
)
# Earlier ones win where two begin at the same character.
_PATTERN = re.compile(
    "|".join(
        (
            ADDRESS.pattern,
            r"\{\{.{0,80}?\}\}|[$#]?\{[^{}\n]{0,80}\}|<%.{0,80}?%>",  # {{x}} ${x} {name}
            r"%(?:\([^()\n]{1,60}\))[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]",  # %(name)s
            r"%(?:\d+\$)?[-+#0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|L|q|j|z|t)?[sdiufFeEgGxXoc@](?![^\W\d_])",
            r"(?<!\w)%[A-Za-z_]\w*%(?!\w)",  # %NAME%
            PLACEHOLDER.pattern,
            r"(?<![\w/.])(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*[\w@+-]",  # /etc/hosts ./a.sh ~/notes
            r"(?<!\w)[A-Za-z]:\\(?:[\w .-]+\\)*[\w.-]*\w",  # C:\Users
            r"(?<![\w/.])[\w-]+(?:/[\w.-]+)*\.(?:py|js|ts|json|ya?ml|toml|md|txt|html?|css|sh|exe|dll|zip|gz|tar|png|jpe?g"
            r"|svg|pdf|docx?|xlsx?|csv|tsv|xml|cfg|ini|conf|log|c|h|cpp|rs|go|java|jar|php|sql)(?![\w-]|\.\w)",
            r"(?<!\w)--?[A-Za-z][\w-]+(?:=\S*\w)?",  # --option
            r"(?<![\w.])v\d+(?:\.\d+)*(?:[-+.]?(?:alpha|beta|rc|dev|post)\.?\d*)?(?!\w)|(?<![\w.])\d+(?:\.\d+){2,}(?![\w.])",
            rf"(?<![\w.,])\d+(?:[.,]\d+)*[ \u00a0\u202f]?{_UNITS}(?![\w(])",
            r"(?<![\w.])0x[0-9a-fA-F]+(?!\w)",
            EMOJI,
            f"[{SENTINELS}]",  # which no text has of its own
        )
    )
)


class Held(NamedTuple):
    """A part of a text that must survive: its characters from `start` to `end`."""

    start: int
    end: int


def find_held(text: str) -> list[Held]:
    """The placeholders in a text, from left to right."""
    return [Held(*found.span()) for found in _PATTERN.finditer(text) if found[0].strip()]


def held_texts(text: str) -> list[str]:
    """The texts of [`find_held`]."""
    return [text[start:end] for start, end in find_held(text)]
