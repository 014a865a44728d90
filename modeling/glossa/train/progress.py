"""Progress output of training: a line per `logging_steps` with the remaining time, for log files and terminals."""

import math
import os
import shutil
import sys
import time

import torch
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
from transformers.utils.logging import disable_progress_bar

from ..base.tokens import shown_tokens
from ..model.spans_glossa import SENTINELS
from .data.encoding.augmented import AugmentedRows

DIM, GREEN, PLAIN = "\033[2m", "\033[1;32m", "\033[0m"


class ProgressLines(TrainerCallback):
    """Prints a line for each log entry and each evaluation."""

    def on_train_begin(self, args, state, control, **kwargs):
        self.first_step, self.started = state.global_step, time.monotonic()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero or not logs:
            return
        if "loss" in logs:
            line = training_line(logs, state.global_step, state.max_steps, self._left(state), self.width())
            self.show(line, DIM)
        elif "eval_loss" in logs:
            self.show(evaluation_line(logs, f"step {state.global_step:,}"), GREEN)

    def width(self) -> float:
        """Maximum number of characters in a line."""
        return math.inf

    def show(self, line: str, color: str) -> None:
        """Print a line, in a terminal with `color`."""
        print(line, flush=True)

    def _left(self, state) -> float:
        """Estimated seconds until the last step, evaluations included."""
        done = max(state.global_step - self.first_step, 1)
        return (time.monotonic() - self.started) / done * (state.max_steps - state.global_step)


class ProgressBar(ProgressLines):
    """The same lines in color, above a progress bar."""

    bar: tqdm | None = None

    def on_train_begin(self, args, state, control, **kwargs):
        super().on_train_begin(args, state, control, **kwargs)
        disable_progress_bar()  # transformers shows one for each weights file
        if state.is_world_process_zero:
            bar = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} steps, {remaining} left"
            self.bar = tqdm(
                total=state.max_steps, initial=state.global_step, desc="training", dynamic_ncols=True, leave=False,
                bar_format=bar,
            )  # fmt: skip

    def on_step_end(self, args, state, control, **kwargs):
        if self.bar is not None:
            self.bar.update(state.global_step - self.bar.n)

    def restore(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()

    def width(self) -> float:
        return shutil.get_terminal_size().columns

    def show(self, line: str, color: str) -> None:
        colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        tqdm.write(f"{color}{line}{PLAIN}" if colored else line)


def training_line(logs: dict, step: int, steps: int, seconds_left: float, width: float = math.inf) -> str:
    """`step 50/1,200  epoch 0.42  loss 5.123 (3.712 plain)  accuracy 23%  rate 0.0004  6,512 tokens/s  3 min left`

    The loss in parentheses is without smoothing and dropout. To fit `width` characters, utilization, learning rate and
    speed are dropped in this order.
    """
    parts = {"step": f"step {step:,}/{steps:,}", "epoch": f"epoch {logs.get('epoch', 0):.2f}"}
    parts["loss"] = f"loss {logs['loss']:.3f}"
    if "plain_loss" in logs:
        parts["loss"] += f" ({logs['plain_loss']:.3f} plain)"
    if "token_accuracy" in logs:
        parts["accuracy"] = f"accuracy {logs['token_accuracy']:.0%}"
    if "learning_rate" in logs:
        parts["rate"] = f"rate {logs['learning_rate']:.2g}"
    if "target_tokens_per_second" in logs:
        parts["speed"] = f"{logs['target_tokens_per_second']:,.0f} tokens/s"
    if "utilization" in logs:
        parts["use"] = f"{logs['utilization']:.0%} busy"
    parts["left"] = f"{duration(seconds_left)} left"
    for name in ("use", "rate", "speed"):
        if len("  ".join(parts.values())) > width:
            parts.pop(name, None)
    return "  ".join(parts.values())


def evaluation_line(logs: dict, title: str, prefix: str = "eval") -> str:
    """`step 100: validation loss 3.210, BLEU 12.30, chrF++ 30.21; watched: loss 2.105, BLEU 38.90, chrF++ 58.02`"""
    watched = f"; watched: {_scores(logs, f'{prefix}_watch')}" if f"{prefix}_watch_loss" in logs else ""
    return f"{title}: validation {_scores(logs, prefix)}{watched}"


def _scores(logs: dict, prefix: str) -> str:
    parts = [f"loss {logs[f'{prefix}_loss']:.3f}"]
    for key, name in (("bleu", "BLEU"), ("chrf", "chrF++")):
        if f"{prefix}_{key}" in logs:
            parts.append(f"{name} {logs[f'{prefix}_{key}']:.2f}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """`45 s`, `12 min` or `3 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


EXAMPLE = 60  # characters per side
PAIRS = 2
TOKENS = 30  # per side
NAMES = {ord(sentinel): f"<ph{number}>" for number, sentinel in enumerate(SENTINELS, 1)}  # sentinels are not in fonts


def preview(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch: dict[str, torch.Tensor]) -> str:
    """The number of parameters, and the first pairs of `batch` (`input_ids` [B, S], `labels` [B, T]) as tokens."""
    embeddings = {
        weight
        for part in (model.get_encoder(), model.get_decoder())
        for weight in part.get_input_embeddings().parameters()
    }
    embeddings.update(model.get_output_embeddings().parameters())
    count = sum(weight.numel() for weight in embeddings)
    lines = [f"Parameters: {model.num_parameters():,}, of these {count:,} in token embeddings and output layer"]
    padding = {tokenizer.pad_token_id, -100}
    sides = (("source", "input_ids"), ("target", "labels"))
    for row in range(min(PAIRS, len(batch["labels"]))):
        for name, column in sides:
            ids = [index for index in batch[column][row].tolist() if index not in padding]
            more = " ..." if len(ids) > TOKENS else ""
            lines.append(f"{name:>10}: {' | '.join(shown_tokens(tokenizer, ids[:TOKENS], name == 'target'))}{more}")
    return "\n".join(lines)


def augmentation_preview(rows: AugmentedRows) -> str:
    """The number of augmented rows in this epoch by kind, each with an example."""
    changed = f"{sum(rows.counts.values()):,} of {len(rows):,} pairs"
    lines = [f"Augmented in a pass: {changed}, in {rows.seconds:.1f} seconds"]
    for kind, count in rows.counts.most_common():
        shown = " -> ".join(
            (text if len(text) <= EXAMPLE else f"{text[:EXAMPLE]}...").translate(NAMES)
            for text in rows.examples[kind][1]
        )
        lines.append(f"{kind:>14} {count:>9,}: {shown}")
    return "\n".join(lines)
