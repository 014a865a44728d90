"""The settings of augmentation: the share of training pairs per epoch for each kind of change."""

import difflib
import json
from collections.abc import Mapping
from typing import Any

from ....base.errors import GlossaError

# Shares of the rows of an epoch.
STANDARD = {
    "lower_case": 0.05,
    "endings": 0.08,
    "typing_errors": 0.18,
    "typography": 0.03,
    "items": 0.08,
    "joined": 0.04,
}
KINDS = tuple(STANDARD)
PLACEHOLDERS = "placeholders"  # has a separate setting, since it needs special tokens in the vocabulary


def resolve_shares(given: Any) -> dict[str, float] | None:
    """The shares by kind for a value of the setting `augmentation`; None for no augmentation.

    Raises `GlossaError` for an unknown kind or an invalid share.
    """
    if given in (None, "", {}):
        return None
    if given == "standard":
        return dict(STANDARD)
    if isinstance(given, str):
        given = _parsed(given)
    if not isinstance(given, dict):
        raise GlossaError(f"augmentation is {given!r}; give standard, or shares of the kinds {', '.join(KINDS)}.")
    for kind, share in given.items():
        if kind not in KINDS:
            near = difflib.get_close_matches(str(kind), KINDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise GlossaError(f"augmentation has {kind!r}.{hint} Its kinds are {', '.join(KINDS)}.")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise GlossaError(f"augmentation: {kind} is {share!r}; it must be a share of the pairs, from 0 to 1.")
    return given


def check_sum(shares: Mapping[str, float]) -> None:
    """Raise `GlossaError` if the shares add up to more than 1."""
    if sum(shares.values()) > 1:
        raise GlossaError(
            f"augmentation: the shares add up to {sum(shares.values()):g}; a pair is changed in one way, so they may "
            f"add up to 1 ({', '.join(f'{kind} {share:g}' for kind, share in shares.items())})."
        )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
