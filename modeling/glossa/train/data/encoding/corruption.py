"""Pretraining objectives: span corruption, masked language modeling and causal language modeling.

Random choices and their application are separate functions, for testing: `draw_spans` and `corrupt_spans`,
`draw_replacements` and `mask_tokens`. A text is a list of N token ids without special tokens.
"""

from collections.abc import Sequence

import numpy
import torch
import xxhash
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerBase

from ....base.errors import GlossaError

OBJECTIVES = ("span_corruption", "masked_lm", "causal_lm")
NOISE = 0.15  # share of the tokens (Raffel et al. 2020, section 3.3.4; Devlin et al. 2019, section 3.1)
MEAN_SPAN = 3  # tokens (Raffel et al. 2020, section 3.3.4)
MASK = "<mask>"


def special_tokens(objective: str, max_length: int) -> list[str]:
    """The special tokens that `objective` needs for texts of up to `max_length` tokens.

    Span corruption: one sentinel per span, `<extra_id_0>`, `<extra_id_1>`, ...; masking: `<mask>`; otherwise none.
    """
    if objective == "span_corruption":
        return [f"<extra_id_{index}>" for index in range(count_noise(max_length)[1])]
    return [MASK] if objective == "masked_lm" else []


def count_noise(length: int) -> tuple[int, int]:
    """Number of noise tokens in a text of `length` tokens (15%, at least one) and of spans (a third, at least one)."""
    noise = max(round(NOISE * length), 1)
    return noise, max(round(noise / MEAN_SPAN), 1)


def draw_spans(length: int, generator: numpy.random.Generator) -> list[tuple[int, int]]:
    """Random noise spans (start, end) in a text of `length` tokens: sorted, never adjacent, uniformly distributed.

    `count_noise` gives the number of spans and of noise tokens; only sizes and positions are random.
    """
    noise, spans = count_noise(length)
    sizes = _parts(noise, spans, generator)
    # The gaps before the first and after the last span may be empty, the others may not.
    gaps = _parts(length - noise + 2, spans + 1, generator)
    gaps[0] -= 1
    starts = numpy.cumsum(gaps[:-1]) + numpy.cumsum(sizes) - sizes
    return [(int(start), int(start + size)) for start, size in zip(starts, sizes, strict=True)]


def _parts(total: int, count: int, generator: numpy.random.Generator) -> numpy.ndarray:
    """`count` positive integers with the sum `total`, drawn uniformly from all such compositions."""
    cuts = numpy.sort(generator.choice(total - 1, count - 1, replace=False)) + 1
    return numpy.diff(cuts, prepend=0, append=total)


def corrupt_spans(
    ids: Sequence[int], spans: Sequence[tuple[int, int]], sentinels: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The text with each span replaced by a sentinel, and the target: the spans, each after its sentinel.

    As in Raffel et al. 2020, figure 2, except that the caller ends the target with an end-of-sentence token instead of
    a final sentinel.

    Args:
        ids: The text, [N].
        spans: (start, end) of each span, sorted.
        sentinels: Token ids, at least one per span; used in order.
    """
    inputs: list[int] = []
    targets: list[int] = []
    position = 0
    for (start, end), sentinel in zip(spans, sentinels[: len(spans)], strict=True):
        inputs += [*ids[position:start], sentinel]
        targets += [sentinel, *ids[start:end]]
        position = end
    return [*inputs, *ids[position:]], targets


def draw_replacements(
    ids: Sequence[int], mask: int, ordinary: numpy.ndarray, generator: numpy.random.Generator
) -> dict[int, int]:
    """Random replacements for 15% of the tokens (at least one), by position.

    As in Devlin et al. 2019, section 3.1, task 1: `mask` with a probability of 80%, a random ordinary token with 10%,
    the token itself with 10%.

    Args:
        ids: The text, [N].
        mask: The id of the mask token.
        ordinary: Boolean [V], false for special tokens, which are neither replaced nor drawn.
        generator: The source of randomness.
    """
    candidates = numpy.flatnonzero(ordinary[ids])
    positions = generator.choice(candidates, min(count_noise(len(ids))[0], len(candidates)), replace=False)
    draws = generator.random(len(positions))
    others = generator.choice(numpy.flatnonzero(ordinary), len(positions))
    return {
        int(position): mask if draw < 0.8 else int(other) if draw < 0.9 else ids[position]
        for position, draw, other in zip(positions, draws, others, strict=True)
    }


def mask_tokens(ids: Sequence[int], replacements: dict[int, int]) -> tuple[list[int], list[int]]:
    """The text [N] with its replacements, and labels [N]: the original tokens there, -100 elsewhere."""
    inputs = [replacements.get(position, token) for position, token in enumerate(ids)]
    return inputs, [token if position in replacements else -100 for position, token in enumerate(ids)]


def _check(objective: str, tokenizer: PreTrainedTokenizerBase, vocabulary: dict[str, int], max_length: int) -> None:
    if getattr(tokenizer, "target_tokenizer", None) is not None:
        raise GlossaError(
            f"objective is {objective}, but source and target have separate vocabularies. Pretraining needs a shared "
            "one: leave out target_vocab_size, or give an init_from with a shared vocabulary."
        )
    wanted = special_tokens(objective, max_length)
    lacking = [token for token in wanted if token not in vocabulary]
    if lacking:
        several = f"tokens {wanted[0]} to {wanted[-1]}"
        raise GlossaError(
            f"objective is {objective}, which with max_length {max_length} takes the special "
            f"{several if wanted[1:] else f'token {wanted[0]}'}; the vocabulary of init_from lacks "
            f"{lacking[0] if wanted[1:] else 'it'}. Give an init_from with the same pretraining, or leave it out to "
            "learn a new vocabulary."
        )


class PretrainingCollator:
    """Collates rows of `input_ids` (texts without special tokens) into a padded batch; corruption varies by epoch.

    The corruption of a text depends only on the text, the seed and the epoch. Resuming, evaluating or adding processes
    therefore does not change it. Rows with `labels` are already corrupted and are only padded.

    Batches have `input_ids` [B, S], `attention_mask` [B, S] and `labels` [B, T], padded with -100:

    - `span_corruption`: `input_ids` are the text with sentinels, `labels` the spans and the end of sentence.
    - `masked_lm`: `input_ids` are the text with replacements, `labels` the replaced tokens; T = S.
    - `causal_lm`: both are the text and the end of sentence; the decoder reads the labels, shifted.

    Sources get the special tokens that the tokenizer adds.

    Args:
        objective: One of `OBJECTIVES`.
        tokenizer: Must have the special tokens of the objective.
        max_length: Maximum length of a text in tokens, special tokens included.
        seed: Seed of the corruption, together with epoch and text.

    Raises:
        GlossaError: if the tokenizer lacks special tokens or has separate vocabularies.
    """

    def __init__(self, objective: str, tokenizer: PreTrainedTokenizerBase, max_length: int, seed: int = 0):
        vocabulary = tokenizer.get_vocab()
        _check(objective, tokenizer, vocabulary, max_length)
        self.objective = objective
        self.seed = seed
        # In shared memory, so that persistent data loader workers see a new epoch.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()
        self.pad = DataCollatorForSeq2Seq(tokenizer)
        special = tokenizer("")["input_ids"]
        self.end = [tokenizer.eos_token_id]
        self.before = [token for token in special if token != tokenizer.eos_token_id]
        self.after = [token for token in special if token == tokenizer.eos_token_id]
        self.sentinels: list[int] = []
        while (token := f"<extra_id_{len(self.sentinels)}>") in vocabulary:
            self.sentinels.append(vocabulary[token])
        self.mask = vocabulary.get(MASK, -1)
        self.ordinary = numpy.zeros(len(tokenizer), dtype=bool)
        self.ordinary[sorted(set(vocabulary.values()) - set(tokenizer.all_special_ids))] = True

    def set_epoch(self, epoch: int):
        """Set the epoch, which changes the corruption."""
        self._epoch.fill_(epoch)

    def __call__(self, rows: list[dict]) -> dict[str, torch.Tensor]:
        return self.pad([row if "labels" in row else self.corrupt(row["input_ids"], int(self._epoch)) for row in rows])

    def corrupt(self, ids: Sequence[int], epoch: int = 0) -> dict[str, list[int]]:
        """`input_ids` and `labels` of a text in an epoch; their lengths depend only on the length of the text."""
        text = xxhash.xxh3_64_intdigest(numpy.asarray(ids, dtype=numpy.int64).tobytes())
        generator = numpy.random.default_rng((self.seed, epoch, text))
        if self.objective == "causal_lm":
            return {"input_ids": [*ids, *self.end], "labels": [*ids, *self.end]}
        if self.objective == "span_corruption":
            inputs, labels = corrupt_spans(ids, draw_spans(len(ids), generator), self.sentinels)
            labels += self.end
        else:
            inputs, labels = mask_tokens(ids, draw_replacements(ids, self.mask, self.ordinary, generator))
            labels = [-100] * len(self.before) + labels + [-100] * len(self.after)
        return {"input_ids": self.before + inputs + self.after, "labels": labels}
