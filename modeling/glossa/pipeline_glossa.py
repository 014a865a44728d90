"""The translation pipeline, which transformers 5 no longer has; it travels with the model."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import torch
from transformers import Pipeline, StoppingCriteria

SPARE_TARGET_TOKENS = 50  # beyond twice the source; Vaswani et al. 2017 (section 6.1) allow its length plus 50
WINDOW = 32  # batches that a stream reads ahead, to put texts of like length together

_WHITE_SPACE = re.compile(r"[ \t\n\r\f\v]+")
# A sentence ends at . ! ? … and closing quotes before white space and what may begin another, or at a line's end.
_SENTENCE_END = re.compile(
    r"""[.!?…]+[)\]"'”’»]*(?:\s*»)?(?=\s+[-–—("'“‘«¿¡]*\s*[^\W_a-zà-öø-ÿ])|\n|[。！？]+[」』”]*"""
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(«])(?:[A-ZÀ-Þ]|M|MM|Mr|Mrs|Ms|Mme|Mlle|Dr|Pr|Prof|St|Ste|No|vs|cf|p|art|Jr|Sr|Hr|Fr|Nr|e\.g|i\.e)\.$"
)
_CLAUSE_END = re.compile(r"[,;:]\s+")


class TranslationPipeline(Pipeline):
    """Translates texts: a string, a list, a generator or a data set.

        translate = TranslationPipeline(model, tokenizer)
        translate("Hello.")                    # [{"translation_text": "Bonjour."}]
        translate(["Hello.", "Thank you."])    # [{"translation_text": ...}, {"translation_text": ...}]
        for result in translate(dataset): ...  # one after the other, in order

    A string gives a list of its translations; a list gives for each text one dictionary, or with
    `num_return_sequences` above 1 a list of them, best first; anything else that can be iterated over gives the same
    one by one and is never held as a whole. Rows of a data set may be dictionaries: `key` names the column, otherwise
    it is "source", "text" or the only one. A blank text gives a blank translation. Texts of like length go through
    the model together; order is kept.

    Args, when the pipeline is made or called:
        batch_size (`int`, defaults to 32): Texts (with `split_sentences` sentences) in a batch.
        split_sentences (`bool`, defaults to `False`): Translate long text sentence by sentence and join the
            translations again, with the white space that stood between.
        return_scores (`bool`, defaults to `False`): Give each translation's log-probability, natural and summed over
            its tokens, as `score`.
        key (`str`, *optional*): The column to translate, where rows are dictionaries.
        num_beams, num_return_sequences and all else `generate` takes: As there; the model's own by default.

    Raises:
        ValueError: where a text has more tokens than the model takes, or settings contradict each other.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_video_processor = False
    _load_feature_extractor = False

    def __init__(self, model, tokenizer=None, **kwargs):
        if tokenizer is None:
            raise ValueError("tokenizer is None; give the model's tokenizer: TranslationPipeline(model, tokenizer).")
        super().__init__(model=model, tokenizer=tokenizer, **kwargs)
        self.model.eval()
        if getattr(self.model.config, "custom_pipelines", None):
            # Loading by name leaves classes in it, with which a configuration cannot be printed or saved.
            self.model.config.custom_pipelines = custom_pipelines()

    def _sanitize_parameters(self, split_sentences=None, key=None, return_scores=None, **generate_kwargs):
        # As transformers' own translation pipelines, these are taken but say nothing a one-way model needs.
        for name in ("src_lang", "tgt_lang", "clean_up_tokenization_spaces"):
            generate_kwargs.pop(name, None)
        preprocess = {"split_sentences": split_sentences, "key": key}
        forward = {"return_scores": return_scores, **generate_kwargs}
        return (
            {name: value for name, value in preprocess.items() if value is not None},
            {name: value for name, value in forward.items() if value is not None},
            {},
        )

    def __call__(self, inputs, batch_size: int | None = None, num_workers: int | None = None, **kwargs):
        """Translations of `inputs`; see the class."""
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
            raise ValueError(f"A {type(inputs).__name__} was given; give a string, a list, a generator or a data set.")
        return self._stream(inputs, batch_size, preprocess, forward)

    def preprocess(self, text, split_sentences: bool = False, key: str | None = None) -> dict[str, Any]:
        """One text: its `pieces` (token ids; none for a blank one) and the white space `between` them."""
        text = _text_of(text, key)
        limit = self.tokenizer.model_max_length
        pieces, between = ([text], [""]) if not split_sentences else split_text(text, self._fits)
        pieces = [clean_text(piece) for piece in pieces]
        ids = [self.tokenizer(piece)["input_ids"] if piece else [] for piece in pieces]
        for tokens in ids:
            if len(tokens) > limit:
                raise ValueError(
                    f"A text has {len(tokens):,} tokens; the model takes {limit:,}. Give split_sentences=True."
                )
        return {"pieces": ids, "between": between}

    def _forward(self, inputs: dict[str, torch.Tensor], return_scores: bool = False, **generate_kwargs):
        """Translations of a batch (`input_ids` and `attention_mask` [B, S]), and their scores if wanted."""
        limits = 2 * inputs["attention_mask"].sum(-1) + SPARE_TARGET_TOKENS  # [B]
        if getattr(self.model.config, "position_embedding_type", None) == "learned":
            limits = limits.clamp(max=self.model.config.max_target_positions)
        if not generate_kwargs.keys() & {"max_length", "max_new_tokens", "generation_config"}:
            generate_kwargs["max_new_tokens"] = int(limits.max())
        output = self.model.generate(
            **inputs,
            **generate_kwargs,
            stopping_criteria=[LengthLimit(limits)],
            return_dict_in_generate=return_scores,
            output_scores=return_scores,
        )
        if not return_scores:
            return {"sequences": output, "scores": None}
        return {"sequences": output.sequences, "scores": self._scores(output)}

    def postprocess(self, outputs) -> list[dict[str, Any]]:
        """The translations of a batch, [B * returned] of them."""
        texts = self.tokenizer.batch_decode(outputs["sequences"], skip_special_tokens=True)
        if outputs["scores"] is None:
            return [{"translation_text": text} for text in texts]
        scores = outputs["scores"].tolist()
        return [{"translation_text": text, "score": score} for text, score in zip(texts, scores, strict=True)]

    def _stream(self, inputs: Any, batch_size: int, preprocess: dict, forward: dict) -> Iterator:
        # Some data sets, such as transformers' KeyDataset, have only a length and items.
        texts = iter(inputs) if hasattr(inputs, "__iter__") else map(inputs.__getitem__, range(len(inputs)))
        while chunk := list(islice(texts, WINDOW * batch_size)):
            yield from map(_single, self._translate(chunk, batch_size, preprocess, forward))

    def _translate(self, texts, batch_size: int, preprocess: dict, forward: dict) -> list[list[dict]]:
        """The translations of each text, best first."""
        prepared = [self.preprocess(text, **preprocess) for text in texts]
        pieces = [ids for text in prepared for ids in text["pieces"]]
        returned = self._setting("num_return_sequences", forward)
        blank = {"translation_text": ""} | ({"score": 0.0} if forward.get("return_scores") else {})
        translated = [[dict(blank) for _ in range(returned)] for _ in pieces]
        order = sorted((index for index, ids in enumerate(pieces) if ids), key=lambda index: len(pieces[index]))
        for first in range(0, len(order), batch_size):
            chosen = order[first : first + batch_size]
            batch = self.tokenizer.pad({"input_ids": [pieces[index] for index in chosen]}, return_tensors="pt")
            batch = {name: batch[name] for name in ("input_ids", "attention_mask")}
            found = self.postprocess(self.forward(batch, **forward))
            for position, index in enumerate(chosen):
                translated[index] = found[position * returned : (position + 1) * returned]
        rest = iter(translated)
        return [_join([next(rest) for _ in text["pieces"]], text["between"]) for text in prepared]

    def _setting(self, name: str, forward: dict) -> int:
        config = forward.get("generation_config") or self.model.generation_config
        return forward.get(name) or getattr(config, name, None) or 1

    def _check(self, forward: dict) -> None:
        returned, beams = self._setting("num_return_sequences", forward), self._setting("num_beams", forward)
        if returned > beams and not forward.get("do_sample"):
            raise ValueError(
                f"num_return_sequences is {returned} and num_beams {beams}; beam search returns at most as many "
                "translations as it has beams. Raise num_beams."
            )

    def _fits(self, text: str) -> bool:
        return len(self.tokenizer(text)["input_ids"]) <= self.tokenizer.model_max_length

    def _scores(self, output) -> torch.Tensor:
        beam_indices = output.get("beam_indices")
        steps = self.model.compute_transition_scores(
            output.sequences, output.scores, beam_indices, normalize_logits=beam_indices is None
        )  # [B * returned, T]
        padding = output.sequences[:, -steps.shape[1] :] == self.tokenizer.pad_token_id
        return steps.masked_fill(padding, 0).sum(-1)


class LengthLimit(StoppingCriteria):
    """Ends each sentence at its own limit [B], so that its translation does not depend on the rest of its batch."""

    def __init__(self, limits: torch.Tensor):
        self.limits = limits

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs) -> torch.Tensor:
        limits = self.limits.repeat_interleave(input_ids.shape[0] // len(self.limits))  # [B * beams]
        return input_ids.shape[1] > limits  # the start token is not counted


def clean_text(text: str) -> str:
    """NFC, runs of ASCII white space as one space, no byte order marks, no white space at the ends.

    Training text is cleaned by it too. The no-break spaces U+00A0 and U+202F stay within the text, where French puts
    them before `?` and `!`; at an end they bind nothing and go.
    """
    text = unicodedata.normalize("NFC", text.replace("\ufeff", ""))
    return _WHITE_SPACE.sub(" ", text).strip()


def split_text(text: str, fits=lambda piece: True) -> tuple[list[str], list[str]]:
    """Sentences of `text` and the white space after each; what does not `fit` is cut at clauses, then at words."""
    pieces, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[start : end.end()]):
            pieces.append(text[start : end.end()])
            start = end.end()
    pieces = [part for piece in [*pieces, text[start:]] for part in _shorten(piece, fits)]
    # White space before a piece belongs after the one before it.
    sentences, between = [""], [""]
    for piece in pieces:
        body = piece.strip()
        lead = piece[: len(piece) - len(piece.lstrip())] if body else piece
        between[-1] += lead
        if body:
            sentences.append(body)
            between.append(piece[len(lead) + len(body) :])
    if len(sentences) == 1:
        return [""], [""]
    return sentences[1:], [*between[1:-1], ""]


def _shorten(piece: str, fits) -> list[str]:
    if fits(piece):
        return [piece]
    middle = len(piece) // 2
    places = [end.end() for end in _CLAUSE_END.finditer(piece)] or [end.end() for end in re.finditer(r"\s+", piece)]
    places = [place for place in places if 0 < place < len(piece)]
    cut = min(places, key=lambda place: abs(place - middle)) if places else middle
    return [part for half in (piece[:cut], piece[cut:]) for part in _shorten(half, fits)] if cut else [piece]


def _text_of(row, key: str | None) -> str:
    if isinstance(row, Mapping):
        names = [key] if key is not None else [name for name in ("source", "text") if name in row][:1] or list(row)
        if len(names) != 1 or names[0] not in row:
            raise ValueError(f"A row has the columns {sorted(row)}; name the one to translate: key={key or '...'!r}.")
        row = row[names[0]]
    if not isinstance(row, str):
        raise ValueError(f"A text is {row!r}, a {type(row).__name__}; give a string, or key=... for a column of rows.")
    return row


def _join(pieces: list[list[dict]], between: list[str]) -> list[dict]:
    """Translations of pieces to those of the whole: the best of all, then the second best of all, and so on."""
    joined = []
    for ranked in zip(*pieces, strict=True):
        whole = dict(ranked[0])
        if len(ranked) > 1:
            texts = (found["translation_text"] + space for found, space in zip(ranked, between, strict=True))
            whole["translation_text"] = "".join(texts)
            if "score" in whole:
                whole["score"] = sum(found["score"] for found in ranked)
        joined.append(whole)
    return joined


def _single(found: list[dict]):
    return found[0] if len(found) == 1 else found


def custom_pipelines() -> dict[str, dict]:
    """What config.json says, so that `pipeline("translation", model=..., trust_remote_code=True)` finds this file."""
    return {"translation": {"impl": "pipeline_glossa.TranslationPipeline", "pt": ["AutoModelForSeq2SeqLM"]}}


__all__ = ["TranslationPipeline"]
