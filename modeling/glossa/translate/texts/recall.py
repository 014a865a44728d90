"""Matches of translation memories for texts: translations that are copied, and matches that the model may read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from ...base.errors import GlossaError, require
from ...base.matches import USED, memory_suffix
from ...base.pair import Pair
from ...model.segments_glossa import Segment
from ...model.spans_glossa import MEMORY, SENTINELS, Span
from ..interface import COPIED, READ, REPAIRED, TAKEN, UNUSED, UsedMatch
from ..memory.building import open_memory
from ..memory.repair import adapted
from ..memory.store import Match, Memory
from .labels import without_accelerators
from .tags import Tagged
from .text import ReadMatch, Sentence, Target, Text

LINE_ENDS = frozenset("\n\r\u2028\u2029")
COMPARED = 3  # matches of a memory; one with an equal score may have the context of the text
TOGETHER = 6  # sentences of a text, at most, that are looked up as one


@dataclass(frozen=True)
class Recall:
    """Translation memories as a [`Translator`] uses them.

    Attributes:
        memories: The memories. Of equal matches, the match of the first memory is used.
        threshold: The lowest score of matches, from 1 to 100.
        taken: The lowest score of matches whose translations are taken as they are, for people to look at.
    """

    memories: Sequence[Memory]
    threshold: int = USED
    taken: float = inf

    @classmethod
    def opened(
        cls, path: Path, source: str | None, target: str | None, threshold: int = USED, taken: float = inf
    ) -> "Recall":
        """Open the memory in a file. Raises `GlossaError` like [`open_memory`], and if a language is unknown."""
        if source is None or target is None:
            raise GlossaError(
                "--memory needs the languages of the model, which are unknown. Give --target_language, and a model "
                "whose config has source_language and target_language."
            )
        require("rapidfuzz", "memory")
        return cls([open_memory(path, source, target)], threshold, taken)

    def give(self, text: Text, spans: Sequence[Span], reads: bool, fits: Callable[[str], bool]) -> None:
        """Give a text, or its sentences, translations of the memories.

        If only numbers, placeholders or addresses differ, they are replaced in the translation. A translation for
        another context is not copied, but the model may read it.

        Args:
            text: A text without translations.
            spans: Its spans.
            reads: Whether the model has learned to read matches.
            fits: Returns whether an input is short enough for the model.
        """
        whole = Sentence(
            Segment(text.source, "", spans=tuple(spans)), target=Target(prefix=text.sentences[0].target.prefix)
        )
        context, marked = text.tagged.context, text.tagged.marked
        as_one = [*([marked] if marked else []), *([text.source] if len(text.sentences) > 1 else [])]
        if _on_one_line(text.sentences) and any(self._take(whole, context, source) for source in as_one):
            text.sentences = [whole]
            return
        text.sentences = self._joined(text.sentences, context)
        for sentence in text.sentences:
            if not sentence.translations and not self._take(sentence, context):
                self._match(sentence, text.tagged, reads, fits)

    def _joined(self, parts: list[Sentence], context: str | None) -> list[Sentence]:
        """The sentences of a text. Neighbors that a memory has as one text are joined."""
        found, start = [], 0
        while start < len(parts):
            size, whole = min(TOGETHER, len(parts) - start), parts[start]
            while size > 1:
                some = parts[start : start + size]
                if _on_one_line(some) and self._take(whole := _together(some), context):
                    break
                size -= 1
            found.append(whole if size > 1 else parts[start])
            start += size
        return found

    def _take(self, sentence: Sentence, context: str | None, source: str = "") -> bool:
        """Copy the translation of an equal sentence, or of `source`. Returns whether there is one with all spans."""
        for memory in self.memories:
            match = memory.exact(source or sentence.source, context)
            if match is not None and sentence.remember(match.target):
                sentence.best.matches = (_used(match, COPIED, memory),)
                return True
        return False

    def _match(self, sentence: Sentence, text: Tagged, reads: bool, fits: Callable[[str], bool]) -> None:
        found = [
            (match, memory)
            for memory in self.memories
            for match in memory.matches(sentence.source, self.threshold, COMPARED)
        ]
        if not found:
            return
        match, memory = max(found, key=lambda one: (one[0].score, one[0].holds_in(text.context)))
        sides = match.source, match.target
        source, target = (
            sides if text.label is None else without_accelerators(*sides)
        )  # the model reads no marks of accelerators
        plain = replace(match, source=source, target=target)
        repaired = adapted(plain, sentence.source, sentence.target.code)
        if repaired.whole and match.holds_in(text.context) and sentence.remember(repaired.target):
            sentence.best.matches = (_used(match, REPAIRED, memory),)
        elif match.score >= self.taken and sentence.remember(repaired.target):
            sentence.best.matches = (_used(match, TAKEN, memory),)
        elif not reads:
            sentence.match = ReadMatch("", (_used(match, UNUSED, memory),))
        else:
            pair = Pair(*(_as_read(sentence, side) for side in (plain.source, repaired.target)))
            read = memory_suffix(sentence.asked, pair)
            fitting = fits(sentence.asked + read)
            used = (_used(match, READ if fitting else UNUSED, memory),)
            sentence.match = ReadMatch(read if fitting else "", used)


def _on_one_line(parts: Sequence[Sentence]) -> bool:
    """Whether there is no line end between sentences. Texts of a memory have no line ends."""
    return all(LINE_ENDS.isdisjoint(part.segment.space) for part in parts[:-1])


def _together(parts: Sequence[Sentence]) -> Sentence:
    """Neighboring sentences joined, without a translation."""
    start, last = parts[0].start, parts[-1]
    written = "".join(part.source + part.segment.space for part in parts[:-1]) + last.source
    spans = [Span(*(place + part.start - start for place in span)) for part in parts for span in part.segment.spans]
    segment = Segment(written, last.segment.space, spans=tuple(spans))
    reading = replace(last.reading, label=None)
    return replace(parts[0], segment=segment, reading=reading, translations=[], places=[])


def _used(match: Match, use: str, memory: Memory) -> UsedMatch:
    return UsedMatch(match.score, use, match.source, match.target, str(memory.path))


def _as_read(sentence: Sentence, text: str) -> str:
    """A text of a memory with the sentinels of the sentence in place of its spans."""
    text = text.translate(dict.fromkeys(map(ord, SENTINELS + MEMORY)))
    if sentence.segment.numbered:
        for (start, end), sentinel in zip(sentence.segment.spans, SENTINELS, strict=False):
            text = text.replace(sentence.source[start:end], sentinel)
    return text
