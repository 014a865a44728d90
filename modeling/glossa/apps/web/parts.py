"""The parts of a model for the browser: graphs, weights, tokenizers and search settings."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from ...base.errors import GlossaError
from ...base.tokens import target_vocabulary
from ...model.batches_glossa import position_limits
from ...model.modeling_glossa import GlossaForConditionalGeneration
from ...model.profile_glossa import TextProfile
from ...translate.export.decoding import not_supported
from ...translate.export.onnx_model import check_graphs, export_attention, export_graphs
from .graphs import Weights, take_weights

TOKENIZERS = ("BPE", "Unigram")  # others split white space differently in the browser
# Settings of generation_config.json that the search in the browser supports.
DECODING = {
    "num_beams", "length_penalty", "early_stopping", "eos_token_id", "decoder_start_token_id", "no_repeat_ngram_size",
    "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "min_new_tokens",
}  # fmt: skip
PASSED: tuple[str, ...] = ("no_repeat_ngram_size", "forced_bos_token_id", "forced_eos_token_id", "suppress_tokens")
PASSED += ("begin_suppress_tokens", "min_new_tokens")


@dataclass
class Exported:
    """The parts of a model for the browser, before they are written.

    Attributes:
        graphs: Folder with the graphs, without weights.
        weights: All weights in float32.
        model: The fields of model.json for translation.
        tokenizers: The contents of tokenizer.json and, with two vocabularies, of target_tokenizer.json.
    """

    graphs: Path
    weights: Weights
    model: dict[str, Any]
    tokenizers: dict[str, dict] = field(default_factory=dict)


@contextmanager
def exported(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase) -> Iterator[Exported]:
    """Export a model to a temporary folder.

    Raises `GlossaError` if graphs, search or tokenizer in the browser do not support the model.
    """
    check_graphs(model)
    tokenizers = _tokenizers(tokenizer)
    fields = _fields(model, tokenizer)
    with tempfile.TemporaryDirectory(prefix="glossa-web-") as folder:
        export_graphs(model, Path(folder))
        export_attention(model, Path(folder) / "attention.onnx")
        names = {name: value.detach().float().numpy() for name, value in model.state_dict().items()}
        weights, needed = take_weights(Path(folder), names)
        yield Exported(Path(folder), weights, fields | {"graphs": needed}, tokenizers)


def _tokenizers(tokenizer: PreTrainedTokenizerBase) -> dict[str, dict]:
    found = {"tokenizer.json": json.loads(tokenizer.backend_tokenizer.to_str())}
    target = target_vocabulary(tokenizer)
    if target is not tokenizer.backend_tokenizer:
        found["target_tokenizer.json"] = json.loads(target.to_str())
    for name, content in found.items():
        kind = content["model"]["type"]
        if kind not in TOKENIZERS:
            raise GlossaError(
                f"{name} has a vocabulary of the kind {kind}, which the browser does not support. Train "
                "with --tokenizer_model bpe or unigram."
            )
        # The page adds special tokens, so that `</s>` in a text is not one.
        content |= {"added_tokens": [], "post_processor": None, "padding": None, "truncation": None}
    return found


def _fields(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    config, decoding, profile = model.config, model.generation_config, TextProfile.of(model.config)
    problems = not_supported(decoding, DECODING)
    if decoding.eos_token_id is None or decoding.decoder_start_token_id is None:
        problems.append("eos_token_id and decoder_start_token_id must be set in generation_config.json")
    if problems:
        raise GlossaError(f"This model cannot be exported to web: {'; '.join(problems)}.")
    ends = decoding.eos_token_id
    source, target = position_limits(config)
    several = list(getattr(tokenizer, "target_languages", []))
    languages = several or [config.target_language or "target"]
    tags = {code: tokenizer.convert_tokens_to_ids(f"<2{code}>") for code in several}
    special = target_vocabulary(tokenizer).get_added_tokens_decoder()
    chosen = getattr(tokenizer, "tgt_lang", None)
    return {
        "source": config.source_language or "mul",  # several
        "targets": languages,
        "target": chosen if chosen in languages else languages[0],
        "tagged": bool(several),
        "tags": tags,
        "special": {number: token.content for number, token in special.items() if token.special},
        "search": {
            "num_beams": decoding.num_beams or 1,
            "length_penalty": 1.0 if decoding.length_penalty is None else decoding.length_penalty,
            "early_stopping": decoding.early_stopping or False,
            "start": decoding.decoder_start_token_id,
            "ends": ends if isinstance(ends, list) else [ends],
            "padding": config.pad_token_id,
            **{name: value for name in PASSED if (value := getattr(decoding, name, None)) is not None},
        },
        "limits": {
            "source": min(tokenizer.model_max_length, source or tokenizer.model_max_length),
            "target": target,
            "trained": profile.trained_length,
        },
        "text": replace(profile, confidence=None, word_confidence=None).to_dict(),
        "parameters": model.num_parameters(),
    }
