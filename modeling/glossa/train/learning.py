"""Warnings if a model does not learn, from the scores before training and at the first evaluation."""

import logging

import numpy
from datasets import Dataset
from transformers import TrainerCallback

from .advice import long_warmup

logger = logging.getLogger(__name__)

UNTRANSLATED = 1.0, 25.0  # BLEU and chrF++ of a start that does not translate; BLEU alone is 0 of very short sentences
FALLING = 0.99  # times the training loss of the log line before: a new model still learns
SAMPLE = 10_000  # rows for the token frequencies


class RunLength(TrainerCallback):
    """Fits the log to the steps of a run, and warns if its warm-up is not shorter.

    Args:
        logs: The least number of log lines; 0 keeps `logging_steps`.
    """

    def __init__(self, logs: int):
        self.logs = logs

    def on_train_begin(self, args, state, control, **kwargs):
        if self.logs:
            state.logging_steps = max(min(state.logging_steps, state.max_steps // self.logs), 1)
        line = long_warmup(args.get_warmup_steps(state.max_steps), state.max_steps)
        if line and state.is_world_process_zero:
            logger.warning(line)


class FirstEvaluation(TrainerCallback):
    """Warns if the initial model does not translate, or if the first evaluation after warm-up shows no improvement.

    Args:
        rows: The training rows, with `labels`.
        start: The name of the model that training starts from; None for a new model.
    """

    def __init__(self, rows: Dataset, start: str | None):
        self.start = start
        # A new model that has learned something beats a prediction by token frequency.
        self.loss = None if start else frequency_loss(rows)
        self.is_done = False

    def on_train_begin(self, args, state, control, **kwargs):
        self.is_done = state.global_step > 0  # a resumed run

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        loss = metrics.get("eval_loss")
        if self.is_done or loss is None or not state.is_world_process_zero:
            return
        if state.global_step == 0:
            self.loss = loss
            scores = metrics.get("eval_bleu", 100.0), metrics.get("eval_chrf", 100.0)
            if all(score < most for score, most in zip(scores, UNTRANSLATED, strict=True)):
                logger.warning(
                    "Before training, %s translates the validation pairs with only BLEU %.2f and chrF++ %.2f. Unless "
                    "it was only pretrained, check languages, tokenizer and files.", self.start, *scores,
                )  # fmt: skip
            return
        if state.global_step <= args.get_warmup_steps(state.max_steps):
            return  # the rate is still rising
        losses = [entry["loss"] for entry in state.log_history if "loss" in entry][-2:]
        if not self.start and (len(losses) < 2 or losses[1] < FALLING * losses[0]):
            return  # a new model begins above the loss of token frequencies, and may be on its way
        self.is_done = True
        if self.loss is not None and loss >= self.loss:
            before = "before training" if self.start else "for a prediction by token frequency"
            logger.warning(
                "The first evaluation after warm-up shows no improvement: the validation loss is %.3f, and %.3f %s. "
                "If it does not fall soon, stop and try another --learning_rate, such as a tenth of %.2g.",
                loss, self.loss, before, args.learning_rate,
            )  # fmt: skip


def frequency_loss(rows: Dataset) -> float:
    """The mean loss (nats per token) of predicting each token of `labels` by its frequency."""
    some = rows.select(range(0, len(rows), -(-len(rows) // SAMPLE)))
    tokens = numpy.concatenate([numpy.asarray(labels) for labels in some["labels"]])
    _, counts = numpy.unique(tokens, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * numpy.log(shares)).sum())
