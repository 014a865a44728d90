"""Glossa: a translation Transformer built from scratch, at home in the Hugging Face ecosystem."""

from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM

from .configuration_glossa import GlossaConfig
from .modeling_glossa import GlossaForConditionalGeneration, GlossaModel
from .pipeline_glossa import TranslationPipeline

__version__ = "0.1.0"
__all__ = ["GlossaConfig", "GlossaForConditionalGeneration", "GlossaModel", "TranslationPipeline"]

AutoConfig.register(GlossaConfig.model_type, GlossaConfig)
AutoModel.register(GlossaConfig, GlossaModel)
AutoModelForSeq2SeqLM.register(GlossaConfig, GlossaForConditionalGeneration)

# Folders saved from these classes carry their code, for `trust_remote_code=True` where Glossa is not installed.
GlossaConfig.register_for_auto_class()
GlossaModel.register_for_auto_class("AutoModel")
GlossaForConditionalGeneration.register_for_auto_class("AutoModelForSeq2SeqLM")
