"""What callers give to a translator (the search, checks, execution), what they get back, and what an engine does."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy

from ..model.profile_glossa import TextProfile

OnError = Literal["stop", "blank", "copy"]
ENGINES = ("auto", "torch", "ctranslate2")  # as commands name them
Batch = list[list[int]]  # the token ids of some sources
# How a match of a memory was used: as it is, with numbers and the like of the text, as it is though its text differs,
# read by the model, or not at all: the model has not learned it, or finds its translation without it more probable.
COPIED, REPAIRED, TAKEN, READ, UNUSED = "copied", "repaired", "taken", "read", "unused"


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


@dataclass(frozen=True)
class Checks:
    """Checks of translations, and what happens to texts that cannot be translated.

    Attributes:
        on_error: Result for a text that cannot be translated (not UTF-8, or too long even after splitting): "stop"
            raises an error; "blank" gives a blank translation, "copy" the source, with the reason as its `problem`.
        retry_implausible: Translate sentences whose translation cannot be right (see [`find_problem`]) once more, with
            twice the beams and without repeated sequences of three tokens; a translation that passes then is used.
        confident: Compute the probability that a translation needs no correction. The model must have learned it.
        min_confidence: A translation with less confidence has [`UNCERTAIN`] as its `problem`, if there is no other.
        words: Compute the probability that each word of the best translations is right.
        links: Link the words of texts and translations.
    """

    on_error: OnError = "stop"
    retry_implausible: bool = False
    confident: bool = False
    min_confidence: float = 0.0
    words: bool = False
    links: bool = False

    @property
    def needs_confidence(self) -> bool:
        return self.confident or self.min_confidence > 0


class UsedMatch(NamedTuple):
    """A match of a translation memory for a sentence.

    Attributes:
        score: How similar its source is, from 0 to 100.
        use: How it was used: `COPIED`, `REPAIRED`, `TAKEN`, `READ` or `UNUSED`.
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
            the translation has one: "used", "placed" (by a second search, in the place of the model's own word),
            "both" (it also has the own word) or "missing".
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


@dataclass(frozen=True)
class Execution:
    """How texts are divided into sentences and batches, and the processes that translate them.

    Attributes:
        batch_tokens: Maximum source tokens in a batch, including padding and counting every beam.
        shared: The processes of a launch share the batches; all of them translate the same texts and get all
            translations.
        run_batches: Translates the batches of a search in other processes, if there are several. It is called with
            the batches, the search and whether to show progress, as [`translated_at`].
        split_sentences: Translate text sentence by sentence, and join the translations with the white space between.
            A model of single sentences often translates only the first one. What is too long is cut until it fits.
            The default comes from the model's config.
        kept: Patterns of what translations have as it is, such as placeholders of a program's own.
    """

    batch_tokens: int = 4096
    shared: bool = False
    run_batches: Callable[[list[Batch], Search, bool], list[list[Translation]]] | None = None
    split_sentences: bool | None = None
    kept: tuple[re.Pattern[str], ...] = ()


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

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> Iterable[numpy.ndarray]:
        """The cross-attention [T, S] of each given translation: the mean of the heads of the last decoder layer.

        Of a model whose head was trained to align words, it is that head.
        """
        raise NotImplementedError
