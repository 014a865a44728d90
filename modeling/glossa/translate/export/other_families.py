"""Export of models of other families to CTranslate2, by its own converter."""

from pathlib import Path
from typing import Any

from transformers import PreTrainedConfig

from ...base.errors import GlossaError, require

ctranslate2 = require("ctranslate2", "engine")

# Whether layers begin with their normalization; transformers 5 leaves it out of the configs that it writes.
PRE_NORM = {"bart": False, "mbart": True, "pegasus": True}


def export_family(
    name: str, config: PreTrainedConfig, tokenizer: Any, folder: Path, quantization: str | None = None
) -> None:
    """Write a folder for CTranslate2, with the files of the tokenizer.

    Args:
        name: The folder or Hub name of a model.
        config: Its config.
        tokenizer: Its tokenizer, a [`FamilyTokenizer`].
        folder: Its previous content is deleted.
        quantization: Type of the stored weights, as in [`export_ctranslate2`].

    Raises:
        GlossaError: for a family that CTranslate2 does not know.
    """
    from ctranslate2.converters.transformers import _MODEL_LOADERS

    if type(config).__name__ not in _MODEL_LOADERS:
        known = sorted(kind.removesuffix("Config") for kind in _MODEL_LOADERS)
        raise GlossaError(
            f"{name} is of the family {config.model_type}, which CTranslate2 does not know. It knows "
            f"{', '.join(known)}."
        )
    try:
        converter(name, type(tokenizer.tokenizer).__name__).convert(str(folder), quantization=quantization, force=True)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:  # whatever its reader hits first
        raise GlossaError(
            f"{name} cannot be exported: CTranslate2 {ctranslate2.__version__} does not convert it "
            f"({type(error).__name__}: {error})."
        ) from error
    tokenizer.save_pretrained(folder)


def converter(name: str, tokenizer_class: str) -> Any:
    """CTranslate2's converter of the model `name`, with what it misses in folders that transformers 5 saved."""
    from ctranslate2.converters.transformers import TransformersConverter

    class Converter(TransformersConverter):
        def load_model(self, *args: Any, **settings: Any) -> Any:
            model = super().load_model(*args, **settings)
            if model.config.model_type in PRE_NORM and not hasattr(model.config, "normalize_before"):
                model.config.normalize_before = PRE_NORM[model.config.model_type]
                model.config.normalize_embedding = hasattr(model.model.encoder, "layernorm_embedding")
            model.config.tokenizer_class = tokenizer_class  # which tells mBART-50 from mBART-25
            return model

        def load_tokenizer(self, *args: Any, **settings: Any) -> Any:
            tokenizer = super().load_tokenizer(*args, **settings)
            if tokenizer.bos_token is None and tokenizer.cls_token is not None:  # of mBART-50
                tokenizer.bos_token = tokenizer.cls_token
            return M2M100Tokens(tokenizer) if hasattr(tokenizer, "lang_code_to_token") else tokenizer

    return Converter(name)


class M2M100Tokens:
    """A tokenizer of M2M100 whose tokens of languages are special, as they were before transformers 5."""

    def __init__(self, tokenizer: Any):
        self.tokenizer = tokenizer
        codes = list(tokenizer.lang_code_to_token.values())
        self.special_tokens_map = tokenizer.special_tokens_map | {"additional_special_tokens": codes}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)
