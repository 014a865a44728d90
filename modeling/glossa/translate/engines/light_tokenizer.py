"""The tokenizer of an exported model without transformers, whose import takes seconds."""

import copy
import json
import re
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from ...base.errors import GlossaError

UNLIMITED = 10**30  # tokens; transformers' value for a tokenizer that does not say
TAG = re.compile("<2(.+)>")


class LightTokenizer:
    """The tokenizer in a folder of [`export_ctranslate2`], without transformers and with equal results.

    One vocabulary or two, one target language or several: see [`GlossaTokenizer`]. Attributes and methods are named as
    those of transformers.

    Args:
        folder: It has `tokenizer.json`, `tokenizer_config.json` and for two vocabularies `target_tokenizer.json`.

    Raises:
        GlossaError: if a file is missing or damaged.
    """

    def __init__(self, folder: Path):
        try:
            self.init_kwargs: dict[str, Any] = json.loads(
                (folder / "tokenizer_config.json").read_text(encoding="utf-8")
            )
            self.backend_tokenizer = _load(folder / "tokenizer.json", self.init_kwargs)
            target = folder / "target_tokenizer.json"
            self.target_tokenizer = _load(target, self.init_kwargs) if target.exists() else self.backend_tokenizer
        except (OSError, ValueError) as error:
            raise GlossaError(f"{folder} does not load: {error}. Export the model again.") from error
        self.model_max_length: int = self.init_kwargs.get("model_max_length") or UNLIMITED
        self.src_lang: str | None = self.init_kwargs.get("src_lang")
        self.tgt_lang: str | None = self.init_kwargs.get("tgt_lang")

    @property
    def target_languages(self) -> list[str]:
        """The codes of several target languages; empty if there is one."""
        found = (TAG.fullmatch(token) for token in self.init_kwargs.get("extra_special_tokens") or ())
        return [match[1] for match in found if match]

    def into(self, language: str) -> "LightTokenizer":
        """This tokenizer, asking for translations into `language`."""
        view = copy.copy(self)
        view.tgt_lang = language
        return view

    def __call__(
        self, text: str | list[str] | None = None, text_target: str | None = None, verbose: bool = True, **_: bool
    ) -> dict[str, list]:
        """The `input_ids` of a text or of several, or of a target text.

        Of one text also `offset_mapping`, the characters of each token, and `special_tokens_mask`. Other arguments
        are for transformers only.
        """
        if isinstance(text, list):
            encoded = self.backend_tokenizer.encode_batch(text)
            return {"input_ids": [[*self._tag(), *found.ids] for found in encoded]}
        if text_target is None:
            tag, found = self._tag(), self.backend_tokenizer.encode(text)
        else:
            tag, found = [], self.target_tokenizer.encode(text_target)
        return {
            "input_ids": [*tag, *found.ids],
            "offset_mapping": [*((0, 0) for _ in tag), *found.offsets],
            "special_tokens_mask": [*(1 for _ in tag), *found.special_tokens_mask],
        }

    def _tag(self) -> list[int]:
        """The token of the wanted language, of a model of several."""
        if not self.target_languages:
            return []
        if self.tgt_lang not in self.target_languages:
            raise GlossaError(
                f"The target language is {self.tgt_lang}; give one of {', '.join(self.target_languages)}."
            )
        tag: Any = self.backend_tokenizer.token_to_id(f"<2{self.tgt_lang}>")
        return [tag]

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str | None]:
        """The tokens of the source vocabulary."""
        return [self.backend_tokenizer.id_to_token(index) for index in ids]

    def batch_decode(self, rows: list[list[int]], skip_special_tokens: bool = False) -> list[str]:
        """The text of each row of target ids."""
        return [self.target_tokenizer.decode(row, skip_special_tokens=skip_special_tokens) for row in rows]


def _load(file: Path, settings: dict[str, Any]) -> Tokenizer:
    # The library raises a plain `Exception` for a file that is not one of its own.
    tokenizer = Tokenizer.from_str(json.dumps(json.loads(file.read_text(encoding="utf-8"))))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = bool(settings.get("split_special_tokens"))
    return tokenizer
