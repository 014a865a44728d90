"""Translating lines of text with a trained model, in batches of like length, in the order they came."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from tqdm.auto import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.batching import TokenBatchSampler
from ..errors import GlossaError
from ..pipeline_glossa import TextTooLong, TranslationPipeline, check_beams, encode_texts, translate_in_batches


@dataclass
class Translation:
    """One translation and its log-probability under the model (natural logarithm, summed over its tokens)."""

    text: str
    score: float | None = None


class Engine(ABC):
    """What makes translations of token ids: a model in one format or another. `num_beams` is its own default."""

    num_beams: int

    @abstractmethod
    def translate(
        self, sources: list[list[int]], num_beams: int, num_return_sequences: int = 1, scores: bool = False
    ) -> list[Translation]:
        """Translations of a batch of token ids: `num_return_sequences` of each source, best first, one by one."""


class GenerateEngine(Engine):
    """A sequence-to-sequence model of transformers, and its `generate`."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase):
        self.pipeline = TranslationPipeline(model, tokenizer, device=model.device)
        self.num_beams = model.generation_config.num_beams or 1

    def translate(
        self, sources: list[list[int]], num_beams: int, num_return_sequences: int = 1, scores: bool = False
    ) -> list[Translation]:
        found = self.pipeline.translate_batch(
            sources, num_beams=num_beams, num_return_sequences=num_return_sequences, return_scores=scores
        )
        return [Translation(entry["translation_text"], entry.get("score")) for entry in found]


class Translator:
    """A model and its tokenizer, ready to translate.

    Args:
        model: Any sequence-to-sequence model with `generate`, or an [`Engine`].
        tokenizer: Its tokenizer.
        num_beams: 1 is greedy; the model's own default when not given.
        num_return_sequences: Translations a sentence, best first; at most `num_beams`.
        batch_tokens: Most source tokens in a batch, padding and beams included.
        scores: Compute the log-probability of every translation.
    """

    def __init__(
        self,
        model: PreTrainedModel | Engine,
        tokenizer: PreTrainedTokenizerBase,
        num_beams: int | None = None,
        num_return_sequences: int = 1,
        batch_tokens: int = 4096,
        scores: bool = False,
    ):
        self.engine = model if isinstance(model, Engine) else GenerateEngine(model, tokenizer)
        self.tokenizer = tokenizer
        self.num_beams = num_beams or self.engine.num_beams
        self.num_return_sequences = num_return_sequences
        self.batch_tokens = batch_tokens
        self.scores = scores
        try:
            check_beams(num_return_sequences, self.num_beams)
        except ValueError as error:
            raise GlossaError(str(error)) from error

    def translate(self, sentences: list[str], progress: bool = False) -> list[list[Translation]]:
        """For each sentence its translations, best first; for a blank sentence blank ones.

        Raises `GlossaError` where a sentence has more tokens than the tokenizer's `model_max_length`; its attribute
        `index` is that of the sentence.
        """
        try:
            encoded = encode_texts(self.tokenizer, sentences)
        except TextTooLong as error:
            raise SentenceTooLong(f"{error} Split it into sentences, one a line.", error.index) from error

        def batches(lengths: list[int]) -> Iterable[list[int]]:
            sampler = TokenBatchSampler(lengths, lengths, max(self.batch_tokens // self.num_beams, 1))
            return tqdm(sampler, desc="translating", unit="batch", disable=None if progress else True)

        return translate_in_batches(
            encoded,
            batches,
            lambda sources: self.engine.translate(sources, self.num_beams, self.num_return_sequences, self.scores),
            [Translation("", 0.0)] * self.num_return_sequences,
        )

    def best(self, sentences: list[str], progress: bool = False) -> list[str]:
        """The best translation of each sentence."""
        return [translations[0].text for translations in self.translate(sentences, progress)]

    def stream(self, lines: Iterable[str], chunk: int = 4096) -> Iterator[list[Translation]]:
        """Translations of each line of an endless input, in order, `chunk` lines at a time.

        A line that is too long ends the stream with a `GlossaError` that names it, after all lines before it.
        """
        lines, before = iter(lines), 0
        while sentences := list(islice(lines, chunk)):
            try:
                yield from self.translate(sentences)
            except SentenceTooLong as error:
                yield from self.translate(sentences[: error.index])
                raise GlossaError(f"Line {before + error.index + 1}: {error}") from error
            before += len(sentences)


class SentenceTooLong(GlossaError):
    """A sentence has more tokens than the model takes; `index` is its place in what was to be translated."""

    def __init__(self, message: str, index: int):
        self.index = index
        super().__init__(message)
