"""Texts sentence by sentence: each is given when it is translated, not when all of them are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..inference.engines.engine import Translation
from ..inference.translator import Translator
from ..segments_glossa import Segment, joined_parts, model_texts

MOST = 8  # sentences that are translated together; the first one alone, so that it is there soon


class Sentence(NamedTuple):
    """A translated part of a text.

    Attributes:
        text: The number of the text.
        before: The white space between its translation and the one before, in the same text.
        source: The part.
        translation: What it became, with its text as it stands in the whole.
    """

    text: int
    before: str
    source: str
    translation: Translation


@dataclass
class Plan:
    """A text that is being translated.

    Attributes:
        number: Its number.
        segments: Its sentences, and what is copied between them.
        asked: The segments as the model reads them; None for those that are copied.
        found: Their translations so far.
    """

    number: int
    segments: list[Segment]
    asked: list[str | None] = field(init=False)
    found: list[str] = field(default_factory=list)

    def __post_init__(self):
        read = iter(model_texts(self.segments))
        self.asked = [None if segment.copied else next(read) for segment in self.segments]

    def add(self, translation: Translation | None) -> Sentence:
        """The next sentence, given its translation; None if it is copied."""
        place = len(self.found)
        segment = self.segments[place]
        found = translation or Translation(segment.text)
        self.found.append(found.text)
        first = max(place - 1, 0)
        # What follows is not known yet, but decides whether a period stays: any text will do, in the same script.
        known = [*self.found[first:], *([found.text] if place + 1 < len(self.segments) else [])]
        parts = joined_parts(self.segments[first : first + len(known)], known)
        found.text = parts[place - first][0]
        return Sentence(self.number, parts[0][1] if place else "", segment.text, found)


def plans_of(texts: Sequence[str], translator: Translator) -> list[Plan]:
    """The sentences of each text, as `translator` will have them."""
    return [Plan(number, translator.segments(text)) for number, text in enumerate(texts)]


def groups(plans: Sequence[Plan]) -> Iterator[list[tuple[Plan, str | None]]]:
    """The sentences of all texts, in order: one, two, four, then `MOST` at a time. Copied ones do not count."""
    size, group = 1, []
    for plan in plans:
        for asked in plan.asked:
            group.append((plan, asked))
            if sum(each is not None for _, each in group) == size:
                yield group
                size, group = min(2 * size, MOST), []
    if group:
        yield group
