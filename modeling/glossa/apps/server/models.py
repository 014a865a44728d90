"""The models of a server: their directions, and loading them."""

import asyncio
import logging
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...base.errors import GlossaError
from ...base.languages import language_name, normalized_code
from ...base.matches import USED
from ...translate.build import constrained_engine, keeps_sentinels, load_engine, torch_model
from ...translate.interface import Checks, Engine, Search
from ...translate.languages import Languages, Wanted
from ...translate.search.terms import Terms
from ...translate.translator import Translator
from ..documents.formats.format import LanguagePair
from ..documents.glossary import Glossary
from .memories import Memories
from .queue import in_thread
from .refusals import Refused

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """A model and one of its directions.

    Attributes:
        model: Folder or Hub name.
        source: Code of the source language.
        target: Code of the target language.
    """

    model: str
    source: str
    target: str


@dataclass(frozen=True)
class RequestOptions:
    """Options of a request.

    Attributes:
        count: Number of translations of each text.
        confident: Compute the probability that each translation needs no correction, if the model has learned it.
        glossary: Terms, and the translations that they must have.
        words: Compute the probability that each word is right.
        key: Name of the key of the request, which may have its own memory.
        memory: Use translation memories.
        threshold: Lowest score of a match.
        keep: Texts that translations keep as they are.
    """

    count: int = 1
    confident: bool = False
    glossary: tuple[tuple[str, str], ...] = ()
    words: bool = False
    key: str = ""
    memory: bool = True
    threshold: int = USED
    keep: tuple[str, ...] = ()

    @property
    def search(self) -> "RequestOptions":
        """The options that loaded translators depend on: all except those for memories, and what is kept."""
        return RequestOptions(self.count, self.confident, self.glossary, self.words)


DEFAULT_OPTIONS = RequestOptions()
WITHOUT_MEMORY = RequestOptions(memory=False)


@dataclass(eq=False)
class Loaded:
    """A model in memory.

    Attributes:
        name: Folder or Hub name.
        engine: Its engine.
        tokenizer: Its tokenizer.
        translators: Translators without a glossary, by direction and options.
    """

    name: str
    engine: Engine
    tokenizer: Any
    translators: dict[tuple[Step, RequestOptions], Translator] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _in_torch: "tuple[PreTrainedModel, PreTrainedTokenizerBase] | None" = None

    def translator(self, step: Step, options: RequestOptions) -> Translator:
        """The translator of `step` with the options of a request, without a memory."""
        search = options.search
        if search.glossary:  # requests seldom share a glossary
            return self._make(step, search)
        if (step, search) not in self.translators:
            self.translators[step, search] = self._make(step, search)
        return self.translators[step, search]

    def _make(self, step: Step, options: RequestOptions) -> Translator:
        tagged = Languages.of_tokenizer(self.tokenizer).tagged
        tokenizer = self.tokenizer.into(step.target) if tagged else self.tokenizer
        if getattr(tokenizer, "codes", None):
            tokenizer.src_lang = tokenizer.named(step.source)
        confident = options.confident and self.engine.profile.confidence is not None
        glossary, terms = None, None
        if options.glossary:
            glossary = Glossary(options.glossary, LanguagePair(step.source, step.target))
            constrained_engine(*self.in_torch())  # before the response starts: the model may not support it
        kept = keeps_sentinels(self.name, self.engine)
        if kept or glossary is not None:
            terms = Terms(
                lambda: constrained_engine(*self.in_torch()), glossary, (), step.target if tagged else None, kept
            )
        search = Search(max(self.engine.num_beams, options.count), options.count)
        checks = Checks("copy", confident=confident, words=options.words and confident)
        return Translator(
            self.engine,
            tokenizer,
            search,
            checks,
            terms=terms,
            languages=(step.source, step.target),
        )

    def in_torch(self) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
        """The model in torch and its tokenizer, loaded at the first use, for what CTranslate2 cannot do."""
        with self.lock:
            if self._in_torch is None:
                self._in_torch = torch_model([self.name], self.engine, None)
        return self._in_torch


class Models:
    """The models of a server, each loaded at its first use.

    Args:
        names: Folders or Hub names. "en-fr=NAME" names the languages of a model that does not record them.
        max_loaded: Number of models in memory. A further one replaces the least recently used.
        engine: See [`build_translator`].

    Raises:
        GlossaError: If the languages of a model are unknown, or two models have the same direction.
    """

    def __init__(self, names: list[str], max_loaded: int = 4, engine: str = "auto"):
        self.max_loaded, self.engine = max_loaded, engine
        self.steps: dict[tuple[str, str], Step] = {}
        for name in names:
            for step in directions(name):
                pair = (step.source, step.target)
                if pair in self.steps:
                    raise GlossaError(
                        f"{self.steps[pair].model} and {step.model} both translate from {step.source} to "
                        f"{step.target}. Serve one of them."
                    )
                self.steps[pair] = step
        self.memories = Memories()
        self.kept: tuple[re.Pattern[str], ...] = ()  # patterns of what all translations keep
        self.loaded: OrderedDict[str, Loaded] = OrderedDict()
        self.turn = asyncio.Lock()

    @property
    def languages(self) -> dict[str, list[str]]:
        """The target languages of each source language, including those through a pivot language."""
        sources = dict.fromkeys(source for source, _ in self.steps)
        codes = dict.fromkeys(code for pair in self.steps for code in reversed(pair))
        return {source: [code for code in codes if self.find(source, code)] for source in sources}

    @property
    def listed(self) -> dict[str, list[str]]:
        """The target languages of every language. Languages that are only targets have none."""
        codes = dict.fromkeys(code for pair in self.steps for code in pair)
        return {code: self.languages.get(code, []) for code in codes}

    def find(self, source: str, target: str) -> list[Step]:
        """The models that translate from `source` to `target`: one, two through a pivot language, or none."""
        if (source, target) in self.steps:
            return [self.steps[source, target]]
        if source == target:
            return []
        for (first, pivot), step in self.steps.items():
            if first == source and (pivot, target) in self.steps:
                return [step, self.steps[pivot, target]]
        return []

    def route(self, source: str, target: str) -> list[Step]:
        """The one or two models that translate from `source` to `target`. Raises `Refused` if there are none."""
        languages = self.languages
        if steps := self.find(source, target):
            return steps
        for code, allowed in ((source, f"source may be auto, {', '.join(languages)}"), (target, "")):
            if code not in self.listed:
                raise Refused(f"{code} is not supported: {allowed or 'target may be ' + ', '.join(self.listed)}.")
        names = [f"{language_name(code)} ({code})" for code in (target, source)]
        targets = ", ".join(languages.get(source, ())) or "no language"
        raise Refused(
            f"{names[0]} is not available as a target language from {names[1]}, which is translated into {targets}."
        )

    async def translator(self, step: Step, options: RequestOptions = DEFAULT_OPTIONS) -> Translator:
        """The translator with the options of a request. Loads its model if necessary."""
        found = await self._without_memory(step, options)
        if kept := (*self.kept, *(re.compile(re.escape(text)) for text in options.keep)):
            found = found.with_kept(kept)
        if not options.memory:
            return found
        pair = step.source, step.target
        recall = await in_thread(self.memories.recall, pair, options.key, options.threshold)
        return found if recall is None else found.with_recall(recall)

    async def _without_memory(self, step: Step, options: RequestOptions) -> Translator:
        loaded = await self.load(step.model)
        if not options.glossary:
            return loaded.translator(step, options)
        try:  # the first request loads the model in torch
            return await in_thread(loaded.translator, step, options)
        except GlossaError as error:
            logger.error("%s", error)
            raise Refused("Here this model takes no glossary. See the log of the server.") from error

    async def load(self, name: str) -> Loaded:
        """Return a model. Loads it if necessary."""
        if name not in self.loaded:
            async with self.turn:
                if name not in self.loaded:
                    await self._load(name)
        self.loaded.move_to_end(name)
        return self.loaded[name]

    async def _load(self, name: str) -> None:
        try:
            engine, tokenizer = await in_thread(load, name, self.engine)
        except GlossaError as error:
            logger.error("%s", error)
            raise Refused("The model does not load. See the log of the server.", 500) from error
        self.loaded[name] = Loaded(name, engine, tokenizer)
        while len(self.loaded) > self.max_loaded:  # running requests keep their model
            logger.info("%s was unloaded.", self.loaded.popitem(last=False)[0])

    async def reload(self) -> None:
        """Reload the models in memory. Requests use the old ones until the new ones are loaded."""
        for name in list(self.loaded):
            async with self.turn:
                await self._load(name)
            logger.info("%s was reloaded.", name)


def directions(name: str) -> list[Step]:
    """The directions of a model. Raises `GlossaError` if its languages are unknown."""
    given, _, model = name.rpartition("=")
    if given:
        source, _, target = given.partition("-")
        if not source or not target:
            raise GlossaError(f"{name}: give SOURCE-TARGET=MODEL, such as en-fr={model}.")
        return [Step(model, normalized_code(source), normalized_code(target))]
    known = Languages.of(model)
    # A model of several languages translates from any of them.
    sources = [known.source] if known.source else list(known.targets) if known.tagged else []
    steps = [Step(model, source, target) for source in sources for target in known.targets if source != target]
    if not steps:
        raise GlossaError(f"The languages of {model} are unknown. Give them: SOURCE-TARGET={model}.")
    return steps


def load(name: str, engine: str) -> tuple[Engine, Any]:
    """The engine of a model and its tokenizer."""
    known = Languages.of(name)
    first = known.targets[0] if known.tagged else None
    return load_engine([name], engine, Wanted(first, known.source or first))
