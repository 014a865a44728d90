"""What a run can become, said before it trains and after it, with the commands that would help most."""

import math
from collections.abc import Mapping
from typing import Any

from ..base.metrics import bleu_tokenizer
from .evaluation.verdict import RANKS, Measured, expected, rank
from .plan.arguments import Settings
from .plan.starts import published_starts

STARTS = 3  # maximum number of published models named
LEAST_GAIN = 0.5  # chrF++; smaller gains are not named
SPACED = "13a"  # for languages with spaces between words, as are those of the measured runs


def forecast(settings: Settings, pairs: int, wanted: float) -> list[str]:
    """What a new model can become, in one line, and what would help; nothing if it starts from a model.

    Args:
        settings: The settings of the run, with the passes that it will train.
        pairs: The training pairs.
        wanted: The passes before `hours` lowered them.
    """
    training = settings.training
    if settings.translator.init_from or training.max_steps > 0 or _is_example(settings):
        return []
    passes = training.num_train_epochs
    low, high = expected(pairs, passes)
    found = rank((low + high) / 2)
    fitting = f"{_number(passes)} of {_number(wanted)}" if passes < wanted else _number(passes)
    score = f"expect chrF++ {low:.0f} to {high:.0f} (docs/quality.md). " if _is_spaced(settings) else ""
    return [
        f"{pairs:,} pairs, {fitting} passes: {score}{found.forecast}",
        *([] if found == RANKS[-1] else [*_all_passes(settings, wanted), *_help(settings)]),
    ]


def conclusion(settings: Settings, pairs: int, wanted: float, metrics: Mapping[str, Any]) -> list[str]:
    """What the finished run is, by its scores, and what would help.

    Args:
        settings: The settings of the run, with the passes that it trained.
        pairs: The training pairs.
        wanted: The passes before `hours` lowered them.
        metrics: The metrics of the run.
    """
    measured = Measured.of(metrics)
    if measured is None:
        return []
    found = rank(measured.chrf, measured.bleu)
    scores = f"BLEU {measured.bleu:.1f}, chrF++ {measured.chrf:.1f}{measured.interval} on its {measured.split} pairs"
    if measured.is_unsure:
        scores += " (too few to be sure)"
    first = f"Verdict: {found.name}: {pairs:,} pairs, {scores}; {found.use}."
    gains = _gains(settings, pairs, measured.chrf)
    if found == RANKS[-1]:
        return [first, *gains]
    return [first, *gains, *([] if gains else _all_passes(settings, wanted)), *_help(settings)]


def _number(passes: float) -> str:
    return f"{passes:,.0f}" if passes >= 10 else f"{passes:.3g}"


def _is_example(settings: Settings) -> bool:
    """Whether the pairs are those of Glossa's small grammar, which are learned in a minute."""
    return settings.data.dataset == "embedded" and not settings.data.data_path


def _is_spaced(settings: Settings) -> bool:
    return bleu_tokenizer(settings.data.target_language, settings.translator.bleu_tokenizer) == SPACED


def _gains(settings: Settings, pairs: int, chrf: float) -> list[str]:
    """What twice the passes and twice the pairs would bring to a new model, as they did to the measured runs.

    These say nothing about a run whose `chrf` is better than theirs.
    """
    training = settings.training
    passes = training.num_train_epochs
    if settings.translator.init_from or _is_example(settings) or not _is_spaced(settings):
        return []
    if chrf > expected(pairs, passes)[1]:
        return []
    longer = "twice the passes" if training.hours is None else f"--hours {2 * training.hours:g}"
    more = {longer: (pairs, 2 * passes), "twice the pairs": (2 * pairs, passes)}
    gains = {what: (sum(expected(*size)) - sum(expected(pairs, passes))) / 2 for what, size in more.items()}
    said = [f"{gain:+.1f} chrF++ with {what}" for what, gain in gains.items() if gain >= LEAST_GAIN]
    return [f"  to be expected: {', '.join(said)}"] if said else []


def _all_passes(settings: Settings, wanted: float) -> list[str]:
    """The hours of all passes, if `hours` lowered them."""
    training = settings.training
    if training.hours is None or training.num_train_epochs >= wanted:
        return []
    hours = training.hours * wanted / training.num_train_epochs
    return [f"  for all passes: --hours {math.ceil(10 * hours) / 10:g}"]


def _help(settings: Settings) -> list[str]:
    """What would help most, as options, best first."""
    data, lines = settings.data, []
    starts = list(published_starts(data.source_language, data.target_language))[:STARTS]
    if starts and not settings.translator.init_from:
        lines.append(f"  a published start (names are not checked online): --init_from {', or '.join(starts)}")
    lines.append("  more pairs: corpora of OPUS (docs/data.md), or monolingual text, translated (docs/quality.md)")
    lines.append("  for sentences that return: glossa memory build, glossa translate --memory (docs/memory.md)")
    return lines
