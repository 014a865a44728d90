"""Glossa's classes, registered with transformers' Auto classes by the import of this module."""

from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

from .configuration_glossa import GlossaConfig
from .modeling_glossa import GlossaForConditionalGeneration, GlossaModel
from .pipeline_glossa import TranslationPipeline
from .tokenization_glossa import GlossaTokenizer

__all__ = ["GlossaConfig", "GlossaForConditionalGeneration", "GlossaModel", "GlossaTokenizer", "TranslationPipeline"]

AutoConfig.register(GlossaConfig.model_type, GlossaConfig)
AutoModel.register(GlossaConfig, GlossaModel)
AutoModelForSeq2SeqLM.register(GlossaConfig, GlossaForConditionalGeneration)
AutoTokenizer.register(GlossaConfig, GlossaTokenizer)

# Folders saved from these classes carry their code, for `trust_remote_code=True` where Glossa is not installed.
GlossaConfig.register_for_auto_class()
GlossaModel.register_for_auto_class("AutoModel")
GlossaForConditionalGeneration.register_for_auto_class("AutoModelForSeq2SeqLM")
GlossaTokenizer.register_for_auto_class()
