"""The languages of a model: which ones it says, and the one that it is asked to translate into."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import GlossaError
from ..base.languages import find_language, normalized_code

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class Wanted(NamedTuple):
    """The languages that a model is asked for: codes or names; the source only for models that must be told it."""

    target: str | None
    source: str | None = None


@dataclass(frozen=True)
class Languages:
    """The languages of a model.

    Attributes:
        source: Code of the source language; None if it is unknown, or if there are several.
        targets: Codes of the target languages; empty if they are unknown.
        tagged: Whether the model has a token for each target language, and must be asked for one of them.
    """

    source: str | None = None
    targets: tuple[str, ...] = ()
    tagged: bool = False

    @classmethod
    def of(cls, name: str) -> "Languages":
        """The languages of the model in a folder or on the Hub: from its config, or its recipe if the run is older.

        An exported engine says them in its tokenizer. Raises `GlossaError` if config or tokenizer do not load.
        """
        from ..base.run_folder import RunFolder
        from .loading import check_name, load_tokenizer, read_config

        check_name(name)
        config = {} if (Path(name) / "model.bin").is_file() else read_config(name)
        exported = "target_language" in config  # as another family, or to CTranslate2
        if config.get("model_type") != "glossa" and not exported:
            return cls.of_tokenizer(load_tokenizer(name))
        recipe = RunFolder(name).recipe or RunFolder(Path(name).parent).recipe  # of a run, or of a checkpoint's run
        pretrained = recipe.get("objective", "translation") != "translation"
        return cls.of_config(config, {} if pretrained else recipe)

    @classmethod
    def of_config(cls, config: Mapping[str, Any], recipe: Mapping[str, Any]) -> "Languages":
        """The languages in the fields of a config, or in a recipe."""
        source, target = (config.get(name) for name in ("source_language", "target_language"))
        if isinstance(target, list):
            return cls(source, tuple(target), True)
        source, target = source or recipe.get("source_language"), target or recipe.get("target_language")
        return cls(source, (target,) if target else ())

    @classmethod
    def of_tokenizer(cls, tokenizer: "PreTrainedTokenizerBase") -> "Languages":
        """The languages of a tokenizer. A plain one has them only in the arguments that it was made with."""
        kept = getattr(tokenizer, "init_kwargs", {})
        source, target = (getattr(tokenizer, name, None) or kept.get(name) for name in ("src_lang", "tgt_lang"))
        if several := getattr(tokenizer, "target_languages", []):
            return cls(source, tuple(several), True)
        return cls(source, (target,) if target else ())

    @classmethod
    def choose(
        cls, tokenizer: "PreTrainedTokenizerBase", name: str, wanted: str | Wanted | None, by_line: bool = False
    ) -> None:
        """Make `tokenizer` of the model `name` ask for translations into `wanted`, a code or name of a language.

        With `by_line`, none need be wanted: each text then begins with the tag of its language.
        Raises `GlossaError` if the model does not translate into it, or has several languages and none is wanted, or
        must know the language of sources and does not.
        """
        if getattr(tokenizer, "codes", None):
            _choose_source(tokenizer, name, wanted.source if isinstance(wanted, Wanted) else None)
        wanted = wanted.target if isinstance(wanted, Wanted) else wanted
        own = cls.of_tokenizer(tokenizer)
        code = (
            None if wanted is None else find_language(normalized_code(wanted), own.targets) or normalized_code(wanted)
        )
        if own.tagged and code is None and (by_line or tokenizer.tgt_lang):  # type: ignore[attr-defined]
            return
        if own.tagged and code not in own.targets:
            given = "is not given" if wanted is None else f"is {wanted}"
            raise GlossaError(
                f"--target_language {given}, but {name} translates into {some_of(own.targets)}. Give one of them."
            )
        if own.tagged:
            tokenizer.tgt_lang = code  # type: ignore[attr-defined]
        elif code is not None and own.targets and code not in own.targets:
            raise GlossaError(
                f"--target_language is {wanted}, but {name} translates into {own.targets[0]} only. Leave it out."
            )

    @property
    def target(self) -> str | None:
        """The only target language, or None."""
        return None if self.tagged or not self.targets else self.targets[0]

    @property
    def pair(self) -> tuple[str | None, str | None]:
        """Source language and only target language."""
        return self.source, self.target

    def asked(self, wanted: str | Wanted | None) -> str | Wanted | None:
        """`wanted` for a model that must be asked for a language; None for other models."""
        return wanted if self.tagged else None

    def is_reverse_of(self, source: str, target: str, name: str) -> bool:
        """Whether the model `name` translates from `target` to `source`.

        Raises `GlossaError` if it translates in neither direction.
        """
        if self.tagged:
            if not {source, target} & set(self.targets):
                raise GlossaError(
                    f"{name} translates into {', '.join(self.targets)}, but the pairs are {source} and {target}."
                )
            return target not in self.targets
        if self.pair not in ((source, target), (target, source)):
            raise GlossaError(
                f"{name} translates from {self.source} to {self.target}, but the pairs are {source} and {target}. "
                "Give teachers of these languages."
            )
        return self.pair != (source, target)

    def write(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> None:
        """Write the languages into the config of a Glossa model and into its tokenizer, which save them.

        A new model of several target languages gets the languages of its tokenizer. A tokenizer of another family
        writes them in its own way.
        """
        if model.config.model_type != "glossa":
            tokenizer.write(self.source, self.target, model.config)
            return
        several = list(getattr(tokenizer, "target_languages", []))
        if several and model.config.target_languages == several:
            return
        model.config.source_language, model.config.target_language = self.source, several or self.target
        for name, code in (("src_lang", self.source), ("tgt_lang", None if several else self.target)):
            if code is None:
                continue
            setattr(tokenizer, name, code)
            tokenizer.init_kwargs[name] = code  # a plain fast tokenizer saves only what it was made with


def _choose_source(tokenizer: Any, name: str, wanted: str | None) -> None:
    """Note the source language, for a model of another family whose sources have a token of it."""
    if wanted is not None:
        tokenizer.src_lang = tokenizer.named(normalized_code(wanted))
    if tokenizer.src_lang is None:
        given = "is not given" if wanted is None else f"is {wanted}"
        raise GlossaError(
            f"--source_language {given}, but {name} must know it: {some_of(tokenizer.target_languages)}. Give one of "
            "them."
        )


def some_of(codes: Sequence[str], most: int = 30) -> str:
    """Codes of languages for a message, of which a model may have hundreds."""
    more = f" and {len(codes) - most} more" if len(codes) > most else ""
    return ", ".join(codes[:most]) + more


_TAG = re.compile(r"\s*<2([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*)>\s*")


def take_tag(text: str) -> tuple[str | None, str]:
    """The language in the tag that `text` begins with, or None, and the text without the tag."""
    found = _TAG.match(text)
    return (found[1], text[found.end() :]) if found else (None, text)


def tag_problem(language: str | None, chosen: str | None, allowed: Sequence[str]) -> str:
    """Why a text with the tag of `language`, or without one, cannot be translated, or "".

    `chosen` is the language of texts without a tag, `allowed` are those of the model.
    """
    into = f"the model translates into {', '.join(allowed)}"
    if language is not None and language not in allowed:
        return f"it has the tag <2{language}>, but {into}. Give one of these."
    if language is None and chosen is None:
        return (
            f"no target language is given, and {into}. Give --target_language, or begin the line with a tag such as "
            f"<2{allowed[0]}>."
        )
    return ""
