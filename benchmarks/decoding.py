"""How fast Glossa translates compared with MarianMT; `python -m benchmarks engine` measures the exported engine.

If MarianMT can have the model's weights, all contenders share them and the model decides how long a translation is.
Otherwise each has random weights, and all translations have equal length.
"""

import argparse
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
import torch
from transformers import MarianMTModel, PreTrainedTokenizerBase

from glossa.base.errors import GlossaError
from glossa.model.modeling_glossa import GlossaForConditionalGeneration
from glossa.translate.export.families import export_model
from glossa.translate.loading import load_model, load_tokenizer

from .corpus import Corpus, load_corpus
from .report import add_common_arguments, finish, prepare
from .sizes import glossa_config, marian_config
from .timing import alternate, format_ratio, ratios, spread, table

logger = logging.getLogger(__name__)

LENGTH = 20  # tokens of each translation, if all have equal length
MAX_LENGTH = 64  # tokens of a translation that the model ends


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
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
    decoders = build_decoders(model, tokenizer, arguments.length)
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
    config = glossa_config(arguments.size, corpus.tokenizer)
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
    model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, length: int | None
) -> Decoders:
    """MarianMT next to `model`.

    MarianMT has the weights of `model` if it supports the architecture. Otherwise it is untrained, with the same
    dimensions, and all translations have `length` tokens, or `LENGTH`.
    """
    try:
        marian = export_model(model, "marian")
    except GlossaError as error:
        logger.info("%s All translations get equal length.", error)
        length = length or LENGTH
        marian = MarianMTModel(marian_config(model.config)).eval()
    return Decoders(model.eval(), marian, tokenizer, length)


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
