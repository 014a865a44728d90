"""Attention weights of one sentence pair, and the word alignment that follows from them."""

from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..base.tokens import shown_tokens
from ..model.sentences_glossa import clean_text
from .translator import Translator


@dataclass
class AttentionMaps:
    """Attention weights of one pair. Row i of `decoder` and `cross` belongs to the prediction of target[i].

    Attributes:
        source: The S source tokens, special tokens included.
        target: The T target tokens, special tokens included.
        target_inputs: The T tokens of the columns of `decoder`: the start token and the target without its end.
        source_words: The number of each source token's word; words are separated by white space. None for special
            tokens.
        target_words: The same for target tokens.
        encoder: [layers, heads, S, S]; every row sums to 1, here and below.
        decoder: [layers, heads, T, T].
        cross: [layers, heads, T, S].
    """

    source: list[str]
    target: list[str]
    target_inputs: list[str]
    source_words: list[int | None]
    target_words: list[int | None]
    encoder: torch.Tensor
    decoder: torch.Tensor
    cross: torch.Tensor

    @property
    def alignment(self) -> torch.Tensor:
        """[T, S]: the mean of the heads of the penultimate layer, which aligns best (Garg et al. 2019, section 3)."""
        return self.cross[max(-2, -len(self.cross))].mean(0)


@torch.inference_mode()
def attention_maps(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str, target: str | None = None
) -> AttentionMaps:
    """The attention weights of `model` for `source` and `target`; `target` defaults to the model's translation."""
    source = clean_text(source)
    target = clean_text(target) if target is not None else Translator(model, tokenizer).best([source])[0]
    inputs = tokenizer([source], text_target=[target], return_tensors="pt")
    words = word_numbers(tokenizer, source), word_numbers(tokenizer, target, side="text_target")
    return maps_of(model, tokenizer, inputs["input_ids"], inputs["labels"], *words)


@torch.inference_mode()
def maps_of(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    source: torch.Tensor,
    target: torch.Tensor,
    source_words: list[int | None],
    target_words: list[int | None],
) -> AttentionMaps:
    """The attention weights of `model` for token ids [1, S] and [1, T], whose words are numbered."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")  # fused attention does not return weights
    try:
        inputs = {"input_ids": source.to(model.device), "labels": target.to(model.device)}
        outputs = model.eval()(**inputs, output_attentions=True)
    finally:
        model.set_attn_implementation(before)
    start, end = model.config.decoder_start_token_id, target[0, :-1].tolist()
    return AttentionMaps(
        source=shown_tokens(tokenizer, source[0].tolist()),
        target=shown_tokens(tokenizer, target[0].tolist(), target=True),
        target_inputs=shown_tokens(tokenizer, [start, *end], target=True),
        source_words=source_words,
        target_words=target_words,
        encoder=torch.cat(outputs.encoder_attentions),
        decoder=torch.cat(outputs.decoder_attentions),
        cross=torch.cat(outputs.cross_attentions),
    )


def align_words(maps: AttentionMaps) -> str:
    """Word alignment in Pharaoh format, `source-target` pairs of word numbers from 0, by target word.

    Each target word is aligned with the source word that gets most of its attention: averaged over the tokens of the
    target word, summed over the tokens of the source word.
    """
    weights, pairs = maps.alignment, []
    for target_word in range(_count(maps.target_words)):
        rows = [row for row, word in enumerate(maps.target_words) if word == target_word]
        per_token = weights[rows].mean(0)  # [S]
        per_word = [
            sum(per_token[i].item() for i, word in enumerate(maps.source_words) if word == source_word)
            for source_word in range(_count(maps.source_words))
        ]
        if per_word:
            pairs.append(f"{per_word.index(max(per_word))}-{target_word}")
    return " ".join(pairs)


def _count(words: list[int | None]) -> int:
    return 1 + max((word for word in words if word is not None), default=-1)


def word_numbers(tokenizer: PreTrainedTokenizerBase, text: str, side: str = "text") -> list[int | None]:
    """The number of the word of each token of a text, or of a target text; None for special tokens."""
    encoded = tokenizer(**{side: text}, return_offsets_mapping=True, return_special_tokens_mask=True)
    words: list[int | None] = []
    for (start, end), special in zip(encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True):
        first = start + len(text[start:end]) - len(text[start:end].lstrip(" "))
        words.append(None if special else text[:first].count(" "))
    return words
