"""Declarations of the filters for training pairs. Imports no library.

A recipe, an entry of its `sources`, the command line and Python set them by name: `filters: {digits: true}`,
`--filters.digits true`, `DataArguments(filters={"digits": True})`. Dropped pairs are counted by the filter's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...base.errors import GlossaError
from ...base.values import MEANINGS, from_json, interval_problem, nearest, typed


@dataclass(frozen=True)
class Filter:
    """A filter of training pairs.

    Attributes:
        name: The name of the filter, also in counts.
        kind: The type of its value; a `bool` turns it on or off.
        step: Its input: the "texts" of a pair; all "pairs", which a stream does not support; or the "tokens" of a
            pair, so that it is applied in training rather than by `glossa prepare`.
        former_name: The name of the setting in earlier versions.
        meaning: The pairs that it drops.
        default: The default value; None turns the filter off.
        interval: The range of the value, see [`glossa.base.values.interval_problem`].
        two: Whether it needs two languages, and does not apply to texts.
    """

    name: str
    kind: type
    step: Literal["texts", "pairs", "tokens"]
    former_name: str
    meaning: str
    default: Any = None
    interval: str = ""
    two: bool = False


_DECLARED = (  # in the order of application, fast filters first; a pair is counted by the first filter that drops it
    Filter("identical", bool, "texts", "drop_identical", "Pairs whose two sides are equal."),
    Filter(
        "exclude", list, "texts", "exclude",
        "Pairs with a side that occurs in these evaluation files, of pairs or of lines; case, punctuation and white "
        "space are ignored.",
    ),
    Filter(
        "characters", int, "texts", "max_characters",
        "Pairs with more characters than this on either side. Default: 100 times max_length.", interval="[1, inf)",
    ),
    Filter(
        "character_ratio", float, "texts", "max_character_ratio",
        "Pairs of which one side has more than this many times the characters of the other.", interval="[1, inf)",
    ),
    Filter("html", bool, "texts", "filter_html", "Pairs with tags or entities of HTML."),
    Filter(
        "digits", bool, "texts", "filter_digits",
        "Pairs whose numbers differ, where words of numbers count as numbers.",
    ),
    Filter(
        "copied", bool, "texts", "filter_copied",
        "Pairs with equal sides (case, punctuation and white space ignored), or whose target has at least four words, "
        "of which four in five are also in the source.", two=True,
    ),
    Filter(
        "punctuation", float, "texts", "max_punctuation",
        "Pairs of which over this share of a side, spaces excluded, is not letters, such as 0.5.", interval="[0, 1]",
    ),
    Filter(
        "script", bool, "texts", "filter_script",
        "Pairs with a side that is mostly not in the script of its language.", two=True,
    ),
    Filter(
        "language", bool, "texts", "filter_language",
        "Pairs with a side that py3langid identifies as another language.", two=True,
    ),
    Filter(
        "near_duplicates", bool, "pairs", "near_duplicates",
        "Pairs that equal an earlier pair if digits, punctuation, case and white space are ignored.",
    ),
    Filter(
        "alignment", bool, "pairs", "filter_alignment",
        "Pairs whose words explain each other no better than chance, by IBM model 1, which is learned from the pairs "
        "themselves.", two=True,
    ),
    Filter(
        "length_ratio", float, "tokens", "max_length_ratio",
        "Pairs of which one side has more than this many times the tokens of the other.", 3.0, "[1, inf)",
    ),
)  # fmt: skip
FILTERS = {one.name: one for one in _DECLARED}
# Settings of earlier versions, and the filters that they are now.
FORMER_NAMES = {one.former_name: one.name for one in FILTERS.values() if one.former_name}
PREFIX = "filters."
NOTHING = (None, "", "null", "~")  # forms of an empty value in YAML and on the command line


def enabled_filters(given: Any) -> dict[str, Any]:
    """The active filters and their values for a value of the setting `filters`, which may be JSON.

    Raises `GlossaError` for an unknown filter or an invalid value.
    """
    values = {name: one.default for name, one in FILTERS.items()} | check_filters(given)
    return {name: value for name, value in values.items() if value not in (None, False, [])}


def check_filters(given: Any, where: str = "") -> dict[str, Any]:
    """Check filters by name; returns them in the order of `FILTERS`, with defaults for empty values.

    `where` is a prefix of error messages. Raises `GlossaError` for an unknown filter or an invalid value.
    """
    given = from_json(given)
    if given in NOTHING:
        return {}
    if not isinstance(given, Mapping):
        raise GlossaError(f"{where}filters is {given!r}; give filters by name, such as {{digits: true}}.")
    for name in given:
        if name not in FILTERS:
            hint = nearest(str(name), FILTERS)
            raise GlossaError(f"{where}there is no filter `{name}`.{hint} Allowed are {', '.join(FILTERS)}.")
    return {name: _value(one, given[name], where) for name, one in FILTERS.items() if name in given}


def _value(one: Filter, given: Any, where: str) -> Any:
    if given in NOTHING:
        return one.default
    value = typed(one.kind, given)
    if value is None:
        raise GlossaError(f"{where}{PREFIX}{one.name} is {given!r}; give {MEANINGS[one.kind]}.")
    if one.interval and (problem := interval_problem(one.interval, value)):
        raise GlossaError(f"{where}{PREFIX}{one.name} is {value}; {problem}.")
    return value


def nest_filters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Move `filters.NAME` and the filter settings of earlier versions into the setting `filters`."""
    others: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in FORMER_NAMES:
            found[FORMER_NAMES[name]] = value
        elif name.startswith(PREFIX):
            found[name.removeprefix(PREFIX)] = value
        else:
            others[name] = value
    if found:
        given = from_json(others.get("filters"))
        others["filters"] = (given if isinstance(given, Mapping) else {}) | found  # type: ignore[operator]
    return others


def flatten_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """The filters as settings, by their names on the command line."""
    return {f"{PREFIX}{name}": filters.get(name, False if one.kind is bool else None) for name, one in FILTERS.items()}
