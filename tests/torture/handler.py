"""Hostile and ordinary requests to the endpoint handler from eight threads; each must have an answer in time."""

import gc
import importlib.util
import random
import reprlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import psutil

from torture.batching import build, random_text

PATH = Path(__file__).parents[2] / "model_card/handler.py"
HOSTILE = 0.4  # share of the requests
THREADS = 8
SLACK = 5  # seconds above the limit: the last call of the model, and the machine
GROWTH = 64  # MiB of memory after the warm-up that is not yet a fault
VALUES = [
    None, True, False, 0, -1, 1, 2.5, 17, 400, 20_000_000, 10**30, 10**4000, 1e308, float("nan"), float("inf"),
    -float("inf"), "", "3", "num_beams", "\ud800", [], [1], {}, {"num_beams": 3}, b"x", object(),
]  # fmt: skip
NAMES = [
    "num_beams", "num_return_sequences", "length_penalty", "max_new_tokens", "batch_size", "return_scores", "src_lang",
    "tgt_lang", "clean_up_tokenization_spaces", "truncation", "generate_parameters", "do_sample", "max_time",
    "generation_config", "__class__", "", "\ud800", "x" * 5000,
]  # fmt: skip


def torture(count: int, seed: int) -> dict:
    """Answers to `count` requests. Raises `AssertionError` for one that raises, has no or a wrong answer, or is late.

    Returns the numbers of requests, of hostile ones, of those that raised and of late ones, the memory that the
    process gained after a warm-up, in MiB, and the median and the 99th percentile of the time of an answer, in ms.
    """
    with tempfile.TemporaryDirectory() as folder:
        handler = _handler(Path(folder))
        with ThreadPoolExecutor(THREADS) as threads:
            warm = max(count // 5, 1)
            found = list(threads.map(lambda number: _answer(handler, seed, number), range(warm)))
            before = _memory()
            found += threads.map(lambda number: _answer(handler, seed, number), range(warm, count))
            growth = _memory() - before
        limit = handler.limit + SLACK
    faults = [answer.fault for answer in found if answer.fault]
    times = sorted(answer.seconds for answer in found)
    late = sum(seconds > limit for seconds in times)
    figures = {
        "requests": count,
        "hostile": sum(answer.hostile for answer in found),
        "uncaught": len(faults),
        "over_time_limit": late,
        "memory_growth_mib": round(growth, 1),
        "p50_ms": round(1000 * times[len(times) // 2], 1),
        "p99_ms": round(1000 * times[min(len(times) * 99 // 100, len(times) - 1)], 1),
    }
    assert not faults and not late and growth < GROWTH, (figures, faults[:5])
    return figures


def _handler(folder: Path):
    model, tokenizer = build(two_vocabularies=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    spec = importlib.util.spec_from_file_location("handler", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler = module.EndpointHandler(folder)
    handler.limit = module.MAX_SECONDS
    return handler


class Answer(NamedTuple):
    hostile: bool
    seconds: float
    fault: str  # "" if there is none


def _answer(handler, seed: int, number: int) -> Answer:
    """The answer to request `number`: a translation, or the error that it must have."""
    chance = random.Random(f"{seed} {number}")
    hostile = chance.random() < HOSTILE
    data, wanted = _hostile(chance) if hostile else _ordinary(chance)
    started = time.perf_counter()
    try:
        found = handler(data)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - started
    if isinstance(found, dict):
        message = found.get("error")
        good = wanted != "translations" and found.keys() == {"error"} and isinstance(message, str)
        # Every unexpected error has the same answer, and is a fault.
        good = good and 0 < len(message) < 300 and "could not be answered" not in message
    else:
        good = wanted != "error" and isinstance(found, list) and _fits(data, found)
    return Answer(hostile, seconds, "" if good else f"request {number}: {reprlib.repr(data)} gives {found!r:.300}")


def _fits(data: dict, found: list) -> bool:
    """Whether an answer has as many translations for each text as were asked for, in the form asked for."""
    texts = data["inputs"] if isinstance(data["inputs"], list) else [data["inputs"]]
    settings = data.get("parameters") or {}
    settings = settings | (settings.get("generate_parameters") or {})
    each = settings.get("num_return_sequences") or 1
    groups = [found] if isinstance(data["inputs"], str) else found
    groups = [group if isinstance(group, list) else [group] for group in groups]
    fields = {"translation_text"} | ({"score"} if settings.get("return_scores") else set())
    return len(groups) == len(texts) and all(
        len(group) == each and all(one.keys() == fields and isinstance(one["translation_text"], str) for one in group)
        for group in groups
    )


def _ordinary(chance: random.Random) -> tuple:
    """A request that must be translated."""
    beams = chance.choice((1, 2, 4))
    settings = {
        "num_beams": beams,
        "num_return_sequences": chance.randint(1, beams),
        "length_penalty": chance.choice((0, 0.6, 1, -1.5)),
        "max_new_tokens": chance.randint(1, 12),
        "batch_size": chance.randint(1, 64),
        "return_scores": chance.random() < 0.3,
        "src_lang": "en",
    }
    kept = {name for name in settings if chance.random() < 0.5} | {"num_beams", "max_new_tokens"}
    texts = [random_text(chance) for _ in range(chance.randint(1, 4))]
    inputs = texts if chance.random() < 0.5 else texts[0]
    return {
        "inputs": inputs,
        "parameters": {name: settings[name] for name in settings if name in kept},
    }, "translations"


def _hostile(chance: random.Random) -> tuple:
    """A request that must be refused."""
    kind = chance.randrange(9)
    good = "a b."
    if kind == 0:
        return chance.choice([None, [], "a", 5, {}, {"text": "a"}, {"inputs": "a", "x": 1}, {1: 2}, b"a"]), "error"
    if kind == 1:
        return {
            "inputs": chance.choice([None, 5, 2.5, True, {}, [], [None], ["a", 5], [["a"]], b"a", ("a",)])
        }, "error"
    if kind == 2:
        return {"inputs": _deep(chance.choice((2, 900, 20_000)), good)}, "error"
    if kind == 3:
        return {"inputs": [good] * chance.choice((65, 100_000))}, "error"
    if kind == 4:
        text = chance.choice(["x", "é", "好", "\ufdfa", "a ", ". ", "A. ", "\n", "\u2028", "😀"])
        return {"inputs": text * chance.choice((20_001, 200_000))}, "error"
    if kind == 5:
        return {"inputs": chance.choice(["\ud800", "a\udfffb", ["a", "\udc80"]])}, "error"
    if kind == 6:
        return {"inputs": good, "parameters": chance.choice([[], 5, "num_beams=3", True, [1], {5: 5}, b"x"])}, "error"
    name = chance.choice(NAMES)
    if kind == 7:
        return {"inputs": good, "parameters": {name: _deep(chance.choice((1, 900, 20_000)), 3)}}, "error"
    value = chance.choice(VALUES)
    settings = {name: value} if chance.random() < 0.7 else {"generate_parameters": {name: value}}
    # Some of these are allowed by chance; they must have one answer or the other.
    return {"inputs": good, "parameters": settings}, "either"


def _deep(levels: int, value):
    for _ in range(levels):
        value = [value]
    return value


def _memory() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20
