"""How `generate` searches with a Glossa model, where transformers' own search repeats work that need not be done.

Shapes in comments: B sentences, N of them unfinished, T target tokens, V vocabulary.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.generation import GenerationConfig, GenerationMixin
from transformers.generation.logits_process import LogitsProcessorList
from transformers.generation.stopping_criteria import StoppingCriteriaList

from .configuration_glossa import GlossaConfig

PATIENCE = 0.75  # share of the sentences still computed that, once no more are unfinished, are computed alone


class GlossaGenerationMixin(GenerationMixin):
    """transformers' `generate`; the beams of a sentence share its source, and greedy search drops what has ended."""

    config: GlossaConfig
    lm_head: nn.Linear
    __call__: Callable[..., Any]

    def _expand_inputs_for_generation(  # type: ignore[override]
        self, expand_size: int = 1, is_encoder_decoder: bool = False, input_ids=None, **model_kwargs
    ) -> tuple[torch.LongTensor, dict]:
        """As in transformers, `expand_size` rows for each sentence, but one of its source: the beams share that."""
        shared = {name: model_kwargs.pop(name, None) for name in ("encoder_outputs", "attention_mask")}
        # The truth, that there is an encoder, would have it look for `encoder_outputs`.
        input_ids, expanded = super()._expand_inputs_for_generation(  # type: ignore[misc]
            expand_size=expand_size, is_encoder_decoder=False, input_ids=input_ids, **model_kwargs
        )
        return input_ids, expanded | {name: value for name, value in shared.items() if value is not None}

    def _reorder_cache(self, past_key_values: EncoderDecoderCache, beam_idx: torch.LongTensor) -> EncoderDecoderCache:
        """Let beams change their places; a beam's source is that of all beams it can come from."""
        past_key_values.self_attention_cache.reorder_cache(beam_idx)
        return past_key_values

    def _seen_from_target(self) -> "GlossaGenerationMixin":
        """This model with the target's vocabulary as its `vocab_size`: there transformers looks for the target's."""
        view = copy.copy(self)
        view.config = copy.copy(self.config)
        view.config.vocab_size = self.lm_head.out_features
        return view

    def compute_transition_scores(self, *args, **kwargs) -> torch.Tensor:
        view = self._seen_from_target()
        return GenerationMixin.compute_transition_scores(view, *args, **kwargs)  # type: ignore[arg-type]

    def _beam_search(self, *args, **kwargs):
        # Needed by the oldest transformers that this file runs on; the newest looks at the logits.
        return GenerationMixin._beam_search(self._seen_from_target(), *args, **kwargs)

    def _sample(
        self,
        input_ids: torch.LongTensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        streamer=None,
        **model_kwargs,
    ):
        """As in transformers; where nothing but the most likely tokens is asked for, by `_greedy`."""
        special = generation_config.do_sample or generation_config.return_dict_in_generate or logits_processor
        special = special or synced_gpus or streamer is not None or generation_config._pad_token_tensor is None
        if not special and _is_plain(input_ids, model_kwargs):
            return self._greedy(input_ids, stopping_criteria, generation_config._pad_token_tensor, **model_kwargs)
        return super()._sample(  # type: ignore[misc]
            input_ids,
            logits_processor=logits_processor,
            stopping_criteria=stopping_criteria,
            generation_config=generation_config,
            synced_gpus=synced_gpus,
            streamer=streamer,
            **model_kwargs,
        )

    def _greedy(
        self,
        sequences: torch.Tensor,
        stopping_criteria: StoppingCriteriaList,
        pad_token_id: torch.Tensor,
        encoder_outputs,
        past_key_values: EncoderDecoderCache,
        attention_mask: torch.Tensor | None = None,
        **_,
    ) -> torch.Tensor:
        """The most likely next token again and again: `sequences` [B, T] until all have ended.

        transformers computes the sentences that have ended until the last one does; here they leave the batch.
        """
        source = encoder_outputs.last_hidden_state
        rows = torch.arange(len(sequences))  # [N], whose next tokens are computed
        unfinished = torch.ones(len(sequences), dtype=torch.bool)  # [B]
        tokens = sequences  # [N, T], then [N, 1]
        while unfinished.any():
            logits = self(
                decoder_input_ids=tokens,
                encoder_outputs=(source,),
                attention_mask=attention_mask,
                past_key_values=past_key_values,
                use_cache=True,
                logits_to_keep=1,
            ).logits  # [N, 1, V]
            following = pad_token_id.repeat(len(sequences), 1)  # [B, 1]
            following[rows] = logits.argmax(-1)
            following.masked_fill_(~unfinished.unsqueeze(1), pad_token_id)
            sequences = torch.cat((sequences, following), dim=1)
            unfinished &= ~stopping_criteria(sequences, None)
            going_on = unfinished[rows]
            if going_on.sum() <= PATIENCE * len(rows):
                rows, source = rows[going_on], source[going_on]
                attention_mask = None if attention_mask is None else attention_mask[going_on]
                past_key_values.batch_select_indices(going_on)
            tokens = following[rows]
        return sequences


def _is_plain(input_ids: torch.Tensor, model_kwargs: dict) -> bool:
    """On a processor, with a fresh cache of transformers' own making, and nothing to heed but source and its mask."""
    heeded = {"encoder_outputs", "attention_mask", "past_key_values", "use_cache", "logits_to_keep"}
    cache = model_kwargs.get("past_key_values")
    return (
        input_ids.device.type == "cpu"
        and all(name in heeded for name, value in model_kwargs.items() if value is not None and value is not False)
        and isinstance(cache, EncoderDecoderCache)
        and type(cache.self_attention_cache) is DynamicCache
        and not cache.self_attention_cache.offloading
        and cache.get_seq_length() == 0
        and not getattr(cache, "_is_user_defined", False)
    )


__all__ = ["GlossaGenerationMixin"]
