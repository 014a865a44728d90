"""A tokenizer for separate vocabularies or several target languages; saved with models that have them."""

import copy
import json
import os
import re
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

TARGET_TOKENIZER_FILE = "target_tokenizer.json"


def language_token(language: str) -> str:
    """The token that asks for translations into `language`: "<2de>" (Johnson et al. 2017, section 3)."""
    return f"<2{language}>"


class GlossaTokenizer(PreTrainedTokenizerFast):
    """Two fast tokenizers in one: one encodes the source, the other encodes and decodes the target.

        encoded = tokenizer(source, text_target=target)  # input_ids of the source, labels of the target
        tokenizer.decode(encoded["labels"])              # the target's text

    All other methods, such as `get_vocab`, `len` and `convert_ids_to_tokens`, use the source vocabulary;
    `target_tokenizer` is the target's tokenizer. The tokens for padding, start, end and the unknown have the same ids
    in both.

    With several target languages, each source begins with the token of the wanted one, which is `tgt_lang`:

        tokenizer.tgt_lang = "de"
        tokenizer("Hello.")             # the ids of <2de> Hello . </s>
        tokenizer.into("fr")("Hello.")  # the same for French; `tgt_lang` stays

    Threads may share it. As with every fast tokenizer, calls that pad or truncate differently may not overlap.

    Args:
        tokenizer_object (`tokenizers.Tokenizer`), or tokenizer_file (`str`): The source's.
        target_tokenizer_object (`tokenizers.Tokenizer`), or target_tokenizer_file (`str`): The target's.
        src_lang, tgt_lang (`str`, *optional*): Codes of the two languages; attributes of the same names.
        extra_special_tokens (`list[str]`, *optional*): Tokens of several target languages: `["<2de>", "<2fr>"]`.

    Raises:
        ValueError: if the target's is missing, one of those four has different ids in the two vocabularies, or
            `tgt_lang` is not among several target languages when it is set or a source is encoded.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json", "target_tokenizer_file": TARGET_TOKENIZER_FILE}
    _tokenizer: Tokenizer  # type: ignore[assignment]  # transformers declares None
    target_tokenizer: Tokenizer
    _tgt_lang: str | None = None

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
        self._tagged: dict[str, Tokenizer] = {}  # of sources, by target language
        self._encodes_target = False
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
    def target_languages(self) -> list[str]:
        """The codes of several target languages; empty if there is one."""
        found = (re.fullmatch("<2(.+)>", token) for token in self.extra_special_tokens)
        return [match[1] for match in found if match]

    @property
    def tgt_lang(self) -> str | None:
        """Code of the target language."""
        return self._tgt_lang

    @tgt_lang.setter
    def tgt_lang(self, language: str | None):
        if language is not None:
            self._check(language)
        self._tgt_lang = language

    def into(self, language: str | None) -> "GlossaTokenizer":
        """This tokenizer with another `tgt_lang`. Raises `ValueError` if it is not among the target languages."""
        self._check(language)
        view = copy.copy(self)
        view.tgt_lang = language
        return view

    def _check(self, language: str | None):
        allowed = self.target_languages
        if allowed and language not in allowed:
            raise ValueError(f"tgt_lang is {language!r}; it must be one of {', '.join(allowed)}.")

    @property
    def target_vocab_size(self) -> int:
        """Size of the target vocabulary, special tokens included."""
        return self.target_tokenizer.get_vocab_size()

    def __call__(
        self, text=None, text_pair=None, text_target=None, text_pair_target=None, max_target_length=None, **kwargs
    ):
        """As in transformers, with the target's vocabulary for `text_target`; next to a text, its ids are `labels`.

        Args:
            text, text_pair: Sources: a string, or a list of strings.
            text_target, text_pair_target: Targets, likewise.
            max_target_length (`int`, *optional*): The `max_length` of targets, if it is another than that of sources.
            kwargs: The other arguments of `PreTrainedTokenizerBase.__call__`, for sources and targets.
        """
        if text_target is None:
            return super().__call__(text, text_pair, **kwargs)
        limit = {} if max_target_length is None else {"max_length": max_target_length}
        target = self._target_view()
        labels = super(GlossaTokenizer, target).__call__(text_target, text_pair_target, **kwargs | limit)
        if text is None:
            return labels
        encoded = super().__call__(text, text_pair, **kwargs)
        encoded["labels"] = labels["input_ids"]
        return encoded

    def _encode_plus(self, *args, **kwargs):
        if self._encodes_target or not self.target_languages:
            return super()._encode_plus(*args, **kwargs)
        self._check(self.tgt_lang)
        view = copy.copy(self)
        view._tokenizer = self._with_tag(str(self.tgt_lang))
        return super(GlossaTokenizer, view)._encode_plus(*args, **kwargs)

    def _with_tag(self, language: str) -> Tokenizer:
        """The source's tokenizer with the token of `language` before each text."""
        if language not in self._tagged:
            token, plain = language_token(language), json.loads(self._tokenizer.to_str())
            template = plain["post_processor"]
            template["special_tokens"][token] = {
                "id": token, "ids": [self._tokenizer.token_to_id(token)], "tokens": [token],
            }  # fmt: skip
            for form in ("single", "pair"):
                template[form].insert(0, {"SpecialToken": {"id": token, "type_id": 0}})
            self._tagged[language] = Tokenizer.from_str(json.dumps(plain))
        return self._tagged[language]

    def _decode(self, *args, **kwargs) -> str:
        return super(GlossaTokenizer, self._target_view())._decode(*args, **kwargs)

    def _target_view(self) -> "GlossaTokenizer":
        """This tokenizer with the target's vocabulary. Not a switch: another thread may encode a source meanwhile."""
        view = copy.copy(self)
        view._tokenizer, view._encodes_target = self.target_tokenizer, True
        return view

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of target tokens, as `decode` would return it."""
        return self.target_tokenizer.decoder.decode(tokens)

    def _add_tokens(self, new_tokens, special_tokens: bool = False) -> int:
        self._tagged.clear()
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


# A saved folder carries this code, for `trust_remote_code=True` without Glossa installed.
GlossaTokenizer.register_for_auto_class()

__all__ = ["GlossaTokenizer"]
