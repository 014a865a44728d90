"""Translation with an exported CTranslate2 model, with Glossa's decoding settings and length limits."""

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy

from ...base.errors import GlossaError, require
from ...base.jobs.pool import cores, environment_threads
from ...model.batches_glossa import LOWEST_SCORE, max_target_length, search_distinct
from ...model.profile_glossa import TextProfile
from ..interface import Engine, Search, Translation
from .light_tokenizer import LightTokenizer

CONVERTED_WITH = ("torch", "transformers")  # libraries of CTranslate2's converters


def _import_ctranslate2() -> ModuleType:
    """CTranslate2 without the libraries of its converters, unless they are loaded: importing them takes seconds."""
    absent = [name for name in CONVERTED_WITH if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: an `ImportError`, which it expects
    try:
        return require("ctranslate2", "engine")
    finally:
        for name in absent:
            del sys.modules[name]


ctranslate2 = _import_ctranslate2()
logger = logging.getLogger(__name__)

# After `num_beams` hypotheses have ended, transformers continues until no running one can score higher. CTranslate2
# stops at a fixed number of finished hypotheses; at twice `num_beams` it finds the same best one.
PATIENCE = 2


class CTranslate2Engine(Engine):
    """A model in a folder written by [`export_ctranslate2`].

    On a CPU, a batch is divided among as many workers as `OMP_NUM_THREADS` says, or one per core, each with one
    thread. Several threads in one worker would wait for each other after every matrix product.

    Args:
        folder: The folder of the exported model.
        tokenizer: The tokenizer in that folder, light or of transformers.
        device: "cpu", "cuda" or "auto" (CUDA if available).
        compute_type: CTranslate2's name of the number type to compute in; "default" is the type of the stored
            weights, or float32 for 8-bit weights on a CPU whose 8-bit products overflow ([`overflows`]).

    Raises:
        GlossaError: if the folder holds no such model.
    """

    attends = True

    def __init__(
        self,
        folder: str | Path,
        tokenizer: Any,
        device: str = "auto",
        compute_type: str = "default",
    ):
        on_gpu = device == "cuda" or (device == "auto" and ctranslate2.get_cuda_device_count() > 0)
        self.workers = 1 if on_gpu else count_threads()
        options = {"device": device, "inter_threads": self.workers, "intra_threads": 0 if on_gpu else 1}
        try:
            self.translator = ctranslate2.Translator(str(folder), compute_type=compute_type, **options)
            in_8_bits = compute_type == "default" and self.translator.compute_type.startswith("int8")
            if in_8_bits and not on_gpu and overflows(cpu_capabilities()):
                logger.warning("%s: 8-bit products overflow on this CPU; computing in float32.", folder)
                self.translator = ctranslate2.Translator(str(folder), compute_type="float32", **options)
            config, self.decoding = (
                json.loads((Path(folder) / name).read_text(encoding="utf-8"))
                for name in ("config.json", "generation_config.json")
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise GlossaError(
                f"{folder} does not load: {error}. Give a folder written by `glossa export MODEL --to ctranslate2`."
            ) from error
        self.num_beams = self.decoding.get("num_beams") or 1
        self.tokenizer = tokenizer
        self.target = getattr(tokenizer, "target_tokenizer", tokenizer.backend_tokenizer)
        self.longest = config.get("max_target_positions")  # of learned positions
        self.profile = TextProfile.of(config)

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        if search.num_return_sequences == 1:
            return self._translate(sources, search)
        return search_distinct(
            lambda sources, beams: self._translate(
                sources, replace(search, num_beams=beams, num_return_sequences=beams)
            ),
            sources,
            search.beams,
            search.num_return_sequences,
            attrgetter("text"),
            Translation("", LOWEST_SCORE),
        )

    def token_scores(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        found = self.translator.score_batch(
            [self.tokenizer.convert_ids_to_tokens(ids) for ids in sources],
            [[self.target.id_to_token(token) for token in ids[:-1]] for ids in targets],  # it adds the end
            max_input_length=0,
        )
        return [result.log_probs for result in found]

    def attention(self, sources: list[list[int]], targets: list[list[int]]) -> list[numpy.ndarray]:
        tokens = [self.tokenizer.convert_ids_to_tokens(ids) for ids in sources]
        # The end comes by itself, and its attention with it.
        prefixes = [[self.target.id_to_token(token) for token in ids[:-1]] for ids in targets]
        found = self.translator.translate_batch(
            tokens,
            target_prefix=prefixes,
            beam_size=1,
            max_batch_size=self.sentences_per_worker(len(tokens)),
            max_decoding_length=max(map(len, prefixes), default=0) + 1,
            max_input_length=0,
            return_attention=True,
            return_end_token=True,
        )
        return [
            numpy.asarray(result.attention[0])[: len(ids)] for result, ids in zip(found, targets, strict=True)
        ]  # [T, S]

    def _translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        limits = [max_target_length(len(ids), self.longest) for ids in sources]
        found = self._search(sources, max(limits, default=0), search)
        # CTranslate2 has one length limit per call, Glossa one per sentence. The few sentences that exceed their
        # own limit are translated again, grouped by limit.
        beyond = [index for index, result in enumerate(found) if max(map(len, result.hypotheses)) > limits[index]]
        for limit, group in groupby(sorted(beyond, key=limits.__getitem__), key=limits.__getitem__):
            chosen = list(group)
            again = self._search([sources[index] for index in chosen], limit, search)
            for index, result in zip(chosen, again, strict=True):
                found[index] = result
        return [translation for result in found for translation in self._translations(result, search)]

    def _search(self, sources: list[list[int]], limit: int, search: Search) -> list:
        tokens = [self.tokenizer.convert_ids_to_tokens(ids) for ids in sources]
        return self.translator.translate_batch(
            tokens,
            max_batch_size=self.sentences_per_worker(len(tokens)),
            max_decoding_length=limit,
            return_scores=search.scores,
            **self._settings(search),
        )

    def sentences_per_worker(self, sentences: int) -> int:
        """Sentences per worker when a batch of `sentences` is divided among the workers."""
        return -(-sentences // self.workers)

    def _length_penalty(self, search: Search) -> float:
        penalty = self.decoding.get("length_penalty") if search.length_penalty is None else search.length_penalty
        return 0 if search.beams == 1 else 1 if penalty is None else penalty

    def _settings(self, search: Search) -> dict:
        ends = self.decoding["eos_token_id"]
        return {
            "beam_size": search.beams,
            "num_hypotheses": search.num_return_sequences,
            "patience": 1 if self.decoding.get("early_stopping") else PATIENCE,
            "length_penalty": self._length_penalty(search),
            "max_input_length": 0,  # no truncation
            "min_decoding_length": 0,
            "no_repeat_ngram_size": search.no_repeat_ngram_size,
            "end_token": ends if isinstance(ends, list) else [ends],
            "return_end_token": True,  # so that it counts in the length that scores are divided by
        }

    def _translations(self, result, search: Search) -> list[Translation]:
        ids = [[self.target.token_to_id(token) for token in tokens] for tokens in result.hypotheses]
        # An embedding row without a token has no text.
        known = [[index for index in indices if index is not None] for indices in ids]
        texts = self.tokenizer.batch_decode(known, skip_special_tokens=True)
        if not search.scores:
            return [Translation(text) for text in texts]
        length_penalty = self._length_penalty(search)
        sums = [score * len(tokens) ** length_penalty for score, tokens in zip(result.scores, ids, strict=True)]
        return [Translation(text, score) for text, score in zip(texts, sums, strict=True)]


def overflows(capabilities: Mapping) -> bool:
    """Whether 8-bit matrix products are wrong on a CPU with these `torch.cpu.get_capabilities()`.

    Without VNNI, an x86 CPU adds two such products in 16 bits, too few for large values (oneDNN's Developer Guide,
    "Nuances of int8 Computations").
    """
    vnni = capabilities.get("avx512_vnni") or capabilities.get("avx_vnni")
    return capabilities.get("architecture") == "x86_64" and not vnni


def cpu_capabilities() -> Mapping:
    """The capabilities that torch finds; it is imported for models with 8-bit weights only."""
    import torch

    return torch.cpu.get_capabilities()


def count_threads() -> int:
    """The threads of this process: what torch was told, else `OMP_NUM_THREADS`, else one per core."""
    if "torch" in sys.modules:
        return sys.modules["torch"].get_num_threads()
    return environment_threads() or cores()


def load_engine(folder: str, device: str = "auto") -> tuple[CTranslate2Engine, Any]:
    """Load model and tokenizer from a folder of [`export_ctranslate2`]. Raises `GlossaError` for any other folder."""
    if not (Path(folder) / "model.bin").is_file():
        raise GlossaError(
            f"{folder} holds no CTranslate2 model (model.bin). Write one with `glossa export MODEL --to ctranslate2 "
            "--output FOLDER` and give that folder."
        )
    if not (Path(folder) / "generation_config.json").is_file():
        raise GlossaError(
            f"{folder} was exported from a model of another family, for other programs. Give the model that it was "
            "exported from."
        )
    tokenizer = LightTokenizer(Path(folder))
    return CTranslate2Engine(folder, tokenizer, device), tokenizer
