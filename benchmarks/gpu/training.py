"""Third part: the speed of training in bf16, by size of model and batch: Glossa and MarianMT."""

import gc
import statistics
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

import torch
from datasets import disable_progress_bars

from ..contenders import NAMES, Contender, ContenderBuilder
from ..corpus import Corpus, load_corpus
from ..timing import matmul_peak
from .record import Options, Record

Result = TypeVar("Result")

# Sizes and target tokens of a step, the most important first: the part may be stopped.
CASES = {
    "cuda": [("base", 16384), ("big", 16384), ("base", 65536), ("base", 4096), ("big", 65536), ("big", 4096)],
    "cpu": [("tiny", 256)],
}
TOKENS = {"cuda": 300_000, "cpu": 256}  # of a turn; at least LEAST_STEPS steps
LEAST_STEPS = 5
ROWS = 40_000  # training pairs at most: to find the size of batches takes seconds for every 40,000
WARM_UP, COUNTED = 3, 2  # steps
RESERVE = 15  # seconds before the end of the part, in which nothing new starts
SYNCHRONIZATION = "synchronizing CUDA operation"  # in the warning of torch


def measure(record: Record, options: Options) -> None:
    ends = time.monotonic() + options.seconds - RESERVE
    disable_progress_bars()
    precision = "bf16" if options.bf16 else "float32"
    with record.attempt("peak"):
        peak = matmul_peak(torch.bfloat16 if options.bf16 else torch.float32, options.device)
        record.add(f"peak of torch.mm in {precision}", **{"TFLOP/s": peak / 1e12})
    corpus = load_corpus(options.data)
    for size, tokens in CASES[options.device]:
        first, builder = None, build(corpus, size, tokens, options)
        for name in NAMES:
            if time.monotonic() > ends:
                record.add("left out for lack of time", size=size, tokens=tokens, training=name)
                continue
            with record.attempt(f"{name}, {size}, {tokens:,} tokens"):
                row = measure_contender(builder, name, tokens)
                first = first or row["target tokens/s"]
                row["Glossa is faster"] = first / row["target tokens/s"]
                row["of peak"] = row.pop("operations/s") / peak
                record.add(f"training, {precision}", size=size, **{"wanted tokens": tokens}, training=name, **row)


def build(corpus: Corpus, size: str, tokens: int, options: Options) -> ContenderBuilder:
    """Contenders of this size, with about `tokens` target tokens in a step."""
    rows = corpus.tokenized["train"]
    rows = rows.select(range(min(ROWS, len(rows))))
    sentences = max(round(tokens / statistics.fmean(rows["target_length"][:])), 2)
    return ContenderBuilder(rows, corpus.tokenizer, size, options.bf16, options.device, sentences)


def measure_contender(builder: ContenderBuilder, name: str, tokens: int) -> dict:
    """A turn of one contender after its warm-up, and the synchronizations of a step in another one."""
    device = builder.device
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    contender = builder.build(name)
    try:
        contender.train(WARM_UP)
        work = contender.train(max(TOKENS[device] // tokens, LEAST_STEPS))
        synchronizations = count_in_a_step(contender, device)
    finally:
        contender.close()
        del contender
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
    return {
        "target tokens/s": work.speed,
        "operations/s": work.flops / work.seconds,
        "ms a step": 1000 * work.seconds / work.steps,
        "tokens a step": work.target_tokens / work.steps,
        "padding": 1 - work.tokens / work.padded_tokens,
        "synchronizations a step": synchronizations,
        "peak MiB": torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None,
    }


def count_in_a_step(contender: Contender, device: str) -> float | None:
    """How often a step waits for the GPU; None without one."""
    if device != "cuda":
        return None
    torch.cuda.set_sync_debug_mode("warn")
    try:
        return count_synchronizations(lambda: contender.train(COUNTED))[1] / COUNTED
    finally:
        torch.cuda.set_sync_debug_mode("default")


def count_synchronizations(action: Callable[[], Result]) -> tuple[Result, int]:
    """What `action` returns, and how many warnings of synchronizations torch gives in it, also in other threads."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, sum(SYNCHRONIZATION in str(warning.message) for warning in caught)
