"""Terms, sentinels, beginnings, forbidden words: what translations lack of them, and a second search for those."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...model.batches_glossa import encode_texts
from ...model.spans_glossa import SENTINELS
from ..interface import Search, Translation
from .constraints import Constraints, Forbidden, TermTokens, tokens_of
from .replacing import DRAFTS, Draft, Placement, Task, Wanted, has_own

if TYPE_CHECKING:
    from .constrained import ConstrainedEngine

NOT_AS_ASKED = "not as asked"  # the problem of a translation that lacks a term or has a forbidden word
# Of a term: there by itself; put in the place of the model's own word; there, but also the own word; not there.
USED, PLACED, BOTH, MISSING = "used", "placed", "both", "missing"
ELIDED = "l'"  # a word that ends with an apostrophe


class Term(NamedTuple):
    """A term that was found in a text.

    Attributes:
        source: The words of the text.
        targets: Of these, one must be in the translation.
        first: The same if it is the beginning of the translation.
        places: Start and end of its words in the text, for each time that it is there.
    """

    source: str
    targets: tuple[str, ...]
    first: tuple[str, ...]
    places: tuple[tuple[int, int], ...] = ()


class Again(NamedTuple):
    """The translations of a second search, and the model's own words with the terms that each stands for."""

    translations: list[Translation]
    own: Mapping[str, Collection[tuple[str, ...]]]


class Glossary(Protocol):
    """The methods of [`glossa.apps.documents.glossary.Glossary`] that translating needs."""

    def find(self, text: str) -> list[Term]: ...

    def has(self, term: Term, translation: str) -> bool: ...


class Wording(NamedTuple):
    """The words of translations.

    Attributes:
        glossary: Terms that translations must have.
        forbidden: Words that they must not have. With an empty list, or a glossary, they may have given beginnings.
    """

    glossary: Glossary | None = None
    forbidden: Sequence[str] | None = None


class Terms:
    """Makes translations have what they must have, by a second search for those that do not.

    A translation may have an inflected form of a term. The second search, [`ConstrainedSearch`], takes the forms of
    the glossary.

    Args:
        load: Loads the model that searches again; called when a translation needs it.
        glossary: Finds terms, if there are any.
        forbidden: Words that no translation may have.
        language: The target language of all this, for a model of several.
        sentinels: Whether it knows `SENTINELS`; a translation must have each of its source once, and no others.
    """

    def __init__(
        self,
        load: "Callable[[], ConstrainedEngine]",
        glossary: Glossary | None = None,
        forbidden: Sequence[str] = (),
        language: str | None = None,
        sentinels: bool = False,
    ):
        self.load, self.glossary, self.language = load, glossary, language
        self.sentinels = sentinels
        self.forbidden = tuple(forbidden)
        self._pattern = Forbidden.pattern_of(self.forbidden) if self.forbidden else None
        self._engine: ConstrainedEngine | None = None

    def translate_again(
        self,
        texts: Sequence[str],
        prefixes: Sequence[str],
        found: Sequence[Sequence[Translation]],
        search: Search,
        batch_tokens: int,
        language: str | None,
    ) -> dict[int, "Again"]:
        """New translations of those texts, by number, one of whose translations is not as asked.

        Args:
            texts: Sentences.
            prefixes: The beginning of each translation, or "".
            found: The translations of each text.
            search: How they were searched.
            batch_tokens: Most source tokens of a batch.
            language: The target language, for a model of several.
        """
        rows = [row for row, each in enumerate(found) if self._lack(texts[row], prefixes[row], each)]
        if not rows:
            return {}
        if self._engine is None:
            self._engine = self.load()
        tokenizer = self._engine.tokenizer
        if getattr(tokenizer, "target_languages", None):
            tokenizer = tokenizer.into(language)
        ids = encode_texts(tokenizer, [texts[row] for row in rows])
        tasks = [self._task(texts[row], own, prefixes[row], found[row]) for row, own in zip(rows, ids, strict=True)]
        spoken = language or getattr(self.glossary, "target_language", None)
        placement = Placement(self._engine, tokenizer, spoken, search, batch_tokens)
        placement.translate([task for task in tasks if not task.drafts])
        placement.place(tasks)
        again = {}
        for row, task in zip(rows, tasks, strict=True):
            new = [
                Translation(draft.text, draft.score if search.scores else None)
                for draft in task.drafts[: search.num_return_sequences]
            ]
            before, after = (
                self.lacking(texts[row], prefixes[row], each[0].text) if each else math.inf
                for each in (found[row], new)
            )
            if after < before:
                again[row] = Again(new, task.own)
        return again

    def _lack(self, text: str, prefix: str, translations: Sequence[Translation]) -> bool:
        return any(each.text and self.lacking(text, prefix, each.text) for each in translations)

    def _task(self, text: str, ids: list[int], prefix: str, found: Sequence[Translation]) -> Task:
        """What to do for a sentence. Translations without another fault are the drafts in which terms are placed."""
        assert self._engine is not None
        missing = {term for each in found if each.text for term in self._missing(text, each.text)}
        own = self._terms(text)
        kept = [*(term for term in missing if term not in own), *(term for term in own if term not in missing)]
        constraints = self.constraints(self._engine, kept, prefix, found[0].text)
        wanted = []
        for term in own:
            tokens = self._tokens(self._engine, term)
            if term in missing and tokens is not None:
                wanted += [Wanted(place, term.targets, tokens) for place in term.places]
        drafts = [Draft(each.text, None) for each in found if each.text and not self._others(text, prefix, each.text)]
        return Task(text, ids, constraints, sorted(wanted), drafts[:DRAFTS])

    def _others(self, text: str, prefix: str, translation: str) -> int:
        """The number of unmet demands on a translation apart from terms of the glossary."""
        return self.lacking(text, prefix, translation) - sum(not self._has(t, translation) for t in self._terms(text))

    def describe(
        self,
        text: str,
        prefix: str,
        translation: Translation,
        before: str,
        own: Mapping[str, Collection[tuple[str, ...]]] = MappingProxyType({}),
    ) -> None:
        """Write into a translation which terms it has.

        Args:
            text: The sentence.
            prefix: The wanted beginning of the translation, or "".
            translation: The translation.
            before: The translation of the first search.
            own: The model's own words in the place of terms, if there was a second search, as in [`Again`].
        """
        states = []
        for term in self._terms(text):
            had, has = (self._has(term, each) for each in (before, translation.text))
            state = MISSING if not has else USED if had else PLACED
            if state == PLACED and has_own(translation.text, [word for word in own if term.targets in own[word]]):
                state = BOTH
            states.append((term.source, " / ".join(term.targets), state))
        translation.terms = tuple(states)
        if self.lacking(text, prefix, translation.text) or BOTH in (state for *_, state in states):
            translation.problem = translation.problem or NOT_AS_ASKED

    def lacking(self, text: str, prefix: str, translation: str) -> int:
        """The number of unmet demands on a translation: missing terms, forbidden words, a wrong beginning."""
        banned = 0 if self._pattern is None else len(self._pattern.findall(translation))
        return len(self._missing(text, translation)) + banned + (not begins(translation, prefix))

    def _missing(self, text: str, translation: str) -> list[Term]:
        missing = [term for term in self._terms(text) if not self._has(term, translation)]
        own, theirs = (sorted(filter(SENTINELS.__contains__, side)) for side in (text, translation))
        # All of them again: a sentinel that is there too often, or for another one, may be at a wrong place.
        return missing + ([Term(each, (each,), (each,)) for each in own] if self.sentinels and own != theirs else [])

    def _has(self, term: Term, translation: str) -> bool:
        return self.glossary is not None and self.glossary.has(term, translation)

    def _terms(self, text: str) -> list[Term]:
        return [] if self.glossary is None else self.glossary.find(text)

    def constraints(
        self, engine: "ConstrainedEngine", wanted: Sequence[Term], prefix: str, before: str
    ) -> Constraints:
        """The constraints of a search for terms anywhere in a translation.

        Args:
            engine: The search.
            wanted: The terms.
            prefix: The beginning of the translation, or "".
            before: A translation without constraints.
        """
        tokenizer = engine.tokenizer
        terms = [tokens for term in wanted if (tokens := self._tokens(engine, term)) is not None]
        excluded = engine.excluding(self.forbidden) if self.forbidden else None
        begin = tokens_of(tokenizer, prefix) if prefix else []
        length = len(tokens_of(tokenizer, before)) + 1  # with its end
        once = [token for each in SENTINELS for token in tokens_of(tokenizer, each)] if self.sentinels else []
        return Constraints(engine.vocabulary, terms, begin, excluded, length + len(begin), once)

    def _tokens(self, engine: "ConstrainedEngine", term: Term) -> TermTokens | None:
        """The tokens of a term; None if the vocabulary lacks a character of it."""
        tokenizer = engine.tokenizer
        anywhere, first = (_forms(tokenizer, texts) for texts in (term.targets, term.first))
        return TermTokens(anywhere, first, _joined(tokenizer, term.targets)) if anywhere and first else None


def _forms(tokenizer, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The tokens of those texts that the vocabulary can write."""
    found = [tuple(tokens_of(tokenizer, text)) for text in texts]
    written = tokenizer.batch_decode([list(form) for form in found], skip_special_tokens=True)
    pairs = zip(texts, found, written, strict=True)
    return tuple(dict.fromkeys(form for text, form, back in pairs if form and back.split() == text.split()))


def _joined(tokenizer, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The tokens of texts after an apostrophe, where they have no space before them."""
    start = tokens_of(tokenizer, ELIDED)
    found = [tokens_of(tokenizer, ELIDED + text) for text in texts]
    return tuple(tuple(ids[len(start) :]) for ids in found if ids[: len(start)] == start and len(ids) > len(start))


def begins(translation: str, prefix: str) -> bool:
    """Whether a translation begins with `prefix`, whatever their white space."""
    return " ".join(translation.split()).startswith(" ".join(prefix.split()))


def summary(counts: Counter[str]) -> str:
    """One line for the user: how many terms were found, used and not used."""
    placed = f" ({counts[PLACED]:,} by a second search)" if counts[PLACED] else ""
    both = f", {counts[BOTH]:,} next to the model's own word" if counts[BOTH] else ""
    used = f"{counts[USED] + counts[PLACED]:,} used{placed}{both}"
    return f"{sum(counts.values()):,} terms found: {used}, {counts[MISSING]:,} not used."


def count(translations: Sequence[Translation]) -> Counter[str]:
    """How many terms are in each state."""
    return Counter(state for translation in translations for _, _, state in translation.terms)
