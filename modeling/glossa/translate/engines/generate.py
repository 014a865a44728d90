"""The engine of models in torch: `generate` translates."""

from typing import TYPE_CHECKING

import numpy

from ...base.errors import GlossaError
from ...model.profile_glossa import TextProfile
from ..interface import Engine, Search, Translation

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class GenerateEngine(Engine):
    """A sequence-to-sequence model of transformers that translates with `generate`, which takes `options`."""

    attends = True

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", **options):
        from ...model.pipeline_glossa import TranslationPipeline

        self.options = options
        self.sampled = options.get("do_sample", False)
        self.pipeline = TranslationPipeline(model, tokenizer, device=model.device)
        decoding = model.generation_config
        starts = [token for token in (decoding.decoder_start_token_id, decoding.bos_token_id) if token is not None]
        if model.config.is_encoder_decoder and not starts:
            raise GlossaError(
                "The model's generation_config.json has neither decoder_start_token_id nor bos_token_id, so it may be "
                "damaged. Restore it from a copy."
            )
        self.start = (starts or [0])[0]
        self.num_beams = model.generation_config.num_beams or 1
        self.profile = TextProfile.of(model.config)

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        options: dict = {"no_repeat_ngram_size": search.no_repeat_ngram_size} if search.no_repeat_ngram_size else {}
        if search.length_penalty is not None and search.beams > 1:
            options["length_penalty"] = search.length_penalty
        found = self.pipeline.translate_batch(
            sources,
            num_beams=search.beams,
            num_return_sequences=search.num_return_sequences,
            return_scores=search.scores,
            prompt=search.prompt or None,
            **self.options | options,
        )
        return [Translation(entry["translation_text"], entry.get("score")) for entry in found]

    def token_scores(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        from .forced import token_scores

        return token_scores(self.pipeline.model, self.pipeline.tokenizer, sources, targets)  # type: ignore[arg-type]

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> list[numpy.ndarray]:
        from .forced import cross_attention

        return cross_attention(self.pipeline.model, self.pipeline.tokenizer, sources, targets)  # type: ignore[arg-type]
