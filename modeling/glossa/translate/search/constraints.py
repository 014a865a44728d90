"""What a translation must have and must not have, in tokens: terms, a beginning, forbidden words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...model.abbreviations_glossa import END_MARKS
from ...model.facts_glossa import NO_SPACES

_END = re.compile(rf"\s*[.!?…{END_MARKS}]+[\"”“»’']?")
APOSTROPHES = ("'", "’")
ANCHOR = "a"  # a word that a token is decoded after, to see whether it continues a word


class Vocabulary:
    """The texts of the tokens of a vocabulary, as they are after a word: " Hund", "en", ".".

    Args:
        texts: Of each token; "" for special tokens.

    Attributes:
        inside: Whether a token continues the word before it.
        ends: The tokens of marks that end a sentence.
        joining: The tokens of marks that the next word follows without a space, as in "l'eau".
    """

    def __init__(self, texts: Sequence[str]):
        self.texts = texts
        self.ends = [token for token, text in enumerate(texts) if _END.fullmatch(text)]
        self.joining = {token for token, text in enumerate(texts) if text.endswith(APOSTROPHES)}
        self.inside = [(text[:1].isalnum() and not NO_SPACES.match(text)) or text[:1] == "\ufffd" for text in texts]

    @classmethod
    def of(cls, tokenizer: Any, size: int) -> "Vocabulary":
        """The constraints over the target vocabulary of a tokenizer, for a model of `size` tokens."""
        anchor = tokens_of(tokenizer, ANCHOR)
        special = set(tokens_of(tokenizer, "", special=True)) | set(getattr(tokenizer, "all_special_ids", ()))
        start = len(tokenizer.batch_decode([anchor])[0])
        decoded = tokenizer.batch_decode([[*anchor, token] for token in range(size)])
        return cls(["" if token in special else text[start:] for token, text in enumerate(decoded)])


def tokens_of(tokenizer: Any, text: str, special: bool = False) -> list[int]:
    """The tokens of a target text, without those that end every text unless `special`."""
    ids = tokenizer(text_target=text)["input_ids"]
    ends = tokenizer(text_target="")["input_ids"]
    return ids if special or not ends else ids[: len(ids) - len(ends)]


class TermTokens(NamedTuple):
    """The token sequences of which one must be in a translation, as whole words.

    Attributes:
        anywhere: After its first token.
        first: At its beginning.
        joined: After an apostrophe.
    """

    anywhere: tuple[tuple[int, ...], ...]
    first: tuple[tuple[int, ...], ...]
    joined: tuple[tuple[int, ...], ...] = ()

    def after(self, token: int | None, vocabulary: Vocabulary) -> tuple[tuple[int, ...], ...]:
        """The sequences that may follow a token, None at the beginning."""
        if token is None:
            return self.first
        return self.joined if token in vocabulary.joining else self.anywhere

    @property
    def forms(self) -> tuple[tuple[int, ...], ...]:
        return self.anywhere + self.first + self.joined


class State(NamedTuple):
    """The progress of a hypothesis toward its constraints.

    Attributes:
        met: The terms that it has.
        begun: Terms whose first tokens are its last ones, and the tokens that each still needs.
        waiting: Terms that it has unless its next token continues their last word.
        tail: Its last characters, as far as they may become a forbidden word.
    """

    met: frozenset[int] = frozenset()
    begun: tuple[tuple[int, tuple[int, ...]], ...] = ()
    waiting: frozenset[int] = frozenset()
    tail: str = " "


@dataclass
class Constraints:
    """Required terms, forbidden words and the given beginning of one translation.

    Args:
        vocabulary: Of the model.
        terms: Each of them must be in it.
        prefix: Its first tokens.
        forbidden: What it must not have, if anything.
        usual_length: Tokens that it would have without constraints. A longer one is divided by no more: what is forced
            costs so much that any further words would raise the mean.
        once: Tokens that it may have only where a term needs them. They are words of their own.
        follows: Whether the first of the terms follows the prefix at once.
    """

    vocabulary: Vocabulary
    terms: Sequence[TermTokens] = ()
    prefix: Sequence[int] = ()
    forbidden: "Forbidden | None" = None
    usual_length: int | None = None
    once: Sequence[int] = ()
    follows: bool = False

    def __post_init__(self):
        self._steps: dict = {}
        self.weights = [max(map(len, term.forms)) for term in self.terms]
        self.total = sum(self.weights)
        self.tokens = {token for term in self.terms for form in term.forms for token in form}

    def divisor(self, length: int) -> int:
        """The length that the log-probability of a translation is divided by."""
        return length if self.usual_length is None else max(min(length, self.usual_length), 1)

    @property
    def searched(self) -> int:
        """The number of tokens of terms whose places must be found."""
        return self.total - (self.weights[0] if self.follows else 0)

    def progress(self, state: State) -> int:
        """The number of tokens of terms that a hypothesis has, of `total`."""
        have = sum(self.weights[term] for term in state.met | state.waiting)
        return have + max((self.weights[term] - len(rest) for term, rest in self._open(state)), default=0)

    def is_complete(self, state: State) -> bool:
        return len(state.met | state.waiting) == len(self.terms)

    def _open(self, state: State) -> list[tuple[int, tuple[int, ...]]]:
        return [(term, rest) for term, rest in state.begun if term not in state.waiting]

    def useful(self, state: State, last: int | None) -> set[int]:
        """The tokens with which a hypothesis comes closer to its terms, after its `last` token, None for none."""
        have = state.met | state.waiting
        firsts = {form[0] for term in self._absent(have) for form in self._forms(term, last)}
        return firsts | {rest[0] for _, rest in self._open(state)}

    def beginnings(self, state: State, last: int | None) -> list[int]:
        """The tokens with which a term would begin that is not begun, in the middle of a word."""
        if last in self.vocabulary.joining:
            return []
        firsts = {form[0] for term in self._absent(state.met | state.waiting) for form in self._forms(term, last)}
        return list(firsts - {rest[0] for _, rest in self._open(state)})

    def due(self, state: State, tokens: Sequence[int]) -> list[int]:
        """The tokens of which one must follow `tokens`, since the first term follows the prefix; [] for any."""
        if not self.follows or 0 in state.met | state.waiting:
            return []
        begun = [rest[0] for term, rest in state.begun if term == 0]
        return begun or [form[0] for form in self._forms(0, tokens[-1] if tokens else None)]

    def spent(self, state: State) -> set[int]:
        """The tokens of `once` that no term needs any more."""
        needed = {token for term in self._absent(state.met) for form in self.terms[term].anywhere for token in form}
        return {token for token in self.once if token not in needed}

    def step(self, state: State, token: int, tokens: Sequence[int]) -> State:
        """The state of a hypothesis with one more token than its `tokens`."""
        last = tokens[-1] if tokens else None
        late = self.follows and len(tokens) < len(self.prefix)
        # All tokens that no term has are alike, but for whether they continue a word.
        kind: Any = token if token in self.tokens else -1 - self.vocabulary.inside[token]
        key = (state.met, state.begun, state.waiting, kind, last is None, last in self.vocabulary.joining, late)
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._step(state, token, last, late)
        return found if self.forbidden is None else found._replace(tail=self.forbidden.tail(state.tail, token))

    def _step(self, state: State, token: int, last: int | None, late: bool) -> State:
        met = state.met if self.vocabulary.inside[token] else state.met | state.waiting
        begun = [(term, rest[1:]) for term, rest in state.begun if rest[0] == token and term not in met]
        absent = [term for term in self._absent(met) if term or not late]  # the first has its place after the prefix
        begun += [(term, form[1:]) for term in absent for form in self._forms(term, last) if form[0] == token]
        waiting = frozenset(term for term, rest in begun if not rest)
        if token in self.once:
            met, waiting = met | waiting, frozenset()
        return State(met, tuple((term, rest) for term, rest in begun if rest), waiting)

    def _absent(self, have: frozenset[int]) -> list[int]:
        return [term for term in range(len(self.terms)) if term not in have]

    def _forms(self, term: int, last: int | None) -> tuple[tuple[int, ...], ...]:
        return self.terms[term].after(last, self.vocabulary)


class Forbidden:
    """Words, or sequences of words, that a translation must not have.

    Words in small letters are forbidden in any case, others as they are. No token may complete one of them, even if
    the next could make it a longer word: a search that goes on to those comes back with words that do not exist.

    Args:
        vocabulary: Of the model.
        words: What is forbidden.
    """

    def __init__(self, vocabulary: Vocabulary, words: Sequence[str]):
        self.vocabulary, self.words = vocabulary, words
        self.pattern = self.pattern_of(words)
        self._banned: dict[str, list[int]] = {}

    def tail(self, tail: str, token: int) -> str:
        """What must be known of a text that goes on with a token."""
        text = tail + self.vocabulary.texts[token]
        for start in range(1, len(text)):
            if not (text[start - 1].isalnum() and text[start].isalnum()) and self._may_become(text[start:]):
                return text[start - 1 :]
        return "x" if text[-1:].isalnum() else " "

    def _may_become(self, text: str) -> bool:
        return any(word.startswith(text.lower() if word == word.lower() else text) for word in self.words)

    def banned(self, tail: str) -> list[int]:
        """The tokens that make a forbidden word of `tail`."""
        if tail not in self._banned:
            texts = enumerate(self.vocabulary.texts)
            self._banned[tail] = [token for token, text in texts if text and self.pattern.search(tail + text)]
        return self._banned[tail]

    @staticmethod
    def pattern_of(words: Sequence[str]) -> re.Pattern:
        """Finds words as wholes: those in small letters in any case, others as they are."""
        parts = (re.escape(word) if word != word.lower() else f"(?i:{re.escape(word)})" for word in words)
        return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)")
