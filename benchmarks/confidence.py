"""How well a run's confidence says which of its translations need no correction.

Each run translates its held-out test pairs with its own beams. A translation needs no correction if its chrF is 80 or
more against a reference. Printed are the expected calibration error of the confidence, in ten bins of equal size,
those bins, and the area under the ROC curve of confidence, log-probability per token and shortness against "chrF below
50", with 95% intervals by bootstrap. A run that has learned no confidence learns it here, from its validation pairs.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

from glossa.data.pairs import group_references
from glossa.errors import GlossaError
from glossa.evaluation.calibration import area, calibration_error, interval, reliability, sentence_chrf
from glossa.inference.confidence import NEEDS_NONE, confidence, features, learn
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder

from .timing import table

BAD = 50.0  # chrF of a translation below which it is of no use


class Found(NamedTuple):
    """The translations of pairs: their features, log-probabilities per token, lengths, and chrF."""

    features: list[list[float]]
    token_scores: list[float]
    lengths: list[int]
    chrf: list[float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--batch_tokens", type=int, default=4096, help="source tokens of a batch (default: 4096)")


def run(arguments: argparse.Namespace) -> None:
    for name in arguments.models:
        show(name, arguments.batch_tokens)


def show(name: str, batch_tokens: int) -> None:
    """Print the measures of one run."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    translator = Translator(model, tokenizer, scores=True, split_sentences=False, batch_tokens=batch_tokens)
    weights, origin = getattr(model.config, "confidence", None), "as the run has learned it"
    if weights is None:
        own = translations(translator, RunFolder(name).load_held_out("validation"))
        weights, origin = learn(own.features, [chrf >= NEEDS_NONE for chrf in own.chrf]), "learned here"
    if weights is None:
        raise GlossaError(f"{name} has too few validation pairs, or hardly any that it translates well, or badly.")
    found = translations(translator, RunFolder(name).load_held_out("test"))
    values = [confidence(weights, row) for row in found.features]
    right, bad = [chrf >= NEEDS_NONE for chrf in found.chrf], [chrf < BAD for chrf in found.chrf]
    print(f"{name}: {len(values):,} translations, confidence {origin}: {weights}\n")
    rows = [_row("calibration error", calibration_error, values, right)]
    for title, scores in (
        ("area: confidence", values),
        ("area: log-probability per token", found.token_scores),
        ("area: fewer characters", [-length for length in found.lengths]),
    ):
        rows.append(_row(title, area, scores, bad))
    print(table(rows))
    bins: list[dict[str, str]] = [
        {"confidence": f"{mean:.3f}", "need no correction": f"{share:.3f}", "translations": str(size)}
        for mean, share, size in reliability(values, right)
    ]
    print(f"\n{table(bins)}\n")


def _row(title: str, measure: Any, scores: Sequence[float], flags: Sequence[bool]) -> dict[str, str]:
    low, high = interval(measure, scores, flags)
    return {"measure": title, "value": f"{measure(scores, flags):.3f}", "95%": f"{low:.3f} to {high:.3f}"}


def translations(translator: Translator, pairs: Any) -> Found:
    """The run's translations of distinct sources that are not blank."""
    grouped = group_references(pairs)
    found = Found([], [], [], [])
    translated = translator.translate([source for source, _ in grouped])
    kept = [(*pair, first) for pair, (first, *_) in zip(grouped, translated, strict=True) if first.text]
    for source, _, best in kept:
        pieces = len(translator.tokenizer(source)["input_ids"])
        ratio = translator.engine.length_ratio
        found.features.append(features(source, best.text, best.token_score or 0.0, pieces, ratio))
        found.token_scores.append(best.token_score or 0.0)
        found.lengths.append(len(best.text))
    found.chrf.extend(sentence_chrf([best.text for *_, best in kept], [targets for _, targets, _ in kept]))
    return found
