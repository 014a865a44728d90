"""The translation pipeline, which transformers 5 no longer provides. It is saved with the model."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any

import torch
from transformers import Pipeline, StoppingCriteria

from .batches_glossa import (
    LOWEST_SCORE,
    TextTooLong,
    check_beams,
    encode_texts,
    fits,
    max_target_length,
    position_limits,
    search_distinct,
    translate_in_batches,
)
from .profile_glossa import TextProfile
from .segments_glossa import Segment, join_segments, model_texts, segment_text

# Arguments of `generate` that add to its output, which the pipeline does not return.
OUTPUT_SETTINGS = ("output_scores", "output_attentions", "output_hidden_states")
WINDOW = 32  # batches that a stream reads ahead to group texts of similar length


class TranslationPipeline(Pipeline):
    """Translates texts: a string, a list, a generator or a dataset.

        translate = TranslationPipeline(model, tokenizer)
        translate("Hello.")                    # [{"translation_text": "Bonjour."}]
        translate(["Hello.", "Thank you."])    # [{"translation_text": ...}, {"translation_text": ...}]
        for result in translate(dataset): ...  # one result per text, in order

    A string gives a list of its translations. A list gives one dictionary per text, or a list of dictionaries, best
    first, if `num_return_sequences` is above 1. Any other iterable yields these results one by one and is never held
    in memory as a whole. Rows of a dataset may be dictionaries: `key` names the column to translate, by default
    "source", "text" or the only column. A blank text gives a blank translation. Texts of similar length share a
    batch; results are in the order of the texts.

    Args (of the pipeline or of a call):
        batch_size (`int`, defaults to 32): Texts per batch, or sentences per batch with `split_sentences`.
        split_sentences (`bool`, *optional*): Translate text sentence by sentence and join the translations with the
            original whitespace. Defaults to the model's `text_profile`, or `True`.
        return_scores (`bool`, defaults to `False`): Return the model's log-probability of each translation (natural
            logarithm, summed over its tokens) as `score`; settings that change the search do not change it.
        key (`str`, *optional*): The column to translate if rows are dictionaries.
        tgt_lang (`str`, *optional*): Code of the target language, for a model of several. Defaults to `tgt_lang` of
            the tokenizer. Other models ignore it.
        num_beams, num_return_sequences and other arguments of `generate`: Defaults come from the model's generation
            config. Those about its output (`return_dict_in_generate`, `output_scores` and so on) have no effect.

    Raises:
        ValueError: if a text has more tokens than the model takes, settings contradict each other, or `tgt_lang` is
            not among the model's languages.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_video_processor = False
    _load_feature_extractor = False

    def __init__(self, model, tokenizer=None, **kwargs):
        if tokenizer is None:
            raise ValueError("tokenizer is None; give the model's tokenizer: TranslationPipeline(model, tokenizer).")
        super().__init__(model=model, tokenizer=tokenizer, **{"task": "translation"} | kwargs)
        self.model.eval()
        if getattr(self.model.config, "custom_pipelines", None):
            # Loading by name leaves classes in this field, which prevent printing and saving the configuration.
            self.model.config.custom_pipelines = custom_pipelines()

    def _sanitize_parameters(
        self, split_sentences=None, key=None, return_scores=None, tgt_lang=None, **generate_kwargs
    ):
        # transformers' translation pipelines took these arguments. No model needs the source language, and a long
        # text is split, not truncated.
        for name in ("src_lang", "clean_up_tokenization_spaces", "truncation"):
            generate_kwargs.pop(name, None)
        preprocess = {"split_sentences": split_sentences, "key": key, "tgt_lang": tgt_lang}
        forward = {"return_scores": return_scores, **generate_kwargs}
        return (
            {name: value for name, value in preprocess.items() if value is not None},
            {name: value for name, value in forward.items() if value is not None},
            {},
        )

    def __call__(self, inputs, batch_size: int | None = None, num_workers: int | None = None, **kwargs):
        """Translate `inputs`; see the class."""
        preprocess, forward, _ = self._sanitize_parameters(**kwargs)
        preprocess, forward = {**self._preprocess_params, **preprocess}, {**self._forward_params, **forward}
        batch_size = batch_size or self._batch_size or 32
        self._check(forward)
        self.call_count += 1
        if isinstance(inputs, str):
            return self._translate([inputs], batch_size, preprocess, forward)[0]
        if isinstance(inputs, list | tuple):
            return [_single(found) for found in self._translate(inputs, batch_size, preprocess, forward)]
        if isinstance(inputs, Mapping) or not (hasattr(inputs, "__iter__") or hasattr(inputs, "__getitem__")):
            raise ValueError(f"A {type(inputs).__name__} was given; give a string, a list, a generator or a dataset.")
        return self._stream(inputs, batch_size, preprocess, forward)

    def preprocess(
        self, text, split_sentences: bool | None = None, key: str | None = None, tgt_lang: str | None = None
    ) -> dict[str, Any]:
        """The `segments` of one text, and the `pieces` (token ids; empty for a blank text) of those to translate."""
        text = _text_of(text, key)
        tokenizer, profile = self.tokenizer_into(tgt_lang), TextProfile.of(self.model.config)
        limit = tokenizer.model_max_length
        limit = min(limit, profile.trained_length or limit)
        segments = segment_text(text, profile, partial(fits, tokenizer, limit), split_sentences)
        try:
            pieces = encode_texts(tokenizer, model_texts(segments))
            return {"pieces": pieces, "segments": segments}
        except TextTooLong as error:
            raise ValueError(f"{error} Split it into sentences, or give split_sentences=True.") from error

    def tokenizer_into(self, tgt_lang: str | None = None):
        """The tokenizer; of a model of several target languages, the one that asks for `tgt_lang`."""
        if not getattr(self.tokenizer, "target_languages", None):
            return self.tokenizer
        return self.tokenizer.into(tgt_lang or self._preprocess_params.get("tgt_lang") or self.tokenizer.tgt_lang)

    def _forward(self, inputs: dict[str, torch.Tensor], return_scores: bool = False, prompt=None, **generate_kwargs):
        """Translations of a batch (`input_ids` and `attention_mask` [B, S]), with scores if `return_scores` is set.

        `prompt` has the decoder's first tokens, for models that read the target language there.
        """
        lengths, positions = inputs["attention_mask"].sum(-1), position_limits(self.model.config)[1]
        positions = positions and positions + 1 - len(prompt or [0])
        limits = torch.tensor([max_target_length(n, positions) for n in lengths.tolist()], device=lengths.device)
        if not generate_kwargs.keys() & {"max_length", "max_new_tokens", "generation_config"}:
            generate_kwargs["max_new_tokens"] = int(limits.max())
        for given, other in (("max_length", "max_new_tokens"), ("max_new_tokens", "max_length")):
            if given in generate_kwargs:  # it replaces the model's default, in whichever form that is
                generate_kwargs.setdefault(other, None)
        if prompt:
            start = torch.tensor([prompt], device=lengths.device)
            generate_kwargs["decoder_input_ids"] = start.expand(len(lengths), -1)
            generate_kwargs["decoder_start_token_id"] = prompt[0]
            limits = limits + len(prompt) - 1
        criteria = [LengthLimit(limits), *generate_kwargs.pop("stopping_criteria", ())]
        settings = generate_kwargs | dict.fromkeys(OUTPUT_SETTINGS, False)
        settings |= dict.fromkeys(("return_dict_in_generate", "output_logits"), return_scores)
        output = self.model.generate(**inputs, **settings, stopping_criteria=criteria)
        if not return_scores:
            return {"sequences": output, "scores": None}
        return {"sequences": output.sequences, "scores": self._scores(output)}

    def postprocess(self, outputs) -> list[dict[str, Any]]:
        """The B * `num_return_sequences` translations of a batch."""
        texts = self.tokenizer.batch_decode(outputs["sequences"], skip_special_tokens=True)
        if outputs["scores"] is None:
            return [{"translation_text": text} for text in texts]
        scores = outputs["scores"].tolist()
        return [{"translation_text": text, "score": score} for text, score in zip(texts, scores, strict=True)]

    def translate_batch(self, sources: list[list[int]], **forward) -> list[dict[str, Any]]:
        """Translations of token ids, `num_return_sequences` per source, best first. `forward` is as in a call."""
        wanted, num_beams = self._setting("num_return_sequences", forward), self._setting("num_beams", forward)
        if wanted == 1 or forward.get("do_sample"):
            return self._search(sources, **forward)

        def search(sources: list[list[int]], num_beams: int) -> list[dict[str, Any]]:
            return self._search(sources, **forward | {"num_beams": num_beams, "num_return_sequences": num_beams})

        blank = {"translation_text": ""} | ({"score": LOWEST_SCORE} if forward.get("return_scores") else {})
        return search_distinct(search, sources, num_beams, wanted, itemgetter("translation_text"), blank)

    def _search(self, sources: list[list[int]], **forward) -> list[dict[str, Any]]:
        batch = self.tokenizer.pad({"input_ids": sources}, return_tensors="pt")
        batch = {name: batch[name] for name in ("input_ids", "attention_mask")}
        return self.postprocess(self.forward(batch, **forward))

    def _stream(self, inputs: Any, batch_size: int, preprocess: dict, forward: dict) -> Iterator:
        # Some datasets, such as transformers' KeyDataset, have only a length and items.
        texts = iter(inputs) if hasattr(inputs, "__iter__") else map(inputs.__getitem__, range(len(inputs)))
        while chunk := list(islice(texts, WINDOW * batch_size)):
            yield from map(_single, self._translate(chunk, batch_size, preprocess, forward))

    def _translate(self, texts, batch_size: int, preprocess: dict, forward: dict) -> list[list[dict]]:
        """The translations of each text, best first."""
        prepared = [self.preprocess(text, **preprocess) for text in texts]
        pieces = [ids for text in prepared for ids in text["pieces"]]
        blank = {"translation_text": ""} | ({"score": 0.0} if forward.get("return_scores") else {})

        wanted = [blank] * self._setting("num_return_sequences", forward)

        def batches(lengths: list[int]) -> Iterator[list[int]]:
            order = sorted(range(len(lengths)), key=lengths.__getitem__)
            yield from (order[first : first + batch_size] for first in range(0, len(order), batch_size))

        translated = translate_in_batches(
            pieces,
            batches,
            lambda sources: self.translate_batch(sources, **forward),
            wanted,
        )
        rest = iter(translated)
        results = []
        for segments in (text["segments"] for text in prepared):
            copies = 1 if all(part.copied for part in segments) else len(wanted)
            pieces = [
                [blank | {"translation_text": part.text}] * copies if part.copied else next(rest) for part in segments
            ]
            found = _join(pieces, segments)
            results.append(found + wanted[len(found) :])
        return results

    def _setting(self, name: str, forward: dict) -> int:
        config = forward.get("generation_config") or self.model.generation_config
        return forward.get(name) or getattr(config, name, None) or 1

    def _check(self, forward: dict) -> None:
        if not forward.get("do_sample"):
            check_beams(self._setting("num_return_sequences", forward), self._setting("num_beams", forward))

    def _scores(self, output) -> torch.Tensor:
        # From the logits: what processors of the search make of them is not the model's probability.
        steps = self.model.compute_transition_scores(
            output.sequences, output.logits, output.get("beam_indices"), normalize_logits=True
        )  # [B * returned, T]
        padding = output.sequences[:, -steps.shape[1] :] == self.tokenizer.pad_token_id
        return steps.masked_fill(padding, 0).sum(-1)


class LengthLimit(StoppingCriteria):
    """Stops each sentence at its own limit [B], so that its translation does not depend on the rest of the batch."""

    def __init__(self, limits: torch.Tensor):
        self.limits = limits

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs) -> torch.Tensor:
        limits = self.limits.repeat_interleave(input_ids.shape[0] // len(self.limits))  # [B * beams]
        return input_ids.shape[1] > limits  # the start token is not counted


def _text_of(row, key: str | None) -> str:
    if isinstance(row, Mapping):
        names = [key] if key is not None else [name for name in ("source", "text") if name in row][:1] or list(row)
        if len(names) != 1 or names[0] not in row:
            raise ValueError(f"A row has the columns {sorted(row)}; name the one to translate: key={key or '...'!r}.")
        row = row[names[0]]
    if not isinstance(row, str):
        raise ValueError(f"A text is {row!r}, a {type(row).__name__}; give a string, or key=... for a column of rows.")
    return row


def _join(pieces: list[list[dict]], segments: list[Segment]) -> list[dict]:
    """Join the translations of segments by rank: the best of every piece, then the second best, and so on."""
    joined = []
    for ranked in zip(*pieces, strict=True):
        whole = dict(ranked[0])
        whole["translation_text"] = join_segments(segments, [found["translation_text"] for found in ranked])
        if "score" in whole:
            whole["score"] = sum(found["score"] for found in ranked)
        joined.append(whole)
    return joined


def _single(found: list[dict]):
    return found[0] if len(found) == 1 else found


def custom_pipelines() -> dict[str, dict]:
    """The entry in config.json that lets `pipeline("translation", trust_remote_code=True)` find this file."""
    return {"translation": {"impl": "pipeline_glossa.TranslationPipeline", "pt": ["AutoModelForSeq2SeqLM"]}}


__all__ = ["TranslationPipeline"]
