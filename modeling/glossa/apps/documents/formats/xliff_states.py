"""What XLIFF says of translations: states, also those of other programs in attributes of their own, and lengths."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..places import Written

Given = dict[str, str]  # the attributes of an element, whose names are in lower case
New = Mapping[str, str | None]  # its new attributes; those with None go
# Kinds of resources of Windows and others that are no text.
NO_TEXTS = frozenset(["bitmap", "cursor", "dlginit", "file", "font", "icon", "rcdata", "shortcut", "uri"])
_UNTRANSLATED = re.compile(
    r"\s*(?:please\s+)?(?:(?:do not|don['’]t|not to be|never)\s+translated?(?:\s+(?:this|it)(?:\s+\w+)?)?"
    r"|no translation(?:\s+needed)?|untranslatable)\s*[.!]*\s*",
    re.I,
)


class OwnState(NamedTuple):
    """An attribute in which a program keeps the state of a unit or segment.

    Attributes:
        fuzzy: Its values if people have not finished the translation.
        translated: The attributes of a new translation.
        review: The attributes of one that people should look at.
    """

    fuzzy: tuple[str, ...]
    translated: New
    review: New


_MEMOQ = {"mq:status": "MachineTranslated"}
OWN_STATES = {
    "mq:status": OwnState(  # memoQ
        ("PartiallyEdited", "Pretranslated", "MachineTranslated", "AssembledFromFragments", "Rejected"), _MEMOQ, _MEMOQ
    ),
    "m:confirmed": OwnState(("0",), {"m:trans-origin": "mt"}, {"m:trans-origin": "mt"}),  # Phrase
    "conf": OwnState(  # Trados, of each segment
        ("Draft", "RejectedTranslation", "RejectedSignOff"),
        {"conf": "Translated", "origin": "mt"},
        {"conf": "Draft", "origin": "mt"},
    ),
}


# The state of a segment of XLIFF 2. A `subState` belongs to the state before, and goes with it.
SECOND = OwnState((), {"state": "translated", "subState": None}, {"state": "initial", "subState": "glossa:review"})


def forbids_translation(note: str) -> bool:
    """Whether a note says no more than that its text is not to be translated."""
    return _UNTRANSLATED.fullmatch(html.unescape(note)) is not None


def own_state(given: Given) -> tuple[OwnState | None, str]:
    """The state of another program that an element has, and its value if people have not finished the translation."""
    name = next((name for name in OWN_STATES if name in given), None)
    if name is None:
        return None, ""
    return OWN_STATES[name], given[name] if given[name] in OWN_STATES[name].fuzzy else ""


def longest(unit: Given) -> int:
    """The number of characters that the translation of a unit may have; 0 if the file does not say it."""
    if unit.get("size-unit") == "char":
        most = unit.get("maxwidth", "")
    else:
        most = unit.get("slr:sizerestriction", "").rpartition(",")[2].strip()
    return int(most) if most.isdecimal() and len(most) < 10 else 0


class Length:
    """Checks that the translations of a unit have at most `most` characters together, without codes."""

    def __init__(self, most: int):
        self.most, self.written = most, 0

    def __call__(self, written: Sequence[Written]) -> str:
        self.written += sum(len(html.unescape(piece)) for piece in written if isinstance(piece, str))
        return "longer than the file allows" if self.written > self.most else ""
