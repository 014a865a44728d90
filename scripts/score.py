"""Score a model on held-out pairs: `scripts/score.py MODEL --split test`.

Prints BLEU, chrF++ and TER with 95% bootstrap intervals and sacreBLEU signatures, against the first reference of
each source (single) and against all of them (multi), greedy and with beams. `--baseline OTHER` also tests whether
the model differs from another by paired bootstrap.
"""

import argparse
import json
from pathlib import Path

import torch
from datasets import Dataset

from glossa.cli import run
from glossa.data.arguments import DataArguments
from glossa.data.pairs import load_pairs
from glossa.evaluation.metrics import paired_bootstrap
from glossa.evaluation.scoring import score_table, score_translator
from glossa.inference.loading import load_model, load_tokenizer
from glossa.inference.translator import Translator
from glossa.run_folder import RunFolder


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a run, or Hub name")
    parser.add_argument("--split", choices=("validation", "test"), default="test", help="of the run (default: test)")
    parser.add_argument("--data_path", nargs="+", help="score these pairs instead (any format that training reads)")
    parser.add_argument("--source_language", default="en", help="of --data_path (default: en)")
    parser.add_argument("--target_language", default="fr", help="of --data_path (default: fr)")
    parser.add_argument("--num_beams", type=int, nargs="+", help="beams (default: 1 and the model's own)")
    parser.add_argument("--batch_tokens", type=int, default=4096, help="source tokens a batch (default: 4096)")
    parser.add_argument("--n_bootstrap", type=int, default=1000, help="resamples for intervals (default: 1000)")
    parser.add_argument("--baseline", help="another model: test whether the difference could be chance")
    parser.add_argument("--output", help="write scores and translations to this JSON file")
    return parser.parse_args(argv)


def load(name: str, arguments: argparse.Namespace) -> list[Translator]:
    model, tokenizer = load_model(name), load_tokenizer(name)
    model.to(torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu")
    beams = arguments.num_beams or sorted({1, model.generation_config.num_beams or 1})
    return [Translator(model, tokenizer, beam, batch_tokens=arguments.batch_tokens) for beam in beams]


def score(translators: list[Translator], pairs: Dataset, arguments: argparse.Namespace) -> dict[str, dict]:
    return {
        "greedy" if translator.num_beams == 1 else f"beam {translator.num_beams}": score_translator(
            translator, pairs, arguments.n_bootstrap
        )
        for translator in translators
    }


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    translators = load(arguments.model, arguments)
    if arguments.data_path:
        sides = {"source_language": arguments.source_language, "target_language": arguments.target_language}
        pairs = load_pairs(DataArguments(dataset="files", data_path=arguments.data_path, **sides))
    else:
        pairs = RunFolder(arguments.model).load_held_out(arguments.split)
    results = score(translators, pairs, arguments)
    print(score_table(results))
    report: dict = {"model": arguments.model, "results": results}
    if arguments.baseline:
        others = score(load(arguments.baseline, arguments), pairs, arguments)
        report["baseline"] = {"model": arguments.baseline, "results": others}
        report["paired_bootstrap"] = {
            name: paired_bootstrap(others[name]["translations"], result["translations"], result["references"])
            for name, result in results.items()
            if name in others
        }
        print(json.dumps(report["paired_bootstrap"], indent=2))
    if arguments.output:
        Path(arguments.output).write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(main)
