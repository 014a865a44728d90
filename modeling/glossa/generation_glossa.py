"""How `generate` searches with a Glossa model, where transformers' own search repeats work that need not be done.

Shapes in comments: B sentences, N of them unfinished, K beams of each, S source tokens, T target tokens,
D width of the model, V vocabulary.
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
NOTHING = -1e9  # the score of what is no candidate, small enough that nothing is worse


class GlossaGenerationMixin(GenerationMixin):
    """transformers' `generate`; the beams of a sentence share its source, and a search drops what is done."""

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

    def _beam_search(
        self,
        input_ids: torch.LongTensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        **model_kwargs,
    ):
        """As in transformers; where nothing but the best sentences is asked for, by `_beams`."""
        special = logits_processor or synced_gpus or generation_config._eos_token_tensor is None
        if not special and _is_plain(input_ids, generation_config, model_kwargs):
            return self._beams(input_ids, stopping_criteria, generation_config, **model_kwargs)
        # The oldest transformers that this file runs on look for the vocabulary there, the newest at the logits.
        return GenerationMixin._beam_search(
            self._seen_from_target(),  # type: ignore[arg-type]
            input_ids,
            logits_processor=logits_processor,
            stopping_criteria=stopping_criteria,
            generation_config=generation_config,
            synced_gpus=synced_gpus,
            **model_kwargs,
        )

    def _next_logits(self, tokens: torch.Tensor, source: torch.Tensor, attention_mask, cache) -> torch.Tensor:
        """[rows, V]: of what follows `tokens` [rows, T] after those in the cache."""
        return self(
            decoder_input_ids=tokens,
            encoder_outputs=(source,),
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]

    def _beams(
        self,
        input_ids: torch.LongTensor,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        encoder_outputs,
        past_key_values: EncoderDecoderCache,
        attention_mask: torch.Tensor | None = None,
        **_,
    ) -> torch.Tensor:
        """The best sentences that the K beams of each source find: [B * wanted, T].

        transformers computes all sentences until the last is done; here those that are done leave the batch.
        """
        source, tokens = encoder_outputs.last_hidden_state, input_ids  # [N, S, D], [N * K, T], then [N * K, 1]
        search = _BeamSearch(input_ids, generation_config)
        while len(source):
            logits = self._next_logits(tokens, source, attention_mask, past_key_values)  # [N * K, V]
            parents, going_on = search.advance(logits, stopping_criteria)
            if not going_on.all():
                source = source[going_on]
                attention_mask = None if attention_mask is None else attention_mask[going_on]
                past_key_values.cross_attention_cache.batch_select_indices(going_on)
            past_key_values.self_attention_cache.reorder_cache(parents)  # type: ignore[arg-type]
            tokens = search.running[..., -1:].flatten(0, 1)  # type: ignore[assignment]
        return search.best(generation_config.num_return_sequences)

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
        special = logits_processor or synced_gpus or streamer is not None
        special = special or generation_config._pad_token_tensor is None
        if not special and _is_plain(input_ids, generation_config, model_kwargs):
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
            logits = self._next_logits(tokens, source, attention_mask, past_key_values)  # [N, V]
            following = pad_token_id.repeat(len(sequences), 1)  # [B, 1]
            following[rows] = logits.argmax(-1, keepdim=True)
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


class _BeamSearch:
    """K beams of each of N sentences still searched, and of all B sentences the K best that have ended.

    It finds what transformers' beam search does. Candidates are chosen within each beam before all are compared, so
    that scores are added to these alone, not to the whole vocabulary of every beam.
    """

    def __init__(self, input_ids: torch.Tensor, settings: GenerationConfig):
        beams, (rows, self.prompt) = settings.num_beams, input_ids.shape
        ends, padding = settings._eos_token_tensor, settings._pad_token_tensor
        self.settings, self.sentences = settings, rows // beams
        self.width = max(2, 1 + len(ends)) * beams  # candidates: enough if every beam could end in every way
        self.searched = torch.arange(self.sentences)  # [N]
        self.running = input_ids.view(self.sentences, beams, -1)  # [N, K, T]
        self.scores = torch.full((self.sentences, beams), NOTHING)  # [N, K]
        self.scores[:, 0] = 0.0  # all beams of a sentence are the first until they have a token of their own
        # [B, K, longest]; transformers, too, takes padding 0 for none given.
        self.ended = (padding or ends[0]).repeat(self.sentences, beams, settings.max_length)
        self.ended_scores = torch.full((self.sentences, beams), NOTHING)
        self.ended_lengths = torch.zeros(self.sentences, beams, dtype=torch.long)

    def advance(self, logits: torch.Tensor, stopping_criteria: StoppingCriteriaList) -> tuple[torch.Tensor, ...]:
        """Let every beam take a token, by `logits` [N * K, V].

        Returns, for each beam that goes on, the row of `logits` from which it does; and the sentences, of N, that do.
        """
        beams = self.scores.shape[1]
        chances, tokens = logits.float().log_softmax(-1).topk(min(self.width, logits.shape[-1]))
        candidates = chances.view(*self.scores.shape, -1) + self.scores.unsqueeze(-1)
        scores, chosen = candidates.flatten(1).topk(self.width)  # [N, width]
        parents = chosen // chances.shape[-1]
        tokens = tokens.view(len(tokens) // beams, -1).gather(1, chosen)
        texts = torch.cat((_take(self.running, parents), tokens.unsqueeze(-1)), dim=-1)  # [N, width, T]
        everyone = texts.new_zeros(self.sentences, *texts.shape[1:])
        everyone[self.searched] = texts  # a criterion may be another for each of the B sentences
        ends = stopping_criteria(everyone.flatten(0, 1), None).view(-1, self.width)[self.searched]
        if ends[:, :beams].any():
            self._keep_ended(texts[:, :beams], scores[:, :beams], ends[:, :beams])

        self.scores, going = (scores + ends * NOTHING).topk(beams)
        self.running, parents = _take(texts, going), parents.gather(1, going)
        parents += torch.arange(len(parents)).unsqueeze(1) * beams
        going_on = self._hopeful()
        self.searched, self.running, self.scores = (
            value[going_on] for value in (self.searched, self.running, self.scores)
        )
        return parents[going_on].flatten(), going_on

    def _keep_ended(self, texts: torch.Tensor, scores: torch.Tensor, ends: torch.Tensor) -> None:
        """Of `texts` [N, K, T], those that end, where they are better than the worst that have."""
        length = texts.shape[-1]
        scores = self._penalised(scores, length).masked_fill(~ends, -torch.inf)
        earlier, rows = self.ended[self.searched], self.searched
        texts = torch.cat((earlier, torch.cat((texts, earlier[..., length:]), dim=-1)), dim=1)
        lengths = torch.cat((self.ended_lengths[rows], torch.full_like(scores, length, dtype=torch.long)), dim=1)
        self.ended_scores[rows], order = torch.cat((self.ended_scores[rows], scores), dim=1).topk(scores.shape[1])
        self.ended[rows], self.ended_lengths[rows] = _take(texts, order), lengths.gather(1, order)

    def _hopeful(self) -> torch.Tensor:
        """[N]: may the best beam still be better than the worst of those that have ended?"""
        early, worst = self.settings.early_stopping, self.ended_scores[self.searched].amin(1)
        longest = early == "never" and self.settings.length_penalty > 0.0
        best = self._penalised(self.scores[:, 0], self.settings.max_length if longest else self.running.shape[-1])
        return (best > worst) & (worst == NOTHING) if early is True else best > worst

    def _penalised(self, scores: torch.Tensor, length: int) -> torch.Tensor:
        return scores / (length - self.prompt) ** self.settings.length_penalty

    def best(self, wanted: int) -> torch.Tensor:
        """[B * wanted, T]: of each sentence the best that have ended, best first."""
        return self.ended[:, :wanted, : self.ended_lengths[:, :wanted].max()].flatten(0, 1)


def _take(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """[N, K, T] and [N, M] to [N, M, T]: of each sentence the beams of these numbers."""
    return values.gather(1, indices.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


def _is_plain(input_ids: torch.Tensor, generation_config: GenerationConfig, model_kwargs: dict) -> bool:
    """On a processor, with a fresh cache of transformers' own making, and nothing to heed but source and its mask."""
    heeded = {"encoder_outputs", "attention_mask", "past_key_values", "use_cache", "logits_to_keep"}
    cache = model_kwargs.get("past_key_values")
    return (
        input_ids.device.type == "cpu"
        and not generation_config.do_sample
        and not generation_config.return_dict_in_generate
        and all(name in heeded for name, value in model_kwargs.items() if value is not None and value is not False)
        and isinstance(cache, EncoderDecoderCache)
        and type(cache.self_attention_cache) is DynamicCache
        and not cache.self_attention_cache.offloading
        and cache.get_seq_length() == 0
        and not getattr(cache, "_is_user_defined", False)
    )


__all__ = ["GlossaGenerationMixin"]
