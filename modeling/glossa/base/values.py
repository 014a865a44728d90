"""Types and ranges of settings, read from text, YAML or Python. Imports no library."""

import difflib
import json
import math
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from .errors import GlossaError

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
MEANINGS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list of texts"}


def from_json(value: Any) -> Any:
    """Parse `value` if it is JSON text; otherwise return it unchanged."""
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def typed(kind: type, value: Any) -> Any:
    """Convert `value`, which may be text, to `kind`, a key of `MEANINGS`; None if it cannot be converted."""
    if kind is list:
        values = value if isinstance(value, list) else [value]
        return values if all(isinstance(item, str) for item in values) else None
    if isinstance(value, dict | list):
        return None
    if kind is str:
        return str(value) if not isinstance(value, bool) else None
    if kind is bool:
        text = str(value).lower()
        return text in TRUE if text in TRUE + FALSE else None
    try:
        number = None if isinstance(value, bool) else kind(value)
    except (TypeError, ValueError):
        return None
    return number if kind is float or number == float(value) else None


def setting(default: Any, meaning: str, interval: str = "") -> Any:
    """A dataclass field for a setting, with its help text and its range (see [`interval_problem`])."""
    metadata = {"help": meaning, "interval": interval}
    if isinstance(default, list | dict):
        return field(default_factory=type(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def interval_problem(interval: str, value: float) -> str | None:
    """The problem with a value, such as "it must be above 0"; None if it is in the interval.

    Intervals are in mathematical notation: [0, 1) includes 0 and excludes 1.
    """
    low, high = (float(bound) for bound in interval[1:-1].split(","))
    above = value > low or (interval[0] == "[" and value == low)
    below = value < high or (interval[-1] == "]" and value == high)
    if math.isfinite(value) and above and below:
        return None
    bounds = [f"{'at least' if interval[0] == '[' else 'above'} {low:g}"] if low > -math.inf else []
    bounds += [f"{'at most' if interval[-1] == ']' else 'below'} {high:.15g}"] if high < math.inf else []
    return f"it must be {' and '.join(bounds) or 'a finite number'}"


def nearest(name: str, names: Iterable[str]) -> str:
    """ " Did you mean `...`?" with the most similar of `names`; "" if none is similar."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" Did you mean `{near[0]}`?" if near else ""


def kept_patterns(given: Sequence[str], name: str = "--keep") -> tuple[re.Pattern[str], ...]:
    """The patterns of what translations keep, which are the value of the setting `name`.

    Raises `GlossaError` if one is no regular expression, or matches nothing at all.
    """
    patterns = []
    for each in given:
        try:
            with warnings.catch_warnings(action="error", category=FutureWarning):  # such as [[.*]] for \[\[.*\]\]
                patterns.append(re.compile(each))
        except (re.error, FutureWarning) as error:
            raise GlossaError(f"{name}: {each!r} is no regular expression of Python: {error}. Correct it.") from error
        if patterns[-1].fullmatch(""):
            raise GlossaError(f"{name}: {each!r} also matches a text without characters. Give one that matches some.")
    return tuple(patterns)
