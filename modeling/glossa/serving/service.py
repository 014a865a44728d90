"""What a server does for each request: find the models, translate, and say how it went."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..inference.engines.engine import Translation
from ..inference.search.terms import MISSING
from ..segments_glossa import Segment
from .corrections import Corrections
from .detection import Detector
from .files import Files
from .keys import Keys
from .measures import Measures
from .models import PLAIN, Models, Step, Wishes
from .queue import Queue
from .refusals import MAX_REQUESTS, MAX_SECONDS, Refused, too_many
from .sentences import Plan, Sentence, groups, plans_of

if TYPE_CHECKING:
    from .explain import Explainer


@dataclass
class Answer:
    """The translation of one text.

    Attributes:
        source: Code of its language.
        confidence: How sure it is, in percent; None if the request said the language.
        translations: Its translations, best first.
        pivot: Code of the language through which it was translated, or None.
        missing: Terms of the glossary that the best translation lacks.
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


@dataclass
class Service:
    """A running server.

    Attributes:
        models: Its models.
        keys: The keys that requests need; None if they need none.
        corrections: Where corrections are saved; None if they are not.
        folder: For translated files, of this server alone; None if it does not translate documents.
        running: Requests that are being answered.
    """

    models: Models
    keys: Keys | None = None
    corrections: Corrections | None = None
    folder: Path | None = None
    queue: Queue = field(default_factory=Queue)
    measures: Measures = field(default_factory=Measures)
    running: int = 0

    @cached_property
    def files(self) -> Files:
        """Translates documents, and texts with HTML tags. Raises `Refused` if this server does not."""
        if self.folder is None:
            raise Refused("This server does not translate documents.", 403)
        (done := self.folder / "done").mkdir(exist_ok=True)
        return Files(done, self.queue, self.models.translator)

    @cached_property
    def explainer(self) -> "Explainer":
        """Explains translations; it needs torch, which other requests may not."""
        from .explain import Explainer

        return Explainer()

    @cached_property
    def detector(self) -> Detector:
        """Finds the language of a text, among all languages of the models."""
        return Detector(code for pair in self.models.steps for code in pair)

    def allow(self, fields: dict[str, Any], header: str | None) -> None:
        """Raise `Refused` unless the request has a key, in its fields or as a bearer token, or needs none."""
        if self.keys is not None:
            bearer = header[7:] if header and header.startswith("Bearer ") else None
            self.keys.check(fields.get("api_key") or bearer)

    def step(self, source: str, target: str) -> Step:
        """The only model that translates from `source` to `target`. Raises `Refused` if there are none, or two."""
        step, *further = self.models.route(source, target)
        if further:
            raise Refused(f"From {source} to {target} there is no model, and here no way through another language.")
        return step

    def guessed(self, text: str, source: str) -> str:
        """`source`, or the language of `text` if it is "auto"."""
        return self.detector.rank(text)[0][0] if source == "auto" else source

    async def translate(self, texts: list[str], source: str, target: str, wishes: Wishes = PLAIN) -> list[Answer]:
        """The answer for each text.

        Args:
            texts: The texts.
            source: Code of their language, or "auto".
            target: Code of the wanted language.
            wishes: What the translations have; they are fewer than asked for if the search finds no more different
                ones.

        Raises:
            Refused: if the languages are not served, a text cannot be translated, or the server is busy.
        """
        if self.running >= MAX_REQUESTS:
            raise too_many(f"{self.running} requests are being answered.")
        deadline = asyncio.get_running_loop().time() + MAX_SECONDS
        self.running += 1
        try:
            if source != "auto":
                found = await self._translate(texts, source, target, wishes, deadline)
                return [Answer(source, None, own, pivot, missing_terms(own[0])) for own, pivot in found]
            ranked = [(await asyncio.to_thread(self.detector.rank, text))[0] for text in texts]
            answers: dict[int, Answer] = {}
            for code in dict.fromkeys(code for code, _ in ranked):
                own = [index for index, (found_code, _) in enumerate(ranked) if found_code == code]
                found = await self._translate([texts[index] for index in own], code, target, wishes, deadline)
                for index, (translations, pivot) in zip(own, found, strict=True):
                    missing = missing_terms(translations[0])
                    answers[index] = Answer(code, ranked[index][1], translations, pivot, missing)
            return [answers[index] for index in range(len(texts))]
        finally:
            self.running -= 1

    async def plan(self, texts: list[str], source: str, target: str) -> list[Plan]:
        """The sentences of texts in one language. Raises `Refused` if the languages are not served."""
        if source == target and source in self.models.languages:
            return [Plan(number, [Segment(text, "", copied=True)]) for number, text in enumerate(texts)]
        translator = await self.models.translator(self.models.route(source, target)[0])
        return await asyncio.to_thread(plans_of, texts, translator)

    async def stream(
        self, plans: Sequence[Plan], source: str, target: str, wishes: Wishes = PLAIN
    ) -> AsyncIterator[list[Sentence]]:
        """The sentences of [`plan`] with their translations, in order, some at a time. Raises as [`translate`]."""
        if self.running >= MAX_REQUESTS:
            raise too_many(f"{self.running} requests are being answered.")
        self.running += 1
        try:
            for group in groups(plans):
                asked = [text for _, text in group if text is not None]
                deadline = asyncio.get_running_loop().time() + MAX_SECONDS
                found = iter(await self._translate(asked, source, target, wishes, deadline) if asked else ())
                yield [plan.add(None if text is None else next(found)[0][0]) for plan, text in group]
        finally:
            self.running -= 1

    async def _translate(
        self, texts: list[str], source: str, target: str, wishes: Wishes, deadline: float
    ) -> list[tuple[list[Translation], str | None]]:
        if source == target and source in self.models.languages:
            return [([Translation(text)], None) for text in texts]
        steps = self.models.route(source, target)
        if len(steps) > 1 and wishes.glossary:
            raise Refused(f"A glossary needs a model from {source} to {target}. Leave it out here.")
        pivot = steps[0].target if len(steps) > 1 else None
        found = [[Translation(text)] for text in texts]
        for step in steps:
            translator = await self.models.translator(step, wishes if step is steps[-1] else PLAIN)
            found = await self.queue.translate(translator, [best.text for best, *_ in found], deadline)
            if failed := next((best.problem for best, *_ in found if best.failed), None):
                raise Refused(f"A text cannot be translated: {failed}")
        self.measures.characters.labels(source, target).inc(sum(map(len, texts)))
        if pivot:  # a model knows how right it is with texts that people wrote
            for translation in (each for translations in found for each in translations):
                translation.confidence, translation.words = None, ()
        return [(translations, pivot) for translations in found]


def rounded(confidence: float | None) -> float | None:
    """A probability as it is answered, with four digits."""
    return None if confidence is None else round(confidence, 4)


def missing_terms(translation: Translation) -> list[str]:
    """The terms of a glossary that a translation lacks, each with what it should have become."""
    return [f"{term} -> {targets}" for term, targets, state in translation.terms if state == MISSING]
