"""How fast raw text becomes batches, first and from the cache, and how soon training takes its first step."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import datasets
from torch.utils.data import DataLoader
from transformers import DataCollatorForSeq2Seq, PreTrainedTokenizerBase

from glossa.data.arguments import DataArguments
from glossa.data.encoding.batching import TokenBatchSampler
from glossa.data.encoding.encoding import tokenize_pairs
from glossa.data.pairs import prepare_pairs
from glossa.plan.settings import GlossaTrainingArguments

from .contenders import ContenderBuilder
from .corpus import data_arguments, load_corpus, vocabulary
from .report import add_common_arguments, add_corpus_arguments, finish, prepare
from .start import first_step
from .timing import alternate, ratios, spread, table

SCRIPT = Path(__file__).parents[1] / "scripts/train.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    add_corpus_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    before = prepare(arguments)
    data, language, rounds = arguments.data, arguments.language, arguments.rounds
    corpus = load_corpus(data, language)
    builder = ContenderBuilder(
        corpus.tokenized["train"], corpus.tokenizer, arguments.size, arguments.architecture, arguments.bf16
    )
    result = measure_pipeline(builder, data, language, rounds, arguments.steps)
    result["start"] = start = measure_start(SCRIPT, data, language, rounds)
    print(table(pipeline_rows(result)))
    print(f"\nTraining takes {result['training']['tokens']['median']:,.0f} target tokens/s, size {arguments.size}")
    print(f"scripts/train.py, cached data: first step after {start['median']:.1f} s ", end="")
    print(f"[{start['low']:.1f}, {start['high']:.1f}]")
    finish(arguments, before, result)


@dataclass
class Pass:
    """One pass from raw text to batches: its rows and real target tokens."""

    seconds: float
    rows: int
    target_tokens: int


def prepare_batches(arguments: DataArguments, tokenizer: PreTrainedTokenizerBase) -> Pass:
    """Read, clean, split and tokenize, then make one epoch of batches, as a run does."""
    started = time.perf_counter()
    pairs, report = prepare_pairs(arguments)
    rows = tokenize_pairs(pairs, tokenizer, arguments, report)["train"]
    sampler = TokenBatchSampler(
        rows["source_length"][:], rows["target_length"][:], GlossaTrainingArguments.batch_tokens
    )
    inputs = rows.remove_columns(["source_length", "target_length"])
    tokens = 0
    for batch in DataLoader(inputs, batch_sampler=sampler, collate_fn=DataCollatorForSeq2Seq(tokenizer)):
        tokens += int((batch["labels"] != -100).sum())
    return Pass(time.perf_counter() - started, len(rows), tokens)


def measure_pipeline(builder: ContenderBuilder, folder: str | None, language: str, rounds: int, steps: int) -> dict:
    """In each round a pass with an empty cache, a second pass, and `steps` steps of training the builder's model.

    Returns for each pass the spreads of `rows` and `tokens` (real target tokens) a second and of its `ratio` to the
    speed of training; and under "training" the `tokens` a second of training. The embedded corpus is made in memory,
    which `datasets` does not cache: without a `folder` both passes start from nothing.
    """
    arguments, contender = data_arguments(folder, language), builder.build("Glossa, bare loop")
    cache = datasets.config.HF_DATASETS_CACHE
    with tempfile.TemporaryDirectory() as scratch:
        folders = (Path(scratch) / str(number) for number in range(2 * rounds + 2))

        def first() -> Pass:
            # A new folder, since `datasets` also keeps results in memory, by the folder of its cache.
            datasets.config.HF_DATASETS_CACHE = next(folders)
            return prepare_batches(arguments, builder.tokenizer)

        def cached() -> Pass:
            return prepare_batches(arguments, builder.tokenizer)

        # Always in this order: a cache must be filled before it is read.
        def both() -> tuple[Pass, Pass]:
            return first(), cached()

        turns: dict[str, Callable[[], Any]] = {"passes": both, "training": partial(contender.train, steps)}
        try:
            measured = alternate(turns, rounds)
        finally:
            datasets.config.HF_DATASETS_CACHE = cache
    trained = [work.speed for work in measured["training"]]
    results: dict = {"training": {"tokens": spread(trained)}}
    for name, passes in zip(("first pass", "cached"), zip(*measured["passes"], strict=True), strict=True):
        speeds = [passed.target_tokens / passed.seconds for passed in passes]
        results[name] = {
            "rows": spread(passed.rows / passed.seconds for passed in passes),
            "tokens": spread(speeds),
            "ratio": ratios(speeds, trained),
        }
    return results


def measure_start(script: Path, folder: str | None, language: str, rounds: int) -> dict[str, float]:
    """Seconds from the start of `scripts/train.py` to its first step with cached data: their spread."""
    arguments = data_arguments(folder, language)
    settings = {"dataset": [arguments.dataset], "target_language": [language], "vocab_size": [str(vocabulary(folder))]}
    for name in ("data_path", "validation_path", "test_path"):
        settings[name] = getattr(arguments, name)
    settings |= {name: ["no"] for name in ("eval_strategy", "save_strategy")}
    settings |= {"load_best_model_at_end": ["false"], "logging_steps": ["1"], "report_to": ["none"]}
    settings |= {"disable_tqdm": ["true"]}
    options = [text for name, values in settings.items() if values for text in (f"--{name}", *values)]
    seconds = []
    for _ in range(rounds + 1):
        with tempfile.TemporaryDirectory() as run:
            seconds.append(first_step([sys.executable, str(script), *options, "--output_dir", run])[0])
    return spread(seconds[1:])  # the first one filled the cache


def pipeline_rows(results: dict) -> list[dict[str, str]]:
    """What [`measure_pipeline`] returned, a row for each pass."""
    rows = []
    for name in ("first pass", "cached"):
        found = results[name]
        ratio = found["ratio"]
        rows.append(
            {
                "raw text to batches": name,
                "rows/s": f"{found['rows']['median']:,.0f}",
                "target tokens/s": f"{found['tokens']['median']:,.0f}",
                "of what training takes": f"{ratio['median']:.1f} [{ratio['low']:.1f}, {ratio['high']:.1f}]",
            }
        )
    return rows
