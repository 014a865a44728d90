"""How fast Glossa translates compared with MarianMT, a loop without a cache, and the exported engine.

Whole batches first, then a test set line by line. If MarianMT can have the model's weights, all contenders share them
and the model decides how long a translation is. Otherwise each has random weights, and all translations have equal
length.
"""

import argparse
import itertools
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch
from transformers import MarianMTModel, PreTrainedTokenizerBase

from glossa.errors import GlossaError
from glossa.export.families import export_model
from glossa.inference.engines.engine import Engine, GenerateEngine, Search, Translation
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.modeling_glossa import GlossaForConditionalGeneration
from glossa.pipeline_glossa import encode_texts

from .corpus import Corpus, load_corpus
from .report import add_common_arguments, add_corpus_arguments, finish, prepare
from .sizes import glossa_config, marian_config
from .timing import alternate, format_ratio, ratios, spread, table

logger = logging.getLogger(__name__)

LENGTH = 20  # tokens of each translation, if all have equal length
MAX_LENGTH = 64  # tokens of a translation that the model ends
LINES = 32  # of the test set, which the slow loop translates in a round


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    add_corpus_arguments(parser)
    parser.add_argument("--model", metavar="RUN", help="a trained model (default: an untrained one of --size)")
    parser.add_argument("--length", type=int, help=f"of every translation (default: {LENGTH} if untrained)")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="default: 1 5")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="sentences (default: 1 64)")
    parser.add_argument("--sentences", type=int, default=1000, help="of the test set, at most (default: 1000)")


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    corpus = load_corpus(arguments.data, arguments.language)
    model, tokenizer = load_or_build(arguments, corpus)
    sentences = list(corpus.pairs["test"]["source"])[: arguments.sentences]
    with ExitStack() as files:
        decoders = build_decoders(model, tokenizer, arguments.length, files)
        results = compare(decoders, sentences, arguments)
    finish(arguments, before, results)


def load_or_build(
    arguments: argparse.Namespace, corpus: Corpus
) -> tuple[GlossaForConditionalGeneration, PreTrainedTokenizerBase]:
    """The model of `--model` with its tokenizer; without one, an untrained model, which needs a `--length`."""
    if arguments.model:
        model, tokenizer = load_model(arguments.model), load_tokenizer(arguments.model)
        if not isinstance(model, GlossaForConditionalGeneration):
            raise GlossaError(f"{arguments.model} is a {type(model).__name__}. Give a Glossa model.")
        return model, tokenizer
    arguments.length = arguments.length or LENGTH
    torch.manual_seed(1)
    config = glossa_config(arguments.size, corpus.tokenizer, arguments.architecture)
    return GlossaForConditionalGeneration(config), corpus.tokenizer


def settings_of_search(arguments: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """Name, beams and batch size of each search to measure."""
    for beams in arguments.beams:
        for batch in arguments.batches:
            yield f"{'greedy' if beams == 1 else f'beam {beams}'}, batch {batch}", beams, batch


def compare(decoders: "Decoders", sentences: list[str], arguments: argparse.Namespace) -> dict:
    """Measure all contenders and print the table."""
    sources, results = decoders.tokenizer(sentences)["input_ids"], {}
    for name, beams, batch in settings_of_search(arguments):
        results[name] = measure_decoding(decoders, sources, beams, batch, arguments.rounds)
    results[f"greedy, {len(sentences)} sentences"] = measure_test_set(decoders, sentences, arguments.rounds)
    print(table([row for name, found in results.items() for row in decoding_rows(name, found)]))
    length = f"{decoders.length} tokens" if decoders.length else "as long as the model makes them"
    print(f"\n{decoders.glossa.num_parameters():,} parameters; translations: {length}")
    return results


@dataclass
class Decoders:
    """Models to decode with. `length` is the length of every translation, or None if the model ends it."""

    glossa: Any  # a model with `generate`, like the next; its declared types are too narrow
    marian: Any
    tokenizer: Any
    engine: Any  # an EngineProcess, or None if CTranslate2 is not installed
    length: int | None


@dataclass
class Decoded:
    """The translations of one turn."""

    seconds: float
    texts: list[str]

    @property
    def speed(self) -> float:
        """Sentences a second."""
        return len(self.texts) / self.seconds


def build_decoders(
    model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, length: int | None, files: ExitStack
) -> Decoders:
    """MarianMT and the engine next to `model`; the engine's files last as long as `files`.

    MarianMT has the weights of `model` if it supports the architecture. Otherwise it is untrained, with the same
    dimensions, and all translations have `length` tokens, or `LENGTH`.
    """
    try:
        marian = export_model(model, "marian")
    except GlossaError as error:
        logger.info("%s All translations get equal length.", error)
        length = length or LENGTH
        marian = MarianMTModel(marian_config(model.config)).eval()
    return Decoders(model.eval(), marian, tokenizer, _engine(model, tokenizer, files), length)


def _engine(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, files: ExitStack):
    """The model in CTranslate2, if it is installed."""
    try:
        import ctranslate2  # noqa: F401
    except ImportError:
        return None
    from glossa.export.ctranslate2_model import export_ctranslate2

    from .engine import EngineProcess

    folder = Path(files.enter_context(tempfile.TemporaryDirectory())) / "engine"
    export_ctranslate2(model, tokenizer, folder)
    return EngineProcess(folder, files, max_length=MAX_LENGTH)


def measure_decoding(decoders: Decoders, sources: list[list[int]], beams: int, batch: int, rounds: int) -> dict:
    """Speeds for `batch` sentences at once with this many beams, another batch in each round.

    Returns for each contender the spreads of its `speed` (sentences a second) and of its `ratio` (how many times as
    fast Glossa's `generate` is), median and 99th percentile of the `milliseconds` of a batch, and the share of
    translations `identical` to Glossa's, if the model ends them.
    """
    contenders = {
        "Glossa generate": partial(_generate, decoders, decoders.glossa, beams),
        "MarianMT generate": partial(_generate, decoders, decoders.marian, beams),
    }
    if beams == 1:
        contenders["prefix recomputed"] = partial(prefix_greedy, decoders.glossa, decoders.tokenizer, decoders.length)
    if decoders.engine is not None:
        contenders["exported engine"] = partial(_engine_translate, decoders, beams)
    turns = {name: _turn(decode, sources, batch) for name, decode in contenders.items()}
    return _compare(alternate(turns, rounds), decoders.length)


def _compare(measured: dict[str, list[Decoded]], length: int | None) -> dict:
    first = next(iter(measured.values()))
    expected = [text for decoded in first for text in decoded.texts]
    results = {}
    for name, rounds in measured.items():
        texts = [text for decoded in rounds for text in decoded.texts]
        comparable = length is None and len(texts) == len(expected)
        results[name] = {
            "speed": spread(decoded.speed for decoded in rounds),
            "milliseconds": numpy.percentile([1000 * decoded.seconds for decoded in rounds], (50, 99)).tolist(),
            "ratio": ratios([decoded.speed for decoded in first], [decoded.speed for decoded in rounds]),
            "identical": sum(map(str.__eq__, texts, expected)) / len(expected) if comparable else None,
        }
    return results


def _turn(decode: Callable[[list[list[int]]], list[str]], sources: list[list[int]], batch: int):
    """A function that decodes the next batch of `sources` at each call, and starts over at their end."""
    batches: Iterator[list[list[int]]] = itertools.cycle(
        [sources[first : first + batch] for first in range(0, max(len(sources) - batch + 1, 1), batch)]
    )

    def turn() -> Decoded:
        chosen = next(batches)
        started = time.perf_counter()
        texts = decode(chosen)
        return Decoded(time.perf_counter() - started, texts)

    return turn


def _generate(decoders: Decoders, model: Any, beams: int, sources: list[list[int]]) -> list[str]:
    batch = decoders.tokenizer.pad({"input_ids": sources}, return_tensors="pt").to(model.device)
    settings = decoders.glossa.generation_config
    # A minimum length would leave Glossa's own search. No model writes padding, whose embedding is 0 at first.
    ends = {} if decoders.length is None else {"eos_token_id": decoders.tokenizer.pad_token_id}
    found = model.generate(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        num_beams=beams,
        length_penalty=1.0 if settings.length_penalty is None else settings.length_penalty,
        early_stopping=settings.early_stopping or False,
        do_sample=False,
        max_new_tokens=decoders.length or MAX_LENGTH,
        **ends,
    )
    return decoders.tokenizer.batch_decode(found, skip_special_tokens=True)


def _engine_translate(decoders: Decoders, beams: int, sources: list[list[int]]) -> list[str]:
    if decoders.length is None:
        return [translation.text for translation in decoders.engine.translate(sources, Search(beams))]
    return decoders.engine.translate_to_length(sources, beams, decoders.length)


@torch.no_grad()
def prefix_greedy(
    model: GlossaForConditionalGeneration,
    tokenizer: PreTrainedTokenizerBase,
    length: int | None,
    sources: list[list[int]],
) -> list[str]:
    """Greedy decoding as in many tutorials: at each step the decoder reads its whole prefix again."""
    config = model.config
    batch = tokenizer.pad({"input_ids": sources}, return_tensors="pt").to(model.device)
    encoded = model.get_encoder()(**{name: batch[name] for name in ("input_ids", "attention_mask")})
    prefix = torch.full((len(sources), 1), config.decoder_start_token_id, device=model.device)
    ended = torch.zeros(len(sources), dtype=torch.bool, device=model.device)
    for _ in range(length or MAX_LENGTH):
        logits = model(
            encoder_outputs=encoded, attention_mask=batch["attention_mask"], decoder_input_ids=prefix, use_cache=False
        ).logits[:, -1]
        if length is not None:
            logits[:, config.eos_token_id] = -torch.inf
        token = logits.argmax(-1).masked_fill(ended, config.pad_token_id)
        prefix = torch.cat((prefix, token.unsqueeze(1)), dim=1)
        ended |= token == config.eos_token_id
        if ended.all():
            break
    return tokenizer.batch_decode(prefix, skip_special_tokens=True)


class _EqualLengthEngine(GenerateEngine):
    """`generate` with equal length for all translations."""

    def __init__(self, decoders: Decoders):
        super().__init__(decoders.glossa, decoders.tokenizer)
        self.decoders = decoders

    def translate(self, sources: list[list[int]], search: Search) -> list[Translation]:
        found = _generate(self.decoders, self.decoders.glossa, search.num_beams, sources)
        return [Translation(text) for text in found]


def measure_test_set(decoders: Decoders, sentences: list[str], rounds: int) -> dict:
    """The whole test set, greedy: in batches, as `glossa translate` works, and one by one in the loop of tutorials.

    The loop translates `LINES` of the sentences in each round, evenly spaced. Returns what [`measure_decoding`] does.
    """
    model = decoders.glossa
    engine = GenerateEngine(model, decoders.tokenizer) if decoders.length is None else _EqualLengthEngine(decoders)
    lines = encode_texts(decoders.tokenizer, sentences[:: max(len(sentences) // LINES, 1)][:LINES])

    def batches(engine: Engine) -> Decoded:
        started = time.perf_counter()
        texts = Translator(engine, decoders.tokenizer, Search(1)).best(sentences)
        return Decoded(time.perf_counter() - started, texts)

    def one_by_one() -> Decoded:
        started = time.perf_counter()
        texts = [prefix_greedy(model, decoders.tokenizer, decoders.length, [ids])[0] for ids in lines]
        return Decoded(time.perf_counter() - started, texts)

    turns: dict[str, Callable[[], Decoded]]
    turns = {"Glossa, as glossa translate": partial(batches, engine), "prefix, one by one": one_by_one}
    if decoders.length is None and decoders.engine is not None:
        turns["the same with --engine ctranslate2"] = partial(batches, decoders.engine)
    return _compare(alternate(turns, rounds), decoders.length)


def decoding_rows(name: str, results: dict) -> list[dict[str, str]]:
    """The results of one search, called `name`: a row for each contender."""
    first = next(iter(results))
    return [
        {
            "decoding": name,
            "contender": contender,
            "sentences/s": f"{found['speed']['median']:,.2f}",
            "ms p50": f"{found['milliseconds'][0]:,.1f}",
            "ms p99": f"{found['milliseconds'][1]:,.1f}",
            "Glossa is faster": format_ratio(found["ratio"]) if contender != first else "1",
            "identical": "" if found["identical"] is None else f"{found['identical']:.1%}",
        }
        for contender, found in results.items()
    ]
