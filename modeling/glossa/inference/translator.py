"""Translate lines of text with a trained model, in batches of similar length; output keeps the input order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

from tqdm.auto import tqdm

from ..batches_glossa import LOWEST_SCORE, check_beams, encode_texts, fits, translate_in_batches
from ..data.encoding.batching import TokenBatchSampler
from ..errors import GlossaError
from ..segments_glossa import Segment, mask_numbers, put_back, segment_text
from ..sentences_glossa import clean_text
from .confidence import FEWEST, UNCERTAIN, confidence, features, word_scores
from .engines.engine import Batch, Engine, GenerateEngine, Search, Translation
from .joining import joined
from .languages import tag_problem, take_tag
from .plausibility import DIFFERENCES, find_problem
from .sentinels import asked_texts, held_texts, put_other_marks
from .sharing import is_first, merged, own_batches

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from .engines.forced import Reranker
    from .search.terms import Terms

DIFFERENT_NUMBERS = DIFFERENCES[0]
OnError = Literal["stop", "blank", "copy"]


class Translator:
    """A model and its tokenizer, ready to translate.

    Args:
        model: Any sequence-to-sequence model with `generate`, or an [`Engine`].
        tokenizer: Its tokenizer.
        num_beams: Number of beams; 1 is greedy. The default comes from the model's generation config.
        num_return_sequences: Translations per text, best first; at most `num_beams`. Their texts differ; if the
            search finds fewer, the last ones are blank. An engine that samples gives any number, also equal ones.
        batch_tokens: Maximum source tokens in a batch, including padding and counting every beam.
        scores: Compute the log-probability of every translation.
        length_penalty: With beams, scores are divided by the length to this power. The default comes from the model's
            generation config.
        split_sentences: Translate text sentence by sentence, and join the translations with the white space between.
            A model of single sentences often translates only the first one. What is too long is cut until it fits.
            The default comes from the model's config.
        on_error: Result for a text that cannot be translated (not UTF-8, or too long even after splitting): "stop"
            raises an error; "blank" gives a blank translation, "copy" the source, with the reason as its `problem`.
        reranker: Sorts the translations of each sentence by the sum of the model's log-probability and this one's.
        retry_implausible: Translate sentences whose translation cannot be right (see [`find_problem`]) once more, with
            twice the beams and without repeated sequences of three tokens; a translation that passes then is used.
        confident: Compute the probability that a translation needs no correction. The model must have learned it.
        min_confidence: A translation with less confidence has [`UNCERTAIN`] as its `problem`, if there is no other.
        shared: The processes of a launch share the batches; all of them translate the same texts and get all
            translations.
        terms: Terms that translations must have, words that they must not have, and the search for both.
        words: Compute the probability that each word of the best translations is right.
        elsewhere: Translates the batches of a search, if there are several, in place of this process. It is called
            with the batches, the search and whether to show progress, as [`translated_at`].
    """

    def __init__(
        self,
        model: "PreTrainedModel | Engine",
        tokenizer: "PreTrainedTokenizerBase",
        num_beams: int | None = None,
        num_return_sequences: int = 1,
        batch_tokens: int = 4096,
        scores: bool = False,
        length_penalty: float | None = None,
        split_sentences: bool | None = None,
        on_error: OnError = "stop",
        retry_implausible: bool = False,
        reranker: "Reranker | None" = None,
        confident: bool = False,
        min_confidence: float = 0.0,
        shared: bool = False,
        terms: "Terms | None" = None,
        words: bool = False,
        elsewhere: Callable[[list[Batch], Search, bool], list[list[Translation]]] | None = None,
    ):
        self.engine = model if isinstance(model, Engine) else GenerateEngine(model, tokenizer)
        self.tokenizer = tokenizer
        self.confident, self.min_confidence = confident or min_confidence > 0, min_confidence
        if self.confident and self.engine.confidence is None:
            raise GlossaError(
                "The model has not learned a confidence: its run was of an earlier version, or had too few validation "
                f"pairs ({FEWEST}), or hardly any that it translates well, or badly. Train it with more of them."
            )
        scores = scores or reranker is not None or self.confident
        self.search = Search(num_beams or self.engine.num_beams, num_return_sequences, scores, length_penalty)
        self.batch_tokens = batch_tokens
        self.reranker = reranker
        self.split_sentences = self.engine.split_sentences if split_sentences is None else split_sentences
        self.on_error = on_error
        self.retry_implausible = retry_implausible
        self.shared = shared
        self.terms, self.words, self.elsewhere = terms, words, elsewhere
        self.find = held_texts if self.engine.keeps_placeholders else None
        self.refused = ""  # why texts are not translated, if they ask for a language that the model does not have
        if not self.engine.sampled:
            try:
                check_beams(num_return_sequences, self.search.num_beams)
            except ValueError as error:
                raise GlossaError(str(error)) from error

    def translate(
        self, texts: list[str], progress: bool = False, prefixes: Sequence[str] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first. A blank text has blank translations.

        With a model of several target languages, a text may begin with the tag of one, such as `<2fr>`.
        `prefixes` are the beginnings of the translations, "" for none; they need `terms`.
        Raises [`Untranslatable`] if a text cannot be translated and `on_error` is "stop".
        """
        begins = prefixes or [""] * len(texts)
        if any(begins) and self.terms is None:
            raise GlossaError("Beginnings of translations need a search for them: give the Translator `terms`.")
        allowed = getattr(self.tokenizer, "target_languages", [])
        chosen = self.tokenizer.tgt_lang if allowed else None  # type: ignore[attr-defined]
        tagged = [take_tag(text) if allowed else (None, text) for text in texts]
        languages = [language or chosen for language, _ in tagged]
        if set(languages) <= {chosen} and (chosen or not allowed):
            return self._translate([text for _, text in tagged], begins, progress)
        results: list[list[Translation]] = [[] for _ in texts]
        failures: list[Untranslatable] = []
        for language in dict.fromkeys(languages):
            rows = [row for row, own in enumerate(languages) if own == language]
            view = copy(self)
            known = language if language in allowed else allowed[0]
            view.tokenizer = self.tokenizer.into(known)  # type: ignore[attr-defined]
            view.refused = "" if language in allowed else tag_problem(language, chosen, allowed)
            try:
                found = view._translate([tagged[row][1] for row in rows], [begins[row] for row in rows], progress)
            except Untranslatable as error:
                failures.append(Untranslatable(str(error), rows[error.index]))
                continue
            for row, translations in zip(rows, found, strict=True):
                results[row] = translations
        if failures:
            raise min(failures, key=lambda error: error.index)
        return results

    def _translate(self, texts: list[str], prefixes: Sequence[str], progress: bool) -> list[list[Translation]]:
        """As [`Translator.translate`], all texts into one language."""
        prepared = [self._prepare(text) for text in texts]
        for row, (_, failure) in enumerate(prepared):
            if failure and self.on_error == "stop":
                raise Untranslatable(failure, row)
        parts = [segments for segments, _ in prepared]
        found = self._translate_distinct(asked_texts(parts, prefixes), progress)
        if self.find and (wrong := put_other_marks(parts, found, self.engine)):
            asked = asked_texts(parts, prefixes)
            for row, again in zip(wrong, self._translate_distinct([asked[row] for row in wrong]), strict=True):
                found[row] = again
        translated = iter(found)
        results = []
        for text, (segments, failure) in zip(texts, prepared, strict=True):
            score = 0.0 if self.search.scores else None
            copies = 1 if all(part.copied for part in segments) else self.search.num_return_sequences
            pieces = [
                [Translation(part.text, score)] * copies if part.copied else next(translated) for part in segments
            ]
            results.append(joined(pieces, segments, self.confident))
            results[-1] += [Translation("", score)] * (self.search.num_return_sequences - len(results[-1]))
            if failure:
                failed = Translation(text if self.on_error == "copy" else "", 0.0, failure, failed=True)
                results[-1] = [failed] * self.search.num_return_sequences
            for translation in results[-1]:
                if self.confident and not translation.problem and (translation.confidence or 0) < self.min_confidence:
                    translation.problem = UNCERTAIN
        return results

    def _translate_distinct(self, asked: list[tuple[str, str]], progress: bool = False) -> list[list[Translation]]:
        """As [`Translator._translate_pieces`]. Equal texts are translated once, but sampled separately."""
        keys = range(len(asked)) if self.engine.sampled else asked
        distinct = dict(zip(keys, asked, strict=True))
        found = dict(zip(distinct, self._translate_pieces(list(distinct.values()), progress), strict=True))
        return [found[key] for key in keys]

    def segments(self, text: str) -> list[Segment]:
        """The sentences of a text, or parts of them, that are translated one by one."""
        limit = self.tokenizer.model_max_length
        trained = min(limit, self.engine.trained_length or limit)
        return segment_text(
            text,
            self.split_sentences,
            partial(fits, self.tokenizer, trained),
            self.engine.abbreviations,
            self.engine.lower_capitals,
            self.engine.mask_items,
            self.engine.add_stops,
            self.find,
        )

    def _prepare(self, text: str) -> tuple[list[Segment], str]:
        """The segments of a text, and why it cannot be translated, or ""."""
        if self.refused and clean_text(text):
            return [Segment("", "")], self.refused
        try:
            text.encode()
        except UnicodeEncodeError as error:
            # Bytes that are not UTF-8 are half surrogate pairs in text that was read with "surrogateescape".
            byte = f"byte 0x{ord(text[error.start]) & 0xFF:02x} at column {error.start + 1}"
            return [Segment("", "")], f"not UTF-8 ({byte}). Convert the file: iconv -f WINDOWS-1252 -t UTF-8."
        limit = self.tokenizer.model_max_length
        segments = self.segments(text)
        for part in segments:
            if not part.copied and not fits(self.tokenizer, limit, part.text):
                tokens = len(self.tokenizer(clean_text(part.text), verbose=False)["input_ids"])
                why = f"{tokens:,} tokens; the model takes {limit:,}. Split it into sentences, one per line."
                return [Segment("", "")], why
        return segments, ""

    def _translate_pieces(self, asked: list[tuple[str, str]], progress: bool) -> list[list[Translation]]:
        """The translations of sentences, each with the beginning of its translation."""
        pieces = [text for text, _ in asked]
        found = self._ranked(pieces, self.search, progress)
        for text, translations in zip(pieces, found, strict=True):
            self._check(text, translations)
        if self.engine.mask_items:
            self._retry_numbers(pieces, found)
        if self.retry_implausible:
            wrong = [index for index, translations in enumerate(found) if translations[0].problem]
            wider = replace(self.search, num_beams=2 * self.search.num_beams, no_repeat_ngram_size=3)
            again = self._ranked([pieces[index] for index in wrong], wider)
            for index, translations in zip(wrong, again, strict=True):
                self._check(pieces[index], translations)
                if not translations[0].problem:
                    found[index] = translations
        if self.terms is not None and self.terms.language in (None, getattr(self.tokenizer, "tgt_lang", None)):
            self._use_terms(self.terms, pieces, [prefix for _, prefix in asked], found)
        if self.words:
            best = [translations[0] for translations in found]
            scores = word_scores(self.engine, self.tokenizer, pieces, [one.text for one in best])
            for translation, own in zip(best, scores, strict=True):
                translation.words = own
        return found

    def _use_terms(
        self, terms: "Terms", pieces: list[str], prefixes: list[str], found: list[list[Translation]]
    ) -> None:
        """Replace translations that are not as asked, and write into all of them which terms they have."""
        before = [translations[0].text for translations in found]
        language = getattr(self.tokenizer, "tgt_lang", None)
        again = terms.translate_again(pieces, prefixes, found, self.search, self.batch_tokens, language)
        for row, translations in again.items():
            missing = self.search.num_return_sequences - len(translations)
            translations += [Translation("", LOWEST_SCORE if self.search.scores else None) for _ in range(missing)]
            if self.reranker is not None:
                (translations,) = self._rerank([pieces[row]], [translations], self.reranker)
            self._check(pieces[row], translations)
            found[row] = translations
        for text, prefix, translations, first in zip(pieces, prefixes, found, before, strict=True):
            for translation in translations:
                terms.describe(text, prefix, translation, first)

    def _retry_numbers(self, pieces: list[str], found: list[list[Translation]]) -> None:
        """Translate sentences whose numbers were not copied once more, with marks instead of the numbers."""
        wrong = [index for index, translations in enumerate(found) if translations[0].problem == DIFFERENT_NUMBERS]
        masked = [mask_numbers(pieces[index]) for index in wrong]
        again = self._ranked([text for text, _ in masked], self.search)
        for index, (_, numbers), translations in zip(wrong, masked, again, strict=True):
            for translation in translations:
                translation.text = put_back(translation.text, numbers)
            self._check(pieces[index], translations)
            if not translations[0].problem:
                found[index] = translations

    def _ranked(self, pieces: list[str], search: Search, progress: bool = False) -> list[list[Translation]]:
        """The translations of each piece, best first: by both models if there is a reranker."""
        found = self._search(pieces, search, progress)
        return found if self.reranker is None else self._rerank(pieces, found, self.reranker)

    def _rerank(
        self, pieces: list[str], found: list[list[Translation]], reranker: "Reranker"
    ) -> list[list[Translation]]:
        """`found` with each list sorted by both models; blank translations, which fill up a list, stay last."""
        sources = [piece for piece, translations in zip(pieces, found, strict=True) for _ in translations]
        targets = [translation.text for translations in found for translation in translations]
        second = iter(reranker.log_probabilities(sources, targets, self.batch_tokens, self.shared))
        ranked = []
        for translations in found:
            keys = [(bool(each.text), (each.score or 0.0) + next(second)) for each in translations]
            order = sorted(range(len(translations)), key=keys.__getitem__, reverse=True)
            ranked.append([translations[index] for index in order])
        return ranked

    def _check(self, source: str, translations: list[Translation]) -> None:
        for translation in translations:
            if self.search.scores and translation.text:
                translation.tokens = len(self.tokenizer(text_target=translation.text)["input_ids"])
            translation.problem = find_problem(
                source,
                translation.text,
                self.engine.length_ratio,
                translation.token_score,
                self.engine.improbable_score,
            )
        if self.confident:
            pieces = len(self.tokenizer(clean_text(source))["input_ids"])
            for translation in translations:
                translation.confidence = self._confidence(source, translation, pieces)

    def _confidence(self, source: str, translation: Translation, pieces: int) -> float:
        token_score = translation.token_score
        if not translation.text or token_score is None or self.engine.confidence is None:
            return float(not clean_text(source))  # a blank translation is right for a blank source only
        values = features(source, translation.text, token_score, pieces, self.engine.length_ratio)
        return confidence(self.engine.confidence, values)

    def _search(self, pieces: list[str], search: Search, progress: bool) -> list[list[Translation]]:
        shown = progress and (not self.shared or is_first())
        blank = [Translation("", 0.0)] * search.num_return_sequences
        encoded = encode_texts(self.tokenizer, pieces)
        done: deque[list[Translation]] = deque()  # of the batches in order

        def batches(lengths: list[int]) -> Iterable[list[int]]:
            beams = max(search.num_beams, search.num_return_sequences)
            sampler = TokenBatchSampler(lengths, lengths, max(self.batch_tokens // beams, 1))
            chosen = own_batches(sampler) if self.shared else list(sampler)
            if self.elsewhere is not None and len(chosen) > 1:
                wanted = [ids for ids in encoded if ids]
                done.extend(self.elsewhere([[wanted[row] for row in rows] for rows in chosen], search, shown))
                return chosen
            return tqdm(chosen, desc="translating", unit="batch", disable=None if shown else True)

        def translate(sources: Batch) -> list[Translation]:
            return done.popleft() if done else self.engine.translate(sources, search)

        found = translate_in_batches(encoded, batches, translate, blank)
        if self.shared:
            found = merged(found, blank)
        return [[replace(translation) for translation in translations] for translations in found]

    def best(self, texts: list[str], progress: bool = False) -> list[str]:
        """The best translation of each text."""
        return [translations[0].text for translations in self.translate(texts, progress)]

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


class Untranslatable(GlossaError):
    """A text that cannot be translated; `index` is its position in the list of texts."""

    def __init__(self, message: str, index: int):
        self.index = index
        super().__init__(message)
