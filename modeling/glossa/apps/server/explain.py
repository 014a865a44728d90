"""Explain the translation of a sentence: choices, beams and attention, as data for the page."""

from typing import TYPE_CHECKING, Any

import torch

from ...base.errors import GlossaError
from ...base.tokens import readable_tokens, target_vocabulary
from ...translate.attention import maps_of, word_numbers
from ...translate.languages import Languages
from .refusals import Refused

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_TOKENS = 60  # of the sentence, and of its translation
CHOICES = 6  # tokens at each position of the translation
BEAMS = 4
DIGITS = 4  # of probabilities and weights


@torch.inference_mode()
def explain(model: "PreTrainedModel", tokenizer: Any, target: str, sentence: str, prefix: list[int]) -> dict[str, Any]:
    """Explain the translation of `sentence` into `target` that begins with the tokens `prefix`.

    Raises `Refused` if the sentence or the translation has more than `MAX_TOKENS` tokens, or for an unknown token, and
    `GlossaError` for a model of another family, which is not supported.
    """
    if model.config.model_type != "glossa":
        raise GlossaError(f"it is of the family {model.config.model_type}. Serve a Glossa model for this.")
    if Languages.of_tokenizer(tokenizer).tagged:
        tokenizer = tokenizer.into(target)
    ids = tokenizer([sentence], return_tensors="pt")["input_ids"]
    if ids.shape[1] > MAX_TOKENS:
        raise Refused(f"The sentence has {ids.shape[1]} tokens; up to {MAX_TOKENS} are explained.")
    vocabulary = target_vocabulary(tokenizer)
    if any(vocabulary.id_to_token(one) is None for one in prefix):
        raise Refused("prefix has an unknown token. Send tokens of an earlier explanation.")
    found = translate_from(model, ids, prefix)
    words = word_numbers(tokenizer, sentence), words_of(found, tokenizer)
    maps = maps_of(model, tokenizer, ids, torch.tensor([found]), *words)
    return {
        "translation": vocabulary.decode(found),
        "source": {"pieces": maps.source, "words": maps.source_words},
        "target": {"pieces": maps.target, "words": maps.target_words},
        "choices": [
            [{"id": one, "piece": piece, "probability": share} for one, piece, share in row]
            for row in choices(model, ids, found, tokenizer)
        ],
        "tokens": found,
        "beams": beam_steps(model, ids, prefix, vocabulary),
        "attention": {name: _rounded(getattr(maps, name)) for name in ("encoder", "decoder", "cross")},
        "links": _rounded(maps.alignment),
    }


def translate_from(model: "PreTrainedModel", ids: torch.Tensor, prefix: list[int]) -> list[int]:
    """The tokens of the translation of `ids` [1, S] that begins with `prefix`, including the end token."""
    start: list[int] = [model.config.decoder_start_token_id, *prefix]
    most = min(MAX_TOKENS, getattr(model.config, "max_target_positions", None) or MAX_TOKENS)
    if len(start) >= most:
        raise Refused(f"prefix has {len(prefix)} tokens; up to {most - 2} are allowed.")
    found = model.generate(  # type: ignore[operator]
        ids, decoder_input_ids=torch.tensor([start]), max_length=most, num_beams=BEAMS, length_penalty=1.0
    )
    return found[0, 1:].tolist()


def logits_of(model: "PreTrainedModel", ids: torch.Tensor, targets: list[list[int]]) -> torch.Tensor:
    """Log-probabilities [K, T + 1, V] of the next token at each position of K targets of length T."""
    inputs = torch.tensor([[model.config.decoder_start_token_id, *target] for target in targets])
    return model(ids.repeat(len(targets), 1), decoder_input_ids=inputs).logits.float().log_softmax(-1)


def choices(
    model: "PreTrainedModel", ids: torch.Tensor, target: list[int], tokenizer: Any
) -> list[list[tuple[int, str, float]]]:
    """The most probable tokens at each position of `target` with their probabilities, the chosen one first.

    Special tokens are left out, except the end token.
    """
    found = logits_of(model, ids, [target[:-1]])[0].exp()  # [T, V]
    vocabulary, special = target_vocabulary(tokenizer), {*tokenizer.all_special_ids} - {tokenizer.eos_token_id}
    rows = []
    for chosen, shares in zip(target, found, strict=True):
        best = shares.topk(min(CHOICES + len(special), len(shares))).indices.tolist()
        others = [one for one in best if one != chosen and one not in special][: CHOICES - 1]
        numbers = [chosen, *others]
        pieces = readable_tokens(vocabulary, numbers)
        rows.append(
            [(one, piece, round(shares[one].item(), DIGITS)) for one, piece in zip(numbers, pieces, strict=True)]
        )
    return rows


def beam_steps(
    model: "PreTrainedModel", ids: torch.Tensor, prefix: list[int], vocabulary: Any
) -> list[list[dict[str, Any]]]:
    """The candidates of beam search in each step: the best `2 * BEAMS` continuations of all beams, best first.

    Each has a `piece`, a `parent` (the index of its hypothesis among those kept in the previous step), a `score`
    (log-probability) and a `state`: "kept", "ended" or "dropped".
    """
    end = model.config.eos_token_id
    kept: list[tuple[list[int], float]] = [(list(prefix), 0.0)]
    steps, ended = [], 0
    while kept and ended < BEAMS and len(kept[0][0]) < MAX_TOKENS:
        scores = logits_of(model, ids, [tokens for tokens, _ in kept])[:, -1]  # [K, V]
        scores = scores + torch.tensor([[score] for _, score in kept])
        best = scores.flatten().topk(2 * BEAMS)
        rows: list[dict[str, Any]] = []
        following: list[tuple[list[int], float]] = []
        for score, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            parent, token = divmod(index, scores.shape[1])
            state = "dropped"
            if token == end and len(rows) < BEAMS:
                state, ended = "ended", ended + 1
            elif token != end and len(following) < BEAMS:
                state = "kept"
                following.append(([*kept[parent][0], token], score))
            piece = readable_tokens(vocabulary, [token])[0]
            rows.append({"piece": piece, "parent": parent, "score": round(score, 2), "state": state})
        steps.append(rows)
        kept = following
    return steps


def words_of(tokens: list[int], tokenizer: Any) -> list[int | None]:
    """The word index of each token of a translation; None for special tokens."""
    vocabulary, special = target_vocabulary(tokenizer), tokenizer.all_special_ids
    texts = [vocabulary.decode(tokens[: length + 1]) for length in range(len(tokens))]
    return [None if token in special else text.strip().count(" ") for token, text in zip(tokens, texts, strict=True)]


def _rounded(weights: torch.Tensor) -> list:
    return (weights * 10**DIGITS).round().div(10**DIGITS).tolist()
