"""Time to a given quality: `python -m benchmarks race --multi30k FOLDER`.

How long does training take, from raw text, until greedy translations of Multi30k's validation split first reach each
mark of BLEU? The contenders are Glossa's recipe for this data, in twelve passes, and transformers' MarianMT under the
stock Seq2SeqTrainer, with random batches and with its grouping by length; both read and tokenize with Glossa's code.
MarianMT has the published model (multi30k-en-de-tiny), but not its training, which warms up for longer than Glossa's
whole race: see `STOCK`. All have the same dropout. Evaluations do not count toward the time. Each entry has its own
process; run them on an idle machine. Finished entries are kept, as by `python -m benchmarks reproduce`, and not run
again on the same kind of CPU.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from transformers import (
    DataCollatorForSeq2Seq,
    EvalPrediction,
    MarianMTModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    set_seed,
)

from glossa.base.metrics import bleu_metric
from glossa.train.building import build_model, build_tokenizer, build_trainer
from glossa.train.data.encoding.encoding import tokenize_pairs
from glossa.train.data.pairs import prepare_pairs
from glossa.train.plan.arguments import Settings, parse_settings
from glossa.train.plan.catalog import read_recipe

from .processes import in_process
from .reproduce import (
    PAGE,
    add_results_arguments,
    data_settings,
    is_at,
    keep_result,
    machines,
    read_commit,
    read_results,
    write_table,
)
from .sizes import marian_config
from .timing import machine, table

DROPOUT = {"dropout": "0.1"}  # better than 0.3 in so few passes (docs/results.md), and the default of MarianMT
# For the published model: half of its batch or less, and the learning rate and the warm-up to go with it.
STOCK = DROPOUT | {"gradient_accumulation_steps": "1", "learning_rate": "2e-3", "warmup_steps": "400"}
STOCK |= {"lr_scheduler_type": "cosine", "max_steps": "-1", "num_train_epochs": "16"}
# The recipe of each entry, the settings that differ from it, and which code trains it; for the stock Trainer, how it
# draws its batches.
ENTRIES: dict[str, tuple[str, dict[str, str], str]] = {
    "Glossa": ("multi30k-en-de", DROPOUT | {"num_train_epochs": "12"}, "glossa"),
    "MarianMT, Seq2SeqTrainer": ("multi30k-en-de-tiny", STOCK, "random"),
    "MarianMT, Seq2SeqTrainer, grouped": ("multi30k-en-de-tiny", STOCK, "group_by_length"),
}
MARKS = (30.0, 35.0, 38.0)
SENTENCES = 128  # in a batch of the stock Trainer: under 2,000 tokens of each language
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
                if not is_finished(arguments, name, seed):
                    commit = read_commit()
                    keep_result(arguments.results, _place(name, seed), commit, _enter(arguments, name, seed))
    results = [result for result in read_results(arguments.results) if result["table"] == "race"]
    results.sort(key=lambda result: result["cpu"])
    rows = [_row(result) for result in results]
    lines = f"{table(rows)}\n\n{machines(results)}" if rows else "No entry is finished."
    print(f"\n{lines}")
    if arguments.write:
        write_table(PAGE, "race", lines)


def _place(name: str, seed: int) -> dict[str, Any]:
    recipe, changes, _ = ENTRIES[name]
    # Minutes of different machines cannot be compared, so each machine has entries of its own.
    cpu = {"cpu": machine()["cpu"]}
    return {"table": "race", "row": name, "seed": seed, "settings": read_recipe(recipe) | changes} | cpu


def is_finished(arguments: argparse.Namespace, name: str, seed: int) -> bool:
    """Whether an entry is in the results, from the kind of CPU of this machine."""
    place = _place(name, seed)
    results = [result for result in read_results(arguments.results) if is_at(result, place)]
    return any({str(mark) for mark in arguments.marks} <= result["metrics"]["marks"].keys() for result in results)


def _enter(arguments: argparse.Namespace, name: str, seed: int) -> dict:
    """Run one entry in a new process, with an empty cache."""
    data = data_settings(arguments.multi30k, "en", "de")
    limits = {"marks": arguments.marks, "limit": 60 * arguments.limit_minutes, "every": 60 * arguments.every_minutes}
    options = {"name": name, "seed": seed, "data": data, "limits": limits, "threads": arguments.cpu_threads}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HF_DATASETS_CACHE"] = cache  # the new process reads it when it imports datasets
        return in_process(race, name, options)


def race(name: str, seed: int, data: list[str], limits: dict[str, Any], threads: int | None) -> dict:
    """Train an entry until it has reached all marks or the limit; returns its parameters, marks and history.

    Args:
        name: The name of the entry.
        seed: The seed of its training.
        data: The settings of the data.
        limits: Keyword arguments of [`Clock`].
        threads: Threads of torch; None for all cores that this process may use.
    """
    recipe, changes, way = ENTRIES[name]
    threads = threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        argv = [recipe, *data, "--seed", str(seed), "--output_dir", folder, "--cpu_threads", str(threads)]
        argv += [word for setting, value in changes.items() for word in (f"--{setting}", value)]
        argv += ["--eval_strategy", "steps", "--eval_steps", str(NEVER), "--eval_samples", "0"]
        argv += ["--save_strategy", "no", "--load_best_model_at_end", "false"]
        settings = parse_settings(argv)
        clock = Clock(**limits)
        set_seed(seed)
        trainer = build_glossa(settings) if way == "glossa" else _stock(settings, way)
        trainer.add_callback(Watch(clock))
        trainer.train()
    parameters = sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad)
    return {"device": f"cpu, {threads} threads", "parameters": parameters} | clock.report()


class Clock:
    """Says when an evaluation is due, and notes when a mark of BLEU was first reached.

    Args:
        marks: BLEU scores, in percent.
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

    def is_due(self) -> bool:
        """Whether an evaluation is due. To be called at the end of a step, before the evaluation."""
        self.before_evaluation = self._read()
        return bool((self.before_evaluation - self.started)[0] >= self.due)

    def note(self, step: int, bleu: float) -> bool:
        """Note and print the result of an evaluation; returns whether training ends. To be called after it."""
        seconds, cpu_seconds = (round(value, 1) for value in (self.before_evaluation - self.started).tolist())
        self.history.append((seconds, round(bleu, 2)))
        print(f"{seconds / 60:.1f} minutes, {step} steps: BLEU {bleu:.2f}", flush=True)
        for mark in self.marks:
            if bleu >= mark and str(mark) not in self.reached:
                self.reached[str(mark)] = {"seconds": seconds, "cpu_seconds": cpu_seconds, "step": step}
        self.due = seconds + self.every
        self.started += self._read() - self.before_evaluation
        return len(self.reached) == len(self.marks) or seconds >= self.limit

    def report(self) -> dict[str, Any]:
        """The marks, with null for those that were not reached, and validation BLEU by seconds of training."""
        return {"marks": {str(mark): self.reached.get(str(mark)) for mark in self.marks}, "history": self.history}


class Watch(TrainerCallback):
    """Evaluates when the clock says so and after the last step, and ends training when the clock says so."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def on_step_end(self, args, state, control, **kwargs):
        control.should_evaluate = self.clock.is_due() or state.global_step == state.max_steps

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        control.should_training_stop = self.clock.note(state.global_step, metrics["eval_bleu"])


def _prepare(settings: Settings):
    pairs, report = prepare_pairs(settings.data)
    tokenizer = build_tokenizer(settings, pairs)
    return pairs, tokenizer, tokenize_pairs(pairs, tokenizer, settings.data, report)


def build_glossa(settings: Settings) -> Seq2SeqTrainer:
    """Glossa's trainer for a translator of these settings, with its data read."""
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

    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            **{name: getattr(training, name) for name in names},
            per_device_train_batch_size=SENTENCES,
            gradient_accumulation_steps=training.gradient_accumulation_steps,
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
        compute_metrics=bleu_in_any_order(tokenizer, tokenized["validation"]["labels"], pairs["validation"]["target"]),
    )


def bleu_in_any_order(
    tokenizer: PreTrainedTokenizerBase, labels: Iterable[list[int]], targets: Iterable[str]
) -> Callable[[EvalPrediction], dict[str, float]]:
    """BLEU of predictions in any order, as grouping by length gives; `labels` are the token ids of `targets`."""
    references = {tuple(ids): target for ids, target in zip(labels, targets, strict=True)}

    def bleu(prediction: EvalPrediction) -> dict[str, float]:
        ids = np.where(prediction.predictions == -100, tokenizer.pad_token_id, prediction.predictions)
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        rows = [row[(row != -100) & (row != tokenizer.pad_token_id)].tolist() for row in prediction.label_ids]
        ordered = [references[tuple(row)] for row in rows]
        return {"bleu": bleu_metric("none").corpus_score(texts, [ordered]).score}

    return bleu


def _row(result: dict) -> dict[str, str]:
    metrics = result["metrics"]
    best = max((bleu for _, bleu in metrics["history"]), default=0.0)
    row = {"entry": result["row"], "CPU": result["cpu"], "seed": str(result["seed"])}
    row["million parameters"] = f"{metrics['parameters'] / 1e6:.2f}"
    for mark, reached in metrics["marks"].items():
        shown = f"not reached in {metrics['history'][-1][0] / 60:.0f}" if metrics["history"] else "not reached"
        if reached:
            shown = f"{reached['seconds'] / 60:.1f} ({reached['cpu_seconds'] / 60:.1f}), {reached['step']:,}"
        row[f"minutes (CPU minutes), steps to {float(mark):g}"] = shown
    return row | {"best": f"{best:.2f}", "commit": result["commit"]}
