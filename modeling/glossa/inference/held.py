"""Parts of a text that its translation must have as they are: places for values, addresses, paths, versions, emoji."""

import re
from typing import NamedTuple

from ..segments_glossa import ADDRESS, EMOJI, PLACEHOLDER, SENTINELS

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
