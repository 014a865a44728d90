"""Translate lines of text with a trained model, in batches of similar length; output keeps the input order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from tqdm.auto import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.batching import TokenBatchSampler
from ..errors import GlossaError
from ..pipeline_glossa import (
    TextTooLong,
    TranslationPipeline,
    check_beams,
    encode_texts,
    split_text,
    translate_in_batches,
)


@dataclass
class Translation:
    """One translation and its log-probability under the model (natural logarithm, summed over its tokens)."""

    text: str
    score: float | None = None


class Engine(ABC):
    """A model in some format that translates token ids. `num_beams` is the model's default."""

    num_beams: int

    @abstractmethod
    def translate(
        self, sources: list[list[int]], num_beams: int, num_return_sequences: int = 1, scores: bool = False
    ) -> list[Translation]:
        """Translations of a batch of token ids: `num_return_sequences` per source, best first, in one list."""


class GenerateEngine(Engine):
    """A sequence-to-sequence model of transformers that translates with `generate`."""

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
        num_beams: Number of beams; 1 is greedy. The default comes from the model's generation config.
        num_return_sequences: Translations per sentence, best first; at most `num_beams`.
        batch_tokens: Maximum source tokens in a batch, including padding and counting every beam.
        scores: Compute the log-probability of every translation.
        split_sentences: Translate text sentence by sentence, and join the translations with the white space between.
            A model of single sentences often translates only the first one. What is too long is cut until it fits.
    """

    def __init__(
        self,
        model: PreTrainedModel | Engine,
        tokenizer: PreTrainedTokenizerBase,
        num_beams: int | None = None,
        num_return_sequences: int = 1,
        batch_tokens: int = 4096,
        scores: bool = False,
        split_sentences: bool = False,
    ):
        self.engine = model if isinstance(model, Engine) else GenerateEngine(model, tokenizer)
        self.tokenizer = tokenizer
        self.num_beams = num_beams or self.engine.num_beams
        self.num_return_sequences = num_return_sequences
        self.batch_tokens = batch_tokens
        self.scores = scores
        self.split_sentences = split_sentences
        try:
            check_beams(num_return_sequences, self.num_beams)
        except ValueError as error:
            raise GlossaError(str(error)) from error

    def translate(self, sentences: list[str], progress: bool = False) -> list[list[Translation]]:
        """The translations of each sentence, best first. A blank sentence has blank translations.

        Raises [`SentenceTooLong`] if a sentence has more tokens than the tokenizer's `model_max_length`.
        """
        split = [split_text(text, self._fits) if self.split_sentences else ([text], [""]) for text in sentences]
        try:
            encoded = encode_texts(self.tokenizer, [piece for pieces, _ in split for piece in pieces])
        except TextTooLong as error:
            raise SentenceTooLong(f"{error} Split it into sentences, one per line.", error.index) from error

        def batches(lengths: list[int]) -> Iterable[list[int]]:
            sampler = TokenBatchSampler(lengths, lengths, max(self.batch_tokens // self.num_beams, 1))
            return tqdm(sampler, desc="translating", unit="batch", disable=None if progress else True)

        translated = iter(
            translate_in_batches(
                encoded,
                batches,
                lambda sources: self.engine.translate(sources, self.num_beams, self.num_return_sequences, self.scores),
                [Translation("", 0.0)] * self.num_return_sequences,
            )
        )
        return [_join([next(translated) for _ in pieces], between) for pieces, between in split]

    def _fits(self, text: str) -> bool:
        limit = self.tokenizer.model_max_length
        # No vocabulary has more tokens for a text than the text has bytes, beside two special tokens.
        return len(text.encode()) + 2 <= limit or len(self.tokenizer(text, verbose=False)["input_ids"]) <= limit

    def best(self, sentences: list[str], progress: bool = False) -> list[str]:
        """The best translation of each sentence."""
        return [translations[0].text for translations in self.translate(sentences, progress)]

    def stream(self, lines: Iterable[str], chunk: int = 4096) -> Iterator[list[Translation]]:
        """Translations of each line, in order, reading `chunk` lines at a time; the input may be endless.

        A line that is too long ends the stream with a `GlossaError` that gives its number, after the translations of
        all lines before it.
        """
        lines, before = iter(lines), 0
        while sentences := list(islice(lines, chunk)):
            try:
                yield from self.translate(sentences)
            except SentenceTooLong as error:
                yield from self.translate(sentences[: error.index])
                raise GlossaError(f"Line {before + error.index + 1}: {error}") from error
            before += len(sentences)


def _join(pieces: list[list[Translation]], between: list[str]) -> list[Translation]:
    """Join the translations of a text's sentences by rank: the best of each, then the second best, and so on."""
    if len(pieces) == 1:
        return pieces[0]
    return [
        Translation(
            "".join(found.text + space for found, space in zip(ranked, between, strict=True)),
            None if ranked[0].score is None else sum(found.score or 0.0 for found in ranked),
        )
        for ranked in zip(*pieces, strict=True)
    ]


class SentenceTooLong(GlossaError):
    """A sentence has more tokens than the model takes; `index` is its position in the list of sentences."""

    def __init__(self, message: str, index: int):
        self.index = index
        super().__init__(message)
