"""Translates sentences once more whose translations lack a span or a number."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..model.segments_glossa import Segment, as_model_reads, with_stop
from ..model.spans_glossa import Span
from .interface import Translation
from .plausibility import KINDS
from .sentences import Asked, SentenceTranslator
from .texts.alignment import Aligner, aligned
from .texts.labels import Label
from .texts.spans import MOVED, pair_of, put_spans, without
from .texts.stand_ins import FIGURE, Item, StandIns, items_of, put_items, with_stand_ins
from .texts.text import ReadMatch, Sentence

SHORTER = 0.75  # of the words of a translation without spans, which one with stand-ins has at least


class Row(NamedTuple):
    """A sentence, what its translation must keep, and the stand-ins that are not tried yet."""

    sentence: Sentence
    items: list[Item]
    ways: Iterator[StandIns]


class SecondTry:
    """Finds translations that have every span and number of their sentences.

    A sentence whose spans are not kept is translated with names in their place. If that does not help, or words are
    lost with it, it is translated without the spans, and they are put where the words around them are. A sentence
    with numbers whose translation cannot be right is translated with other numbers, or else as if they were spans.

    Args:
        translator: Translates what is tried.
        aligner: Links the words of sentences and translations.
    """

    def __init__(self, translator: SentenceTranslator, aligner: Aligner):
        self.translator, self.aligner, self.profile = translator, aligner, translator.engine.profile

    def translate(self, sentences: Sequence[Sentence], broken: list[Sentence]) -> None:
        """Translate those of the sentences that need it.

        Args:
            sentences: All of them, with their translations.
            broken: Those whose translations lack a span.
        """
        self._translate_without_spans(broken)
        self._translate_with_stand_ins(broken, numbers=False)
        wrong = [each for each in sentences if each.best.problem in KINDS and FIGURE.search(each.source)]
        left = self._translate_with_stand_ins(wrong, numbers=True)
        wholes = [_with_spans(sentence, items) for sentence, items in left]
        copied = self._translate_without_spans(wholes)
        for (sentence, items), whole, alike in zip(left, wholes, copied, strict=True):
            if not alike and whole.best.problem in ("", MOVED) and whole.best.text:
                _set(sentence, whole.translations, whole.places, items)

    def _translate_with_stand_ins(
        self, sentences: Sequence[Sentence], numbers: bool
    ) -> list[tuple[Sentence, list[Item]]]:
        """Translate sentences with stand-ins for what they must keep. Returns those for which that does not help."""
        languages = self.translator.languages
        found = [(each, items_of(each.source, each.segment.spans, numbers)) for each in sentences]
        left = [Row(each, items, with_stand_ins(each.source, items, languages)) for each, items in found]
        unhelped = []
        while left:
            ways = [next(row.ways, None) for row in left]
            unhelped += [row for row, way in zip(left, ways, strict=True) if way is None]
            tried = [(row, way) for row, way in zip(left, ways, strict=True) if way is not None]
            own = self._translated([(row.sentence, way.text) for row, way in tried])
            left = [row for (row, way), each in zip(tried, own, strict=True) if not _take(row, way, each.translations)]
        return [(row.sentence, row.items) for row in unhelped]

    def _translated(self, asked: Sequence[tuple[Sentence, str]]) -> list[Sentence]:
        """The sentences with other texts."""
        own = [self._with_text(sentence, text) for sentence, text in asked]
        given = [Asked(sentence.asked, sentence.target.prefix) for sentence in own]
        for sentence, found in zip(own, self.translator.translate(given), strict=True):
            sentence.write(found)
        return own

    def _with_text(self, sentence: Sentence, text: str) -> Sentence:
        segment = as_model_reads(Segment(text, ""), self.profile, False)
        if self.profile.add_stops and not sentence.reading.cut:
            segment = with_stop(segment)
        label = sentence.reading.label and Label.of(segment, sentence.reading.label.strict)
        reading = replace(sentence.reading, label=label)
        return replace(sentence, segment=segment, reading=reading, match=ReadMatch(), translations=[], places=[])

    def _translate_without_spans(self, sentences: list[Sentence]) -> list[bool]:
        """Translate sentences without their spans. Returns for each whether the rest was copied."""
        bare = [without(sentence.source, sentence.segment.spans) for sentence in sentences]
        own = self._translated([(sentence, rest.text) for sentence, rest in zip(sentences, bare, strict=True)])
        pairs = [pair_of(sentence.source, each.text) for sentence in own for each in sentence.translations]
        weights = iter(zip(pairs, aligned(self.aligner, pairs), strict=True))
        for sentence, rest, found_without in zip(sentences, bare, own, strict=True):
            sentence.translations, sentence.places = [], []
            for each, (pair, links) in zip(found_without.translations, weights, strict=False):
                text, places, certain = put_spans(sentence.source, sentence.segment.spans, rest, pair, links)
                problem = each.problem or ("" if certain else MOVED)
                if not each.text.strip():
                    text, places, problem = "", [], each.problem
                sentence.translations.append(replace(each, text=text, problem=problem))
                sentence.places.append(places)
                sentence.lower_start(-1)
        return [each.best.text == rest.text for each, rest in zip(own, bare, strict=True)]


def _with_spans(sentence: Sentence, items: Sequence[Item]) -> Sentence:
    """A copy of a sentence whose spans are these items."""
    spans = tuple(item.span for item in items)
    return replace(sentence, segment=sentence.segment._replace(spans=spans))


def _take(row: Row, given: StandIns, translations: Sequence[Translation]) -> bool:
    """Set the translations if the best one is plausible, each has every stand-in once, and no words are lost."""
    found = [
        put_items(row.sentence.source, row.items, given, each.text) if each.text else ("", []) for each in translations
    ]
    if not translations or not translations[0].text or translations[0].problem or None in found:
        return False
    done = list(filter(None, found))
    before, after = (len(text.split()) for text in (row.sentence.best.text, done[0][0]))
    if row.sentence.best.problem in ("", MOVED) and after < SHORTER * before:
        return False
    texts = [replace(each, text=text) for each, (text, _) in zip(translations, done, strict=True)]
    _set(row.sentence, texts, [places for _, places in done], row.items)
    return True


def _set(
    sentence: Sentence, translations: Sequence[Translation], places: Sequence[Sequence[Span]], items: Sequence[Item]
) -> None:
    """Set translations, given the places of all items in each."""
    sentence.translations = list(translations)
    sentence.places = [
        [place for place, item in zip(own, items, strict=True) if not item.number] if own else [] for own in places
    ]
