"""Translate texts with a trained model: every text goes through `Translator.translate_segments`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..base.errors import GlossaError
from ..base.stopping import while_wanted
from ..base.values import kept_patterns
from ..model.batches_glossa import check_beams, fits
from ..model.segments_glossa import Segment, as_model_reads, has_more, segment_text
from ..model.sentences_glossa import clean_text
from ..model.spans_glossa import Span, find_spans, with_others
from .confidence import FEWEST, UNCERTAIN
from .engines.generate import GenerateEngine
from .interface import UNUSED, Checks, Engine, Execution, Search, Translation
from .languages import Languages, tag_problem, take_tag
from .second_try import SecondTry
from .sentences import Asked, SentenceTranslator
from .texts.alignment import Aligner, AttentionAligner, aligned, link_rows
from .texts.labels import Label
from .texts.tags import Piece, Tagged
from .texts.text import Reading, ReadMatch, Sentence, Target, Text

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from .engines.forced import Reranker
    from .search.terms import Terms
    from .texts.recall import Recall


class Translator:
    """A model and its tokenizer, ready to translate.

    A text passes four steps, which [`Translator.translate`] takes one after the other: [`Translator.plan`] cuts it
    into sentences, [`Translator.translate_segments`] translates these, each with its spans, and
    [`Translator.join`] gives the translations of the whole, or [`Translator.join_tagged`] with tags.

    Args:
        model: Any sequence-to-sequence model with `generate`, or an [`Engine`].
        tokenizer: Its tokenizer.
        search: How translations are searched. Of several for a text, the texts differ; if the search finds fewer, the
            last ones are blank. An engine that samples gives any number, also equal ones.
        checks: What is found out about translations.
        execution: How texts are divided into sentences and batches, and where these are translated.
        reranker: Sorts the translations of each sentence by the sum of the model's log-probability and this one's.
        terms: Terms that translations must have, words that they must not have, and the search for both.
        languages: Codes of the source language and of the only target language, if the tokenizer does not say them.
            They decide how marks are written, and which words stand for numbers.

    Raises:
        GlossaError: if the search wants more translations than it has beams, or a confidence is asked for that the
            model has not learned.
    """

    def __init__(
        self,
        model: "PreTrainedModel | Engine",
        tokenizer: "PreTrainedTokenizerBase | Any",
        search: Search = Search(),  # noqa: B008  # frozen
        checks: Checks = Checks(),  # noqa: B008
        execution: Execution = Execution(),  # noqa: B008
        reranker: "Reranker | None" = None,
        terms: "Terms | None" = None,
        languages: tuple[str | None, str | None] = (None, None),
    ):
        self.engine = model if isinstance(model, Engine) else GenerateEngine(model, tokenizer)
        self.tokenizer, self.checks, self.execution = tokenizer, checks, execution
        own = Languages.of_tokenizer(tokenizer)
        self.source_language, self.target_language = own.source or languages[0], own.target or languages[1]
        if checks.needs_confidence and self.engine.profile.confidence is None:
            raise GlossaError(
                "The model has not learned a confidence: its run was of an earlier version, or had too few validation "
                f"pairs ({FEWEST}), or hardly any that it translates well, or badly. Train it with more of them."
            )
        scores = search.scores or reranker is not None or checks.needs_confidence
        self.search = replace(search, num_beams=search.num_beams or self.engine.num_beams, scores=scores)
        self.reranker, self.terms = reranker, terms
        self.recall: Recall | None = None
        own_split, split = self.engine.profile.split_sentences, execution.split_sentences
        self.split_sentences = own_split if split is None else split
        self._kept = kept_patterns(self.engine.profile.keep, "keep in the model's text_profile")
        self._by_language: dict[str | None, SentenceTranslator] = {}
        if not self.engine.sampled:
            try:
                check_beams(search.num_return_sequences, self.search.beams)
            except ValueError as error:
                raise GlossaError(str(error)) from error

    def with_checks(self, **changes: Any) -> "Translator":
        """This translator with other values of some [`Checks`]."""
        return Translator(
            self.engine,
            self.tokenizer,
            self.search,
            replace(self.checks, **changes),
            replace(self.execution, split_sentences=self.split_sentences),
            self.reranker,
            self.terms,
            (self.source_language, self.target_language),
        ).with_recall(self.recall)

    def with_recall(self, recall: "Recall | None") -> "Translator":
        """This translator with a translation memory, for texts in the language that the tokenizer asks for.

        Both translators share all that they have loaded.
        """
        other = copy(self)
        other.recall = recall
        return other

    def with_kept(self, kept: Sequence[re.Pattern[str]]) -> "Translator":
        """This translator with other patterns of what translations keep. Both share all that they have loaded."""
        other = copy(self)
        other.execution = replace(self.execution, kept=tuple(kept))
        return other

    def translates_as(self, other: "Translator") -> bool:
        """Whether both translate sentences alike, since they differ at most in their memories and patterns."""
        return self._by_language is other._by_language

    def translate(
        self, texts: Sequence[str], progress: bool = False, prefixes: Sequence[str] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first. A blank text has blank translations.

        With a model of several target languages, a text may begin with the tag of one, such as `<2fr>`.
        `prefixes` are the beginnings of the translations, "" for none; they need `terms`.
        Raises [`Untranslatable`] if a text cannot be translated and `on_error` is "stop".
        """
        planned = self.plan(texts, prefixes)
        self.translate_segments([sentence for text in planned for sentence in text.sentences], progress)
        return self.join(planned)

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best translation of each text."""
        return [translations[0].text for translations in self.translate(texts)]

    def stream(
        self, lines: Iterable[str], chunk: int = 4096, first: int = 1, prefix: str = ""
    ) -> Iterator[tuple[str, list[Translation]]]:
        """Each line with its translations, in order, reading `chunk` lines at a time; the input may be endless.

        All translations begin with `prefix`.
        With `on_error="stop"`, a line that cannot be translated ends the stream with a `GlossaError` that gives its
        number, counted from `first`, after the translations of all lines before it.
        """
        lines, before = iter(lines), first - 1
        while texts := list(islice(lines, chunk)):
            try:
                yield from zip(texts, self.translate(texts, prefixes=[prefix] * len(texts)), strict=True)
            except Untranslatable as error:
                texts = texts[: error.index]
                yield from zip(texts, self.translate(texts, prefixes=[prefix] * len(texts)), strict=True)
                raise GlossaError(f"Line {before + error.index + 1}: {error}") from error
            before += len(texts)

    def plan(self, texts: Sequence[str | Tagged], prefixes: Sequence[str] | None = None) -> list[Text]:
        """The sentences of each text; what has no words to translate is copied already. Raises as `translate`."""
        if prefixes and any(prefixes) and self.terms is None:
            raise GlossaError("Beginnings of translations need a search for them: give the Translator `terms`.")
        planned = []
        for row, (text, prefix) in enumerate(while_wanted(zip(texts, prefixes or [""] * len(texts), strict=True))):
            planned.append(self._plan(text, prefix))
            if self.checks.on_error == "stop" and planned[-1].failure:
                raise Untranslatable(planned[-1].failure, row)
        return planned

    def _plan(self, text: str | Tagged, prefix: str) -> Text:
        allowed = getattr(self.tokenizer, "target_languages", [])
        tagged = text if isinstance(text, Tagged) else Tagged.plain(text)
        chosen = language = self.tokenizer.tgt_lang if allowed else None
        if allowed and isinstance(text, str):
            asked, rest = take_tag(text)
            tagged, language = Tagged.plain(rest), asked or chosen
        refused = tag_problem(language, chosen, allowed) if allowed and clean_text(tagged.text) else ""
        if failure := refused or _undecodable(tagged.text):
            whole = Sentence(Segment(tagged.text, "", copied=True))
            whole.keep_source(failure, failed=True)
            return Text(tagged, [whole])
        # A blank text has no language: any will do.
        translator = self._in_language(language if language in allowed else next(iter(allowed), None))
        spans = spans_of(tagged, (*self._kept, *self.execution.kept))
        segments = self._segments(tagged.text, spans, translator.tokenizer)
        sentences, start = [], 0
        for index, segment in enumerate(segments):
            segment = segment._replace(copied=segment.copied or not segment.text)
            cut = _goes_on(segments, index)
            label = None if segment.copied or cut else Label.of(segment, strict=tagged.label is not None)
            code = language or self.target_language or tagged.label
            target = Target(language, code, "" if segment.copied else prefix)
            sentence = Sentence(segment, start, Reading(cut, label, self.engine.profile.add_stops), target)
            if segment.copied:
                sentence.keep_source("", failed=False)
            else:
                prefix = ""
                if failure := self._too_long(sentence.asked, translator.tokenizer):
                    sentence.keep_source(failure, failed=True)
            sentences.append(sentence)
            start += len(segment.text) + len(segment.space)
        planned = Text(tagged, sentences)
        if self.recall is not None and language == chosen:
            fitting = partial(fits, translator.tokenizer, translator.tokenizer.model_max_length)
            self.recall.give(planned, spans, self.engine.profile.reads_memory, fitting)
            self._describe(planned.sentences)
        return planned

    def _describe(self, sentences: Sequence[Sentence]) -> None:
        """Write into translations of a memory, which stay as they were approved, which terms they have."""
        if self.terms is not None and self.terms.language in (None, getattr(self.tokenizer, "tgt_lang", None)):
            for sentence in sentences:
                if sentence.remembered:
                    self.terms.describe(sentence.source, "", sentence.best, sentence.best.text)

    def _segments(self, text: str, spans: Sequence[Span], tokenizer: Any) -> list[Segment]:
        limit = tokenizer.model_max_length
        trained = min(limit, self.engine.profile.trained_length or limit)
        return segment_text(text, self.engine.profile, partial(fits, tokenizer, trained), self.split_sentences, spans)

    def _too_long(self, text: str, tokenizer: Any) -> str:
        """Why a sentence cannot be translated, or ""."""
        limit = tokenizer.model_max_length
        if fits(tokenizer, limit, text):
            return ""
        tokens = len(tokenizer(clean_text(text), verbose=False)["input_ids"])
        return f"{tokens:,} tokens; the model takes {limit:,}. Split it into sentences, one per line."

    def _in_language(self, language: str | None) -> SentenceTranslator:
        if language not in self._by_language:
            tokenizer = self.tokenizer if language is None else self.tokenizer.into(language)
            languages = (self.source_language, language or self.target_language)
            self._by_language[language] = SentenceTranslator(
                self.engine, tokenizer, self.search, self.checks, self.execution, self.reranker, self.terms, languages
            )
        return self._by_language[language]

    def translate_segments(self, sentences: Sequence[Sentence], progress: bool = False) -> None:
        """Translate the sentences that have no translations yet, of any texts of [`Translator.plan`].

        Each translation has the spans of its sentence. Sentences of which one has not are translated once more
        without their spans, which are then put where the words around them are.
        """
        waiting = [sentence for sentence in sentences if not sentence.translations]
        for language in dict.fromkeys(sentence.target.language for sentence in waiting):
            own = [sentence for sentence in waiting if sentence.target.language == language]
            self._translate_segments(own, self._in_language(language), progress)

    def _translate_segments(self, sentences: list[Sentence], translator: SentenceTranslator, progress: bool) -> None:
        matches = [each.match.used for each in sentences]
        asked = [
            Asked(each.asked, each.target.prefix, each.match.text, used)
            for each, used in zip(sentences, matches, strict=True)
        ]
        for sentence, found in zip(sentences, translator.translate(asked, progress), strict=True):
            sentence.translations = found
        again = [sentence for sentence in sentences if sentence.lacks_sentinels]
        for sentence in again:  # as models read it that have not learned to keep sentinels
            sentence.segment = self._read(sentence.segment, numbered=False)
            sentence.match = ReadMatch()
        asked = [Asked(sentence.asked, sentence.target.prefix) for sentence in again]
        for sentence, found in zip(again, translator.translate(asked), strict=True):
            sentence.translations = found
        broken = [sentence for sentence in sentences if not sentence.write(sentence.translations)]
        SecondTry(translator, self.aligner(translator)).translate(sentences, broken)
        for sentence, used in zip(sentences, matches, strict=True):
            for each in sentence.translations:  # a second search has not read the match
                each.matches = each.matches or [match._replace(use=UNUSED) for match in used]

    def _read(self, segment: Segment, numbered: bool) -> Segment:
        return as_model_reads(segment, self.engine.profile, numbered)

    def aligner(self, translator: SentenceTranslator | None = None) -> Aligner:
        """Links the words of texts and translations, in the language of `translator` or the one that is chosen."""
        chosen = self.tokenizer if translator is None else translator.tokenizer
        return AttentionAligner(self.engine, chosen)

    def join(self, texts: Sequence[Text]) -> list[list[Translation]]:
        """The translations of each text, best first, when all of its sentences are translated."""
        count, checks = self.search.num_return_sequences, self.checks
        results = []
        for text in texts:
            if text.failure:
                target = text.source if checks.on_error == "copy" else ""
                results.append([Translation(target, 0.0, text.failure, failed=True)] * count)
                continue
            results.append(text.joined(count, self.search.scores, checks.needs_confidence))
            for each in results[-1]:
                if checks.min_confidence and not each.problem and (each.confidence or 0) < checks.min_confidence:
                    each.problem = UNCERTAIN
        if checks.links:
            self._link(texts, results)
        return results

    def _link(self, texts: Sequence[Text], results: Sequence[Sequence[Translation]]) -> None:
        languages = [text.sentences[0].target.language for text in texts]
        for language in dict.fromkeys(languages):
            rows = [
                (text.source, each)
                for text, own, translations in zip(texts, languages, results, strict=True)
                if own == language
                for each in translations
            ]
            aligner = self.aligner(self._in_language(language))
            for (_, translation), links in zip(rows, link_rows(rows, aligner), strict=True):
                translation.links = links

    def join_tagged(self, texts: Sequence[Text]) -> list[list[Piece]]:
        """The best translation of each text with its tags, when all of its sentences are translated.

        Nothing of a text with tags is lost: a sentence without a translation stays as it is, with a problem.
        """
        for text in texts:
            text.keep_blank()
        pairs = [pair for text in texts for pair in text.pairs()]
        links = iter(aligned(self.aligner(), pairs))
        return [text.with_tags(links) for text in while_wanted(texts)]


def spans_of(tagged: Tagged, kept: Sequence[re.Pattern[str]] = ()) -> list[Span]:
    """The spans of a text: parts that stand for themselves, and what [`find_spans`] finds in the rest of it."""
    return with_others([span for span, _ in tagged.alone], find_spans(tagged.text, kept))


def _goes_on(segments: Sequence[Segment], index: int) -> bool:
    return not segments[index].copied and has_more(segments, index)


def _undecodable(text: str) -> str:
    """Why a text is not UTF-8, or ""."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        # Bytes that are not UTF-8 are half surrogate pairs in text that was read with "surrogateescape".
        byte = f"byte 0x{ord(text[error.start]) & 0xFF:02x} at column {error.start + 1}"
        return f"not UTF-8 ({byte}). Convert the file: iconv -f WINDOWS-1252 -t UTF-8."
    return ""


class Untranslatable(GlossaError):
    """A text that cannot be translated; `index` is its position in the list of texts."""

    def __init__(self, message: str, index: int):
        self.index = index
        super().__init__(message)
