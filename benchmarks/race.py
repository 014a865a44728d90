"""Time to a given quality: `python -m benchmarks race --multi30k FOLDER`.

How long does training take, from raw text, until greedy translations of Multi30k's validation split first reach each
mark of BLEU? The contenders are Glossa's recipe for this data, in 16 passes and without R-Drop, and transformers'
MarianMT under the stock Seq2SeqTrainer with the published recipe (multi30k-en-de-tiny), with random batches and with
its grouping by length. All read and tokenize with the same code. Evaluations take no time of the race. Each entry has
its own process; run them on a quiet machine. Finished entries are kept and not run again, as those of `python -m
benchmarks reproduce`.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from transformers import (
    DataCollatorForSeq2Seq,
    MarianMTModel,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    set_seed,
)

from glossa.data.encoding import tokenize_pairs
from glossa.data.pairs import prepare_pairs
from glossa.evaluation.metrics import bleu_metric
from glossa.training.arguments import Settings, parse_settings
from glossa.training.building import build_model, build_tokenizer, build_trainer
from glossa.training.catalog import read_recipe

from .reproduce import (
    PAGE,
    add_results_arguments,
    data_settings,
    keep_result,
    machines,
    read_commit,
    read_results,
    write_table,
)
from .sizes import marian_config
from .timing import table

# The recipe of each entry, the settings that differ from it, and how the stock Trainer draws its batches.
ENTRIES: dict[str, tuple[str, dict[str, str], str | None]] = {
    "Glossa": ("multi30k-en-de", {"num_train_epochs": "16", "r_drop_alpha": "0"}, None),
    "MarianMT, Seq2SeqTrainer": ("multi30k-en-de-tiny", {}, "random"),
    "MarianMT, Seq2SeqTrainer, grouped": ("multi30k-en-de-tiny", {}, "group_by_length"),
}
MARKS = (30.0, 35.0, 38.0)
SENTENCES, BATCHES = 128, 4  # of the stock Trainer: about the published 8,192 tokens a step
NEVER = 10**9  # steps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results_arguments(parser)
    parser.add_argument("--entries", nargs="+", choices=ENTRIES, default=list(ENTRIES), help="default: all")
    parser.add_argument("--marks", type=float, nargs="+", default=list(MARKS), help="BLEU (default: 30 35 38)")
    parser.add_argument("--limit_minutes", type=float, default=180, help="end of an entry (default: 180)")
    parser.add_argument("--every_minutes", type=float, default=1, help="between two evaluations (default: 1)")


def run(arguments: argparse.Namespace) -> None:
    if not arguments.write:
        for seed in arguments.seeds:
            for name in arguments.entries:
                if not _finished(arguments, name, seed):
                    commit = read_commit()
                    keep_result(arguments.results, _place(name, seed), commit, _enter(arguments, name, seed))
    results = [result for result in read_results(arguments.results) if result["table"] == "race"]
    rows = [_row(result) for result in results]
    lines = f"{table(rows)}\n\n{machines(results)}" if rows else "No entry is finished."
    print(f"\n{lines}")
    if arguments.write:
        write_table(PAGE, "race", lines)


def _place(name: str, seed: int) -> dict[str, Any]:
    recipe, changes, _ = ENTRIES[name]
    return {"table": "race", "row": name, "seed": seed, "settings": read_recipe(recipe) | changes}


def _finished(arguments: argparse.Namespace, name: str, seed: int) -> bool:
    place = _place(name, seed).items()
    results = [result for result in read_results(arguments.results) if place <= result.items()]
    return any({str(mark) for mark in arguments.marks} <= result["metrics"]["marks"].keys() for result in results)


def _enter(arguments: argparse.Namespace, name: str, seed: int) -> dict:
    """Run one entry in a new process, with an empty cache."""
    data = data_settings(arguments.multi30k, "en", "de")
    options = (name, seed, data, arguments.marks, 60 * arguments.limit_minutes, 60 * arguments.every_minutes)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HF_DATASETS_CACHE"] = cache  # the new process reads it when it imports datasets
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(race, *options, arguments.cpu_threads).result()


def race(
    name: str, seed: int, data: list[str], marks: list[float], limit: float, every: float, threads: int | None
) -> dict:
    """Train an entry until it has reached all marks or the limit in seconds; returns what [`Watch`] saw."""
    recipe, changes, strategy = ENTRIES[name]
    threads = threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        argv = [recipe, *data, "--seed", str(seed), "--output_dir", folder, "--cpu_threads", str(threads)]
        argv += [word for setting, value in changes.items() for word in (f"--{setting}", value)]
        argv += ["--eval_strategy", "steps", "--eval_steps", str(NEVER), "--eval_samples", "0"]
        argv += ["--save_strategy", "no", "--load_best_model_at_end", "false"]
        watch = Watch(marks, limit, every)
        set_seed(seed)
        trainer = (_glossa if strategy is None else partial(_stock, strategy=strategy))(parse_settings(argv))
        trainer.add_callback(watch)
        trainer.train()
    parameters = sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad)
    return {"device": f"cpu, {threads} threads", "parameters": parameters} | watch.report()


class Watch(TrainerCallback):
    """Evaluates after every `every` seconds of training, and notes when a mark of BLEU was first reached.

    Args:
        marks: Of BLEU, in percent.
        limit: Seconds of training after which it ends.
        every: Seconds of training between two evaluations.
        clocks: Seconds since any time, and CPU-seconds of this process; others for tests.
    """

    def __init__(
        self,
        marks: list[float],
        limit: float,
        every: float,
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.perf_counter, time.process_time),
    ):
        self.marks, self.limit, self.every, self.clocks = marks, limit, every, clocks
        self.started = self._read()
        self.due = every
        self.before_evaluation = self.started
        self.reached: dict[str, dict] = {}
        self.history: list[tuple[float, float]] = []

    def _read(self) -> np.ndarray:
        return np.array([clock() for clock in self.clocks])

    def on_step_end(self, args, state, control, **kwargs):
        self.before_evaluation = self._read()
        control.should_evaluate = (self.before_evaluation - self.started)[0] >= self.due

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        seconds, cpu_seconds = self.before_evaluation - self.started
        self.history.append((round(seconds, 1), round(metrics["eval_bleu"], 2)))
        for mark in self.marks:
            if metrics["eval_bleu"] >= mark and str(mark) not in self.reached:
                self.reached[str(mark)] = {
                    "seconds": round(seconds, 1),
                    "cpu_seconds": round(cpu_seconds, 1),
                    "step": state.global_step,
                }
        self.due = seconds + self.every
        control.should_training_stop = len(self.reached) == len(self.marks) or seconds >= self.limit
        self.started += self._read() - self.before_evaluation

    def report(self) -> dict:
        """The marks, with null for those that were not reached, and validation BLEU by seconds of training."""
        return {"marks": {str(mark): self.reached.get(str(mark)) for mark in self.marks}, "history": self.history}


def _prepare(settings: Settings):
    pairs, report = prepare_pairs(settings.data)
    tokenizer = build_tokenizer(settings, pairs)
    return pairs, tokenizer, tokenize_pairs(pairs, tokenizer, settings.data, report)


def _glossa(settings: Settings) -> Seq2SeqTrainer:
    pairs, tokenizer, tokenized = _prepare(settings)
    model = build_model(settings, tokenizer)
    return build_trainer(settings, model, tokenizer, pairs, tokenized, DataCollatorForSeq2Seq(tokenizer, model))


def _stock(settings: Settings, strategy: str) -> Seq2SeqTrainer:
    pairs, tokenizer, tokenized = _prepare(settings)
    model = MarianMTModel(marian_config(build_model(settings, tokenizer).config))
    training = settings.training
    names = ("output_dir", "learning_rate", "lr_scheduler_type", "warmup_steps", "adam_beta1", "adam_beta2", "seed")
    names += ("adam_epsilon", "weight_decay", "label_smoothing_factor", "max_steps", "use_cpu", "disable_tqdm")
    names += ("eval_strategy", "eval_steps", "save_strategy", "report_to", "max_grad_norm", "num_train_epochs")
    references = [pairs["validation"]["target"]]

    def bleu(prediction) -> dict[str, float]:
        ids = np.where(prediction.predictions == -100, tokenizer.pad_token_id, prediction.predictions)
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return {"bleu": bleu_metric("none").corpus_score(texts, references).score}

    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            **{name: getattr(training, name) for name in names},
            per_device_train_batch_size=SENTENCES,
            gradient_accumulation_steps=BATCHES,
            per_device_eval_batch_size=64,
            train_sampling_strategy=strategy,
            predict_with_generate=True,
            generation_max_length=settings.translator.max_new_tokens,
            generation_num_beams=1,
        ),
        train_dataset=tokenized["train"].select_columns(["input_ids", "labels"]),
        eval_dataset=tokenized["validation"].select_columns(["input_ids", "labels"]),
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
        compute_metrics=bleu,
    )


def _row(result: dict) -> dict[str, str]:
    metrics = result["metrics"]
    best = max((bleu for _, bleu in metrics["history"]), default=0.0)
    row = {"entry": result["row"], "seed": str(result["seed"])}
    row["million parameters"] = f"{metrics['parameters'] / 1e6:.2f}"
    for mark, reached in metrics["marks"].items():
        shown = "not reached"
        if reached:
            shown = f"{reached['seconds'] / 60:.1f} ({reached['cpu_seconds'] / 60:.1f})"
        row[f"minutes (CPU minutes) to {float(mark):g}"] = shown
    return row | {"best": f"{best:.2f}", "commit": result["commit"]}
