"""Texts with marks to translated texts with the same marks: sentences, placeholders, alignment, tags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy

from ...data.encoding.word_links import Words, find_words
from ...segments_glossa import Segment, is_copied, joined_parts, model_texts
from ..engines.engine import Translation
from ..sentinels import Held, find_held
from .alignment import Aligner, Pair, align_by_form
from .marks import Marked, Piece
from .markup import harden, put_back
from .placeholders import Without, insert, locate, without

MOVED = "uncertain in placeholders"  # the problem of a text with one at its end, having no certain place


class TextTranslator(Protocol):
    """What [`glossa.inference.translator.Translator`] does for documents."""

    def segments(self, text: str) -> list[Segment]: ...

    def translate(self, texts: list[str]) -> list[list[Translation]]: ...


class Sentence(NamedTuple):
    """A translated part of a text.

    Attributes:
        start: Its first character in the text.
        source: The part.
        target: Its translation.
        held: The characters of `source` and of `target` where a placeholder stands.
        problem: What is wrong with the translation, or "".
        failed: Whether it is the source, because it could not be translated.
        copied: Whether it is the source, because it has no words to translate.
        remembered: Whether it comes from a translation memory.
        score: The log-probability, and the number of tokens, if known.
        doubtful: Whether its confidence is known, and below the limit, or something else is wrong with it.
        terms: As of [`Translation`].
    """

    start: int
    source: str
    target: str
    held: list[tuple[Held, tuple[int, int]]]
    problem: str = ""
    failed: bool = False
    copied: bool = False
    remembered: bool = False
    score: tuple[float, int] | None = None
    doubtful: bool = False
    terms: Sequence[tuple[str, str, str]] = ()


class Result(NamedTuple):
    """A translated text.

    Attributes:
        pieces: Its words and marks.
        text: Its words.
        sentences: What it is made of.
    """

    pieces: list[Piece]
    text: str
    sentences: list[Sentence]


@dataclass
class Texts:
    """Translates texts with marks.

    Args:
        translator: Translates sentences.
        aligner: Links words of a sentence and its translation.
        memory: Translations of texts and sentences that are used as they are.
    """

    translator: TextTranslator
    aligner: Aligner = align_by_form
    memory: Mapping[str, str] = field(default_factory=dict)

    def translate(self, marked: Sequence[Marked]) -> list[Result]:
        """The translation of each text, with each of its marks once."""
        plans = [self._plan(text) for text in marked]
        jobs = [sentence for plan in plans for sentence in plan.sentences]
        self._translate(jobs)
        results = []
        pairs: list[Pair] = []
        joined = [plan.join() for plan in plans]
        needing = [index for index, text in enumerate(marked) if not text.is_plain]
        for index in needing:
            pairs += [pair for sentence in joined[index].sentences if (pair := _pair(sentence))]
        links = iter(_aligned(self.aligner, pairs))
        for text, found in zip(marked, joined, strict=True):
            results.append(found.with_marks(text, links))
        return results

    def _plan(self, text: Marked) -> "_Plan":
        """The sentences of a text; those that hold no words to translate, or are remembered, are done."""
        held = _all_held(text)
        if text.text in self.memory:
            whole = _Job(0, text.text, held, self.memory[text.text], remembered=True)
            whole.spans = locate(whole.source, held, whole.target or "")
            if whole.spans is not None:
                return _Plan(text, [Segment(text.text, "")], [whole])
        segments = _restored(text.text, self.translator.segments(_shadow(text.text, held)), held)
        models = iter(model_texts(segments))
        jobs, position = [], 0
        for segment in segments:
            start, end = position, position + len(segment.text)
            own = [Held(first - start, last - start) for first, last in held if start <= first and last <= end]
            job = _Job(start, segment.text, own, None)
            if segment.copied:
                job.copied, job.target, job.spans = True, segment.text, [(first, last) for first, last in own]
            else:
                job.asked = next(models)
                remembered = self.memory.get(segment.text)
                job.spans = None if remembered is None else locate(segment.text, own, remembered)
                if job.spans is not None:
                    job.target, job.remembered = remembered, True
            jobs.append(job)
            position = end + len(segment.space)
        return _Plan(text, segments, jobs)

    def _translate(self, jobs: "Sequence[_Job]") -> None:
        """Translate sentences as they are; those whose placeholders do not survive once more without these."""
        asked = [job for job in jobs if job.target is None]
        for job, (found, *_) in zip(asked, self._ask([job.asked for job in asked]), strict=True):
            job.use(found, locate(job.source, job.held, found.text))
        broken = [job for job in asked if job.spans is None and not job.failed]
        bare = [without(job.source, job.held) for job in broken]
        for job, rest, (found, *_) in zip(broken, bare, self._ask([rest.text for rest in bare]), strict=True):
            job.bare = rest
            job.use(found, None)
        pairs = []
        for job in broken:
            assert job.bare is not None
            source, target = job.bare.text, job.target or ""
            pairs.append(Pair(source, find_words(source), target, find_words(target)))
        for job, pair, weights in zip(broken, pairs, _aligned(self.aligner, pairs), strict=True):
            job.put_placeholders(pair, weights)

    def _ask(self, texts: list[str]) -> list[list[Translation]]:
        return self.translator.translate(texts) if texts else []


@dataclass
class _Job:
    """A sentence on its way; see [`Sentence`]."""

    start: int
    source: str
    held: list[Held]
    target: str | None
    asked: str = ""
    spans: list[tuple[int, int]] | None = None
    bare: Without | None = None
    problem: str = ""
    failed: bool = False
    copied: bool = False
    remembered: bool = False
    score: tuple[float, int] | None = None
    measured: bool = False  # whether the confidence is known
    terms: Sequence[tuple[str, str, str]] = ()

    def use(self, found: Translation, spans: list[tuple[int, int]] | None) -> None:
        self.target, self.spans = found.text, spans
        self.problem, self.failed = found.problem, found.failed
        self.score = None if found.score is None else (found.score, found.tokens)
        self.measured = found.confidence is not None
        self.terms = found.terms
        if found.failed or not found.text.strip():  # nothing of a document is lost
            self.target, self.spans = self.source, [(first, last) for first, last in self.held]
            self.problem = found.problem or "empty"

    def put_placeholders(self, pair: Pair, weights: numpy.ndarray) -> None:
        """Put the placeholders into a translation that was made without them, or at its end if none is certain."""
        if self.spans is not None:  # the source stays
            return
        assert self.bare is not None
        links, points = harden(weights), []
        for point in self.bare.points:
            gap = _certain_gap(pair, links, point)
            if gap is None:
                self.problem = MOVED
            points.append(_end_of_words(pair) if gap is None else gap)
        self.target, self.spans = insert(self.source, self.held, self.bare, pair.target, points)


@dataclass
class _Joined:
    """A text's translation: sentences, and the characters where each begins."""

    text: str
    starts: list[int]
    sentences: list[_Job]

    def with_marks(self, marked: Marked, links) -> Result:
        sentences = [
            Sentence(
                job.start, job.source, job.target or "", list(zip(job.held, job.spans or [], strict=True)),
                job.problem, job.failed, job.copied, job.remembered, job.score, job.measured and bool(job.problem),
                job.terms,
            )
            for job in self.sentences
        ]  # fmt: skip
        if marked.is_plain and not marked.held:
            return Result([self.text], self.text, sentences)
        source_words: list[tuple[int, int]] = []
        target_words: list[tuple[int, int]] = []
        blocks = []
        for job, start in zip(self.sentences, self.starts, strict=True):
            own = find_words(job.source, job.held)
            theirs = find_words(job.target or "", sorted(job.spans or []))
            block = numpy.zeros((len(own), len(theirs)))
            if not marked.is_plain and _pair(job):
                block = next(links).copy()
                _link_held(block, job, own, theirs)
            blocks.append((len(source_words), len(target_words), block))
            source_words += [(first + job.start, last + job.start) for first, last in own]
            target_words += [(first + start, last + start) for first, last in theirs]
        weights = numpy.zeros((len(source_words), len(target_words)))
        for row, column, block in blocks:
            weights[row : row + block.shape[0], column : column + block.shape[1]] = block
        spans = self._spans(marked)
        return Result(put_back(marked, source_words, self.text, target_words, weights, spans), self.text, sentences)

    def _spans(self, marked: Marked) -> list[tuple[int, int]]:
        """The characters of the translation where each held part of the source stands."""
        found = {}
        for job, start in zip(self.sentences, self.starts, strict=True):
            for held, span in zip(job.held, job.spans or [], strict=True):
                found[held.start + job.start] = (span[0] + start, span[1] + start)
        return [found[start] for start, _, _ in marked.held]


@dataclass
class _Plan:
    marked: Marked
    segments: list[Segment]
    sentences: list[_Job]

    def join(self) -> _Joined:
        targets = [job.target or "" for job in self.sentences]
        parts = joined_parts(self.segments, targets)
        if all(target == segment.text for target, segment in zip(targets, self.segments, strict=True)):
            parts = [(segment.text, segment.space) for segment in self.segments]  # nothing is another language
        text, starts = "", []
        for job, (target, space) in zip(self.sentences, parts, strict=True):
            starts.append(len(text))
            job.target = target
            text += target + space
        return _Joined(text, starts, self.sentences)


def _pair(job: "_Job") -> Pair | None:
    """A sentence and its translation as they are aligned; None if one has no words."""
    pair = Pair(
        job.source,
        find_words(job.source, job.held),
        job.target or "",
        find_words(job.target or "", sorted(job.spans or [])),
    )
    return pair if pair.source_words and pair.target_words else None


def _certain_gap(pair: Pair, links: numpy.ndarray, point: int) -> int | None:
    """The character of the translation that corresponds to `point` of the source; None if it is not certain.

    It is certain at both ends, and between two words whose translations are next to each other in the same order.
    """
    source, target = (
        [index for index, (first, last) in enumerate(words) if any(map(str.isalnum, text[first:last]))]
        for text, words in ((pair.source, pair.source_words), (pair.target, pair.target_words))
    )
    before = [row for row in source if pair.source_words[row][1] <= point]
    after = [row for row in source if pair.source_words[row][0] >= point]
    if not target or not before:
        return pair.target_words[target[0]][0] if target else 0
    marks = len("".join(pair.source[pair.source_words[before[-1]][1] : point].split()))  # between word and point
    if not after:
        return _after_marks(pair, pair.target_words[target[-1]][1], len(pair.target), marks)
    left, right = ([column for column in target if links[row, column]] for row in (before[-1], after[0]))
    if not left or not right or target.index(max(left)) + 1 != target.index(min(right)):
        return None
    return _after_marks(pair, pair.target_words[max(left)][1], pair.target_words[min(right)][0], marks)


def _after_marks(pair: Pair, start: int, end: int, marks: int) -> int:
    """The character after so many marks, between two words of the translation."""
    position = start
    while marks and position < end:
        marks -= not pair.target[position].isspace()
        position += 1
    return position


def _end_of_words(pair: Pair) -> int:
    """The character after the last word, before a mark that ends the sentence."""
    if not pair.target_words:
        return len(pair.target)
    first, last = pair.target_words[-1]
    return first if len(pair.target_words) > 1 and pair.target[first:last] in ".!?…。！？:;,।؟" else last


def _aligned(aligner: Aligner, pairs: Sequence[Pair]) -> list[numpy.ndarray]:
    """Links of pairs; what equals its source is linked word by word."""
    different = [pair for pair in pairs if pair.source != pair.target]
    found = iter(aligner(different) if different else [])
    return [numpy.eye(len(pair.source_words)) if pair.source == pair.target else next(found) for pair in pairs]


def _link_held(weights: numpy.ndarray, job: _Job, own: Words, theirs: Words) -> None:
    """Link each placeholder with itself only."""
    for held, span in zip(job.held, job.spans or [], strict=True):
        row, column = own.index((held.start, held.end)), theirs.index((span[0], span[1]))
        weights[row, :] = 0
        weights[:, column] = 0
        weights[row, column] = 1


def _all_held(text: Marked) -> list[Held]:
    """The parts of a text that its marks hold, and the placeholders in the rest of it, in order."""
    own = [Held(start, end) for start, end, _ in text.held]
    found = [
        held for held in find_held(text.text) if not any(held.start < end and start < held.end for start, end in own)
    ]
    return sorted([*own, *found])


def _shadow(text: str, held: Sequence[Held]) -> str:
    """`text` with a word of the same length for each held part, in which no sentence can end."""
    for start, end in held:
        text = text[:start] + "X" + "x" * (end - start - 1) + text[end:]
    return text


def _restored(text: str, segments: list[Segment], held: Sequence[Held]) -> list[Segment]:
    """The segments of a shadow with the text that it stands for; without words but held ones they are copied."""
    done, position = [], 0
    for segment in segments:
        end = position + len(segment.text)
        own = [Held(first - position, last - position) for first, last in held if position <= first and last <= end]
        bare = without(text[position:end], own).text
        copied = segment.copied or is_copied(bare) or not bare.strip()
        done.append(Segment(text[position:end], segment.space, copied))
        position = end + len(segment.space)
    return done
