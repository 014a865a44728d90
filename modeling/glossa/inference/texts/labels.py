"""Labels of programs: the translation ends as its source does, though the model has learned to end sentences."""

import re
from typing import NamedTuple

from ...facts_glossa import NO_SPACES

LONGEST = 20  # characters of a mark
_END = re.compile(r"(?P<mark>…+|\.{2,}|[?!？！؟]+|[.:。：।۔])\Z")
_ABBREVIATION = re.compile(r"(?<!\w)(?:[^\W\d_]{1,2}\.\s?)+[^\W\d_]{1,3}\Z")  # such as e.g, whose period is its own
_KINDS = {
    **dict.fromkeys("?？؟", "question"),
    **dict.fromkeys("!！", "exclamation"),
    **dict.fromkeys(":：", "colon"),
    **dict.fromkeys("…", "ellipsis"),
    **dict.fromkeys(".。।۔", "stop"),
}
_WIDE = {"question": "？", "exclamation": "！", "colon": "：", "ellipsis": "…", "stop": "。"}
# How languages write a mark that others write as in ASCII, and with which space before it.
_SPELLED = {
    "fr": {"question": "\u202f?", "exclamation": "\u202f!", "colon": "\u00a0:"},
    "el": {"question": ";"},
    "ar": {"question": "؟"},
    "fa": {"question": "؟"},
    "ur": {"question": "؟", "stop": "۔"},
    "hi": {"stop": "।"},
}
_OPENED = {("es", "question"): "¿", ("es", "exclamation"): "¡"}


class End(NamedTuple):
    """How a text ends: what is before the mark, the mark, and its kind; "" for a text without one."""

    body: str
    mark: str = ""
    kind: str = ""


def end_of(text: str) -> End:
    """The end of a text."""
    found = _END.search(text, max(len(text) - LONGEST, 0))
    if found is None:
        return End(text)
    mark = found["mark"]
    return End(
        text[: found.start()].rstrip(" \u00a0\u202f"), mark, "ellipsis" if mark.startswith("..") else _KINDS[mark[0]]
    )


def ended_as(source: str, target: str, language: str) -> str:
    """`target` with the kind of end that `source` has, as `language` writes it; the code "" is no language."""
    own, theirs = end_of(source), end_of(target)
    language = re.split("[-_]", language)[0].lower()
    spelled = _SPELLED.get(language, {}).get(own.kind, own.mark)
    if not theirs.body.strip() or (language == "el" and own.kind == "question" and target.endswith(";")):
        return target
    if own.kind == theirs.kind and (spelled == own.mark or theirs.mark != own.mark):
        return target
    if own.kind == "" and theirs.kind == "stop" and _ABBREVIATION.search(theirs.body):
        return target
    if own.kind and NO_SPACES.match(theirs.body[-1]):
        return theirs.body + _WIDE[own.kind]
    opened = _OPENED.get((language, own.kind), "")
    return f"{'' if opened in theirs.body else opened}{theirs.body}{spelled}"
