"""Advice from the log of a finished run: one line per problem, with the setting to change."""

import math
import shlex
from collections.abc import Sequence

import numpy
from datasets import Dataset
from transformers import PreTrainedConfig

from .plan.settings import GlossaTrainingArguments

UNCHANGED = 0.002  # relative change of the validation loss
SPIKE = 1.25  # times the lowest training loss so far
OVERFITTING = 1.02  # times the lowest validation loss
# Minimum occurrences of a token. Gowda and May 2020 (section 4.2) recommend 100 for 95% of the tokens. On Multi30k
# their rule advises against 2,000 pieces, but 4,000 and 8,000 translate better (docs/results.md). A limit of 10 would
# advise against 8,000 pieces for 10,000 pairs, but they translate better than 2,000.
RARE = 5
UNLEARNED = 260  # tokens of any byte-level BPE: four special tokens and 256 bytes
SMALLEST = 300  # minimum size of an advised vocabulary
LENGTHS = 0.98, 1.02  # typical lengths of good translations, relative to the references
BROKEN = 0.7, 1.5  # beyond these lengths, the model has learned too little for a length penalty to help
COMMON_SHARE = 0.5  # of the learned pieces
MANY_IMPLAUSIBLE = 1 / 3  # of the translations
# Validation BLEU. Below the first value, the only useful advice is to train longer; above the second, further training
# changes little.
LEARNED, PERFECT = 10, 90


def advise(
    history: list[dict],
    training: GlossaTrainingArguments,
    steps: int = 0,
    average_bleu: float | None = None,
    wanted: float = 0.0,
) -> list[str]:
    """Advice from the log of a training.

    Args:
        history: The Trainer's log.
        training: The settings of the training.
        steps: The total number of steps.
        average_bleu: Greedy validation BLEU of the averaged checkpoints; None without averaging.
        wanted: The passes before `hours` lowered them.
    """
    losses = [entry["loss"] for entry in history if "loss" in entry]
    validation = [entry["eval_loss"] for entry in history if "eval_loss" in entry]
    bleu = [entry["eval_bleu"] for entry in history if "eval_bleu" in entry]
    found = [long_warmup(training.get_warmup_steps(steps), steps), _divergence(losses), _average(bleu, average_bleu)]
    if max(bleu, default=0) < PERFECT:
        found += [
            _start(history),
            _unchanged(validation, lengthen(training, wanted)),
            _progress(bleu, lengthen(training, wanted)),
            _overfitting(validation, bleu, training.early_stopping_patience),
        ]
    return [line for line in found if line]


def lengthen(training: GlossaTrainingArguments, wanted: float = 0.0) -> str:
    """The settings that make training longer; `wanted` are the passes before `hours` lowered them."""
    if training.max_steps > 0:
        return "--max_steps"
    if training.num_train_epochs < wanted:
        return "--hours"
    return "--num_train_epochs" if training.hours is None else "--hours and --num_train_epochs"


def diverged(losses: Sequence[float], tokens: int) -> str:
    """The advice for a run whose training loss ends worse than a guess among all `tokens`; otherwise "".

    Args:
        losses: The training losses of the log.
        tokens: The size of the target vocabulary.
    """
    if not losses or losses[-1] <= SPIKE * math.log(tokens):
        return ""
    return (
        f"The training diverged: its loss was {losses[-1]:,.2f} at the end, and a guess among all {tokens:,} tokens "
        f"has {math.log(tokens):.2f}. Start again with a tenth of --learning_rate (and of --muon_learning_rate)."
    )


def _divergence(losses: Sequence[float]) -> str:
    lowest = float("inf")
    for loss in losses:
        if not loss <= SPIKE * lowest:
            return (
                f"The training loss rose from {lowest:.2f} to {loss:.2f}: the learning rate may be too high. Try half "
                "of --learning_rate (and of --muon_learning_rate), or twice --warmup_steps."
            )
        lowest = min(lowest, loss)
    return ""


def long_warmup(warmup: float, steps: int) -> str:
    """The advice for a run that is not longer than its warm-up; otherwise ""."""
    if steps and warmup >= steps:
        return (
            f"The warm-up of the learning rate (--warmup_steps {warmup:g}) is as long as the run ({steps} steps) or "
            "longer: the rate never reaches its peak. Set --warmup_steps to a share of the steps, such as 0.1."
        )
    return ""


def _unchanged(validation: Sequence[float], longer: str) -> str:
    if len(validation) > 1 and max(validation) - min(validation) < UNCHANGED * min(validation):
        return (
            f"The validation loss did not change ({validation[0]:.4f} to {validation[-1]:.4f}): training had almost "
            f"no effect. Raise --learning_rate, or train longer with more {longer}."
        )
    return ""


def _start(history: list[dict]) -> str:
    evaluations = [entry for entry in history if "eval_loss" in entry and "eval_bleu" in entry]
    if len(evaluations) < 2 or evaluations[0]["step"] > 0:
        return ""
    start, *later = evaluations
    if all((entry["eval_loss"], entry["eval_bleu"]) == (start["eval_loss"], start["eval_bleu"]) for entry in later):
        return (
            f"The tuned model equals its start: loss {start['eval_loss']:.4f} and BLEU {start['eval_bleu']:.2f} are "
            "the same before and after training. Raise --learning_rate."
        )
    scores = [(entry["eval_bleu"], entry.get("eval_chrf", 0.0)) for entry in evaluations]  # BLEU may be 0 in all
    best = max(bleu for bleu, _ in scores[1:])
    if max(scores[1:]) <= scores[0]:
        return (
            f"The tuned model is no better than its start: validation BLEU was {start['eval_bleu']:.2f} before "
            f"training and {best:.2f} at best after it. Keep the start, or try a lower --learning_rate, or more pairs."
        )
    return ""


def _progress(bleu: Sequence[float], longer: str) -> str:
    if len(bleu) > 1 and bleu[-1] == max(bleu) and bleu[-1] - bleu[-2] >= 0.1:
        return (
            f"Validation BLEU was still rising at the end ({bleu[-2]:.2f} to {bleu[-1]:.2f}): train longer, with "
            f"twice the {longer}."
        )
    return ""


def _overfitting(validation: Sequence[float], bleu: Sequence[float], patience: int | None) -> str:
    fell = bool(bleu) and bleu[-1] < max(bleu)
    if validation and validation[-1] > OVERFITTING * min(validation) and (fell or not bleu):
        stop = "" if patience else ", or stop with --early_stopping_patience 3"
        return (
            f"The validation loss rose from {min(validation):.3f} to {validation[-1]:.3f}: the model overfits. Raise "
            f"--dropout{stop}."
        )
    return ""


def _average(bleu: Sequence[float], average: float | None) -> str:
    if average is not None and bleu and average < max(bleu) - 0.1:
        return (
            f"The averaged checkpoints have {average:.2f} validation BLEU, the best one alone {max(bleu):.2f}: set "
            "--average_checkpoints 0."
        )
    return ""


def judge_length(length: float, beams: int, bleu: float, implausible: dict[str, float], run: str) -> str:
    """Advice if translations with beam search are slightly too short or too long; otherwise "".

    Args:
        length: Characters of the translations divided by those of the references.
        beams: Number of beams.
        bleu: BLEU of the translations.
        implausible: As in [`judge_translations`].
        run: The folder of the run.
    """
    shortest, longest = LENGTHS
    if beams == 1 or shortest <= length <= longest or not BROKEN[0] <= length <= BROKEN[1]:
        return ""
    if bleu < LEARNED or implausible_share(implausible) > MANY_IMPLAUSIBLE:
        return ""
    wanted = "higher" if length < shortest else "lower"
    return (
        f"Validation translations with {beams} beams have {length:.0%} of the characters of the references: a "
        f"{wanted} --length_penalty may be better. Try some: glossa score {shlex.quote(run)} --split validation "
        f"--num_beams {beams} --length_penalty 0.6 1 1.4 1.8"
    )


def judge_translations(
    implausible: dict[str, float], bleu: float, training: GlossaTrainingArguments, wanted: float = 0.0
) -> str:
    """Advice if many validation translations are implausible; otherwise "".

    Args:
        implausible: The share of translations with each problem, such as "repetitive".
        bleu: BLEU of the translations.
        training: The settings of the training.
        wanted: The passes before `hours` lowered them.
    """
    if bleu >= PERFECT or implausible_share(implausible) <= MANY_IMPLAUSIBLE:
        return ""
    kinds = ", ".join(f"{share:.0%} {kind}" for kind, share in _counted(implausible).items())
    return (
        f"Many validation translations are implausible ({kinds}): the model has learned too little. Train longer, "
        f"with more {lengthen(training, wanted)}, or on more pairs."
    )


def implausible_share(implausible: dict[str, float]) -> float:
    """The share of implausible translations, not counting problems "different", which may be correct."""
    return sum(_counted(implausible).values())


def _counted(implausible: dict[str, float]) -> dict[str, float]:
    return {kind: share for kind, share in implausible.items() if not kind.startswith("different")}


def count_tokens(rows: Dataset, config: PreTrainedConfig) -> numpy.ndarray:
    """The counts [V] of each target token in tokenized pairs; on both sides if they share the vocabulary."""
    size = config.decoder_vocab_size or config.vocab_size
    sides = ["labels"] if size != config.vocab_size else ["input_ids", "labels"]
    counts = numpy.zeros(size, dtype=numpy.int64)
    for batch in rows.select_columns(sides).with_format("arrow").iter(10_000):
        for side in sides:
            ids = batch[side].combine_chunks().flatten().to_numpy()
            counts += numpy.bincount(ids, minlength=size)
    return counts


def judge_vocabulary(counts: numpy.ndarray, bleu: float = 0) -> str:
    """Advice if many of the learned BPE pieces are too rare in training; otherwise "".

    Args:
        counts: Occurrences of each token in training, [V]: special tokens, the 256 bytes, then the learned pieces.
        bleu: Validation BLEU.
    """
    pieces = counts[UNLEARNED:]
    common = int((pieces >= RARE).sum())
    smaller = max((UNLEARNED + common) // 100 * 100, SMALLEST)
    if bleu >= PERFECT or common >= COMMON_SHARE * len(pieces) or smaller >= len(counts):
        return ""
    return (
        f"{len(pieces) - common:,} of {len(pieces):,} learned pieces occur fewer than {RARE} times in training: a "
        f"--vocab_size below {len(counts)}, such as {smaller}, may translate better."
    )
