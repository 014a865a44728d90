"""A text during its translation: its sentences, their translations, and the joined translation."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy

from ...base.word_links import Words, find_words
from ...model.segments_glossa import Segment, as_written, has_sentinels, model_text, spaced_parts, with_stop
from ...model.sentences_glossa import clean_text
from ...model.spans_glossa import Span
from ..confidence import words_of
from ..interface import Translation, UsedMatch
from .alignment import Pair
from .labels import Label, lower_start
from .links import Block, Links, split_words
from .spans import MOVED, locate
from .tag_placement import Cut, put_tags
from .tags import Piece, Tagged


@dataclass(frozen=True, slots=True)
class Target:
    """The requirements of the translations of a sentence.

    Attributes:
        language: The target language, for a model of several.
        code: The code of the target language, for any model that has one.
        prefix: The beginning of the translations.
    """

    language: str | None = None
    code: str | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The form of a sentence for the model.

    Attributes:
        cut: Whether the sentence continues in the next part.
        label: The properties of a label that the model does not read and its translations must have, if it is one.
        stops: Whether the model reads only sentences with a period.
    """

    cut: bool = False
    label: Label | None = None
    stops: bool = False

    def segment(self, segment: Segment) -> Segment:
        """A segment without the parts of a label that the model does not read."""
        if self.label is None:
            return segment
        segment = self.label.read(segment)
        return with_stop(segment) if self.stops else segment

    def input(self, segment: Segment) -> str:
        """The input of the model for a segment."""
        return model_text(self.segment(segment), self.cut)

    def translation(self, segment: Segment, output: str, code: str | None) -> str:
        """The translation of a segment into the language `code`, given an output of the model."""
        if clean_text(output) == clean_text(self.input(segment)) != "":
            return segment.text  # nothing was translated
        written = as_written(self.segment(segment), output)
        if self.label is None:
            return written
        return self.label.write(written, code, [segment.text[start:end] for start, end in segment.spans])


@dataclass(frozen=True, slots=True)
class ReadMatch:
    """A match of a memory, which the model reads if it has learned it.

    Attributes:
        text: The text that the model reads after the sentence, or "".
        used: The match, as translations will list it.
    """

    text: str = ""
    used: Sequence[UsedMatch] = ()


@dataclass(slots=True)
class Sentence:
    """A part of a text that is translated or copied separately.

    Attributes:
        segment: Its text, its spans and the white space after it.
        start: Its first character in the text.
        reading: Its form for the model.
        target: The requirements of its translations.
        match: The match of a memory for it.
        translations: Its translations, best first; empty until it is translated.
        places: The places of the spans of the segment in each translation.
        remembered: Whether its translation comes from a memory.
    """

    segment: Segment
    start: int = 0
    reading: Reading = Reading()
    target: Target = Target()
    match: ReadMatch = ReadMatch()
    translations: list[Translation] = field(default_factory=list)
    places: list[Sequence[Span]] = field(default_factory=list)
    remembered: bool = False

    @property
    def source(self) -> str:
        return self.segment.text

    @property
    def asked(self) -> str:
        """The input of the model."""
        return self.reading.input(self.segment)

    @property
    def best(self) -> Translation:
        return self.translations[0]

    @property
    def is_fixed(self) -> bool:
        """Whether it has only one translation, for any number of requested translations."""
        return self.segment.copied or self.remembered

    @property
    def lacks_sentinels(self) -> bool:
        """Whether the model read sentinels, and a translation does not have exactly these sentinels."""
        return self.segment.numbered and not all(
            has_sentinels(self.segment, each.text) for each in self.translations if each.text or each is self.best
        )

    def write(self, translations: Iterable[Translation]) -> bool:
        """Set the translations, given the output of the model. Returns whether each has all spans."""
        written = [
            replace(each, text=self.reading.translation(self.segment, each.text, self.target.code))
            for each in translations
        ]
        self.translations = written if self.reading.label is None else distinct(written)
        found = [self._locate(each.text) for each in self.translations]
        self.places = [places or () for places in found]
        for rank in range(len(written)):
            self.lower_start(rank)
        return None not in found

    def lower_start(self, rank: int) -> None:
        """Begin a translation in lower case after a span, if the sentence does."""
        each, places = self.translations[rank], self.places[rank]
        text = lower_start(self.source, self.segment.spans, each.text, places, self.target.code)
        if text != each.text:
            self.translations[rank] = replace(each, text=text)

    def _locate(self, text: str) -> Sequence[Span] | None:
        return locate(self.source, self.segment.spans, text) if text.strip() else ()

    def remember(self, target: str) -> bool:
        """Set the translation from a memory, if it has all spans and the prefix. Returns whether it has."""
        places = locate(self.source, self.segment.spans, target)
        if places is not None and target.startswith(self.target.prefix):
            self.translations, self.places, self.remembered = [Translation(target)], [places], True
        return self.remembered

    def keep_source(self, problem: str, failed: bool) -> None:
        """Set the source as the translation."""
        self.translations = [Translation(self.source, 0.0, problem, failed)]
        self.places = [self.segment.spans]

    def pair(self) -> Pair:
        """The sentence and its best translation, for alignment."""
        target = self.best.text
        theirs = find_words(target, sorted(self.places[0]))
        return Pair(self.source, find_words(self.source, self.segment.spans), target, theirs)


@dataclass
class Text:
    """A text during its translation.

    Attributes:
        tagged: Its words and tags.
        sentences: Its sentences, including parts that are copied.
        paired: The sentences with their best translations, set by [`Text.pairs`].
    """

    tagged: Tagged
    sentences: list[Sentence]
    paired: list[Pair] = field(default_factory=list)

    @property
    def source(self) -> str:
        return self.tagged.text

    @property
    def segments(self) -> list[Segment]:
        return [sentence.segment for sentence in self.sentences]

    @property
    def failure(self) -> str:
        """The reason why it cannot be translated, or ""."""
        return next((own.best.problem for own in self.sentences if own.translations and own.best.failed), "")

    def parts(self, rank: int = 0) -> list[tuple[str, str]]:
        """The translation of each sentence with this rank, and the white space after it."""
        targets = [self._ranked(sentence, rank).text for sentence in self.sentences]
        both = [(target, own.source) for target, own in zip(targets, self.sentences, strict=True)]
        if all(one == other or clean_text(one) == clean_text(other) for one, other in both) and any(
            clean_text(target) or len(both) > 1 for target in targets
        ):
            return [(segment.text, segment.space) for segment in self.segments]  # nothing was translated
        return spaced_parts(self.segments, targets)

    @staticmethod
    def _ranked(sentence: Sentence, rank: int) -> Translation:
        return sentence.best if sentence.is_fixed else sentence.translations[rank]

    def part(self, place: int) -> tuple[str, str]:
        """The white space before a sentence, and its translation, when the sentences before it are translated."""
        first = max(place - 1, 0)
        known = [sentence.best.text for sentence in self.sentences[first : place + 1]]
        # The next sentence, which is unknown yet, decides whether a period stays: any text in the same script will do.
        known += known[-1:] if place + 1 < len(self.sentences) else []
        parts = spaced_parts(self.segments[first : first + len(known)], known)
        before, after = self._edges
        text = parts[place - first][0]
        if place + 1 == len(self.sentences) and text:
            text += after
        return (parts[0][1] if place else before if text else ""), text

    @property
    def _edges(self) -> tuple[str, str]:
        """The white space before and after the text, which is not in segments."""
        body = self.source.strip()
        start = self.source.find(body)
        return self.source[:start], self.source[start + len(body) :]

    def joined(self, count: int, scores: bool, confident: bool) -> list[Translation]:
        """`count` translations of the text: of the best translations of sentences, of the second best, and so on.

        The confidence is the product of the sentences' confidences, in which copied and remembered sentences count 1.
        If the text has only such sentences, all translations except the first are blank.
        """
        ranks = 1 if all(sentence.is_fixed for sentence in self.sentences) else count
        found = [self._joined(rank, scores, confident) for rank in range(ranks)]
        return found + [Translation("", 0.0 if scores else None)] * (count - ranks)

    def _joined(self, rank: int, scores: bool, confident: bool) -> Translation:
        own = [self._ranked(sentence, rank) for sentence in self.sentences]
        parts = self.parts(rank)
        shares = [1.0 if each.confidence is None else each.confidence for each in own]
        before, after = self._edges
        whole = "".join(text + space for text, space in parts)
        return Translation(
            f"{before}{whole}{after}" if whole else "",
            sum(each.score or 0.0 for each in own) if scores else None,
            most_important(each.problem for each in own),
            tokens=sum(each.tokens for each in own),
            confidence=prod(shares) if confident else None,
            terms=tuple(term for each in own for term in each.terms),
            matches=tuple(match for each in own for match in each.matches),
            parts=tuple((segment.text, text) for segment, (text, _) in zip(self.segments, parts, strict=True)),
            words=words_of(own, [text for text, _ in parts]),
        )

    def settle(self) -> None:
        """Set the best translations of the sentences as they are in the joined translation."""
        for sentence, (target, _) in zip(self.sentences, self.parts(), strict=True):
            if target != sentence.best.text:
                sentence.translations[0] = replace(sentence.best, text=target)
                is_source = target == sentence.source  # with other characters than the translation, perhaps
                sentence.places[0] = sentence.segment.spans if is_source else sentence.places[0]

    def keep_blank(self) -> None:
        """Set the source in place of blank translations."""
        for sentence in self.sentences:
            if not sentence.best.text.strip() and sentence.source.strip():
                sentence.keep_source(sentence.best.problem or "empty", failed=False)

    def pairs(self) -> list[Pair]:
        """The sentences and their best translations, which are aligned to place tags."""
        if self.tagged.is_plain and not self.tagged.alone:
            return []
        self.settle()
        self.paired = [sentence.pair() for sentence in self.sentences]
        worded = [pair for pair in self.paired if pair.source_words and pair.target_words]
        return [] if self.tagged.is_plain else worded

    def with_tags(self, links: Iterator[numpy.ndarray]) -> list[Piece]:
        """The best translation with the tags of the source. `links` are the weights of [`Text.pairs`]."""
        parts = self.parts()
        whole = "".join(text + space for text, space in parts)
        if not self.paired:
            return [whole]
        source_words: list[tuple[int, int]] = []
        target_words: list[tuple[int, int]] = []
        blocks: list[Block] = []
        cuts: list[Cut] = []
        places, start, edges = {}, 0, self.tagged.edges()
        before: Span | None = None  # the end of the previous sentence in the source and in the translation
        for sentence, pair, (_, space) in zip(self.sentences, self.paired, parts, strict=True):
            own, target, theirs = pair[1:]
            if before is not None:
                cuts.append(Cut(Span(before.start, sentence.start), Span(before.end, start), len(target_words)))
            block = numpy.zeros((len(own), len(theirs)))
            if not self.tagged.is_plain and own and theirs:
                block = next(links).copy()
                _link_spans(block, sentence, own, theirs)
                own, theirs, block = split_words(pair, block, [edge - sentence.start for edge in edges])
            blocks.append((len(source_words), len(target_words), block))
            source_words += [(first + sentence.start, last + sentence.start) for first, last in own]
            target_words += [(first + start, last + start) for first, last in theirs]
            for span, place in zip(sentence.segment.spans, sentence.places[0], strict=True):
                places[span.start + sentence.start] = Span(place.start + start, place.end + start)
            before = Span(sentence.start + len(sentence.source), start + len(target))
            start += len(target) + len(space)
        spans = [places[span.start] for span, _ in self.tagged.alone]
        return put_tags(self.tagged, source_words, whole, target_words, Links(blocks), spans, cuts)


def distinct(translations: Iterable[Translation]) -> list[Translation]:
    """`translations`, in which repetitions of earlier texts are blank, and at the end."""
    found: dict[str, Translation] = {}
    repeated = []
    for each in translations:
        if each.text in found:
            repeated.append(replace(each, text=""))
        else:
            found[each.text] = each
    return [*found.values(), *repeated]


def most_important(problems: Iterable[str]) -> str:
    """The problem of a text, given the problems of its sentences: a span without a certain place, or the first."""
    found = [problem for problem in problems if problem]
    return MOVED if MOVED in found else next(iter(found), "")


def _link_spans(weights: numpy.ndarray, sentence: Sentence, own: Words, theirs: Words) -> None:
    """Link each span to itself only."""
    for span, place in zip(sentence.segment.spans, sentence.places[0], strict=True):
        row, column = own.index((span.start, span.end)), theirs.index((place.start, place.end))
        weights[row, :] = 0
        weights[:, column] = 0
        weights[row, column] = 1
