"""Pseudo-translations, which need no model: accents show which text of a program or document is translated.

Latin letters get accents that no language has, and words of other scripts end with `MARK`. Words, spans and their
order stay, and [`undo`] gives the text back, so that lost, moved and glued words show.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy

from ...model.profile_glossa import TextProfile
from ...model.spans_glossa import find_spans
from ..interface import Engine, Search, Translation

CUT = 256  # characters of a sentence; longer ones are cut at clauses, as for a model
LONGEST = 2048  # characters of a sentence without clauses
MARK, OPENED, CLOSED = "ː", "⟦", "⟧"
OWN = "⸗"  # before a character of the source that would be taken for an added or accented one
_PLAIN, _ACCENTED = "abcdefghijklmnopqrstuvwxyz", "ḁḇḉḏḛḟḡḩḭɉḳḻḿṉṏṕɋṟṩṯṳṽẇẍẏẕ"
_PLAIN, _ACCENTED = _PLAIN + _PLAIN.upper(), _ACCENTED + _ACCENTED.upper()
_WRITTEN = str.maketrans(
    dict(zip(_PLAIN, _ACCENTED, strict=True))
    | {each: OWN + each for each in f"{_ACCENTED}{MARK}{OPENED}{CLOSED}{OWN}"}
)
_READ = str.maketrans(_ACCENTED, _PLAIN)
_UNIT = re.compile(rf"{OWN}(?P<own>.)|(?P<added>[{MARK}{OPENED}{CLOSED}])|(?P<letter>.)", re.S)


class CharacterTokenizer:
    """A tokenizer whose ids are characters. It has the methods that a [`Translator`] needs."""

    model_max_length = LONGEST

    def __call__(self, text: Any = None, text_target: str | None = None, **_: Any) -> dict[str, list]:
        if isinstance(text, list):
            return {"input_ids": [[*map(ord, each)] for each in text]}
        given = text if text_target is None else text_target
        return {
            "input_ids": [*map(ord, given)],
            "offset_mapping": [(place, place + 1) for place in range(len(given))],
            "special_tokens_mask": [0] * len(given),
        }


class FunctionEngine(Engine):
    """A function of each sentence. Target words are linked to source words in order.

    Args:
        function: Returns the translation of a sentence.
    """

    num_beams, attends = 1, True
    profile = TextProfile(keeps_placeholders=True, trained_length=CUT)

    def __init__(self, function: Callable[[str], str]):
        self.function = function

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        return [Translation(self.function("".join(map(chr, ids)))) for ids in sources]

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> Iterator[numpy.ndarray]:
        for source, target in zip(sources, targets, strict=True):
            places = numpy.minimum(_places("".join(map(chr, target))), len(source) - 1)
            yield numpy.eye(len(source), dtype=numpy.float32)[places]  # [T, S]


def pseudo_engine(lengthened: bool = False) -> FunctionEngine:
    """The engine of pseudo-translations.

    Args:
        lengthened: Whether each word also gets a `MARK` after every third letter, and each sentence `OPENED` before
            its first letter and `CLOSED` after its last one.
    """
    return FunctionEngine(_lengthened if lengthened else _accented)


def undo(text: str) -> str:
    """The text of which `text` is the pseudo-translation. Letters without accents stay."""
    return "".join(
        unit["own"] or "" if unit["letter"] is None else unit["letter"].translate(_READ)
        for unit in _UNIT.finditer(text)
    )


def _accented(text: str, mark_every: int = 0) -> str:
    done, position = [], 0
    for start, end in [*find_spans(text), (len(text), len(text))]:
        for is_word, run in groupby(text[position:start], _is_in_word):
            old = "".join(run)
            new = old.translate(_WRITTEN)
            last = MARK if is_word and new == old else ""
            if is_word and mark_every:
                new = re.sub(rf"((?:{OWN}.|[^{OWN}]){{{mark_every}}})", rf"\1{MARK}", new)
            done.append(new + last)
        done.append(text[start:end])
        position = end
    return "".join(done)


def _lengthened(text: str) -> str:
    new = _accented(text, mark_every=3)
    letters = [place for place, character in enumerate(new) if character.isalpha()]
    if not letters:
        return new
    first, end = letters[0] - new[: letters[0]].endswith(OWN), letters[-1] + 1
    return f"{new[:first]}{OPENED}{new[first:end]}{CLOSED}{new[end:]}"


def _is_in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def _places(target: str) -> list[int]:
    """The place in the source of each character of a pseudo-translation."""
    places: list[int] = []
    place = 0
    for unit in _UNIT.finditer(target):
        added = unit["added"]
        places += [max(place - 1, 0) if added and added != OPENED else place] * len(unit[0])
        place += added is None
    return places
