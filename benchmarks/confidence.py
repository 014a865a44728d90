"""How well a run's confidence says which of its translations need no correction.

Each run translates its held-out test pairs with its own beams. A translation needs no correction if its chrF is 80 or
more against a reference. Printed are the expected calibration error of the confidence, in ten bins of equal size,
those bins, and the area under the ROC curve of confidence, log-probability per token and shortness against "chrF below
50", with 95% intervals by bootstrap. A run that has learned no confidence learns it here, from its validation pairs.
The same of words: one is right if a reference has it, and what is compared is the mean of the model's probabilities.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from glossa.data.pairs import group_references
from glossa.evaluation.calibration import area, calibration_error, interval, reliability, right_words, sentence_chrf
from glossa.inference.confidence import (
    NEEDS_NONE,
    WORD_FEATURES,
    WORD_SHARE,
    confidence,
    features,
    learn,
    tokens_by_word,
    word_features,
)
from glossa.inference.engines.engine import Search
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.options import Execution
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder

from .timing import table

BAD = 50.0  # chrF of a translation below which it is of no use


class Found(NamedTuple):
    """The translations of pairs: their features, log-probabilities per token, lengths, chrF, and words.

    Of each word there are the log-probabilities of its tokens, and whether a reference has it.
    """

    features: list[list[float]]
    token_scores: list[float]
    lengths: list[int]
    chrf: list[float]
    words: list[list[list[float]]]
    right_words: list[list[bool]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--batch_tokens", type=int, default=4096, help="source tokens of a batch (default: 4096)")


def run(arguments: argparse.Namespace) -> None:
    for name in arguments.models:
        show(name, arguments.batch_tokens)


def show(name: str, batch_tokens: int) -> None:
    """Print the measures of one run."""
    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    translator = Translator(
        model, tokenizer, Search(scores=True), execution=Execution(batch_tokens), split_sentences=False
    )
    weights, origin = getattr(model.config, "confidence", None), "as the run has learned it"
    if weights is None:
        own = translations(translator, RunFolder(name).load_held_out("validation"))
        weights, origin = learn(own.features, [chrf >= NEEDS_NONE for chrf in own.chrf]), "learned here"
    found = translations(translator, RunFolder(name).load_held_out("test"))
    if weights is None:
        print(f"{name} has too few validation pairs, or hardly any that it translates well, or badly.\n")
    else:
        print(f"{name}: {len(found.features):,} translations, confidence {origin}: {weights}\n")
        _show_sentences(weights, found)
    _show_words(translator, RunFolder(name), found)


def _show_sentences(weights: Mapping[str, float], found: Found) -> None:
    """Print the measures of the translations of a run."""
    values = [confidence(weights, row) for row in found.features]
    right, bad = [chrf >= NEEDS_NONE for chrf in found.chrf], [chrf < BAD for chrf in found.chrf]
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


def _show_words(translator: Translator, folder: RunFolder, found: Found) -> None:
    """Print the measures of the words of a run."""
    weights = translator.engine.word_confidence
    if weights is None:
        own = translations(translator, folder.load_held_out("validation"))
        weights = learn(*_flat(own), WORD_FEATURES, WORD_SHARE)
    if weights is None:
        print("Words: too few, or hardly any of them wrong.\n")
        return
    values, right = _flat(found)
    confidences = [confidence(weights, row, WORD_FEATURES) for row in values]
    means = [sum(map(math.exp, own)) / len(own) for words in found.words for own in words if own]
    print(f"{len(right):,} words, {sum(right) / len(right):.1%} in a reference: {weights}\n")
    wrong = [not each for each in right]
    rows = []
    for title, scores in (("confidence", confidences), ("mean probability", means)):
        rows += [
            _row(f"words, calibration error: {title}", calibration_error, scores, right),
            _row(f"words, area: {title}", area, scores, wrong),
        ]
    print(f"{table(rows)}\n")


def _flat(found: Found) -> tuple[list[list[float]], list[bool]]:
    """The features of all words, and which are right."""
    values = [row for words in found.words for row in word_features(words)]
    pairs = zip(found.words, found.right_words, strict=True)
    return values, [fits for words, right in pairs for own, fits in zip(words, right, strict=True) if own]


def _row(title: str, measure: Any, scores: Sequence[float], flags: Sequence[bool]) -> dict[str, str]:
    low, high = interval(measure, scores, flags)
    return {"measure": title, "value": f"{measure(scores, flags):.3f}", "95%": f"{low:.3f} to {high:.3f}"}


def translations(translator: Translator, pairs: Any) -> Found:
    """The run's translations of distinct sources that are not blank."""
    grouped = group_references(pairs)
    found = Found([], [], [], [], [], [])
    translated = translator.translate([source for source, _ in grouped])
    kept = [(*pair, first) for pair, (first, *_) in zip(grouped, translated, strict=True) if first.text]
    for source, _, best in kept:
        pieces = len(translator.tokenizer(source)["input_ids"])
        ratio = translator.engine.length_ratio
        found.features.append(features(source, best.text, best.token_score or 0.0, pieces, ratio))
        found.token_scores.append(best.token_score or 0.0)
        found.lengths.append(len(best.text))
    found.chrf.extend(sentence_chrf([best.text for *_, best in kept], [targets for _, targets, _ in kept]))
    sources, targets = [source for source, *_ in kept], [best.text for *_, best in kept]
    found.words.extend(tokens_by_word(translator.engine.token_scores, translator.tokenizer, sources, targets))
    found.right_words.extend(right_words(best.text, references) for _, references, best in kept)
    return found
