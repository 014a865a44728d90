"""Terms in the place of the model's own words.

Attention links the source of a term to a word of a translation: the model's own word. What stands before that word is
kept, perhaps with another determiner; the term follows, and then a free search. Another search may have the term
anywhere, with and without the own word. The best result is the most probable one that keeps the other words. It has no
own word, unless all others are much less probable: attention may be wrong.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.batching import TokenBatchSampler
from ...base.word_links import find_words
from ...model.abbreviations_glossa import STARTERS
from ..engines.generate import GenerateEngine
from ..interface import Search
from ..texts.alignment import AttentionAligner, Pair, shared_start
from .constraints import Constraints, TermTokens, tokens_of
from .determiners import beginnings

if TYPE_CHECKING:
    from .constrained import ConstrainedEngine, Finished

DRAFTS = 2  # translations of a sentence in which a term is tried
KEPT = 1  # beginnings that are continued: the most probable ones with the term
STEM, ENDING = 4, 2  # letters that an inflected own word shares with it at least, and that may differ
SHORTEST = 3  # letters of an own word that is excluded; shorter ones are rarely a noun or verb
OWN = 1.0  # nats a token that an own word costs
LOST = 0.5  # nats that a word costs that is lost or added with the term


class Wanted(NamedTuple):
    """A term that a translation must have.

    Attributes:
        place: The characters of its source in the sentence, as start and end.
        texts: Its translations.
        tokens: The same in tokens.
    """

    place: tuple[int, int]
    texts: tuple[str, ...]
    tokens: TermTokens


class Draft(NamedTuple):
    """A translation and its rank: smaller is better."""

    text: str
    score: float | None
    rank: tuple[float, ...] = ()


@dataclass
class Task:
    """A sentence whose translation must have terms.

    Attributes:
        text: The sentence.
        ids: Its tokens.
        constraints: What translations must have and must not have, apart from the terms.
        wanted: The terms, in the order in which they are placed.
        drafts: Translations without the terms, best first; in the end those with all of them.
        own: The model's own words in the place of terms, in lower case, and the terms that each stands for.
    """

    text: str
    ids: list[int]
    constraints: Constraints
    wanted: Sequence[Wanted]
    drafts: list[Draft] = field(default_factory=list)
    own: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)


class Placement:
    """Places terms in translations.

    Args:
        engine: The search.
        tokenizer: Its tokenizer, which asks for the target language.
        language: The target language, for its determiners.
        search: Beams, translations of each sentence, and length penalty.
        batch_tokens: Most source tokens of a batch, counting every beam.
    """

    def __init__(
        self, engine: "ConstrainedEngine", tokenizer: Any, language: str | None, search: Search, batch_tokens: int
    ):
        self.engine, self.language, self.search, self.batch_tokens = engine, language, search, batch_tokens
        self.wanted = max(search.num_return_sequences, DRAFTS)
        self.align = AttentionAligner(GenerateEngine(engine.model, tokenizer), tokenizer)

    def place(self, tasks: Sequence[Task]) -> None:
        """Place the terms of each task, one after the other."""
        for number in range(max((len(task.wanted) for task in tasks), default=0)):
            now = [task for task in tasks if number < len(task.wanted)]
            asked = self._continuations(now, number)
            results: dict[int, list[Draft]] = {}
            for (task, _), found in zip(asked, self._search(asked), strict=True):
                results.setdefault(id(task), []).extend(self._ranked(found, task))
            for task in now:
                new = sorted(results.get(id(task), []), key=lambda draft: draft.rank)
                task.drafts = _different(new)[: self.wanted] or task.drafts

    def translate(self, tasks: Sequence[Task]) -> None:
        """Search the drafts of tasks."""
        for task, found in zip(tasks, self._search([(task, task.constraints) for task in tasks]), strict=True):
            task.drafts = _different(self._ranked(found, task))

    def _ranked(self, found: Sequence["Finished"], task: Task) -> list[Draft]:
        length, before = task.constraints.divisor(len(task.ids)), task.drafts[0].text if task.drafts else ""
        texts = [(self.engine.text(each), each) for each in found]
        return [Draft(text, each.score, rank(text, each, before, task.own, length)) for text, each in texts if text]

    def _search(self, asked: Sequence[tuple[Task, Constraints]]) -> list[list["Finished"]]:
        sources, constraints = [task.ids for task, _ in asked], [each for _, each in asked]
        search = self.search
        return self.engine.find(
            sources, constraints, search.beams, self.wanted, self.batch_tokens, search.length_penalty
        )

    def _continuations(self, tasks: Sequence[Task], number: int) -> list[tuple[Task, Constraints]]:
        """The searches that may give each task its next term."""
        pairs = [
            (task, Pair(task.text, find_words(task.text), draft.text, find_words(draft.text)))
            for task in tasks
            for draft in task.drafts[:DRAFTS]
        ]
        texts: dict[int, dict[str, None]] = {}  # of each task, what may stand before the term
        for (task, pair), weights in zip(pairs, self.align([pair for _, pair in pairs]), strict=True):
            column = own_word(pair, weights, task.wanted[number].place)
            if column is not None:
                start, end = pair.target_words[column]
                wanted = task.wanted[number]
                for word in excluded_words(pair.target[start:end], wanted):
                    task.own.setdefault(word, set()).add(wanted.texts)
                texts.setdefault(id(task), {}).update(dict.fromkeys(beginnings(pair.target[:start], self.language)))
        best = self._best(tasks, number, texts)
        return [
            (task, self._constraints(task, number, text, without))
            for task in tasks
            for text, without in [*((text, True) for text in best.get(id(task), ())), (None, True), (None, False)]
        ]

    def _best(self, tasks: Sequence[Task], number: int, texts: dict[int, dict[str, None]]) -> dict[int, list[str]]:
        """The first beginning of each task, and the `KEPT` that are most probable with the term after them."""
        from ..engines.forced import token_scores  # imports torch

        rows = [
            (task, text, form)
            for task in tasks
            for text in texts.get(id(task), ())
            for form in task.wanted[number].texts
        ]
        scores: dict[int, dict[str, float]] = {}
        labels = [self._tokens(text + form) for _, text, form in rows]
        lengths = [len(task.ids) for task, *_ in rows], list(map(len, labels))
        for batch in TokenBatchSampler(*lengths, self.batch_tokens) if rows else ():
            ids = [rows[row][0].ids for row in batch]
            found = token_scores(self.engine.model, self.engine.tokenizer, ids, [labels[row] for row in batch])
            for (task, text, _), score in zip([rows[row] for row in batch], found, strict=True):
                own = scores.setdefault(id(task), {})
                own[text] = max(sum(score), own.get(text, -float("inf")))
        ranked = {task: sorted(own, key=own.__getitem__, reverse=True) for task, own in scores.items()}
        return {task: list(dict.fromkeys([next(iter(texts[task])), *own[:KEPT]])) for task, own in ranked.items()}

    def _constraints(self, task: Task, number: int, text: str | None, without: bool) -> Constraints:
        """The constraints of a search for a term right after `text`, or anywhere; perhaps `without` own words."""
        given = task.constraints
        words = {*(task.own if without else ()), *(given.forbidden.words if given.forbidden else ())}
        return replace(
            given,
            terms=[task.wanted[number].tokens, *(each.tokens for each in task.wanted[:number]), *given.terms],
            prefix=max(self._tokens(text or ""), list(given.prefix), key=len),
            follows=text is not None,
            forbidden=self.engine.excluding(tuple(sorted(words))) if words else None,
        )

    def _tokens(self, text: str) -> list[int]:
        return tokens_of(self.engine.tokenizer, text.rstrip()) if text.strip() else []


def own_word(pair: Pair, weights, place: tuple[int, int]) -> int | None:
    """The number of the target word with the strongest links to the words at `place` of the source."""
    rows = [row for row, (start, end) in enumerate(pair.source_words) if start < place[1] and end > place[0]]
    columns = [column for column, (start, _) in enumerate(pair.target_words) if pair.target[start].isalnum()]
    return max(columns, key=lambda column: weights[rows, column].sum()) if rows and columns else None


def excluded_words(word: str, wanted: Wanted) -> set[str]:
    """The own word in lower case, unless it is a word of the term, or one that sentences need anyway."""
    word = word.rstrip("'’").casefold()
    needed = any(part.startswith(word) for text in wanted.texts for part in _words(text))
    return set() if needed or len(word) < SHORTEST or word in STARTERS else {word}


def rank(text: str, finished: "Finished", before: str, own: Iterable[str], length: int) -> tuple[float, ...]:
    """Lacking constraints, doubled words, and the cost of a translation with the term.

    Args:
        text: The translation.
        finished: The same with its log-probability.
        before: The translation without the term.
        own: The model's own words in the place of terms.
        length: Tokens by which the cost is divided.
    """
    words = _words(text)
    doubled = sum(first == second for first, second in pairwise(words))
    changes = SequenceMatcher(None, _words(before), words, autojunk=False).get_opcodes()
    lost = sum(abs((end - start) - (last - first)) for _, start, end, first, last in changes)
    return finished.lacking, doubled, LOST * lost / length + OWN * has_own(text, own) - finished.worth


def has_own(text: str, own: Iterable[str]) -> bool:
    """Whether a translation has one of the words, perhaps with another ending."""
    pairs = [(word, each) for word in _words(text) for each in own]
    return any(a == b or shared_start(a, b) >= max(STEM, len(b) - ENDING) for a, b in pairs)


def _words(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in find_words(text) if text[start].isalnum()]


def _different(drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts without those that have the text of an earlier one."""
    found: dict[str, Draft] = {}
    for draft in drafts:
        found.setdefault(draft.text, draft)
    return list(found.values())
