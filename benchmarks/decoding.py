"""How fast Glossa translates beside others: whole batches, and a test set line by line.

With the same weights in all, where the architecture can be exported, and translations as long as the model makes
them; else with weights of their own and every translation equally long.
"""

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

import torch
from transformers import MarianMTModel, PreTrainedTokenizerBase

from glossa.errors import GlossaError
from glossa.export.families import export_model
from glossa.inference.translator import Engine, GenerateEngine, Translation, Translator
from glossa.modeling_glossa import GlossaForConditionalGeneration

from .profile import time_by_kind
from .sizes import marian_config
from .timing import alternate, ratios, spread, times

logger = logging.getLogger(__name__)

LENGTH = 20  # of all translations, where they must be equally long
LONGEST = 64  # tokens of a translation that does not end by itself
LINES = 32  # that the slow loop translates in a round, out of the whole test set


@dataclass
class Decoders:
    """Models to decode with. `forced` is the length of every translation, or None where the model ends it."""

    glossa: Any  # a model with `generate`, as the next; types of theirs say that a tensor can be called
    marian: Any
    tokenizer: Any
    engine: Any  # an EngineElsewhere, or None where CTranslate2 is not installed
    forced: int | None


@dataclass
class Decoded:
    """What was decoded in one turn."""

    seconds: float
    texts: list[str]

    @property
    def speed(self) -> float:
        """Sentences a second."""
        return len(self.texts) / self.seconds


def build_decoders(
    model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, length: int | None, files: ExitStack
) -> Decoders:
    """MarianMT and the engine beside `model`, whose files last as long as `files`.

    With a `length`, or where `model` is none that MarianMT can be, that one is untrained, of the same dimensions, and
    all translations have this length, or `LENGTH`.
    """
    try:
        marian = export_model(model, "marian")
    except GlossaError as error:
        logger.info("%s All translations are made equally long.", error)
        length = length or LENGTH
        marian = MarianMTModel(marian_config(model.config)).eval()
    return Decoders(model.eval(), marian, tokenizer, _engine(model, tokenizer, files), length)


def _engine(model: GlossaForConditionalGeneration, tokenizer: PreTrainedTokenizerBase, files: ExitStack):
    """The model in CTranslate2, if that is installed."""
    try:
        import ctranslate2  # noqa: F401
    except ImportError:
        return None
    from glossa.export.ctranslate2_model import export_ctranslate2

    from .engine import EngineElsewhere

    folder = Path(files.enter_context(tempfile.TemporaryDirectory())) / "engine"
    export_ctranslate2(model, tokenizer, folder)
    return EngineElsewhere(folder, files, longest=LONGEST)


def measure_decoding(decoders: Decoders, sources: list[list[int]], beams: int, batch: int, rounds: int) -> dict:
    """Speeds of a batch of `batch` sentences with so many beams, another batch in each round.

    Returns for each contender the spreads of its `speed` (sentences a second) and of its `ratio` (how many times as
    fast Glossa's `generate` is), and the share of translations `identical` to Glossa's, where models end them.
    """
    contenders = {
        "Glossa generate": partial(_generate, decoders, decoders.glossa, beams),
        "MarianMT generate": partial(_generate, decoders, decoders.marian, beams),
    }
    if beams == 1:
        contenders["prefix recomputed"] = partial(prefix_greedy, decoders.glossa, decoders.tokenizer, decoders.forced)
    if decoders.engine is not None:
        contenders["exported engine"] = partial(_engine_translate, decoders, beams)
    turns = {name: _turn(decode, sources, batch) for name, decode in contenders.items()}
    return _compared(alternate(turns, rounds), decoders.forced)


def profile_decoding(decoders: Decoders, sources: list[list[int]], beams: int, batch: int) -> dict[str, float]:
    """The seconds of each kind of operator in translating the second batch with Glossa's `generate`."""
    turn = _turn(partial(_generate, decoders, decoders.glossa, beams), sources, batch)
    turn()
    return time_by_kind(turn)[1]


def _compared(measured: dict[str, list[Decoded]], forced: int | None) -> dict:
    first = next(iter(measured.values()))
    expected = [text for decoded in first for text in decoded.texts]
    results = {}
    for name, rounds in measured.items():
        texts = [text for decoded in rounds for text in decoded.texts]
        comparable = forced is None and len(texts) == len(expected)
        results[name] = {
            "speed": spread(decoded.speed for decoded in rounds),
            "ratio": ratios([decoded.speed for decoded in first], [decoded.speed for decoded in rounds]),
            "identical": sum(map(str.__eq__, texts, expected)) / len(expected) if comparable else None,
        }
    return results


def _turn(decode: Callable[[list[list[int]]], list[str]], sources: list[list[int]], batch: int):
    """Decodes the next batch of `sources` each time it is called, and begins again at their end."""
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
    batch = decoders.tokenizer.pad({"input_ids": sources}, return_tensors="pt")
    settings = decoders.glossa.generation_config
    found = model.generate(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        num_beams=beams,
        length_penalty=1.0 if settings.length_penalty is None else settings.length_penalty,
        early_stopping=settings.early_stopping or False,
        do_sample=False,
        min_new_tokens=decoders.forced,
        max_new_tokens=decoders.forced or LONGEST,
    )
    return decoders.tokenizer.batch_decode(found, skip_special_tokens=True)


def _engine_translate(decoders: Decoders, beams: int, sources: list[list[int]]) -> list[str]:
    if decoders.forced is None:
        return [translation.text for translation in decoders.engine.translate(sources, beams)]
    return decoders.engine.translate_forced(sources, beams, decoders.forced)


@torch.no_grad()
def prefix_greedy(
    model: GlossaForConditionalGeneration,
    tokenizer: PreTrainedTokenizerBase,
    forced: int | None,
    sources: list[list[int]],
) -> list[str]:
    """Greedy decoding as tutorials have it: at each step the decoder reads its whole prefix again."""
    config = model.config
    batch = tokenizer.pad({"input_ids": sources}, return_tensors="pt")
    encoded = model.get_encoder()(**{name: batch[name] for name in ("input_ids", "attention_mask")})
    prefix = torch.full((len(sources), 1), config.decoder_start_token_id)
    ended = torch.zeros(len(sources), dtype=torch.bool)
    for _ in range(forced or LONGEST):
        logits = model(
            encoder_outputs=encoded, attention_mask=batch["attention_mask"], decoder_input_ids=prefix, use_cache=False
        ).logits[:, -1]
        if forced is not None:
            logits[:, config.eos_token_id] = -torch.inf
        token = logits.argmax(-1).masked_fill(ended, config.pad_token_id)
        prefix = torch.cat((prefix, token.unsqueeze(1)), dim=1)
        ended |= token == config.eos_token_id
        if ended.all():
            break
    return tokenizer.batch_decode(prefix, skip_special_tokens=True)


class _ForcedEngine(GenerateEngine):
    """`generate` with every translation equally long."""

    def __init__(self, decoders: Decoders):
        super().__init__(decoders.glossa, decoders.tokenizer)
        self.decoders = decoders

    def translate(
        self, sources: list[list[int]], num_beams: int, num_return_sequences: int = 1, scores: bool = False
    ) -> list[Translation]:
        return [Translation(text) for text in _generate(self.decoders, self.decoders.glossa, num_beams, sources)]


def measure_test_set(decoders: Decoders, sentences: list[str], rounds: int) -> dict:
    """The whole test set, greedy, as `scripts/translate.py` goes about it; and, one by one, by the loop of tutorials.

    The loop translates `LINES` of the sentences in each round, evenly spaced. Returns what [`measure_decoding`] does.
    """
    model = decoders.glossa
    engine = GenerateEngine(model, decoders.tokenizer) if decoders.forced is None else _ForcedEngine(decoders)
    translator = Translator(engine, decoders.tokenizer, num_beams=1)
    lines = translator.encode(sentences[:: max(len(sentences) // LINES, 1)][:LINES])

    def batches(engine: Engine) -> Decoded:
        started = time.perf_counter()
        texts = Translator(engine, decoders.tokenizer, num_beams=1).best(sentences)
        return Decoded(time.perf_counter() - started, texts)

    def one_by_one() -> Decoded:
        started = time.perf_counter()
        texts = [prefix_greedy(model, decoders.tokenizer, decoders.forced, [ids])[0] for ids in lines]
        return Decoded(time.perf_counter() - started, texts)

    turns: dict[str, Callable[[], Decoded]]
    turns = {"Glossa, as scripts/translate.py": partial(batches, engine), "prefix, one by one": one_by_one}
    if decoders.forced is None and decoders.engine is not None:
        turns["the same with --engine ctranslate2"] = partial(batches, decoders.engine)
    return _compared(alternate(turns, rounds), decoders.forced)


def decoding_rows(name: str, results: dict) -> list[dict[str, str]]:
    """What was measured, a row for each contender; `name` says what was decoded."""
    first = next(iter(results))
    return [
        {
            "decoding": name,
            "contender": contender,
            "sentences/s": f"{found['speed']['median']:,.2f}",
            "Glossa is faster": times(found["ratio"]) if contender != first else "1",
            "identical": "" if found["identical"] is None else f"{found['identical']:.1%}",
        }
        for contender, found in results.items()
    ]
