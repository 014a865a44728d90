"""How much of documents is new, and how much a translation memory knows: `glossa memory analyze`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...model.facts_glossa import IDEOGRAPHS
from ...model.sentences_glossa import clean_text
from ...translate.memory.store import Memory
from ...translate.texts.text import Text
from ...translate.translator import Translator
from .places import Document

# The bands by the lowest score of their matches, best first.
LOWEST = {"exact": 100, "95-99": 95, "85-94": 85, "75-84": 75, "50-74": 50, "new": 0}
INSIDE, ACROSS = "repeated in the file", "repeated from other files"
BANDS = (*LOWEST, INSIDE, ACROSS)
ALL = "all"
COUNTED = ("segments", "words", "characters")
# A word, as OmegaT and word processors count it: letters and digits, also with marks between them, as in don't, e.g,
# well-known, 1,000.5 and a_b. An ideograph is a word.
_WORD = re.compile(rf"[{IDEOGRAPHS}]|(?:(?![{IDEOGRAPHS}])\w|(?<=[^\W\d_])['’.\-‐‑](?=[^\W\d_])|(?<=\d)[.,'](?=\d))+")


class Amount(NamedTuple):
    """How much text: segments, which are sentences or labels, words, and characters without white space."""

    segments: int = 0
    words: int = 0
    characters: int = 0

    def plus(self, other: "Amount") -> "Amount":
        return Amount(*map(sum, zip(self, other, strict=True)))


def amount_of(text: str) -> Amount:
    """The amount of one segment."""
    words = sum(any(map(str.isalnum, found)) for found in _WORD.findall(text))
    return Amount(1, words, sum(not character.isspace() for character in text))


@dataclass
class Analysis:
    """Counts the segments of documents by band. A segment that came before is repeated, unless the memory has it.

    Attributes:
        translator: Splits texts into sentences.
        memory: A translation memory, if any.
        known: The segments so far, and for each the number of the last file with it.
        files: How many files have been counted.
    """

    translator: Translator
    memory: Memory | None = None
    known: dict[str, int] = field(default_factory=dict)
    files: int = 0

    def count(self, documents: Sequence[Document]) -> dict[str, Amount]:
        """The amounts of a file by band, and in all."""
        self.files += 1
        amounts = dict.fromkeys((*BANDS, ALL), Amount())
        for document in documents:
            for text in self.translator.plan([document.tagged(place) for place in document.places]):
                for band, segment in self._segments(text):
                    own = amount_of(segment)
                    amounts |= {band: amounts[band].plus(own), ALL: amounts[ALL].plus(own)}
        return amounts

    @property
    def bands(self) -> tuple[str, ...]:
        """The bands that segments may have: without a memory, all are new or repeated."""
        return tuple(band for band in BANDS if self.memory is not None or band not in LOWEST or band == "new")

    def _segments(self, text: Text) -> Iterator[tuple[str, str]]:
        """The segments of a text with words, each with its band. A text that the memory has as a whole is exact."""
        context = text.tagged.context
        whole = self.memory is not None and self.memory.exact(text.source, context) is not None
        for sentence in text.sentences:
            if not sentence.segment.copied:
                yield "exact" if whole else self._band(sentence.source, context), sentence.source

    def _band(self, source: str, context: str | None) -> str:
        if self.memory is not None and self.memory.exact(source, context) is not None:
            return "exact"
        key = clean_text(source)
        last = self.known.get(key)
        self.known[key] = self.files
        if last is not None:
            return INSIDE if last == self.files else ACROSS
        matches = self.memory.matches(source, LOWEST["50-74"]) if self.memory is not None else []
        score = min(matches[0].score, 99) if matches else 0  # 100 is a match for another context
        return next(band for band, lowest in LOWEST.items() if score >= lowest)
