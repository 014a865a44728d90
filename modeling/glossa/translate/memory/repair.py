"""What a match needs to become the translation of a text: other values."""

import re
from dataclasses import dataclass

from ...base.languages import language_code
from ...model.sentences_glossa import clean_text
from .terms import NUMBER, find_values, key_of
from .units import Match

# Languages whose words have the same form after all numbers, or one for 1 and one for others (CLDR, plural rules).
_WITHOUT_PLURAL = "id ig ja jv km ko lo ms my th vi wo yo zh"
_TWO_FORMS = (
    "af an az bg bn ca da de el en eo es et eu fa fi fo fr fy gl gu hi hu hy it ka kk kn ku ky lb ml mn mr nb ne nl "
    "nn no oc or pa ps pt sd so sq sv sw ta te tk tr ug ur uz xh zu"
)


@dataclass(frozen=True)
class Adapted:
    """A match and how it is used for a text.

    Attributes:
        target: Its translation, with the values of the text.
        whole: Whether this is a translation of the text, from which the match differs in values at most.
    """

    target: str
    whole: bool


def adapted(match: Match, source: str, language: str | None = None) -> Adapted:
    """A match for a text, with the numbers, placeholders, addresses and so on of the text.

    They are exchanged only if nothing else differs, and if each old one stands in the translation as often as in the
    match's source. A number that may need another form of a word (1 file, 2 files) is not exchanged.

    Args:
        match: The match.
        source: The text.
        language: The code of the target language, which decides about the forms of words. Without it they may differ
            by any number.
    """
    text = clean_text(source)
    if match.source == text:
        return Adapted(match.target, True)
    exchanged = _exchanged(match, text, language) if key_of(match.source) == key_of(text) else None
    return Adapted(match.target, False) if exchanged is None else Adapted(exchanged, True)


def _exchanged(match: Match, text: str, language: str | None) -> str | None:
    """The translation with the values of `text`; None if the place or form of one is in doubt."""
    old, new = (
        [(value.mark, side[slice(*value.place)]) for value in find_values(side)] for side in (match.source, text)
    )
    changes: dict[str, str] = {}
    for (mark, before), (_, after) in zip(old, new, strict=True):
        if changes.setdefault(before, after) != after:
            return None  # two equal values have become two different ones
        if mark == NUMBER and not _same_form(before, after, language):
            return None
    changes = {before: after for before, after in changes.items() if before != after}
    wanted = [before for _, before in old if before in changes]
    pattern = re.compile("|".join(_alone(value) for value in sorted(changes, key=len, reverse=True)))
    found = [each[0] for each in pattern.finditer(match.target)]
    if sorted(found) != sorted(wanted):
        return None
    return pattern.sub(lambda each: changes[each[0]], match.target)


def _alone(value: str) -> str:
    """A pattern of a value that is no part of a longer one."""
    before = r"(?<![^\W_])(?<!\d[.,:])" if value[0].isalnum() else ""
    after = r"(?![^\W_]|[.,:]\d)" if value[-1].isalnum() else ""
    return before + re.escape(value) + after


def _same_form(before: str, after: str, language: str | None) -> bool:
    """Whether words have the same form after two numbers, for certain."""
    if before == after:
        return True
    if re.sub(r"\d", "", before) != re.sub(r"\d", "", after):
        return False  # the target language may write 1,500 and 1.5 with other marks
    if not before.isdecimal():
        return True  # decimals, dates and versions count nothing
    plain = language_code(language) or language if language else ""
    first, second = int(before), int(after)
    if plain in _WITHOUT_PLURAL.split():
        return True
    if plain in _TWO_FORMS.split():
        return min(first, 2) == min(second, 2)  # 0 files, 1 file, 2 files
    return first > 99 < second and first % 100 == second % 100
