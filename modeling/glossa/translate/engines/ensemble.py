"""Several models that translate as one: each token is chosen by the mean of their log-probabilities."""

import copy
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from ...base.errors import GlossaError
from ...base.tokens import target_vocabulary
from ...model.generation_glossa import CACHE, GlossaGenerationMixin
from ...model.modeling_glossa import GlossaForConditionalGeneration, GlossaPreTrainedModel
from ..languages import Languages, Wanted
from ..loading import load_model, load_tokenizer


class Ensemble(GlossaPreTrainedModel, GlossaGenerationMixin):
    """Glossa models with one vocabulary, for `generate`; the logits are the mean of the members' log-probabilities.

    The members may differ in architecture. The encoder output has the outputs of all members side by side, and the
    cache has the layers of all members, one member after the other.

    Args:
        members: The models; the first one gives decoding settings and special tokens.
    """

    def __init__(self, members: list[GlossaForConditionalGeneration]):
        config = copy.deepcopy(members[0].config)
        # A cache has as many layers as the configuration says.
        layers = [member.config.decoder_layers for member in members]
        config.decoder_layers = sum(layers)
        super().__init__(config)
        self.bounds = list(pairwise([0, *accumulate(layers)]))  # the layers of each member in the cache
        self.members = nn.ModuleList(members)
        self.encoder = _Encoders(members)
        self.generation_config = copy.deepcopy(members[0].generation_config)

    @property
    def lm_head(self) -> nn.Linear:  # type: ignore[override]
        return self.members[0].lm_head  # type: ignore[return-value]

    def get_encoder(self, *args, **kwargs) -> nn.Module:
        return self.encoder

    @torch.no_grad()
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        encoder_outputs: Any = None,
        past_key_values: EncoderDecoderCache | None = None,
        cache: EncoderDecoderCache | None = None,
        **kwargs,
    ) -> Seq2SeqLMOutput:
        """Mean log-probabilities as logits [B, T, V]; arguments as for a member."""
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask)
        past_key_values = past_key_values if cache is None else cache
        states = encoder_outputs[0].split(self.encoder.widths, dim=-1)
        total: torch.Tensor | float = 0.0
        for member, source, (first, last) in zip(self.members, states, self.bounds, strict=True):
            output = member(
                attention_mask=attention_mask,
                decoder_input_ids=decoder_input_ids,
                encoder_outputs=(source,),
                past_key_values=_part(past_key_values, first, last),
                **kwargs | {"return_dict": True},
            )
            total = total + output.logits.float().log_softmax(-1)
        return Seq2SeqLMOutput(logits=total / len(self.members), **{CACHE: past_key_values})  # type: ignore


class _Encoders(nn.Module):
    """The encoders of all members, with their outputs side by side."""

    main_input_name = "input_ids"

    def __init__(self, members: list[GlossaForConditionalGeneration]):
        super().__init__()
        self.encoders = nn.ModuleList(member.get_encoder() for member in members)
        self.widths = [member.config.d_model for member in members]

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs
    ) -> BaseModelOutput:
        """[B, S] to [B, S, sum of the widths]."""
        states = [
            encoder(input_ids=input_ids, attention_mask=attention_mask, return_dict=True).last_hidden_state
            for encoder in self.encoders
        ]
        return BaseModelOutput(last_hidden_state=torch.cat(states, dim=-1))


def _part(cache: EncoderDecoderCache | None, first: int, last: int) -> EncoderDecoderCache | None:
    """A cache of the layers `first` to `last` - 1 of `cache`, which both change."""
    if cache is None:
        return None
    parts = []
    for whole in (cache.self_attention_cache, cache.cross_attention_cache):
        part = DynamicCache()
        part.layers = whole.layers[first:last]
        parts.append(part)
    return EncoderDecoderCache(*parts)


def load_models(
    names: list[str], language: str | Wanted | None = None, by_line: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """One model and its tokenizer, or an ensemble of several; into `language`, as [`Languages.choose`].

    Raises `GlossaError` if one does not load, or is no Glossa model, or has another vocabulary than the first, or does
    not translate into `language`.
    """
    tokenizer = load_tokenizer(names[0])
    Languages.choose(tokenizer, names[0], language, by_line)
    models = [load_model(name, "auto") for name in names]
    if len(models) == 1:
        return models[0], tokenizer
    for name, model in zip(names, models, strict=True):
        if not isinstance(model, GlossaForConditionalGeneration):
            raise GlossaError(f"{name} is a {model.config.model_type} model; an ensemble takes Glossa models only.")
        if _vocabularies(load_tokenizer(name)) != _vocabularies(tokenizer):
            raise GlossaError(
                f"{name} and {names[0]} have different vocabularies. An ensemble needs one: train its members on the "
                "same data with the same tokenizer settings."
            )
    return Ensemble(models).eval(), tokenizer  # type: ignore[arg-type]


def _vocabularies(tokenizer: PreTrainedTokenizerBase) -> tuple[str, str]:
    return tokenizer.backend_tokenizer.to_str(), target_vocabulary(tokenizer).to_str()
