"""How well the end of a training is forecast: `python -m benchmarks curves --data FOLDER`.

Each row trains as `glossa train` chooses for its pairs, with an evaluation after every twentieth, and keeps its curve:
the share of the learning rates and the chrF++ on validation pairs. Finished rows are kept, as by `reproduce`. The table
forecasts the end of each curve from its beginning, by what the other texts' curves say: those of the same texts are
left out.
"""

import argparse
import random
from pathlib import Path

from glossa.base.run_folder import RunFolder
from glossa.train.evaluation.curves import SHARE
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

from .numbers import PAIRS
from .reproduce import DOCS, add_result, read_commit, read_results
from .timing import machine
from .tuning import SIDES

# Texts, their language, and their folder in `PAIRS`; English is the other language.
TEXTS = {
    "Anki": ("anki", "fr"), "help": ("libreoffice-help", "de"), "help, French": ("libreoffice-help", "fr"),
    "help, Portuguese": ("libreoffice-help", "pt-BR"), "TICO-19": ("tico19", "pt-BR"),
    "help, Spanish": ("libreoffice-help", "es"),
}  # fmt: skip
SIZES = ((500, 8), (1_000, 5), (2_000, 4), (500, 20), (2_500, 6))  # pairs and passes
HELD_OUT = 150
LONGEST = 200  # characters of a side


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="of the texts, as for `numbers`; to train")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/curves"), help="folder of the runs")
    parser.add_argument(
        "--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="the finished rows"
    )


def run(arguments: argparse.Namespace) -> None:
    for pairs, passes in SIZES if arguments.data else ():
        for name in TEXTS:
            place = {"table": "curves", "row": f"{name}: {pairs:,} pairs, {passes} passes", "seed": 1}
            if any(place.items() <= result.items() for result in read_results(arguments.results)):
                continue
            commit = read_commit()
            found = measure(arguments, name, pairs, passes)
            add_result(arguments.results, place | {"commit": commit, **machine()} | {"metrics": found}, place)


def measure(arguments: argparse.Namespace, name: str, pairs: int, passes: int) -> dict:
    """Train a row; its curve."""
    folder, language = TEXTS[name]
    output = arguments.output_dir / f"{name}-{pairs}-{passes}".replace(" ", "").lower()
    rows = sorted(
        {pair for pair in PAIRS[folder](arguments.data / folder, language) if max(map(len, pair)) <= LONGEST}
    )
    random.Random(1).shuffle(rows)
    parts = {"validation": rows[:HELD_OUT], "data": rows[HELD_OUT : HELD_OUT + pairs]}
    argv = ["--dataset", "files", "--source_language", "en", "--target_language", language, *SIDES]
    output.mkdir(parents=True, exist_ok=True)
    for part, chosen in parts.items():
        path = output.with_suffix(f".{part}.tsv")
        path.write_text("".join(f"{source}\t{target}\n" for source, target in chosen), encoding="utf-8")
        argv += [f"--{part}_path", str(path)]
    argv += ["--num_train_epochs", str(passes), "--bf16", "false", "--output_dir", str(output)]
    argv += ["--test_size", "0", "--trust_data", "true", "--num_beams", "1"]
    train(parse_settings(argv))
    history = RunFolder(output).history
    points = [[round(each[SHARE], 4), round(each["eval_chrf"], 2)] for each in history if SHARE in each]
    return {"pairs": pairs, "passes": passes, "curve": points}
