"""From raw text to batches, first and from the cache, beside what training takes; and how soon training begins."""

import os
import subprocess
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
from glossa.data.batching import TokenBatchSampler
from glossa.data.encoding import tokenize_pairs
from glossa.data.pairs import prepare_pairs
from glossa.errors import GlossaError

from .contenders import Field
from .corpus import data_arguments, vocabulary
from .timing import alternate, ratios, spread

BATCH_TOKENS = 4096  # a recipe's default


@dataclass
class Passed:
    """Rows and real target tokens that came out as batches."""

    seconds: float
    rows: int
    target_tokens: int


def pass_through(arguments: DataArguments, tokenizer: PreTrainedTokenizerBase) -> Passed:
    """Read, clean, split and tokenise, then make one epoch of batches, as a run does."""
    started = time.perf_counter()
    pairs, report = prepare_pairs(arguments)
    rows = tokenize_pairs(pairs, tokenizer, arguments, report)["train"]
    sampler = TokenBatchSampler(rows["source_length"], rows["target_length"], BATCH_TOKENS)
    inputs = rows.remove_columns(["source_length", "target_length"])
    tokens = 0
    for batch in DataLoader(inputs, batch_sampler=sampler, collate_fn=DataCollatorForSeq2Seq(tokenizer)):
        tokens += int((batch["labels"] != -100).sum())
    return Passed(time.perf_counter() - started, len(rows), tokens)


def measure_pipeline(field: Field, folder: str | None, language: str, rounds: int, steps: int) -> dict:
    """A first pass, with an empty cache, and a second in each round; and `steps` steps of training `field`'s model.

    Returns for each pass the spreads of `rows` and `tokens` (real target tokens) a second and of its `ratio` to the
    tokens that training takes; and under "training" the `tokens` that it takes. The embedded corpus is made in memory,
    which `datasets` does not cache: without a `folder` both passes are first ones.
    """
    arguments, consumer = data_arguments(folder, language), field.build("Glossa, bare loop")
    cache = datasets.config.HF_DATASETS_CACHE
    with tempfile.TemporaryDirectory() as scratch:
        folders = (Path(scratch) / str(number) for number in range(2 * rounds + 2))

        def first() -> Passed:
            # `datasets` keeps what it has built in memory too, by the folder of its cache.
            datasets.config.HF_DATASETS_CACHE = next(folders)
            return pass_through(arguments, field.tokenizer)

        def cached() -> Passed:
            return pass_through(arguments, field.tokenizer)

        # Always in this order: a cache must be filled before it is read.
        def both() -> tuple[Passed, Passed]:
            return first(), cached()

        turns: dict[str, Callable[[], Any]] = {"passes": both, "training": partial(consumer.train, steps)}
        try:
            measured = alternate(turns, rounds)
        finally:
            datasets.config.HF_DATASETS_CACHE = cache
    consumed = [work.speed for work in measured["training"]]
    results: dict = {"training": {"tokens": spread(consumed)}}
    for name, passes in zip(("first pass", "cached"), zip(*measured["passes"], strict=True), strict=True):
        speeds = [passed.target_tokens / passed.seconds for passed in passes]
        results[name] = {
            "rows": spread(passed.rows / passed.seconds for passed in passes),
            "tokens": spread(speeds),
            "ratio": ratios(speeds, consumed),
        }
    return results


def measure_start(script: Path, folder: str | None, language: str, rounds: int) -> dict[str, float]:
    """Seconds from the start of `scripts/train.py` to its first step, its data being cached: their spread."""
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
            seconds.append(_seconds_to_first_step([sys.executable, str(script), *options, "--output_dir", run]))
    return spread(seconds[1:])  # the first one filled the cache


def _seconds_to_first_step(command: list[str]) -> float:
    """Until the command prints its first loss; then it is ended."""
    started = time.perf_counter()
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        output = []
        try:
            for line in process.stdout:
                if "'loss'" in line:
                    return time.perf_counter() - started
                output.append(line)
        finally:
            process.terminate()
    raise GlossaError(f"scripts/train.py ended before its first step: {''.join(output)[-500:]}")


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
