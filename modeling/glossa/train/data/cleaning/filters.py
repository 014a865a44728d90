"""Implementation of the filters declared in [`glossa.train.data.filters`]."""

import html.entities
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import langcodes
import regex

from ....base.errors import GlossaError
from ....base.identification import identifier, in_other_language, same_languages
from ....base.languages import language_code
from ....base.same_numbers import same_numbers
from ..arguments import DataArguments
from ..filters import FILTERS
from .splitting import normalize_side

logger = logging.getLogger(__name__)

Test = Callable[[str, str], bool]  # whether to drop a pair of clean texts, source and target

# The filters that test each row separately, after `identical` and `exclude`.
NAMES = tuple(name for name, one in FILTERS.items() if one.step == "texts" and name not in ("identical", "exclude"))
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|([A-Za-z][A-Za-z0-9]{1,31}));")
_NO_LETTERS = regex.compile(r"[^\p{L}\p{M}]+")
_SYLLABLES = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
SYLLABLE = 3  # approximate letters of other scripts per ideograph, kana or Hangul syllable
CHARACTERS = 100  # maximum per token unless `characters` is set; longer texts exceed `max_length`
SAME, FEWEST = 0.8, 4  # share of copied words, and minimum number of words, to count as a copy
MOSTLY = 0.5  # minimum share of letters in the script of the language
# Unicode scripts of ISO 15924 codes that combine or vary scripts.
SCRIPTS = {"Jpan": "Han Hira Kana", "Kore": "Hang Han", "Hans": "Han", "Hant": "Han"}
# Second scripts of some languages.
SECOND_SCRIPTS = {"sr": "Latn", "bs": "Cyrl", "az": "Cyrl", "uz": "Cyrl", "kk": "Latn", "tt": "Latn", "ku": "Arab"}


def chosen_filters(arguments: DataArguments) -> dict[str, Any]:
    """The filters that test each row separately, with their values, and the languages if a filter needs them."""
    chosen: dict[str, Any] = {"characters": CHARACTERS * arguments.max_length}
    chosen |= {name: value for name, value in arguments.filters.items() if name in NAMES}
    if {"script", "language", "digits"} & chosen.keys():
        chosen["languages"] = (arguments.source_language, arguments.target_language)
    return chosen


def check(arguments: DataArguments) -> None:
    """Raise `GlossaError` if a filter does not support the languages; warn about a language unknown to py3langid."""
    tests(chosen_filters(arguments))
    for code in (arguments.source_language, arguments.target_language) if "language" in arguments.filters else ():
        if not same_languages(language_code(code)) & set(identifier().labels):
            logger.warning("filters.language: py3langid does not support %r, so its texts are not filtered.", code)


def tests(chosen: dict[str, Any]) -> list[tuple[str, Test]]:
    """The tests of the filters in `chosen`, from [`chosen_filters`], with their names."""
    languages = chosen.get("languages", ())
    return [(name, _BUILD[name](chosen[name], *languages)) for name in NAMES if name in chosen]


def _too_long(limit: int, *_) -> Test:
    return lambda source, target: len(source) > limit or len(target) > limit


def _unequal(limit: float, *_) -> Test:
    return lambda source, target: len(source) > limit * len(target) or len(target) > limit * len(source)


def _has_html(*_) -> Test:
    return lambda source, target: _is_html(source) or _is_html(target)


def _is_html(text: str) -> bool:
    if "<" in text and _TAG.search(text):
        return True
    return "&" in text and any(not name or f"{name};" in html.entities.html5 for name in _ENTITY.findall(text))


def _differing_numbers(_, *languages: str) -> Test:
    return lambda source, target: not same_numbers(source, target, languages)


def _copied(*_) -> Test:
    def test(source: str, target: str) -> bool:
        if source == target or normalize_side(source) == normalize_side(target):
            return True
        words = target.casefold().split()
        if len(words) < FEWEST:
            return False
        others = set(source.casefold().split())
        return sum(word in others for word in words) >= SAME * len(words)

    return test


def _mostly_marks(limit: float, *_) -> Test:
    def marks(text: str) -> float:
        return 1 - _letters(text) / len("".join(text.split()))

    return lambda source, target: marks(source) > limit or marks(target) > limit


def _weight(text: str) -> int:
    """The letters and marks of a text; an ideograph, kana or Hangul syllable counts as several."""
    return _letters(text) + (SYLLABLE - 1) * len(_SYLLABLES.findall(text))


def _letters(text: str) -> int:
    """The number of letters and marks of a text."""
    return len(_NO_LETTERS.sub("", text))


def _in_other_script(_, source_language: str, target_language: str) -> Test:
    first, second = (_other_scripts(code) for code in (source_language, target_language))

    def other(text: str, pattern) -> bool:
        found = pattern.findall(text)
        others = sum(map(_weight, found))
        return others > 0 and others > (1 - MOSTLY) * _weight(text)

    return lambda source, target: other(source, first) or other(target, second)


@cache
def _other_scripts(code: str):
    """A pattern of letters and marks in no script of the language. Raises `GlossaError` if its script is not known."""
    try:
        language = langcodes.Language.get(code, normalize=False)
    except langcodes.LanguageTagError:
        language = langcodes.Language.make("und")
    likely = language.maximize()
    # langcodes takes a language that it does not know for one of the United States.
    if language.script is None and likely.territory == "US" and language.language != "en":
        raise GlossaError(
            f"filters.script is true, but the script of the language {code!r} is not known. Write it in the code, "
            f"such as {code}_Latn, or leave the filter out."
        )
    names = SCRIPTS.get(str(likely.script), str(likely.script))
    if language.script is None and (second := SECOND_SCRIPTS.get(language_code(code) or "")):
        names += f" {second}"
    # Marks that several scripts share are "inherited" in Unicode.
    scripts = "".join(rf"\p{{Script={name}}}" for name in (*names.split(), "Zinh"))
    return regex.compile(rf"[[\p{{L}}\p{{M}}]--[{scripts}]]+", regex.V1)


def _in_other_language(_, source_language: str, target_language: str) -> Test:
    return lambda source, target: bool(
        pairs_in_other_language([source], [target], (source_language, target_language), [True])
    )


def pairs_in_other_language(
    sources: Sequence[str], targets: Sequence[str], languages: tuple[str, str], judged: Iterable[bool]
) -> list[int]:
    """The numbers of the pairs that the filter `language` drops, among those that are judged."""
    dropped: set[int] = set()
    for texts, code in ((targets, languages[1]), (sources, languages[0])):
        left = [row for row, wanted in enumerate(judged) if wanted and row not in dropped]
        dropped |= {left[number] for number in in_other_language([texts[row] for row in left], code)}
    return sorted(dropped)


_BUILD: dict[str, Callable[..., Test]] = {
    "characters": _too_long, "character_ratio": _unequal, "html": _has_html, "digits": _differing_numbers,
    "copied": _copied, "punctuation": _mostly_marks, "script": _in_other_script, "language": _in_other_language,
}  # fmt: skip
