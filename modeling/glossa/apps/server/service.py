"""The translation service behind the HTTP interface."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ...base.errors import GlossaError
from ...model.segments_glossa import Segment
from ...translate.interface import Translation
from ...translate.search.terms import MISSING
from ...translate.texts.tags import Tagged
from ...translate.texts.text import Sentence, Text
from ...translate.translator import Translator
from .corrections import Corrections
from .detection import Detector
from .files import Files
from .keys import Keys
from .limits import Clients, Limits
from .memories import Memories
from .metrics import Metrics
from .models import DEFAULT_OPTIONS, WITHOUT_MEMORY, Loaded, Models, RequestOptions, Step
from .queue import Queue, in_thread
from .readers import Readers
from .refusals import MAX_SECONDS, Refused


@dataclass
class Answer:
    """The translation of one text.

    Attributes:
        source: Code of the source language.
        confidence: Probability of a detected source language, in percent; None if the request names the language.
        translations: Translations, best first.
        pivot: Code of the pivot language, or None.
        missing: Glossary terms that the best translation lacks.
    """

    source: str
    confidence: float | None
    translations: list[Translation]
    pivot: str | None = None
    missing: list[str] = field(default_factory=list)

    @property
    def alternatives(self) -> list[str]:
        """The texts of the translations after the best one."""
        return [translation.text for translation in self.translations[1:] if translation.text]


class Part(NamedTuple):
    """A translated sentence of a text.

    Attributes:
        text: Number of the text.
        before: White space before the translation.
        source: The sentence.
        translation: The translation, with the text as it is in the translated text.
    """

    text: int
    before: str
    source: str
    translation: Translation

    @classmethod
    def of(cls, text: Text, number: int, place: int) -> "Part":
        sentence = text.sentences[place]
        before, written = text.part(place)
        return cls(number, before, sentence.source, replace(sentence.best, text=written))


@dataclass
class Service:
    """A running server.

    Attributes:
        models: The models.
        keys: Accepted keys; None if requests need no key.
        corrections: File of corrections; None to save none.
        folder: Folder for translated documents, which no other server uses; None to translate no documents.
        limits: Limits of requests.
        explaining: Lock for explanations, one at a time.
    """

    models: Models
    keys: Keys | None = None
    corrections: Corrections | None = None
    folder: Path | None = None
    limits: Limits = field(default_factory=Limits)
    queue: Queue = field(default_factory=Queue)
    readers: Readers = field(default_factory=Readers)
    metrics: Metrics = field(default_factory=Metrics)
    explaining: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def memories(self) -> Memories:
        """The translation memories."""
        return self.models.memories

    @cached_property
    def files(self) -> Files:
        """The translator of documents and HTML. Raises `Refused` if the server translates no documents."""
        if self.folder is None:
            raise Refused("This server does not translate documents.", 403)
        (done := self.folder / "done").mkdir(exist_ok=True)
        return Files(done, self.queue, self.readers, self.models)

    @cached_property
    def detector(self) -> Detector:
        """The language detector, for all languages of the models."""
        return Detector(code for pair in self.models.steps for code in pair)

    def allow(self, key: object, header: str | None) -> str | None:
        """Check the key of a request, a field or bearer token. Returns its name, or None if requests need no key.

        Raises `Refused` for a missing or unknown key.
        """
        if self.keys is None:
            return None
        bearer = header[7:] if header and header.startswith("Bearer ") else None
        return self.keys.check(key or bearer)

    @cached_property
    def clients(self) -> Clients:
        """The request counts of clients."""
        return Clients(self.limits.requests)

    def step(self, source: str, target: str) -> Step:
        """The model from `source` to `target`. Raises `Refused` if there is none, or only a way through a pivot."""
        step, *further = self.models.route(source, target)
        if further:
            raise Refused(f"There is no model from {source} to {target}, and no pivot language is used here.")
        return step

    async def translate(
        self, texts: list[str], source: str, target: str, options: RequestOptions = DEFAULT_OPTIONS
    ) -> list[Answer]:
        """Translate texts.

        Args:
            texts: The texts.
            source: Code of the source language, or "auto" to detect it.
            target: Code of the target language.
            options: The options of the request. There are fewer translations than `count` if the search finds no more
                different ones.

        Raises:
            Refused: If the languages are not served, a text cannot be translated, or the server is busy.
        """
        deadline = self.deadline()
        if source != "auto":
            found = await self._translate(texts, source, target, options, deadline)
            return [Answer(source, None, own, pivot, missing_terms(own[0])) for own, pivot in found]
        ranked = [ranks[0] for ranks in await self.detected(texts)]
        answers: dict[int, Answer] = {}
        for code in dict.fromkeys(code for code, _ in ranked):
            own = [index for index, (found_code, _) in enumerate(ranked) if found_code == code]
            found = await self._translate([texts[index] for index in own], code, target, options, deadline)
            for index, (translations, pivot) in zip(own, found, strict=True):
                missing = missing_terms(translations[0])
                answers[index] = Answer(code, ranked[index][1], translations, pivot, missing)
        return [answers[index] for index in range(len(texts))]

    async def translate_html(
        self, texts: list[str], source: str, target: str, options: RequestOptions
    ) -> list[Answer]:
        """Translate texts with HTML tags. Each answer has one translation."""
        deadline = self.deadline()
        found: list[tuple[str, float | None]] = [(source, None)] * len(texts)
        if source == "auto":
            found = [ranks[0] for ranks in await self.detected([re.sub("<[^<>]*>", " ", text) for text in texts])]
        steps = {code: self.step(code, target) for code, _ in found if code != target}
        answers: list[Answer] = []
        for text, (code, share) in zip(texts, found, strict=True):
            written, missing = text, list[str]()
            if code in steps:
                written, missing = await self.files.translate_html(text, steps[code], options, deadline)
            answers.append(Answer(code, share, [Translation(written)], None, missing))
        return answers

    def deadline(self) -> float:
        """The time limit of a request that arrives now, as a time of the event loop."""
        return asyncio.get_running_loop().time() + MAX_SECONDS

    async def plan(
        self, texts: list[str], source: str, target: str, options: RequestOptions = DEFAULT_OPTIONS
    ) -> list[Text]:
        """Split texts in one language into sentences. Raises `Refused` if the languages are not served."""
        steps = self._steps(source, target, options)
        if not steps:
            return [copied(text) for text in texts]
        return await self._plan(texts, await self.models.translator(*steps[0]))

    def _steps(self, source: str, target: str, options: RequestOptions) -> list[tuple[Step, RequestOptions]]:
        """The models to use in turn, with their options. None if source and target are the same language."""
        if source == target and source in self.models.languages:
            return []
        first, *further = self.models.route(source, target)
        if not further:
            return [(first, options)]
        if options.glossary:
            raise Refused(f"A glossary needs a model from {source} to {target}. Leave it out here.")
        # Memories are for texts that people wrote, not for translations into the pivot language.
        return [
            (first, replace(WITHOUT_MEMORY, keep=options.keep)),
            *((step, replace(options, memory=False)) for step in further),
        ]

    async def _plan(self, texts: list[str], translator: Translator) -> list[Text]:
        planned = await in_thread(translator.plan, texts)
        if failure := next((text.failure for text in planned if text.failure), None):
            raise Refused(f"A text cannot be translated: {failure}")
        return planned

    async def stream(
        self, texts: Sequence[Text], source: str, target: str, options: RequestOptions = DEFAULT_OPTIONS
    ) -> AsyncIterator[list[Part]]:
        """Translate the sentences of [`plan`], and yield them in order. Raises the errors of [`translate`]."""
        order = [(number, place) for number, text in enumerate(texts) for place in range(len(text.sentences))]
        sentences = [texts[number].sentences[place] for number, place in order]
        given = 0

        def ready() -> list[Part]:
            nonlocal given
            first = given
            while given < len(order) and sentences[given].translations:
                given += 1
            return [Part.of(texts[number], number, place) for number, place in order[first:given]]

        if all(sentence.translations for sentence in sentences):
            yield ready()
            return
        first, *further = self._steps(source, target, options)
        translator = await self.models.translator(*first)
        self.metrics.characters.labels(source, target).inc(sum(len(text.source) for text in texts))
        async with aclosing(self.queue.batches(translator, sentences, incremental=True)) as batches:  # type: ignore[type-var]
            async for batch in batches:
                for second in further:
                    best = [one.best.text for one in batch]
                    found = without_confidence(await self._translate_with(*second, best, self.deadline()))
                    for sentence, translations in zip(batch, found, strict=True):
                        sentence.translations = translations
                if parts := ready():
                    yield parts

    async def _translate(
        self, texts: list[str], source: str, target: str, options: RequestOptions, deadline: float
    ) -> list[tuple[list[Translation], str | None]]:
        steps = self._steps(source, target, options)
        if not steps:
            return [([Translation(text)], None) for text in texts]
        first, *further = steps
        found = await self._translate_with(*first, texts, deadline)
        for second in further:
            best = [translations[0].text for translations in found]
            found = without_confidence(await self._translate_with(*second, best, deadline))
        self.metrics.characters.labels(source, target).inc(sum(map(len, texts)))
        return [(translations, first[0].target if further else None) for translations in found]

    async def _translate_with(
        self, step: Step, options: RequestOptions, texts: list[str], deadline: float
    ) -> list[list[Translation]]:
        translator = await self.models.translator(step, options)
        planned = await self._plan(texts, translator)
        sentences = [sentence for text in planned for sentence in text.sentences]
        await self.queue.translate(translator, sentences, deadline)
        return await in_thread(translator.join, planned)

    def _ranks(self, texts: list[str]) -> list[list[tuple[str, float]]]:
        return [self.detector.rank(text) for text in texts]

    async def detected(self, texts: list[str]) -> list[list[tuple[str, float]]]:
        """The candidate languages of each text. See [`Detector.rank`]."""
        return await in_thread(self._ranks, texts)

    async def explain(self, step: Step, sentence: str, prefix: list[int]) -> dict[str, Any]:
        """Explain a translation that begins with the tokens `prefix`. See [`explain`]."""
        loaded = await self.models.load(step.model)
        async with self.explaining:
            try:
                return await in_thread(_explain, loaded, step, sentence, prefix)
            except GlossaError as error:
                raise Refused(f"This model cannot be explained: {error}") from error


def _explain(loaded: Loaded, step: Step, sentence: str, prefix: list[int]) -> dict[str, Any]:
    from .explain import explain  # needs torch, unlike most requests

    return explain(*loaded.in_torch(), step.target, sentence, prefix)


def copied(text: str) -> Text:
    """A text whose translation is the text itself."""
    whole = Sentence(Segment(text, "", copied=True))
    whole.keep_source("", failed=False)
    return Text(Tagged.plain(text), [whole])


def without_confidence(found: list[list[Translation]]) -> list[list[Translation]]:
    """Remove confidence from translations of translations: it is learned on texts that people wrote."""
    for translation in (each for translations in found for each in translations):
        translation.confidence, translation.words = None, ()
    return found


def rounded(confidence: float | None) -> float | None:
    """A probability rounded to four digits."""
    return None if confidence is None else round(confidence, 4)


def missing_terms(translation: Translation) -> list[str]:
    """The glossary terms that a translation lacks, with the expected translations."""
    return [f"{term} -> {targets}" for term, targets, state in translation.terms if state == MISSING]
