"""Readable tokens of a tokenizer, which may have separate vocabularies for source and target."""

from typing import TYPE_CHECKING

from tokenizers import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def target_vocabulary(tokenizer: "PreTrainedTokenizerBase") -> Tokenizer:
    """The target tokenizer if vocabularies are separate, else the shared one."""
    return getattr(tokenizer, "target_tokenizer", tokenizer.backend_tokenizer)


def readable_tokens(vocabulary: Tokenizer, ids: list[int]) -> list[str]:
    """The text of each token, or the name of a special token."""
    return [vocabulary.decode([i]).strip(" ") or vocabulary.id_to_token(i) or "" for i in ids]


def shown_tokens(tokenizer: "PreTrainedTokenizerBase", ids: list[int], target: bool = False) -> list[str]:
    """The tokens of a source or a target as [`readable_tokens`], or as a slow tokenizer returns them."""
    if not hasattr(tokenizer, "backend_tokenizer"):
        return list(map(str, tokenizer.convert_ids_to_tokens(ids)))
    return readable_tokens(target_vocabulary(tokenizer) if target else tokenizer.backend_tokenizer, ids)
