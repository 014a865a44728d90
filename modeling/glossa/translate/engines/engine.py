"""What translates token ids: a model of transformers, or one in another format."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy

from ...base.errors import GlossaError
from ...model.profile_glossa import TextProfile

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


ENGINES = ("auto", "torch", "ctranslate2")  # as commands name them
Batch = list[list[int]]  # the token ids of some sources
# How a match of a memory was used: as it is, with numbers and the like of the text, read by the model, or not at all,
# since it is too long with its sentence, or the model finds its translation without it more probable.
COPIED, REPAIRED, READ, UNUSED = "copied", "repaired", "read", "unused"


@dataclass(frozen=True)
class Search:
    """The search for translations: beams, number of results, penalties.

    Attributes:
        num_beams: Beams; 1 is greedy. None is the model's own number.
        num_return_sequences: Translations of each source, best first.
        scores: Whether each translation gets its log-probability.
        length_penalty: With beams, scores are divided by the length to this power; None is the model's default.
        no_repeat_ngram_size: Sequences of this many tokens do not occur twice; 0 allows all.
        prompt: The decoder's first tokens, if its start is not enough: some families say the language there.
    """

    num_beams: int | None = None
    num_return_sequences: int = 1
    scores: bool = False
    length_penalty: float | None = None
    no_repeat_ngram_size: int = 0
    prompt: tuple[int, ...] = ()

    @property
    def beams(self) -> int:
        """The number of beams, of a search that has one."""
        assert self.num_beams is not None
        return self.num_beams


class UsedMatch(NamedTuple):
    """A match of a translation memory for a sentence.

    Attributes:
        score: How similar its source is, from 0 to 100.
        use: How it was used: `COPIED`, `REPAIRED`, `READ` or `UNUSED`.
        source: Its source in the memory, or "" where people do not see it.
        target: Its translation in the memory, or "" likewise.
        memory: The file of the memory.
    """

    score: int
    use: str
    source: str
    target: str
    memory: str


@dataclass
class Translation:
    """A translation of one text, with what is known about it.

    Attributes:
        text: The translation; blank, or the source, if the text could not be translated.
        score: Its log-probability under the model (natural logarithm, summed over its tokens), if asked for.
        tokens: Their number with the end of each sentence, if the score was asked for.
        problem: Why it cannot be right (a kind of [`find_problem`]), or why the text could not be translated, or "".
        failed: Whether the text could not be translated.
        confidence: The probability that it needs no correction, if it was asked for.
        parts: Each part of the source that was translated or copied for itself, and what it became in the text.
        links: Numbers of linked words, between white space, of source and translation, if they were asked for.
        terms: Each term of a glossary that the text has, as it is there; its translations in the glossary; and whether
            the translation has one: "used", "searched" (after a second search for it) or "missing".
        matches: The matches of a memory for its sentences.
        words: Its words, between white space, with the probability that each is right ([`word_scores`]) or None for
            those that the model did not write, if they were asked for.
    """

    text: str
    score: float | None = None
    problem: str = ""
    failed: bool = False
    tokens: int = 0
    confidence: float | None = None
    parts: tuple[tuple[str, str], ...] = ()
    links: list[tuple[int, int]] | None = None
    terms: Sequence[tuple[str, str, str]] = ()
    matches: Sequence[UsedMatch] = ()
    words: Sequence[tuple[str, float | None]] = ()

    @property
    def token_score(self) -> float | None:
        """The log-probability per token, or None if it is not known."""
        return None if self.score is None or not self.tokens else self.score / self.tokens


class Engine(ABC):
    """A model in some format that translates token ids.

    Attributes:
        num_beams: The model's default.
        profile: What the model has learned about texts.
        sampled: Whether it draws translations at random; then one beam gives any number of them.
        attends: Whether it gives the attention of translations ([`Engine.attention`]).
        start: The token that the decoder starts with.
    """

    num_beams: int
    profile: TextProfile = TextProfile()
    sampled: bool = False
    attends: bool = False
    start: int = 0

    @abstractmethod
    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        """Translations of a batch of token ids, all in one list: as many for each source as `search` wants."""

    def token_scores(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        """The log-probability of each token of a batch of given translations, which have their ends."""
        raise NotImplementedError

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> list[numpy.ndarray]:
        """The cross-attention [T, S] of given translations: the mean of the heads of the last decoder layer.

        Of a model whose head was trained to align words, it is that head.
        """
        raise NotImplementedError


class GenerateEngine(Engine):
    """A sequence-to-sequence model of transformers that translates with `generate`, which takes `options`."""

    attends = True

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", **options):
        from ...model.pipeline_glossa import TranslationPipeline

        self.options = options
        self.sampled = options.get("do_sample", False)
        self.pipeline = TranslationPipeline(model, tokenizer, device=model.device)
        decoding = model.generation_config
        starts = [token for token in (decoding.decoder_start_token_id, decoding.bos_token_id) if token is not None]
        if model.config.is_encoder_decoder and not starts:
            raise GlossaError(
                "The model's generation_config.json has neither decoder_start_token_id nor bos_token_id, so it may be "
                "damaged. Restore it from a copy."
            )
        self.start = (starts or [0])[0]
        self.num_beams = model.generation_config.num_beams or 1
        self.profile = TextProfile.of(model.config)

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        options: dict = {"no_repeat_ngram_size": search.no_repeat_ngram_size} if search.no_repeat_ngram_size else {}
        if search.length_penalty is not None and search.beams > 1:
            options["length_penalty"] = search.length_penalty
        found = self.pipeline.translate_batch(
            sources,
            num_beams=search.beams,
            num_return_sequences=search.num_return_sequences,
            return_scores=search.scores,
            prompt=search.prompt or None,
            **self.options | options,
        )
        return [Translation(entry["translation_text"], entry.get("score")) for entry in found]

    def token_scores(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        from .forced import token_scores

        return token_scores(self.pipeline.model, self.pipeline.tokenizer, sources, targets)  # type: ignore[arg-type]

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> list[numpy.ndarray]:
        from .forced import cross_attention

        return cross_attention(self.pipeline.model, self.pipeline.tokenizer, sources, targets)  # type: ignore[arg-type]
