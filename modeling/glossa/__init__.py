"""Glossa: a translation Transformer written from scratch for the Hugging Face ecosystem.

`import glossa` registers the model with transformers' Auto classes. This imports torch and transformers, which takes
seconds. The command `glossa` therefore imports `glossa_command` first and leaves it to the modules that need it.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or "glossa_command" not in sys.modules:
    from .registration import (
        GlossaConfig,
        GlossaForConditionalGeneration,
        GlossaModel,
        GlossaTokenizer,
        TranslationPipeline,
    )

__version__ = "0.1.0"
__all__ = ["GlossaConfig", "GlossaForConditionalGeneration", "GlossaModel", "GlossaTokenizer", "TranslationPipeline"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    from . import registration

    return getattr(registration, name)
