"""What pretraining asks of a text: to fill in the spans or the tokens that were taken from it, or to go on with it.

The draws and what is made of them are functions of their own, so that both can be looked at: `draw_spans` chooses and
`corrupt_spans` obeys, `draw_replacements` chooses and `mask_tokens` obeys. A text is a list of token ids without
special tokens; N is its length.
"""

from collections.abc import Sequence

import numpy
import torch
import xxhash
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerBase

from ..errors import GlossaError

OBJECTIVES = ("span_corruption", "masked_lm", "causal_lm")
NOISE = 0.15  # share of the tokens (Raffel et al. 2020, section 3.3.4; Devlin et al. 2019, section 3.1)
MEAN_SPAN = 3  # tokens (Raffel et al. 2020, section 3.3.4)
MASK = "<mask>"


def special_tokens(objective: str, max_length: int) -> list[str]:
    """The special tokens that `objective` needs for texts of up to `max_length` tokens.

    Span corruption: `<extra_id_0>`, `<extra_id_1>` and so on, one for each span; masking: `<mask>`; else none.
    """
    if objective == "span_corruption":
        return [f"<extra_id_{index}>" for index in range(count_noise(max_length)[1])]
    return [MASK] if objective == "masked_lm" else []


def count_noise(length: int) -> tuple[int, int]:
    """How many of `length` tokens are noise, 15% but at least one, and in how many spans, a third but at least one."""
    noise = max(round(NOISE * length), 1)
    return noise, max(round(noise / MEAN_SPAN), 1)


def draw_spans(length: int, generator: numpy.random.Generator) -> list[tuple[int, int]]:
    """Spans (start, end) of noise in a text of `length` tokens, in order, never adjacent, any such choice as likely.

    Their number and the number of their tokens are those of `count_noise`; only where they lie is chance.
    """
    noise, spans = count_noise(length)
    sizes = _parts(noise, spans, generator)
    # The text before the first span and after the last may be empty; what lies between two of them may not.
    gaps = _parts(length - noise + 2, spans + 1, generator)
    gaps[0] -= 1
    starts = numpy.cumsum(gaps[:-1]) + numpy.cumsum(sizes) - sizes
    return [(int(start), int(start + size)) for start, size in zip(starts, sizes, strict=True)]


def _parts(total: int, count: int, generator: numpy.random.Generator) -> numpy.ndarray:
    """`count` whole numbers of at least 1 that add up to `total`; all ways to do so are equally likely."""
    cuts = numpy.sort(generator.choice(total - 1, count - 1, replace=False)) + 1
    return numpy.diff(cuts, prepend=0, append=total)


def corrupt_spans(
    ids: Sequence[int], spans: Sequence[tuple[int, int]], sentinels: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The text with a sentinel in the place of each span, and the spans, each after its sentinel.

    As in Raffel et al. 2020, figure 2, with the sentinels in order from the first; where the paper ends the target
    with one more sentinel, the caller's end of sentence does that.

    Args:
        ids: The text, [N].
        spans: (start, end) of each span, in order.
        sentinels: As many tokens as there are spans, or more.
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
    """What stands in the place of 15% of the tokens (at least one), by position.

    As in Devlin et al. 2019, section 3.1, task 1: with a chance of 80% `mask`, of 10% any ordinary token, each as
    likely, and of 10% the token itself.

    Args:
        ids: The text, [N].
        mask: What most of them become.
        ordinary: Whether each token of the vocabulary is an ordinary one, [V]; no other is replaced or drawn.
        generator: Draws.
    """
    candidates = numpy.flatnonzero(ordinary[ids])
    positions = generator.choice(candidates, min(count_noise(len(ids))[0], len(candidates)), replace=False)
    fates = generator.random(len(positions))
    others = generator.choice(numpy.flatnonzero(ordinary), len(positions))
    return {
        int(position): mask if fate < 0.8 else int(other) if fate < 0.9 else ids[position]
        for position, fate, other in zip(positions, fates, others, strict=True)
    }


def mask_tokens(ids: Sequence[int], replacements: dict[int, int]) -> tuple[list[int], list[int]]:
    """The text [N] with its replacements, and labels [N]: what stood there, and -100 at all other positions."""
    inputs = [replacements.get(position, token) for position, token in enumerate(ids)]
    return inputs, [token if position in replacements else -100 for position, token in enumerate(ids)]


def _check(objective: str, tokenizer: PreTrainedTokenizerBase, vocabulary: dict[str, int], max_length: int) -> None:
    if getattr(tokenizer, "target_tokenizer", None) is not None:
        raise GlossaError(
            f"objective is {objective}, but source and target have a vocabulary each. Pretraining takes one for both: "
            "leave out target_vocab_size, or give an init_from whose vocabulary is shared."
        )
    wanted = special_tokens(objective, max_length)
    lacking = [token for token in wanted if token not in vocabulary]
    if lacking:
        several = f"tokens {wanted[0]} to {wanted[-1]}"
        raise GlossaError(
            f"objective is {objective}, which with max_length {max_length} takes the special "
            f"{several if wanted[1:] else f'token {wanted[0]}'}; the vocabulary of init_from lacks "
            f"{lacking[0] if wanted[1:] else 'it'}. Give an init_from that was pretrained so, or leave it out and "
            "learn a new vocabulary."
        )


class PretrainingCollator:
    """Rows of `input_ids` (texts without special tokens) to a padded batch, corrupted anew in every epoch.

    What becomes of a text depends on the text, the seed and the epoch alone: neither on the batch it is in nor on
    the batches before, so that a run that resumes, or evaluates, or has more processes, sees the same. Rows that have
    `labels` were corrupted before and are only padded.

    Batches hold `input_ids` [B, S], `attention_mask` [B, S] and `labels` [B, T], padded with -100:

    - `span_corruption`: the text with sentinels; the spans and the end of sentence.
    - `masked_lm`: the text with replacements; what was replaced, T = S.
    - `causal_lm`: labels are the text and the end of sentence, which the decoder reads shifted; `input_ids` the same.

    Sources are framed as the tokenizer frames them.

    Args:
        objective: One of `OBJECTIVES`.
        tokenizer: Has the special tokens of the objective.
        max_length: Tokens of the longest text, special ones included.
        seed: With epoch and text, decides the corruption.

    Raises:
        GlossaError: where the tokenizer lacks the tokens, or has a vocabulary for each side.
    """

    def __init__(self, objective: str, tokenizer: PreTrainedTokenizerBase, max_length: int, seed: int = 0):
        vocabulary = tokenizer.get_vocab()
        _check(objective, tokenizer, vocabulary, max_length)
        self.objective = objective
        self.seed = seed
        # Shared memory: workers of a data loader may live on from epoch to epoch.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()
        self.pad = DataCollatorForSeq2Seq(tokenizer)
        frame = tokenizer("")["input_ids"]
        self.end = [tokenizer.eos_token_id]
        self.before = [token for token in frame if token != tokenizer.eos_token_id]
        self.after = [token for token in frame if token == tokenizer.eos_token_id]
        self.sentinels: list[int] = []
        while (token := f"<extra_id_{len(self.sentinels)}>") in vocabulary:
            self.sentinels.append(vocabulary[token])
        self.mask = vocabulary.get(MASK)
        self.ordinary = numpy.zeros(len(tokenizer), dtype=bool)
        self.ordinary[sorted(set(vocabulary.values()) - set(tokenizer.all_special_ids))] = True

    def set_epoch(self, epoch: int):
        """Choose the corruptions of this epoch."""
        self._epoch.fill_(epoch)

    def __call__(self, rows: list[dict]) -> dict[str, torch.Tensor]:
        return self.pad([row if "labels" in row else self.corrupt(row["input_ids"], int(self._epoch)) for row in rows])

    def corrupt(self, ids: Sequence[int], epoch: int = 0) -> dict[str, list[int]]:
        """`input_ids` and `labels` of a text in an epoch; their lengths depend on that of the text alone."""
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
