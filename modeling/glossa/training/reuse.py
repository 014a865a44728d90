"""A saved tokenizer for a new model, instead of one that is learned from the training text."""

from pathlib import Path

from transformers import PreTrainedTokenizerBase

from ..data.corruption import special_tokens
from ..data.vocabulary import target_vocabulary
from ..errors import GlossaError
from ..inference.loading import load_tokenizer
from .arguments import Settings


def reused_tokenizer(settings: Settings) -> PreTrainedTokenizerBase:
    """The tokenizer that the setting `tokenizer` names, with the longest text of the new model.

    Raises `GlossaError` if there is none, or a new model cannot use it: it lacks a token for padding, start, end or
    the objective, does not end a target, or has two vocabularies for a model with one embedding matrix.
    """
    name, model = str(settings.tokenizer.tokenizer), settings.model
    if Path(name).is_dir() and not (Path(name) / "tokenizer.json").is_file():
        raise GlossaError(
            f"tokenizer is {name}, which holds no tokenizer.json. Give the folder of a run or of a saved tokenizer."
        )
    tokenizer = load_tokenizer(name)
    missing = [role for role in ("pad_token", "eos_token", "bos_token") if getattr(tokenizer, role) is None]
    if missing:
        raise GlossaError(
            f"tokenizer is {name}, which has no {' and no '.join(missing)}. Give the tokenizer of a Glossa run."
        )
    if tokenizer(text_target="a")["input_ids"][-1:] != [tokenizer.eos_token_id]:
        raise GlossaError(
            f"tokenizer is {name}, which does not put {tokenizer.eos_token} after a target, so translations would not "
            "end. Give the tokenizer of a Glossa run."
        )
    lacking = [
        token
        for token in special_tokens(settings.translator.objective, settings.data.max_length)
        if token not in tokenizer.get_vocab()
    ]
    if lacking:
        raise GlossaError(
            f"tokenizer is {name}, which lacks {lacking[0]}; objective {settings.translator.objective} with "
            f"max_length {settings.data.max_length} needs it. Leave tokenizer out."
        )
    shared = model.tie_word_embeddings and model.share_encoder_decoder_embeddings
    if shared and target_vocabulary(tokenizer) is not tokenizer.backend_tokenizer:
        raise GlossaError(
            f"tokenizer is {name}, which has separate vocabularies for source and target: they cannot share an "
            "embedding matrix. Set share_encoder_decoder_embeddings to false."
        )
    tokenizer.model_max_length = max(model.max_source_positions, model.max_target_positions)
    return tokenizer
