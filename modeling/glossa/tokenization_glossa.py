"""A tokenizer with separate source and target vocabularies; saved with models that have them."""

import copy
import os
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

TARGET_TOKENIZER_FILE = "target_tokenizer.json"


class GlossaTokenizer(PreTrainedTokenizerFast):
    """Two fast tokenizers in one: one encodes the source, the other encodes and decodes the target.

        encoded = tokenizer(source, text_target=target)  # input_ids of the source, labels of the target
        tokenizer.decode(encoded["labels"])              # the target's text

    All other methods, such as `get_vocab`, `len` and `convert_ids_to_tokens`, use the source vocabulary;
    `target_tokenizer` is the target's tokenizer. The tokens for padding, start, end and the unknown have the same ids
    in both.

    Threads may share it. As with every fast tokenizer, calls that pad or truncate differently may not overlap.

    Args:
        tokenizer_object (`tokenizers.Tokenizer`), or tokenizer_file (`str`): The source's.
        target_tokenizer_object (`tokenizers.Tokenizer`), or target_tokenizer_file (`str`): The target's.
        src_lang, tgt_lang (`str`, *optional*): Codes of the two languages; attributes of the same names.

    Raises:
        ValueError: if the target's is missing, or one of those four has different ids in the two vocabularies.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json", "target_tokenizer_file": TARGET_TOKENIZER_FILE}
    _tokenizer: Tokenizer  # type: ignore[assignment]  # transformers declares None
    target_tokenizer: Tokenizer

    def __init__(self, *args, target_tokenizer_object: Tokenizer | None = None, **kwargs):
        file = kwargs.pop("target_tokenizer_file", None)
        if target_tokenizer_object is None and file is None:
            raise ValueError(
                f"target_tokenizer_file is missing: the folder must hold {TARGET_TOKENIZER_FILE}, or give "
                "target_tokenizer_object."
            )
        given = target_tokenizer_object
        # A copy, as transformers makes for the source: padding and truncation change it.
        self.target_tokenizer = Tokenizer.from_file(file) if given is None else Tokenizer.from_str(given.to_str())
        super().__init__(*args, **kwargs)
        self.src_lang, self.tgt_lang = kwargs.get("src_lang"), kwargs.get("tgt_lang")
        self.target_tokenizer.encode_special_tokens = self.split_special_tokens
        self.target_tokenizer.no_padding()
        self.target_tokenizer.no_truncation()
        # A further special token has an id of its own in each vocabulary, as every token that is added later.
        for token in self.special_tokens_map.values():
            if isinstance(token, list):
                continue
            ids = self._tokenizer.token_to_id(token), self.target_tokenizer.token_to_id(token)
            if ids[0] != ids[1]:
                raise ValueError(
                    f"{token} is {ids[0]} in the source's vocabulary and {ids[1]} in the target's; give it one id."
                )

    @classmethod
    def convert_to_native_format(cls, *args, **kwargs) -> dict[str, Any]:
        # The inherited method rebuilds the source's tokenizer and loses its normalizer and decoder.
        kwargs.pop("trust_remote_code", None)
        return kwargs

    @property
    def target_vocab_size(self) -> int:
        """Size of the target vocabulary, special tokens included."""
        return self.target_tokenizer.get_vocab_size()

    def __call__(self, text=None, text_pair=None, text_target=None, text_pair_target=None, **settings):
        """As in transformers, with the vocabulary of the target for `text_target`; its ids are `labels` beside a text.

        `max_target_length` is the `max_length` of the target.
        """
        if text_target is None:
            return super().__call__(text, text_pair, **settings)
        longest = settings.pop("max_target_length", None)
        limit = {} if longest is None else {"max_length": longest}
        target = self._target_view()
        labels = super(GlossaTokenizer, target).__call__(text_target, text_pair_target, **settings | limit)
        if text is None:
            return labels
        encoded = super().__call__(text, text_pair, **settings)
        encoded["labels"] = labels["input_ids"]
        return encoded

    def _decode(self, *args, **kwargs) -> str:
        return super(GlossaTokenizer, self._target_view())._decode(*args, **kwargs)

    def _target_view(self) -> "GlossaTokenizer":
        """This tokenizer with the target's vocabulary. Not a switch: another thread may encode a source meanwhile."""
        view = copy.copy(self)
        view._tokenizer = self.target_tokenizer
        return view

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of target tokens, as `decode` would return it."""
        return self.target_tokenizer.decoder.decode(tokens)

    def _add_tokens(self, new_tokens, special_tokens: bool = False) -> int:
        add = "add_special_tokens" if special_tokens else "add_tokens"
        getattr(self.target_tokenizer, add)(new_tokens)
        return getattr(self._tokenizer, add)(new_tokens)

    def _save_pretrained(
        self, save_directory: str | os.PathLike, file_names: tuple[str, ...], *args, **kwargs
    ) -> tuple[str, ...]:
        files = super()._save_pretrained(save_directory, file_names, *args, **kwargs)
        prefix = kwargs.get("filename_prefix")
        path = os.path.join(save_directory, (f"{prefix}-" if prefix else "") + TARGET_TOKENIZER_FILE)
        self.target_tokenizer.save(path)
        return (*files, path)


__all__ = ["GlossaTokenizer"]
