"""A tokenizer with a vocabulary for each side; it travels with models whose vocabularies are separate."""

import os
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

TARGET_TOKENIZER_FILE = "target_tokenizer.json"


class GlossaTokenizer(PreTrainedTokenizerFast):
    """Two fast tokenizers in one: the source's for what is read, the target's for what is written.

        encoded = tokenizer(source, text_target=target)  # input_ids of the source, labels of the target
        tokenizer.decode(encoded["labels"])              # the target's text

    Everything else, such as `get_vocab`, `len` and `convert_ids_to_tokens`, is the source's; `target_tokenizer` is the
    other one. Special tokens have the same ids in both, so that padding and the ends of sentences are alike.

    Args:
        tokenizer_object (`tokenizers.Tokenizer`), or tokenizer_file (`str`): The source's.
        target_tokenizer_object (`tokenizers.Tokenizer`), or target_tokenizer_file (`str`): The target's.

    Raises:
        ValueError: where the target's is not given, or a special token has different ids in the two.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json", "target_tokenizer_file": TARGET_TOKENIZER_FILE}
    _tokenizer: Tokenizer  # type: ignore[assignment]  # transformers begins with None
    target_tokenizer: Tokenizer

    def __init__(self, *args, target_tokenizer_object: Tokenizer | None = None, **kwargs):
        file = kwargs.pop("target_tokenizer_file", None)
        if target_tokenizer_object is None and file is None:
            raise ValueError(
                f"target_tokenizer_file is missing: the folder must hold {TARGET_TOKENIZER_FILE}, or give "
                "target_tokenizer_object."
            )
        given = target_tokenizer_object
        # A copy, as transformers makes of the source's: padding and truncation are set on it.
        self.target_tokenizer = Tokenizer.from_file(file) if given is None else Tokenizer.from_str(given.to_str())
        super().__init__(*args, **kwargs)
        self._source_tokenizer = self._tokenizer
        self.target_tokenizer.encode_special_tokens = self.split_special_tokens
        self.target_tokenizer.no_padding()
        self.target_tokenizer.no_truncation()
        for token in self.all_special_tokens:
            ids = self._source_tokenizer.token_to_id(token), self.target_tokenizer.token_to_id(token)
            if ids[0] != ids[1]:
                raise ValueError(
                    f"{token} is {ids[0]} in the source's vocabulary and {ids[1]} in the target's; give it one id."
                )

    @classmethod
    def convert_to_native_format(cls, *args, **kwargs) -> dict[str, Any]:
        # Otherwise transformers takes the source's file apart and leaves its normalizer and decoder behind.
        kwargs.pop("trust_remote_code", None)
        return kwargs

    @property
    def target_vocab_size(self) -> int:
        """Tokens of the target's vocabulary, special ones included."""
        return self.target_tokenizer.get_vocab_size()

    def _switch_to_target_mode(self) -> None:
        self._tokenizer = self.target_tokenizer

    def _switch_to_input_mode(self) -> None:
        self._tokenizer = self._source_tokenizer

    def _decode(self, *args, **kwargs) -> str:
        self._switch_to_target_mode()
        try:
            return super()._decode(*args, **kwargs)
        finally:
            self._switch_to_input_mode()

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of target tokens, as `decode` gives it."""
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
