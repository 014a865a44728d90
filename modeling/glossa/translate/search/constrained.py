"""Beam search with constraints: hypotheses that have more and fewer of their terms each have places in the beam.

That is dynamic beam allocation (Post and Vilar 2018). Each of several forms of a term will do.

Shapes in comments: N unfinished sources, K beams of each, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedTokenizerBase
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from ...base.batching import TokenBatchSampler
from ...base.errors import GlossaError
from ...model.batches_glossa import max_target_length, position_limits
from ...model.generation_glossa import CACHE, GlossaGenerationMixin
from ..interface import Search, Translation
from .constraints import Constraints, Forbidden, State, Vocabulary

MOST_BEAMS = 40
EXCLUDED = 256  # sets of forbidden words whose tokens are kept
SURE = 0.9  # of the probability is of tokens that continue a word


class Hypothesis(NamedTuple):
    """A translation that is not finished: its tokens, their log-probability, and how far its constraints are."""

    tokens: tuple[int, ...] = ()
    score: float = 0.0
    state: State = State()

    @property
    def last(self) -> int | None:
        """The last token, None for none."""
        return self.tokens[-1] if self.tokens else None


class Finished(NamedTuple):
    """A finished translation, in the order of its worth.

    Attributes:
        lacking: Tokens of terms that it lacks; more than 0 only if it is cut at its limit.
        worth: Its log-probability divided by its length to the power of the penalty.
        score: Its log-probability.
        tokens: With its end.
    """

    lacking: int
    worth: float
    score: float
    tokens: tuple[int, ...]

    @property
    def key(self) -> tuple[int, float]:
        return self.lacking, -self.worth


@dataclass(frozen=True)
class Settings:
    """Decoding settings of a model that the constrained search uses.

    Attributes:
        beams: Hypotheses of each source.
        wanted: Translations that are kept of each source.
        start: The token before the first one.
        ends: Tokens that end a translation.
        pad: The token of places without a hypothesis.
        length_penalty: As in transformers.
        early_stopping: As in transformers.
    """

    beams: int
    wanted: int
    start: int
    ends: Sequence[int]
    pad: int
    length_penalty: float = 1.0
    early_stopping: bool | str = False


@dataclass
class _Source:
    """The hypotheses of one source."""

    constraints: Constraints
    limit: int
    settings: Settings
    running: list[Hypothesis] = field(default_factory=lambda: [Hypothesis()])
    finished: list[Finished] = field(default_factory=list)

    def extend(self, candidates: list[tuple[float, int, int]]) -> list[int]:
        """Extend the hypotheses, given (score, beam, token); returns the beams that the new ones come from."""
        banks: dict[int, list[tuple[float, int, int]]] = {}
        for candidate in sorted(candidates, reverse=True):
            _, beam, token = candidate
            before = self.running[beam]
            if token in self.settings.ends:
                bank = self.constraints.total
            else:
                state = self.constraints.step(before.state, token, before.tokens)
                bank = self.constraints.progress(state)
            banks.setdefault(bank, []).append(candidate)
        for place, (score, beam, token) in enumerate(banks.get(self.constraints.total, ())):
            if token in self.settings.ends and place < self.settings.beams:
                self._finish((*self.running[beam].tokens, token), score, 0)
        open_ones = [
            [candidate for candidate in banks[bank] if candidate[2] not in self.settings.ends]
            for bank in sorted(banks, reverse=True)
        ]
        # Each bank gives its best in turn, those with more of the terms first.
        turns = [candidate for turn in zip_longest(*open_ones) for candidate in turn if candidate is not None]
        chosen = turns[: self.settings.beams]
        self.running, before_all = [], self.running
        for score, beam, token in chosen:
            before = before_all[beam]
            state = self.constraints.step(before.state, token, before.tokens)
            self.running.append(Hypothesis((*before.tokens, token), score, state))
        if self.running and len(self.running[0].tokens) >= self.limit:
            for each in self.running:
                self._finish(each.tokens, each.score, self.constraints.total - self.constraints.progress(each.state))
            self.running = []
        return [beam for _, beam, _ in chosen]

    def _finish(self, tokens: tuple[int, ...], score: float, lacking: int) -> None:
        worth = score / self.constraints.divisor(len(tokens)) ** self.settings.length_penalty
        self.finished.append(Finished(lacking, worth, score, tokens))
        self.finished = sorted(self.finished, key=lambda one: one.key)[: self.settings.wanted]

    def can_improve(self) -> bool:
        """Whether a running hypothesis can still be better than the worst finished one, as in transformers."""
        if not self.running:
            return False
        if len(self.finished) < self.settings.wanted or self.finished[-1].lacking:
            return True
        early, penalty = self.settings.early_stopping, self.settings.length_penalty
        if early is True:
            return False
        length = self.limit if early == "never" and penalty > 0 else len(self.running[0].tokens)
        best = max(each.score for each in self.running) / self.constraints.divisor(length) ** penalty
        return best > self.finished[-1].worth


class ConstrainedSearch:
    """The search of a batch, as [`GlossaGenerationMixin`] runs it.

    Args:
        constraints: Of each source.
        limits: The most tokens of each translation.
        settings: The same for all.
    """

    def __init__(self, constraints: Sequence[Constraints], limits: Sequence[int], settings: Settings):
        self.settings = settings
        self.sources = [_Source(*each, settings) for each in zip(constraints, limits, strict=True)]
        self.open = self.sources
        self._inside: torch.Tensor | None = None
        self.next_tokens = self._last_tokens()  # [N * K, 1]

    def advance(self, logits: torch.Tensor, *_: object) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Add a token to every hypothesis, given `logits` [N * K, V].

        Returns the rows of `logits` that the new ones extend and a mask of the N sources to keep; None means all.
        """
        beams = self.settings.beams
        log_probs = logits.float().log_softmax(-1)
        self._exclude(log_probs)
        candidates = self._candidates(log_probs)
        parents, kept = [], []
        for index, (source, own) in enumerate(zip(self.open, candidates, strict=True)):
            rows = source.extend(own)
            kept.append(source.can_improve())
            if kept[-1]:
                parents += [index * beams + row for row in rows] + [index * beams] * (beams - len(rows))
        self.open = [source for source, keep in zip(self.open, kept, strict=True) if keep]
        self.next_tokens = self._last_tokens().to(logits.device)
        unfinished = None if all(kept) else torch.tensor(kept, device=logits.device)
        return torch.tensor(parents, dtype=torch.long, device=logits.device), unfinished

    def _exclude(self, log_probs: torch.Tensor) -> None:
        """Give tokens that a hypothesis may not have the probability 0."""
        rows: list[int] = []
        tokens: list[int] = []
        in_word = self._in_word(log_probs)
        for row, source, each in self._hypotheses():
            constraints, position = source.constraints, len(each.tokens)
            if position < len(constraints.prefix):
                token = constraints.prefix[position]
                given = log_probs[row, token].item()
                log_probs[row] = -torch.inf
                log_probs[row, token] = given
                continue
            if due := constraints.due(each.state, each.tokens):
                allowed = log_probs[row, due].clone()
                log_probs[row] = -torch.inf
                log_probs[row, due] = allowed
                continue
            # Without all terms a sentence does not end: after its mark they would stand in no sentence.
            banned = [] if constraints.is_complete(each.state) else [*self.settings.ends, *constraints.vocabulary.ends]
            banned += constraints.spent(each.state)
            if in_word[row]:
                banned += constraints.beginnings(each.state, each.last)
            if constraints.forbidden is not None:
                banned += constraints.forbidden.banned(each.state.tail)
            rows += [row] * len(banned)
            tokens += banned
        log_probs[rows, tokens] = -torch.inf

    def _in_word(self, log_probs: torch.Tensor) -> list[bool]:
        """For each row, whether its last token is surely a part of a word, which a term would break off."""
        if self._inside is None:
            inside = self.sources[0].constraints.vocabulary.inside
            self._inside = torch.tensor(inside, dtype=log_probs.dtype, device=log_probs.device)  # [V]
        return (log_probs.exp() @ self._inside > SURE).tolist()

    def _candidates(self, log_probs: torch.Tensor) -> list[list[tuple[float, int, int]]]:
        """(score, beam, token) for each source: the best tokens of each hypothesis, and those that its terms need."""
        beams = self.settings.beams
        best, tokens = log_probs.topk(min((1 + len(self.settings.ends)) * beams, log_probs.shape[-1]))
        known = [dict(zip(*each, strict=True)) for each in zip(tokens.tolist(), best.tolist(), strict=True)]
        useful = [
            (row, token)
            for row, source, each in self._hypotheses()
            for token in source.constraints.useful(each.state, each.last)
            if token not in known[row]
        ]
        if useful:
            for (row, token), value in zip(useful, log_probs[*zip(*useful, strict=True)].tolist(), strict=True):
                known[row][token] = value
        found: list[list[tuple[float, int, int]]] = [[] for _ in self.open]
        for row, _, each in self._hypotheses():
            found[row // beams] += [
                (each.score + value, row % beams, token) for token, value in known[row].items() if value > -math.inf
            ]
        return found

    def _hypotheses(self):
        """The row of each hypothesis, its source, and itself."""
        for index, source in enumerate(self.open):
            for beam, each in enumerate(source.running):
                yield index * self.settings.beams + beam, source, each

    def _last_tokens(self) -> torch.Tensor:
        last = [self.settings.pad] * (len(self.open) * self.settings.beams)
        for row, _, each in self._hypotheses():
            last[row] = self.settings.start if each.last is None else each.last
        return torch.tensor(last).unsqueeze(1)

    def done(self) -> bool:
        return not self.open

    def result(self) -> list[list[Finished]]:
        """The finished translations of each source, best first."""
        return [source.finished for source in self.sources]


class ConstrainedEngine:
    """Translates token ids with constraints, by a Glossa model.

    Args:
        model: The model, or an ensemble.
        tokenizer: Its tokenizer.

    Raises:
        GlossaError: if the model is of another family.
    """

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase):
        if not isinstance(model, GlossaGenerationMixin):
            raise GlossaError(
                f"The model is a {model.config.model_type} model. Terms, beginnings and forbidden words need a model "
                "that Glossa trained: give one, or leave them out."
            )
        self.model: Any = model
        self.tokenizer: Any = tokenizer
        self.vocabulary = Vocabulary.of(tokenizer, model.lm_head.out_features)
        given = model.generation_config
        self.excluding = lru_cache(EXCLUDED)(partial(Forbidden, self.vocabulary))  # the same words are asked again
        self.ends: list[int] = given.eos_token_id if isinstance(given.eos_token_id, list) else [given.eos_token_id]

    def translate(
        self, sources: list[list[int]], constraints: Sequence[Constraints], search: Search, batch_tokens: int = 4096
    ) -> list[list[Translation]]:
        """Translations of each source with different texts, best first, at most as many as `search` wants.

        None if none meets the constraints that exclude tokens. The other arguments are as of [`Translator`].
        """
        wanted = max(search.beams, search.num_return_sequences)
        found = self.find(sources, constraints, search.beams, wanted, batch_tokens, search.length_penalty)
        return [self._translations(finished, search) for finished in found]

    def find(
        self,
        sources: list[list[int]],
        constraints: Sequence[Constraints],
        num_beams: int,
        wanted: int,
        batch_tokens: int = 4096,
        length_penalty: float | None = None,
    ) -> list[list[Finished]]:
        """The `wanted` best translations of each source; the other arguments are as of [`Search`]."""
        given = self.model.generation_config
        penalty = given.length_penalty if length_penalty is None else length_penalty
        settings = Settings(
            num_beams, wanted,
            given.decoder_start_token_id if given.decoder_start_token_id is not None else given.bos_token_id,
            self.ends, given.pad_token_id or self.ends[0],
            1.0 if penalty is None else penalty, given.early_stopping or False,
        )  # fmt: skip
        found: list[list[Finished]] = [[] for _ in sources]
        beams = [_beams_for(each, num_beams) for each in constraints]
        for count in sorted(set(beams)):
            rows = [row for row, own in enumerate(beams) if own == count]
            lengths = [len(sources[row]) for row in rows]
            for batch in TokenBatchSampler(lengths, lengths, max(batch_tokens // count, 1)):
                chosen = [rows[place] for place in batch]
                results = self._search(
                    [sources[row] for row in chosen],
                    [constraints[row] for row in chosen],
                    replace(settings, beams=count),
                )
                for row, finished in zip(chosen, results, strict=True):
                    found[row] = finished
        return found

    @torch.inference_mode()
    def _search(
        self, sources: list[list[int]], constraints: Sequence[Constraints], settings: Settings
    ) -> list[list[Finished]]:
        model = self.model.eval()
        positions = position_limits(model.config)[1]
        limits = [max_target_length(len(source), positions) for source in sources]
        batch = self.tokenizer.pad({"input_ids": sources}, return_tensors="pt").to(model.device)
        states = model.get_encoder()(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        running = ConstrainedSearch(constraints, limits, settings)
        cache = {CACHE: EncoderDecoderCache(*(DynamicCache(config=model.config) for _ in range(2)))}
        tokens = running.next_tokens.to(model.device)
        return model._search(running, tokens, None, states, batch["attention_mask"], **cache)

    def text(self, finished: Finished) -> str:
        """The text of a translation."""
        return self.tokenizer.batch_decode([finished.tokens], skip_special_tokens=True)[0]

    def _translations(self, finished: list[Finished], search: Search) -> list[Translation]:
        texts = self.tokenizer.batch_decode([one.tokens for one in finished], skip_special_tokens=True)
        different = dict(zip(reversed(texts), reversed(finished), strict=True))
        scores = {text: one.score if search.scores else None for text, one in different.items()}
        return [Translation(text, scores[text]) for text in dict.fromkeys(texts)][: search.num_return_sequences]


def _beams_for(constraints: Constraints, beams: int) -> int:
    """`beams` doubled until each number of tokens of terms has two places."""
    while beams < 2 * (constraints.searched + 1) and beams < MOST_BEAMS:
        beams *= 2
    return beams
