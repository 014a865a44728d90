"""Forced decoding: how probable a model finds given translations."""

import math
import threading
from dataclasses import dataclass

import numpy
import torch
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, PreTrainedTokenizerBase

from ...base.batching import TokenBatchSampler
from ...base.jobs.sharing import merged, own_batches
from ...model.batches_glossa import position_limits
from ...model.modeling_glossa import shift_tokens_right
from ...model.sentences_glossa import clean_text

ALIGNED_TOKENS = 4096  # most tokens of a batch on either side, padding included
_EAGER = threading.Lock()  # one thread at a time changes how a model computes attention


@dataclass(frozen=True)
class ForcedScore:
    """A given translation under a model.

    Attributes:
        log_probability: Natural logarithm, summed over its tokens and the end of sentence; minus infinity if source
            or translation have more tokens than the model has positions.
        tokens: Their number; then 0.
    """

    log_probability: float
    tokens: int


@torch.no_grad()
def force(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sources: list[str],
    targets: list[str],
    batch_tokens: int = 4096,
    shared: bool = False,
) -> list[ForcedScore]:
    """The score of each target as the translation of its source, by `model` in evaluation mode.

    Args:
        model: Any sequence-to-sequence model, or an ensemble.
        tokenizer: Its tokenizer.
        sources: Texts.
        targets: Their translations; a blank one costs its end of sentence.
        batch_tokens: Most tokens of a batch on either side, padding included.
        shared: The processes of a launch share the batches; all of them call this and get all scores.
    """
    if not sources:  # which a tokenizer does not take
        return []
    inputs = tokenizer([clean_text(source) for source in sources])["input_ids"]
    labels = tokenizer(text_target=[clean_text(target) for target in targets])["input_ids"]
    blank = ForcedScore(-math.inf, 0)
    scores = [blank] * len(sources)
    longest = [limit or math.inf for limit in position_limits(model.config)]
    lengths = [(len(source), len(target)) for source, target in zip(inputs, labels, strict=True)]
    fitting = [row for row, (source, target) in enumerate(lengths) if source <= longest[0] and target <= longest[1]]
    if not fitting:
        return scores
    first, second = ([lengths[row][side] for row in fitting] for side in (0, 1))
    batches = TokenBatchSampler(first, second, batch_tokens)
    for batch_rows in own_batches(batches) if shared else batches:
        rows = [fitting[row] for row in batch_rows]
        found = _log_probabilities(model, tokenizer, [inputs[row] for row in rows], [labels[row] for row in rows])
        for row, total in zip(rows, found.sum(1, dtype=torch.float64).tolist(), strict=True):
            scores[row] = ForcedScore(total, len(labels[row]) - bool(getattr(tokenizer, "codes", None)))
    return merged(scores, blank) if shared else scores


def _log_probabilities(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, inputs: list[list[int]], labels: list[list[int]]
) -> torch.Tensor:
    """The log-probability of each token of `labels`, 0 after their ends: [B, T]."""
    rows = [{"input_ids": source, "labels": target} for source, target in zip(inputs, labels, strict=True)]
    batch = DataCollatorForSeq2Seq(tokenizer)(rows).to(model.device)
    expected = batch.pop("labels")  # [B, T]
    batch["decoder_input_ids"] = decoder_inputs(model, expected)
    logits = model(**batch).logits
    costs = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), expected.flatten(), reduction="none")
    given = torch.tensor(getattr(tokenizer, "code_ids", ()), device=expected.device)  # what the decoder is asked for
    return -costs.view(expected.shape).masked_fill(torch.isin(expected, given), 0)


def decoder_inputs(model: PreTrainedModel, labels: torch.Tensor) -> torch.Tensor:
    """What the decoder reads to predict `labels` [B, T], in which -100 is padding; each family has its own way."""
    own = getattr(model, "prepare_decoder_input_ids_from_labels", None)
    if own is not None:
        return own(labels=labels)
    return shift_tokens_right(labels, model.config.pad_token_id, model.config.decoder_start_token_id)


@torch.no_grad()
def token_scores(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, inputs: list[list[int]], labels: list[list[int]]
) -> list[list[float]]:
    """The log-probability of each token of translations `labels` of a batch `inputs`, both token ids."""
    found = _log_probabilities(model, tokenizer, inputs, labels).tolist()
    return [row[: len(target)] for row, target in zip(found, labels, strict=True)]


@torch.inference_mode()
def cross_attention(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, inputs: list[list[int]], labels: list[list[int]]
) -> list[numpy.ndarray]:
    """The cross-attention [T, S] of translations `labels` of `inputs`, both token ids; see [`Engine.attention`].

    Of an ensemble, it is the first member's.
    """
    model = getattr(model, "members", [model])[0]
    found: list[numpy.ndarray] = [numpy.zeros((0, 0))] * len(inputs)
    lengths = list(map(len, inputs)), list(map(len, labels))
    trained = getattr(model.config, "alignment_layer", None)
    with _EAGER:
        before = model.config._attn_implementation
        model.eval().set_attn_implementation("eager")  # fused attention does not return weights
        try:
            for rows in TokenBatchSampler(*lengths, ALIGNED_TOKENS) if inputs else ():
                batch = [{"input_ids": inputs[row], "labels": labels[row]} for row in rows]
                given = DataCollatorForSeq2Seq(tokenizer, model=model)(batch).to(model.device)
                layers = model(**given, output_attentions=True).cross_attentions
                weights = layers[-1].mean(1) if trained is None else layers[trained][:, 0]  # [B, T, S]
                for row, own in zip(rows, weights.float().cpu().numpy(), strict=True):
                    found[row] = own[: lengths[1][row], : lengths[0][row]]
        finally:
            model.set_attn_implementation(before)
    return found


def perplexity(scores: list[ForcedScore]) -> float:
    """The perplexity per token of all translations together."""
    return math.exp(-sum(score.log_probability for score in scores) / max(sum(score.tokens for score in scores), 1))


class Reranker:
    """A second opinion on translations.

    Args:
        model: Any sequence-to-sequence model.
        tokenizer: Its tokenizer.
        reverse: Whether it translates in the opposite direction: it then says how probable the source is given the
            translation (Li et al. 2016, section 4.2).
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, reverse: bool = False):
        self.model, self.tokenizer, self.reverse = model, tokenizer, reverse

    def log_probabilities(
        self, sources: list[str], targets: list[str], batch_tokens: int = 4096, shared: bool = False
    ) -> list[float]:
        """The log-probability of each pair, in nats. The last two arguments are as in [`force`]."""
        given, scored = (targets, sources) if self.reverse else (sources, targets)
        scores = force(self.model, self.tokenizer, given, scored, batch_tokens, shared)
        return [score.log_probability for score in scores]
