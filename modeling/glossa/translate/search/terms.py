"""Terms, sentinels, beginnings, forbidden words: what translations lack of them, and a second search for those."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...model.batches_glossa import encode_texts
from ...model.spans_glossa import SENTINELS
from ..interface import Search, Translation
from .constraints import Constraints, Forbidden, TermTokens, tokens_of

if TYPE_CHECKING:
    from .constrained import ConstrainedEngine

NOT_AS_ASKED = "not as asked"  # the problem of a translation that lacks a term or has a forbidden word
USED, SEARCHED, MISSING = "used", "searched", "missing"


class Term(NamedTuple):
    """A term that was found in a text.

    Attributes:
        source: The words of the text.
        targets: Of these, one must be in the translation.
        first: The same if it is the beginning of the translation.
    """

    source: str
    targets: tuple[str, ...]
    first: tuple[str, ...]


class Glossary(Protocol):
    """The methods of [`glossa.apps.documents.glossary.Glossary`] that translating needs."""

    def find(self, text: str) -> list[Term]: ...

    def has(self, term: Term, translation: str) -> bool: ...


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
        self._excluded: Forbidden | None = None

    def translate_again(
        self,
        texts: Sequence[str],
        prefixes: Sequence[str],
        found: Sequence[Sequence[Translation]],
        search: Search,
        batch_tokens: int,
        language: str | None,
    ) -> dict[int, list[Translation]]:
        """New translations of those texts, by number, one of whose translations is not as asked.

        Args:
            texts: Sentences.
            prefixes: The beginning of each translation, or "".
            found: The translations of each text.
            search: How they were searched.
            batch_tokens: Most source tokens of a batch.
            language: The target language, for a model of several.
        """
        best: dict[int, list[Translation]] = {}
        latest = list(found)
        wanted: list[list[Term]] = [[] for _ in texts]
        # What the first search has by itself, the second mostly has too. What it loses, a third one must have.
        for _ in range(2):
            wrong = [row for row, each in enumerate(latest) if self._lack(texts[row], prefixes[row], each)]
            for row in wrong:
                missing = (term for each in latest[row] for term in self._missing(texts[row], each.text))
                wanted[row] = list(dict.fromkeys([*wanted[row], *missing]))
            asked = [(texts[row], wanted[row], prefixes[row], found[row][0].text) for row in wrong]
            for row, new in zip(wrong, self._search(asked, search, batch_tokens, language), strict=True):
                before = best.get(row, found[row])[0].text
                latest[row] = new or found[row]
                if new and self.lacking(texts[row], prefixes[row], new[0].text) < self.lacking(
                    texts[row], prefixes[row], before
                ):
                    best[row] = new
        return best

    def _lack(self, text: str, prefix: str, translations: Sequence[Translation]) -> bool:
        return any(each.text and self.lacking(text, prefix, each.text) for each in translations)

    def _search(
        self,
        asked: Sequence[tuple[str, Sequence[Term], str, str]],
        search: Search,
        batch_tokens: int,
        language: str | None,
    ) -> list[list[Translation]]:
        """New translations, given the text of each, its terms, the beginning of its translation, and the first one."""
        if not asked:
            return []
        if self._engine is None:
            self._engine = self.load()
        tokenizer = self._engine.tokenizer
        if getattr(tokenizer, "target_languages", None):
            tokenizer = tokenizer.into(language)
        sources = encode_texts(tokenizer, [text for text, *_ in asked])
        constraints = [self._constraints(self._engine, *rest) for _, *rest in asked]  # type: ignore[arg-type]
        return self._engine.translate(sources, constraints, search, batch_tokens)

    def describe(self, text: str, prefix: str, translation: Translation, before: str) -> None:
        """Write into a translation which terms it has; `before` is the one of the first search."""
        states = []
        for term in self._terms(text):
            had, has = (self._has(term, each) for each in (before, translation.text))
            states.append((term.source, " / ".join(term.targets), MISSING if not has else USED if had else SEARCHED))
        translation.terms = tuple(states)
        if self.lacking(text, prefix, translation.text):
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

    def _constraints(
        self, engine: "ConstrainedEngine", wanted: Sequence[Term], prefix: str, before: str
    ) -> Constraints:
        tokenizer = engine.tokenizer
        terms = []
        for term in wanted:
            forms = TermTokens(*(_forms(tokenizer, each) for each in (term.targets, term.first)))
            if forms.anywhere and forms.first:  # otherwise the vocabulary lacks a character of it
                terms.append(forms)
        if self._excluded is None and self.forbidden:
            self._excluded = Forbidden(engine.vocabulary, self.forbidden)
        begin = tokens_of(tokenizer, prefix) if prefix else []
        length = len(tokens_of(tokenizer, before)) + 1  # with its end
        once = [token for each in SENTINELS for token in tokens_of(tokenizer, each)] if self.sentinels else []
        return Constraints(engine.vocabulary, terms, begin, self._excluded, length + len(begin), once)


def _forms(tokenizer, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The tokens of those texts that the vocabulary can write."""
    found = [tuple(tokens_of(tokenizer, text)) for text in texts]
    written = tokenizer.batch_decode([list(form) for form in found], skip_special_tokens=True)
    pairs = zip(texts, found, written, strict=True)
    return tuple(dict.fromkeys(form for text, form, back in pairs if form and back.split() == text.split()))


def begins(translation: str, prefix: str) -> bool:
    """Whether a translation begins with `prefix`, whatever their white space."""
    return " ".join(translation.split()).startswith(" ".join(prefix.split()))


def summary(counts: Counter[str]) -> str:
    """One line for the user: how many terms were found, used and not used."""
    used = counts[USED] + counts[SEARCHED]
    searched = f", {counts[SEARCHED]:,} of them by a second search" if counts[SEARCHED] else ""
    return f"{sum(counts.values()):,} terms found: {used:,} used{searched}, {counts[MISSING]:,} not used."


def count(translations: Sequence[Translation]) -> Counter[str]:
    """How many terms translations used, used after a second search, and did not use."""
    return Counter(state for translation in translations for _, _, state in translation.terms)
