"""Glossa's classes, registered with transformers' Auto classes by the import of this module, which does nothing else.

Pipelines need no registration: a saved folder names its own, which `trust_remote_code=True` loads.
"""

from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

from .model.configuration_glossa import GlossaConfig
from .model.modeling_glossa import GlossaForConditionalGeneration, GlossaModel
from .model.pipeline_glossa import TranslationPipeline
from .model.tokenization_glossa import GlossaTokenizer

__all__ = ["GlossaConfig", "GlossaForConditionalGeneration", "GlossaModel", "GlossaTokenizer", "TranslationPipeline"]

AutoConfig.register(GlossaConfig.model_type, GlossaConfig)
AutoModel.register(GlossaConfig, GlossaModel)
AutoModelForSeq2SeqLM.register(GlossaConfig, GlossaForConditionalGeneration)
AutoTokenizer.register(GlossaConfig, GlossaTokenizer)
