"""The log of a training that goes to a file: one line at each `logging_steps`, with the time that is left."""

import time

from transformers import TrainerCallback


class ProgressLines(TrainerCallback):
    """Prints a line for each entry of the log and for each evaluation, in place of a progress bar."""

    def on_train_begin(self, args, state, control, **kwargs):
        self.first_step, self.started = state.global_step, time.monotonic()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero or not logs:
            return
        if "loss" in logs:
            print(training_line(logs, state.global_step, state.max_steps, self._left(state)), flush=True)
        elif "eval_loss" in logs:
            print(evaluation_line(logs, state.global_step), flush=True)

    def _left(self, state) -> float:
        """Seconds until the last step, evaluations included, at the speed so far."""
        done = max(state.global_step - self.first_step, 1)
        return (time.monotonic() - self.started) / done * (state.max_steps - state.global_step)


def training_line(logs: dict, step: int, steps: int, seconds_left: float) -> str:
    """`step 50/1,200  epoch 0.42  loss 5.123  accuracy 23%  rate 0.0004  6,512 tokens/s  98% busy  3 min left`"""
    parts = [f"step {step:,}/{steps:,}", f"epoch {logs.get('epoch', 0):.2f}", f"loss {logs['loss']:.3f}"]
    if "token_accuracy" in logs:
        parts.append(f"accuracy {logs['token_accuracy']:.0%}")
    if "learning_rate" in logs:
        parts.append(f"rate {logs['learning_rate']:.2g}")
    if "target_tokens_per_second" in logs:
        parts.append(f"{logs['target_tokens_per_second']:,.0f} tokens/s")
    if "utilization" in logs:
        parts.append(f"{logs['utilization']:.0%} busy")
    return "  ".join([*parts, f"{duration(seconds_left)} left"])


def evaluation_line(logs: dict, step: int) -> str:
    """`step 100: validation loss 3.210, BLEU 12.30, chrF++ 30.21`"""
    parts = [f"loss {logs['eval_loss']:.3f}"]
    for key, name in (("eval_bleu", "BLEU"), ("eval_chrf", "chrF++")):
        if key in logs:
            parts.append(f"{name} {logs[key]:.2f}")
    return f"step {step:,}: validation {', '.join(parts)}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min` or `3 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
