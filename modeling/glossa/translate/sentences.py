"""Translates sentences as a model reads them: batches, ranks, checks, second searches."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tqdm.auto import tqdm

from ..base.batching import TokenBatchSampler
from ..base.jobs.sharing import is_first, merged, own_batches
from ..model.batches_glossa import LOWEST_SCORE, encode_texts, translate_in_batches
from ..model.segments_glossa import mask_numbers, put_back
from ..model.sentences_glossa import clean_text
from .confidence import UNCERTAIN, confidence, features, word_scores
from .interface import UNUSED, Batch, Checks, Engine, Execution, Search, Translation, UsedMatch
from .plausibility import DIFFERENCES, find_problem

if TYPE_CHECKING:
    from .engines.forced import Reranker
    from .search.terms import Terms

DIFFERENT_NUMBERS = DIFFERENCES[0]


class Asked(NamedTuple):
    """A sentence that is to be translated.

    Attributes:
        text: The sentence as the model reads it. All checks look at it.
        prefix: The beginning that its translations must have, or "".
        match: What the model reads behind it of a match in a memory, or "".
        matches: This match, as its translations will have it.
    """

    text: str
    prefix: str = ""
    match: str = ""
    matches: Sequence[UsedMatch] = ()

    @property
    def read(self) -> str:
        return self.text + self.match

    @property
    def score(self) -> int:
        """The score of the match that is read, 0 without one."""
        return max((match.score for match in self.matches), default=0) if self.match else 0


class SentenceTranslator:
    """Translates sentences into one language; see [`Translator`] for the arguments.

    `languages` are the codes of source and target, if they are known.
    """

    def __init__(
        self,
        engine: Engine,
        tokenizer: Any,
        search: Search,
        checks: Checks,
        execution: Execution,
        reranker: "Reranker | None" = None,
        terms: "Terms | None" = None,
        languages: Sequence[str | None] = (None, None),
    ):
        self.engine, self.tokenizer, self.languages = engine, tokenizer, languages
        self.search, self.checks, self.execution = search, checks, execution
        if getattr(tokenizer, "codes", None) and tokenizer.tgt_lang:  # another family's, which the decoder must see
            self.search = replace(search, prompt=tuple(tokenizer.prompt(engine.start)))
        self.reranker, self.terms = reranker, terms

    def translate(self, asked: Sequence[Asked], progress: bool = False) -> list[list[Translation]]:
        """The translations of sentences.

        Equal ones are translated once, but sampled separately.
        """
        if not asked:
            return []
        keys = range(len(asked)) if self.engine.sampled else asked
        distinct = dict(zip(keys, asked, strict=True))
        found = dict(zip(distinct, self._translate(list(distinct.values()), progress), strict=True))
        return [found[key] for key in keys]

    def _translate(self, asked: list[Asked], progress: bool) -> list[list[Translation]]:
        sentences = [each.text for each in asked]
        asked, found = self._with_and_without_matches(asked, progress)
        for each, translations in zip(asked, found, strict=True):
            for translation in translations:
                translation.matches = each.matches
            self._check(each.text, translations, each.score)
        if self.engine.profile.mask_items:
            self._retry_numbers(sentences, found)
        if self.checks.retry_implausible:
            self._retry_implausible(sentences, found)
        if self.terms is not None and self.terms.language in (None, getattr(self.tokenizer, "tgt_lang", None)):
            self._use_terms(self.terms, sentences, [each.prefix for each in asked], found)
        if self.checks.words:
            best = [translations[0] for translations in found]
            scores = word_scores(
                self.engine, self.tokenizer, [each.read for each in asked], [one.text for one in best]
            )
            for translation, own in zip(best, scores, strict=True):
                translation.words = own
        for translation in (each for translations in found for each in translations):
            if self._is_uncertain(translation):
                translation.problem = UNCERTAIN
        return found

    def _with_and_without_matches(
        self, asked: list[Asked], progress: bool
    ) -> tuple[list[Asked], list[list[Translation]]]:
        """The translations of sentences, and what was read: of one with a match, the more probable one for each token.

        A translation that comes with a wrong match is less probable than the one that the model makes alone.
        """
        matched = [row for row, each in enumerate(asked) if each.match]
        if not matched:
            return asked, self._ranked(asked, self.search, progress)
        asked, search = list(asked), replace(self.search, scores=True)
        found = self._ranked(asked, search, progress)
        alone = [Asked(asked[row].text, asked[row].prefix) for row in matched]
        for row, translations in zip(matched, self._ranked(alone, search), strict=True):
            if self._mean(translations[0]) > self._mean(found[row][0]):
                unused = tuple(match._replace(use=UNUSED) for match in asked[row].matches)
                found[row], asked[row] = translations, asked[row]._replace(match="", matches=unused)
        return asked, found

    def _mean(self, translation: Translation) -> float:
        """The log-probability of a translation for each token."""
        tokens = len(self.tokenizer(text_target=translation.text, verbose=False)["input_ids"])
        return (translation.score or 0.0) / tokens if translation.text else LOWEST_SCORE

    def _is_uncertain(self, translation: Translation) -> bool:
        return (
            self.checks.min_confidence > 0
            and not translation.problem
            and (translation.confidence or 0) < self.checks.min_confidence
        )

    def _retry_implausible(self, sentences: list[str], found: list[list[Translation]]) -> None:
        wrong = [index for index, translations in enumerate(found) if translations[0].problem]
        wider = replace(self.search, num_beams=2 * self.search.beams, no_repeat_ngram_size=3)
        again = self._ranked([Asked(sentences[index]) for index in wrong], wider)
        self._take_plausible(sentences, found, dict(zip(wrong, again, strict=True)))

    def _retry_numbers(self, sentences: list[str], found: list[list[Translation]]) -> None:
        """Translate sentences whose numbers were not copied once more, with marks instead of the numbers."""
        wrong = [index for index, translations in enumerate(found) if translations[0].problem == DIFFERENT_NUMBERS]
        masked = [mask_numbers(sentences[index]) for index in wrong]
        again = self._ranked([Asked(text) for text, _ in masked], self.search)
        for (_, numbers), translations in zip(masked, again, strict=True):
            for translation in translations:
                translation.text = put_back(translation.text, numbers)
        self._take_plausible(sentences, found, dict(zip(wrong, again, strict=True)))

    def _take_plausible(
        self, sentences: list[str], found: list[list[Translation]], again: dict[int, list[Translation]]
    ) -> None:
        """Replace translations by the plausible ones of a second search, which are given by index."""
        for index, translations in again.items():
            self._check(sentences[index], translations)
            if not translations[0].problem:
                found[index] = translations

    def _use_terms(
        self, terms: "Terms", sentences: list[str], prefixes: list[str], found: list[list[Translation]]
    ) -> None:
        """Replace translations that are not as asked, and write into all of them which terms they have."""
        before = [translations[0].text for translations in found]
        language = getattr(self.tokenizer, "tgt_lang", None)
        again = terms.translate_again(sentences, prefixes, found, self.search, self.execution.batch_tokens, language)
        for row, (translations, _) in again.items():
            missing = self.search.num_return_sequences - len(translations)
            translations += [Translation("", LOWEST_SCORE if self.search.scores else None) for _ in range(missing)]
            if self.reranker is not None:
                (translations,) = self._rerank([sentences[row]], [translations], self.reranker)
            self._check(sentences[row], translations)
            found[row] = translations
        for row, (text, prefix, first) in enumerate(zip(sentences, prefixes, before, strict=True)):
            own = again[row].own if row in again else {}
            for translation in found[row]:
                terms.describe(text, prefix, translation, first, own)

    def _ranked(self, asked: Sequence[Asked], search: Search, progress: bool = False) -> list[list[Translation]]:
        """The translations of each sentence, best first: by both models if there is a reranker."""
        found = self._search([each.read for each in asked], search, progress)
        return found if self.reranker is None else self._rerank([each.text for each in asked], found, self.reranker)

    def _rerank(
        self, sentences: list[str], found: list[list[Translation]], reranker: "Reranker"
    ) -> list[list[Translation]]:
        """`found` with each list sorted by both models; blank translations, which fill up a list, stay last."""
        sources = [text for text, translations in zip(sentences, found, strict=True) for _ in translations]
        targets = [translation.text for translations in found for translation in translations]
        execution = self.execution
        second = iter(reranker.log_probabilities(sources, targets, execution.batch_tokens, execution.shared))
        ranked = []
        for translations in found:
            keys = [(bool(each.text), (each.score or 0.0) + next(second)) for each in translations]
            order = sorted(range(len(translations)), key=keys.__getitem__, reverse=True)
            ranked.append([translations[index] for index in order])
        return ranked

    def _check(self, source: str, translations: list[Translation], match: int = 0) -> None:
        for translation in translations:
            if self.search.scores and translation.text:
                translation.tokens = len(self.tokenizer(text_target=translation.text, verbose=False)["input_ids"])
            translation.problem = find_problem(
                source,
                translation.text,
                self.engine.profile.length_ratio,
                translation.token_score,
                self.engine.profile.improbable_score,
                self.languages,
            )
        if self.checks.needs_confidence:
            pieces = len(self.tokenizer(clean_text(source), verbose=False)["input_ids"])
            for translation in translations:
                translation.confidence = self._confidence(source, translation, pieces, match)

    def _confidence(self, source: str, translation: Translation, pieces: int, match: int) -> float:
        token_score = translation.token_score
        if not translation.text or token_score is None or self.engine.profile.confidence is None:
            return float(not clean_text(source))  # a blank translation is right for a blank source only
        values = features(source, translation.text, token_score, pieces, self.engine.profile.length_ratio, match)
        return confidence(self.engine.profile.confidence, values)

    def _search(self, sentences: list[str], search: Search, progress: bool) -> list[list[Translation]]:
        execution = self.execution
        shown = progress and (not execution.shared or is_first())
        blank = [Translation("", 0.0)] * search.num_return_sequences
        encoded = encode_texts(self.tokenizer, sentences)
        done: deque[list[Translation]] = deque()  # of the batches in order

        def batches(lengths: list[int]) -> Iterable[list[int]]:
            beams = max(search.beams, search.num_return_sequences)
            sampler = TokenBatchSampler(lengths, lengths, max(execution.batch_tokens // beams, 1))
            chosen = own_batches(sampler) if execution.shared else list(sampler)
            if execution.run_batches is not None and len(chosen) > 1:
                wanted = [ids for ids in encoded if ids]
                done.extend(execution.run_batches([[wanted[row] for row in rows] for rows in chosen], search, shown))
                return chosen
            return tqdm(chosen, desc="translating", unit="batch", disable=None if shown else True)

        def translate(sources: Batch) -> list[Translation]:
            return done.popleft() if done else self.engine.translate(sources, search)

        found = translate_in_batches(encoded, batches, translate, blank)
        if execution.shared:
            found = merged(found, blank)
        return [[replace(translation) for translation in translations] for translations in found]
