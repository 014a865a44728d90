"""What several runs are worth together: `python -m benchmarks seeds RUN RUN ...`.

The runs have one vocabulary and one architecture, such as runs of one recipe with different seeds. Scores each of them
on held-out pairs of the first, then their ensemble, which averages what they predict, and a model with the average
of their weights.
"""

import argparse
from pathlib import Path

from glossa.evaluation.metrics import bleu_tokenizer
from glossa.evaluation.scoring import score_table, score_translators
from glossa.inference.engines.engine import GenerateEngine, Search
from glossa.inference.engines.ensemble import load_models
from glossa.inference.languages import Languages
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder
from glossa.training.averaging import average_into


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="default: test")
    parser.add_argument("--num_beams", type=int, default=1, help="default: 1")


def run(arguments: argparse.Namespace) -> None:
    runs = arguments.runs
    averaged, tokenizer = load_model(runs[0]), load_tokenizer(runs[0])
    average_into(averaged, [Path(path) for path in runs])
    models = {path: load_model(path) for path in runs}
    models |= {"ensemble": load_models(runs)[0], "average of the weights": averaged}
    first = RunFolder(runs[0])
    pairs = first.load_held_out(arguments.split)
    tokenize = bleu_tokenizer(str(Languages.of(runs[0]).target), first.recipe.get("bleu_tokenizer", "auto"))
    results = {}
    for name, model in models.items():
        translator = Translator(GenerateEngine(model, tokenizer), tokenizer, Search(arguments.num_beams))
        (results[name],) = score_translators([translator], pairs, tokenize).values()
    print(score_table(results))
