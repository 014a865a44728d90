"""The target language of a text, from the tag that it begins with: `<2fr> Good morning.`"""

import re
from collections.abc import Sequence

_TAG = re.compile(r"\s*<2([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*)>\s*")


def take_tag(text: str) -> tuple[str | None, str]:
    """The language in the tag that `text` begins with, or None, and the text without the tag."""
    found = _TAG.match(text)
    return (found[1], text[found.end() :]) if found else (None, text)


def tag_problem(language: str | None, chosen: str | None, allowed: Sequence[str]) -> str:
    """Why a text with the tag of `language`, or without one, cannot be translated, or "".

    `chosen` is the language of texts without a tag, `allowed` are those of the model.
    """
    into = f"the model translates into {', '.join(allowed)}"
    if language is not None and language not in allowed:
        return f"it has the tag <2{language}>, but {into}. Give one of these."
    if language is None and chosen is None:
        return (
            f"no target language is given, and {into}. Give --target_language, or begin the line with a tag such as "
            f"<2{allowed[0]}>."
        )
    return ""
