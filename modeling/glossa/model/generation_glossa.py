"""How `generate` searches with a Glossa model: greedy and beam search that drop finished sequences from the batch.

Calls that these two do not support use transformers' own search, with one change: the beams of a source share its
encoder output.

Shapes in comments: B sources, N of them unfinished, K beams of each, S source tokens, T target tokens, D width of the
model, V vocabulary.
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
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.utils import ModelOutput

from .configuration_glossa import GlossaConfig
from .steps_glossa import target_steps

# Greedy search drops finished rows when at most this share of the rows is unfinished: copying the cache costs time.
UNFINISHED_SHARE = 0.75
LOWEST_SCORE = -1e9  # score of an empty beam; transformers uses the same value
# Types of devices with the search of this module. On a GPU it waits for the device at every step, to drop sequences;
# whether this is worth it has not been measured.
SEARCHED = ("cpu",)
# What `generate` and the outputs of models call the cache: `past_key_values` before transformers 5.24, `cache` since.
CACHE = "cache" if "cache" in Seq2SeqLMOutput.__dataclass_fields__ else "past_key_values"


class GlossaGenerationMixin(GenerationMixin):
    """transformers' `generate` with searches that drop finished sequences and keep one copy of each source."""

    config: GlossaConfig
    lm_head: nn.Linear
    __call__: Callable[..., Any]

    def generate(self, *args, **kwargs):  # type: ignore[override]
        """As in transformers. A length that the caller gives replaces the model's own, in either of its two forms."""
        for given, other in (("max_new_tokens", "max_length"), ("max_length", "max_new_tokens")):
            if kwargs.get(given) is not None:
                kwargs.setdefault(other, None)
        return super().generate(*args, **kwargs)  # type: ignore[misc]

    def _expand_inputs_for_generation(  # type: ignore[override]
        self, expand_size: int = 1, is_encoder_decoder: bool = False, input_ids=None, **model_kwargs
    ) -> tuple[torch.LongTensor, dict]:
        """As in transformers, `expand_size` rows per source, but one copy of its encoder output.

        A cache that the caller fills has keys and values for each row, so each row then needs its own copy.
        """
        cache = model_kwargs.get(CACHE)
        if cache is not None and cache.get_seq_length() > 0:
            return super()._expand_inputs_for_generation(  # type: ignore[misc]
                expand_size=expand_size, is_encoder_decoder=is_encoder_decoder, input_ids=input_ids, **model_kwargs
            )
        shared = {name: model_kwargs.pop(name, None) for name in ("encoder_outputs", "attention_mask")}
        # With `is_encoder_decoder` set, transformers would require the `encoder_outputs` that were just removed.
        input_ids, expanded = super()._expand_inputs_for_generation(  # type: ignore[misc]
            expand_size=expand_size, is_encoder_decoder=False, input_ids=input_ids, **model_kwargs
        )
        return input_ids, expanded | {name: value for name, value in shared.items() if value is not None}

    def _reorder_cache(self, past_key_values: EncoderDecoderCache, beam_idx: torch.LongTensor) -> EncoderDecoderCache:
        """Reorder the self-attention cache. Beams move only within a source, so the cross-attention cache stays."""
        past_key_values.self_attention_cache.reorder_cache(beam_idx)
        return past_key_values

    def _with_target_vocabulary(self) -> "GlossaGenerationMixin":
        """A copy of this model whose `config.vocab_size`, which transformers reads, is the target vocabulary size."""
        view = copy.copy(self)
        view.config = copy.copy(self.config)
        view.config.vocab_size = self.lm_head.out_features
        return view

    def compute_transition_scores(self, *args, **kwargs) -> torch.Tensor:
        view = self._with_target_vocabulary()
        return GenerationMixin.compute_transition_scores(view, *args, **kwargs)  # type: ignore[arg-type]

    def _is_adapted(self) -> bool:
        """Whether this instance has another method to prepare inputs, such as PEFT's for prefix tuning."""
        return "prepare_inputs_for_generation" in vars(self)

    def _beam_search(
        self,
        input_ids: torch.LongTensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        **model_kwargs,
    ):
        """As in transformers, but with `_search` if only sequences are requested."""
        special = logits_processor or synced_gpus or self._is_adapted()
        if not special and _is_plain(input_ids, generation_config, model_kwargs):
            return self._search(
                _BeamSearch(input_ids, generation_config), input_ids, stopping_criteria, **model_kwargs
            )
        # The oldest supported transformers reads the vocabulary size from the config, the newest from the logits.
        output = GenerationMixin._beam_search(
            self._with_target_vocabulary(),  # type: ignore[arg-type]
            input_ids,
            logits_processor=logits_processor,
            stopping_criteria=stopping_criteria,
            generation_config=generation_config,
            synced_gpus=synced_gpus,
            **model_kwargs,
        )
        _unshare(output, model_kwargs.get(CACHE), len(input_ids))
        return output

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
        """As in transformers, but with `_search` if decoding is greedy and only sequences are requested."""
        special = logits_processor or synced_gpus or self._is_adapted() or streamer is not None
        special = special or _padding(generation_config) is None
        if not special and _is_plain(input_ids, generation_config, model_kwargs):
            search = _GreedySearch(input_ids, generation_config)
            return self._search(search, input_ids, stopping_criteria, **model_kwargs)
        output = super()._sample(  # type: ignore[misc]
            input_ids,
            logits_processor=logits_processor,
            stopping_criteria=stopping_criteria,
            generation_config=generation_config,
            synced_gpus=synced_gpus,
            streamer=streamer,
            **model_kwargs,
        )
        _unshare(output, model_kwargs.get(CACHE), len(input_ids))
        return output

    def _search(
        self,
        search: "_GreedySearch | _BeamSearch",
        tokens: torch.Tensor,
        stopping_criteria: StoppingCriteriaList,
        encoder_outputs,
        attention_mask: torch.Tensor | None = None,
        **others,
    ) -> torch.Tensor:
        """Run `search` from the prompts `tokens` until it is done, and return its sequences.

        transformers computes every row until the last one is finished; here finished rows leave the batch.
        """
        source = encoder_outputs.last_hidden_state  # [N, S, D]
        cache: EncoderDecoderCache = others[CACHE]
        steps = target_steps(self) if tokens.shape[1] == 1 else None  # longer prompts need a mask
        if steps is not None:
            steps.read(source, cache, attention_mask)
        while True:
            if steps is not None:
                logits = steps.logits(tokens, cache, attention_mask)
            else:
                logits = self(
                    decoder_input_ids=tokens,  # [N * K, T] in the first step, then [N * K, 1]
                    encoder_outputs=(source,),
                    attention_mask=attention_mask,
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                ).logits[:, -1]  # [N * K, V]
            parents, unfinished = search.advance(logits, stopping_criteria)
            if search.done():
                return search.result()
            if unfinished is not None:
                source = source[unfinished]
                attention_mask = None if attention_mask is None else attention_mask[unfinished]
                cache.cross_attention_cache.batch_select_indices(unfinished)
            if parents is not None:
                cache.self_attention_cache.reorder_cache(parents)  # type: ignore[arg-type]
            tokens = search.next_tokens


class _GreedySearch:
    """Greedy search: the most likely next token of every sequence. N is the number of rows that are still computed."""

    def __init__(self, input_ids: torch.Tensor, generation_config: GenerationConfig):
        self.pad_token_id = torch.tensor(_padding(generation_config), device=input_ids.device)
        self.sequences = input_ids  # [B, T]
        rows, device = len(input_ids), input_ids.device
        self.rows = torch.arange(rows, device=device)  # [N], their positions among the B sequences
        self.unfinished = torch.ones(rows, dtype=torch.bool, device=device)  # [B]
        self.next_tokens = input_ids  # [N, 1] after a step

    def advance(
        self, logits: torch.Tensor, stopping_criteria: StoppingCriteriaList
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Add a token to every unfinished sequence, given `logits` [N, V].

        Returns the rows of `logits` to continue and a mask of the N sources to keep; None means all.
        """
        next_tokens = self.pad_token_id.repeat(len(self.sequences), 1)  # [B, 1]
        next_tokens[self.rows] = logits.argmax(-1, keepdim=True)
        next_tokens.masked_fill_(~self.unfinished.unsqueeze(1), self.pad_token_id)
        self.sequences = torch.cat((self.sequences, next_tokens), dim=1)
        self.unfinished &= ~stopping_criteria(self.sequences, None)
        unfinished = self.unfinished[self.rows]  # [N]
        drop = unfinished.sum() <= UNFINISHED_SHARE * len(unfinished)
        if drop:
            self.rows = self.rows[unfinished]
        self.next_tokens = next_tokens[self.rows]
        return (unfinished.nonzero().squeeze(1), unfinished) if drop else (None, None)

    def done(self) -> bool:
        return not self.unfinished.any()

    def result(self) -> torch.Tensor:
        """[B, T]: all sequences, padded."""
        return self.sequences


class _BeamSearch:
    """K running hypotheses for each of N unfinished sources, and the K best finished ones for each of all B.

    The results are the same as of transformers' beam search. Candidates are first chosen within each beam, so that
    beam scores are added to the candidates only and not to the whole vocabulary of every beam.
    """

    def __init__(self, input_ids: torch.Tensor, generation_config: GenerationConfig):
        beams, (rows, self.prompt_length) = generation_config.num_beams, input_ids.shape
        device = input_ids.device
        ends = _ends(generation_config)
        self.config, self.sources = generation_config, rows // beams
        # Enough candidates to keep K running even if every end token is a candidate of every beam.
        self.candidates = max(2, 1 + len(ends)) * beams
        # [N], the positions of the unfinished among the B sources
        self.rows = torch.arange(self.sources, device=device)
        self.running_sequences = input_ids.view(self.sources, beams, -1)  # [N, K, T]
        self.running_scores = torch.full((self.sources, beams), LOWEST_SCORE, device=device)  # [N, K]
        self.running_scores[:, 0] = 0.0  # the beams of a source are equal at first, so only one of them counts
        # [B, K, longest]. Like transformers, treat padding 0 as not set.
        finished = (self.sources, beams, generation_config.max_length)
        self.finished_sequences = torch.full(finished, _padding(generation_config) or ends[0], device=device)
        self.finished_scores = torch.full((self.sources, beams), LOWEST_SCORE, device=device)
        self.finished_lengths = torch.zeros(self.sources, beams, dtype=torch.long, device=device)
        self.next_tokens = input_ids  # [N * K, 1] after a step

    def advance(
        self, logits: torch.Tensor, stopping_criteria: StoppingCriteriaList
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Add a token to every running hypothesis, given `logits` [N * K, V].

        Returns the rows of `logits` that the new hypotheses extend and a mask of the N sources to keep; None means
        all.
        """
        beams = self.running_scores.shape[1]
        log_probs, tokens = logits.float().log_softmax(-1).topk(min(self.candidates, logits.shape[-1]))
        scores = log_probs.view(*self.running_scores.shape, -1) + self.running_scores.unsqueeze(-1)
        scores, chosen = scores.flatten(1).topk(self.candidates)  # [N, candidates]
        parents = chosen // log_probs.shape[-1]
        tokens = tokens.view(len(tokens) // beams, -1).gather(1, chosen)
        sequences = torch.cat((gather_beams(self.running_sequences, parents), tokens.unsqueeze(-1)), dim=-1)
        ends = self._ends(sequences, stopping_criteria)
        if ends[:, :beams].any():
            self._keep_finished(sequences[:, :beams], scores[:, :beams], ends[:, :beams])

        self.running_scores, running = (scores + ends * LOWEST_SCORE).topk(beams)
        self.running_sequences, parents = gather_beams(sequences, running), parents.gather(1, running)
        parents += torch.arange(len(parents), device=parents.device).unsqueeze(1) * beams
        unfinished = self.can_improve()
        if unfinished.all():
            unfinished = None
        else:
            parents, self.rows = parents[unfinished], self.rows[unfinished]
            self.running_sequences = self.running_sequences[unfinished]
            self.running_scores = self.running_scores[unfinished]
        self.next_tokens = self.running_sequences[..., -1:].flatten(0, 1)
        return parents.flatten(), unfinished

    def _ends(self, sequences: torch.Tensor, stopping_criteria: StoppingCriteriaList) -> torch.Tensor:
        """[N, candidates]: which of `sequences` [N, candidates, T] are finished."""
        # A criterion may differ between sources, so it needs the rows of all B.
        everything = sequences.new_zeros(self.sources, *sequences.shape[1:])
        everything[self.rows] = sequences
        return stopping_criteria(everything.flatten(0, 1), None).view(self.sources, -1)[self.rows]

    def _keep_finished(self, sequences: torch.Tensor, scores: torch.Tensor, ends: torch.Tensor) -> None:
        """Keep the `sequences` [N, K, T] that end and score better than the worst finished hypotheses."""
        rows, length = self.rows, sequences.shape[-1]
        scores = self._length_penalized(scores, length).masked_fill(~ends, -torch.inf)
        earlier = self.finished_sequences[rows]
        sequences = torch.cat((earlier, torch.cat((sequences, earlier[..., length:]), dim=-1)), dim=1)
        lengths = torch.cat((self.finished_lengths[rows], torch.full_like(scores, length, dtype=torch.long)), dim=1)
        self.finished_scores[rows], best = torch.cat((self.finished_scores[rows], scores), dim=1).topk(scores.shape[1])
        self.finished_sequences[rows], self.finished_lengths[rows] = (
            gather_beams(sequences, best),
            lengths.gather(1, best),
        )

    def can_improve(self) -> torch.Tensor:
        """[N]: whether the best running hypothesis can still beat the worst finished one."""
        early, worst = self.config.early_stopping, self.finished_scores[self.rows].amin(1)
        longest = early == "never" and self.config.length_penalty > 0.0
        length = self.config.max_length if longest else self.running_sequences.shape[-1]
        best = self._length_penalized(self.running_scores[:, 0], length)
        return (best > worst) & (worst == LOWEST_SCORE) if early is True else best > worst

    def _length_penalized(self, scores: torch.Tensor, length: int) -> torch.Tensor:
        return scores / (length - self.prompt_length) ** self.config.length_penalty

    def done(self) -> bool:
        return not len(self.rows)

    def result(self) -> torch.Tensor:
        """[B * num_return_sequences, T]: the best finished hypotheses of each source, best first."""
        returned = self.config.num_return_sequences
        return self.finished_sequences[:, :returned, : self.finished_lengths[:, :returned].max()].flatten(0, 1)


def gather_beams(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Select beams by number: `values` [N, K, T] and `indices` [N, M] to [N, M, T]."""
    return values.gather(1, indices.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


def _ends(generation_config: GenerationConfig) -> list[int]:
    """The tokens that end a sequence."""
    ends = generation_config.eos_token_id
    return list(ends) if isinstance(ends, list | tuple) else [] if ends is None else [ends]


def _padding(generation_config: GenerationConfig) -> int | None:
    """The token after the end of a sequence: like in transformers, an end token where no padding is set."""
    padding = generation_config.pad_token_id
    return next(iter(_ends(generation_config)), None) if padding is None else padding


def _unshare(output, given, rows: int) -> None:
    """Give each of `rows` rows its own source in the cache of `output`, or in the cache `given` by the caller.

    During the search the beams of a source share its keys and values.
    """
    own = output.get(CACHE) if isinstance(output, ModelOutput) else None
    cache = given if getattr(given, "_is_user_defined", False) else own
    if not isinstance(cache, EncoderDecoderCache):
        return
    for layer in cache.cross_attention_cache.layers:
        sources = layer.keys.shape[0]
        if sources < rows:
            # Static layers have no `batch_repeat_interleave`.
            copies = torch.arange(sources, device=layer.keys.device).repeat_interleave(rows // sources)
            layer.reorder_cache(copies)  # type: ignore[arg-type]


def _is_plain(input_ids: torch.Tensor, generation_config: GenerationConfig, model_kwargs: dict) -> bool:
    """Whether `_search` supports this call: a device of `SEARCHED`, a fresh dynamic cache, only a source."""
    supported = {"encoder_outputs", "attention_mask", CACHE, "use_cache", "logits_to_keep"}
    cache = model_kwargs.get(CACHE)
    return (
        input_ids.device.type in SEARCHED
        # Without an end token, transformers does not pad sequences that another criterion has stopped.
        and generation_config.eos_token_id is not None
        and not generation_config.do_sample
        and not generation_config.return_dict_in_generate
        and all(name in supported for name, value in model_kwargs.items() if value is not None and value is not False)
        and isinstance(cache, EncoderDecoderCache)
        and type(cache.self_attention_cache) is DynamicCache
        and not cache.self_attention_cache.offloading
        and cache.get_seq_length() == 0
        and not getattr(cache, "_is_user_defined", False)
    )


__all__ = ["GlossaGenerationMixin"]
