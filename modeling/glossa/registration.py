"""Glossa's classes, registered with transformers' Auto classes and pipelines by the import of this module."""

import re
from importlib.util import find_spec

from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, pipelines

from .model.configuration_glossa import GlossaConfig
from .model.modeling_glossa import GlossaForConditionalGeneration, GlossaModel
from .model.pipeline_glossa import TranslationPipeline
from .model.tokenization_glossa import GlossaTokenizer

__all__ = ["GlossaConfig", "GlossaForConditionalGeneration", "GlossaModel", "GlossaTokenizer", "TranslationPipeline"]

AutoConfig.register(GlossaConfig.model_type, GlossaConfig)
AutoModel.register(GlossaConfig, GlossaModel)
AutoModelForSeq2SeqLM.register(GlossaConfig, GlossaForConditionalGeneration)
AutoTokenizer.register(GlossaConfig, GlossaTokenizer)


def _register_task() -> None:
    """Make `pipeline("translation", ...)` and `pipeline("translation_en_to_fr", ...)` give Glossa's pipeline."""
    # transformers 5 removed both tasks; its newer releases refuse the removed ones before they look at the registry.
    getattr(pipelines, "REMOVED_TASKS", {}).pop("translation", None)
    registry = pipelines.PIPELINE_REGISTRY
    registry.register_pipeline("translation", TranslationPipeline, pt_model=AutoModelForSeq2SeqLM)
    check_task = registry.check_task

    def check(task: str):
        # The pipeline compares the languages with the model's.
        return check_task(re.sub(r"^translation_.+_to_.+$", "translation", task))

    registry.check_task = check  # type: ignore[method-assign]


def _register_adapters() -> None:
    """Tell PEFT which matrices LoRA and IA3 adapt if the caller names none, as for transformers' own models."""
    if find_spec("peft") is None:
        return
    from peft.utils import constants

    constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING[GlossaConfig.model_type] = ["q_proj", "v_proj"]
    ia3 = ["k_proj", "v_proj", "down_proj"]
    constants.TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING[GlossaConfig.model_type] = ia3
    constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING[GlossaConfig.model_type] = ["down_proj"]


_register_task()
_register_adapters()
