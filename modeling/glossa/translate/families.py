"""Published models of other families: their own tokenizers, with one way to name languages."""

import copy
import re
import threading
from collections.abc import Sequence
from typing import Any

from transformers import BatchEncoding, PreTrainedConfig, PreTrainedTokenizerBase

from ..base.errors import GlossaError
from ..base.languages import LANGUAGES, find_language, language_code, language_name
from ..model.batches_glossa import position_limits

_CODE = re.compile(r"__(?P<m2m>[a-z]{2,3})__|>>(?P<opus>[^<>]+)<<|(?P<plain>[a-z]{2,3}_[A-Z][A-Za-z]{1,3})")
_PREFIX = re.compile(r"translation_(.+)_to_(.+)")
LONGEST = 1 << 20  # tokens of a source for a model without positions
_MODE = threading.Lock()  # a tokenizer has one pair of languages, and one side, at a time


class FamilyTokenizer:
    """The tokenizer of a model of another family, with the names of languages that Glossa's tokenizers have.

    It encodes sources and targets as the family's own class does, and a target always ends with the end of sentence.

        tokenizer.target_languages           # ["fr", "de"], whether the tokens are fra_Latn, fr_XX, __fr__ or >>fra<<
        tokenizer.into("fr")("Hello.")       # the ids that ask for French, if the source says it
        tokenizer.into("fr").prompt(start)   # what the decoder starts with, if it says the language

    All other attributes and methods are the family's own. Threads may share it.

    Args:
        tokenizer: The family's own tokenizer.
        config: The model's config; T5's has a text before each source.

    Attributes:
        model_max_length: Most tokens of a source, with all positions of the model.

    Raises:
        GlossaError: if the family asks for languages by tokens, and the tokenizer has none.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig):
        self.tokenizer = tokenizer
        self.model_max_length = min(tokenizer.model_max_length, position_limits(config)[0] or LONGEST)
        ends = tokenizer.eos_token, tokenizer.sep_token  # BERT's
        self.eos_token = next((token for token in ends if token is not None), None)
        self.codes, self.prefixes = _codes_of(tokenizer), _prefixes_of(tokenizer, config)
        kept = tokenizer.init_kwargs
        source, target = (kept.get(f"{name}_lang") or kept.get(f"{side}_lang")
                          for name, side in (("src", "source"), ("tgt", "target")))  # fmt: skip
        named = [code for code in self.codes if self.codes[code] == source]
        self.src_lang: str | None = named[0] if named else _plain(source)
        self._tgt_lang: str | None = None
        if not self.target_languages:
            self._tgt_lang = _plain(target)
        elif target is not None:
            self._tgt_lang = self.named(_name(target))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "tokenizer":  # while it is copied or unpickled, there is none
            raise AttributeError(name)
        return getattr(self.tokenizer, name)

    def __len__(self) -> int:
        return len(self.tokenizer)

    @property
    def target_languages(self) -> list[str]:
        """Codes of the target languages that the model must be asked for; empty if its tokens name none."""
        return list(self.codes or self.prefixes)

    @property
    def tgt_lang(self) -> str | None:
        """Code of the target language. It may be set to any code or name of one of several target languages."""
        return self._tgt_lang

    @tgt_lang.setter
    def tgt_lang(self, language: str | None) -> None:
        self._tgt_lang = language if language is None or not self.target_languages else self._known(language)

    @property
    def eos_token_id(self) -> int | None:
        """The id of the end of a sentence."""
        return None if self.eos_token is None else self.tokenizer.convert_tokens_to_ids(self.eos_token)  # type: ignore

    @property
    def is_fast(self) -> bool:
        """Whether it gives the characters of tokens; not of a source with a text before it."""
        return self.tokenizer.is_fast and not self.prefixes

    def named(self, language: str) -> str | None:
        """The code of the target language that `language` names: "fr" for "fra_Latn"; None for another one."""
        return find_language(language, self.target_languages)

    def into(self, language: str | None) -> "FamilyTokenizer":
        """This tokenizer with another `tgt_lang`. Raises `ValueError` if it is not among the target languages."""
        view = copy.copy(self)
        view.tgt_lang = language
        return view

    def prompt(self, start: int) -> list[int]:
        """The first input of the decoder: the token `start`, then the language's, which may take its place."""
        if not self.codes:
            return [start]
        code: Any = self.tokenizer.convert_tokens_to_ids(self.codes[self._known(self.tgt_lang)])
        return [start, code][-self.prompt_length :]

    @property
    def prompt_length(self) -> int:
        """The number of tokens of [`prompt`]."""
        return 1 if not self.codes or _ends_with_code(self.tokenizer) else 2

    @property
    def tokens_before(self) -> int:
        """The number of tokens of the text before each source, in the language that has the most."""
        return max((len(self.tokenizer(text)["input_ids"]) - 1 for text in self.prefixes.values()), default=0)

    @property
    def code_ids(self) -> list[int]:
        """The ids of the languages' tokens; they are given, and no part of a translation."""
        tokens = list(self.codes.values()) or [
            text.strip() for text in self.prefixes.values() if text.startswith(">>")
        ]
        return self.tokenizer.convert_tokens_to_ids(tokens)  # type: ignore[return-value]

    def __call__(
        self, text: Any = None, text_target: Any = None, return_tensors: str | None = None, **settings: Any
    ) -> BatchEncoding:
        """As in transformers: `input_ids` of the source and `labels` of the target, or `input_ids` of the only one."""
        settings = {"split_special_tokens": True} | settings  # "</s>" in the user's text is text
        encoded: dict[str, Any] = {}
        with _MODE:
            self._choose_languages(text_target is not None)
            if text is not None:
                before = self.prefixes[self._known(self.tgt_lang)] if self.prefixes else ""
                given = before + text if isinstance(text, str) else [before + each for each in text]
                encoded = dict(self.tokenizer(given, **settings))
                encoded.pop("token_type_ids", None)
            if text_target is not None:
                found = dict(self.tokenizer(text_target=text_target, **settings))
                found.pop("token_type_ids", None)
                one = isinstance(text_target, str)
                whole = self._whole(found) if one else self._all_whole(found)
                encoded |= {"labels": whole["input_ids"]} if encoded else whole
        return BatchEncoding(encoded, tensor_type=return_tensors)

    def _choose_languages(self, target: bool) -> None:
        if not self.codes:
            return
        if self.src_lang is None:
            raise ValueError(f"src_lang is None; it must be one of {', '.join(self.codes)}.")
        inner: Any = self.tokenizer
        inner.src_lang = self._own(self.src_lang)
        if target:
            inner.tgt_lang = self._own(self._known(self.tgt_lang))

    def _own(self, language: str) -> str:
        """The family's name of a language, as its tokenizer takes it."""
        token = self.codes[language]
        return _name(token) if token.startswith("__") else token

    def _known(self, language: str | None) -> str:
        code = None if language is None else self.named(language)
        if code is None:
            raise ValueError(f"tgt_lang is {language!r}; it must be one of {', '.join(self.target_languages)}.")
        return code

    def _whole(self, encoded: dict[str, Any]) -> dict[str, Any]:
        """A target with its end. Gemma's tokenizer gives it a beginning instead, which the decoder has already."""
        ids, end = encoded["input_ids"], self.eos_token_id
        order = list(range(len(ids)))
        if self.codes and ids[-2:-1] == [end] and not _ends_with_code(self.tokenizer):
            order = [order[-1], *order[:-1]]  # NLLB's `legacy_behaviour`; the decoder is still asked at its start
        elif end not in ids[-2:]:
            order = [*order[ids[:1] == [self.tokenizer.bos_token_id] :], -1]
        added = {"input_ids": end, "attention_mask": 1, "special_tokens_mask": 1, "offset_mapping": (0, 0)}
        return {
            name: [added[name] if place < 0 else values[place] for place in order] for name, values in encoded.items()
        }

    def _all_whole(self, encoded: dict[str, Any]) -> dict[str, Any]:
        rows = [self._whole(dict(zip(encoded, row, strict=True))) for row in zip(*encoded.values(), strict=True)]
        return {name: [row[name] for row in rows] for name in encoded}

    def decode(self, ids: Any, skip_special_tokens: bool = False, **settings: Any) -> Any:
        """As in transformers; M2M100's tokens of languages are special, too."""
        hidden = set(self.code_ids) if skip_special_tokens else set()
        rows = ids.tolist() if hasattr(ids, "tolist") else ids
        if rows and not isinstance(rows, int) and not isinstance(rows[0], int):
            return [self.decode(row, skip_special_tokens, **settings) for row in rows]
        rows = [index for index in ([rows] if isinstance(rows, int) else rows) if index not in hidden]
        return self.tokenizer.decode(rows, skip_special_tokens=skip_special_tokens, **settings)

    batch_decode = decode

    def write(self, source: str | None, target: str | None, config: PreTrainedConfig) -> None:
        """Note the languages of a model's pairs, where the family has a place for them; T5's is its `config`.

        With several target languages, `target` is None.
        """
        if self.codes:
            self.src_lang = None if source is None else self.named(source)
        elif source is not None:
            self.src_lang = source
        if target is not None:
            self.tgt_lang = target
        own = self.codes or {code: text.strip() for code, text in self.prefixes.items() if text.startswith(">>")}
        for name, code in (("src_lang", self.src_lang), ("tgt_lang", self.tgt_lang if target else None)):
            kept = self._own(code) if code and self.codes else own.get(code, code) if code else None
            self.tokenizer.init_kwargs[name] = kept
            setattr(self.tokenizer, name, kept or getattr(self.tokenizer, name, None))  # which is what is saved
        if self.prefixes and not own and source is not None:
            known: dict = dict(getattr(config, "task_specific_params", None) or {})
            for code in self.target_languages:
                known.setdefault(f"translation_{source}_to_{code}", {"prefix": self.prefixes[code]})
            config.task_specific_params = known

    def add_prefix(self, source: str, target: str) -> None:
        """Give a model of T5 a text for one more target language, in the words of its others."""
        if self.prefixes and self.named(target) is None:
            self.prefixes[target] = f"translate {language_name(source)} to {language_name(target)}: "

    def save_pretrained(self, folder: Any, **settings: Any) -> Any:
        """Save the family's own files."""
        return self.tokenizer.save_pretrained(folder, **settings)


def _codes_of(tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
    """The token of each language that stands in sources and targets, by the language's code."""
    if not hasattr(tokenizer, "set_tgt_lang_special_tokens"):
        return {}
    codes = [token for token in _special_tokens(tokenizer) if _CODE.fullmatch(token)]
    if not codes:  # without them, transformers would write the pieces of the language's name into each source
        raise GlossaError(
            f"{tokenizer.name_or_path} has a {type(tokenizer).__name__}: none of its special tokens is a language, "
            "such as eng_Latn: its files are not complete. Give the model as it was published, or save its tokenizer "
            "again with the languages as extra_special_tokens."
        )
    return _by_language(codes)


def _prefixes_of(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> dict[str, str]:
    """The text before a source that asks for each target language."""
    if tokens := [token for token in tokenizer.get_vocab() if token.startswith(">>") and token.endswith("<<")]:
        return {code: f"{token} " for code, token in _by_language(tokens).items()}
    found = {}
    source = tokenizer.init_kwargs.get("src_lang")
    for task, settings in (getattr(config, "task_specific_params", None) or {}).items():
        if (match := _PREFIX.fullmatch(task)) and source in (None, match[1]):
            found[match[2]] = settings.get("prefix") or ""
    return found


def _by_language(tokens: Sequence[str]) -> dict[str, str]:
    """Tokens of languages by Glossa's codes: "fr" for fra_Latn, but "zh_Hans" and "zh_Hant", since both are there."""
    names = [_name(token) for token in tokens]
    plain = [language_code(name) for name in names]
    found: dict[str, str] = {}
    for token, name, code in zip(tokens, names, plain, strict=True):
        key = name if code is None else code
        if code is not None and plain.count(code) > 1 and name != code:
            _, _, script = name.partition("_")
            key = f"{code}_{script}" if script else name
        found.setdefault(key, token)
    return found


def _name(token: str) -> str:
    """The name of a language in its token."""
    match = _CODE.fullmatch(token)
    return token if match is None else str(match["m2m"] or match["opus"] or match["plain"])


def _plain(name: str | None) -> str | None:
    """The code of a language as a family wrote it; None for names of groups such as "ROMANCE"."""
    code = None if name is None else language_code(name)
    return code if code in LANGUAGES else None


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    own = getattr(tokenizer, "lang_code_to_token", {})  # M2M100's are in no vocabulary
    return list(own.values()) or list(map(str, tokenizer.all_special_tokens))


def _ends_with_code(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a target ends with the token of its language, which is then the decoder's start: mBART-25."""
    return type(tokenizer).__name__ in ("MBartTokenizer", "MBartTokenizerFast")
