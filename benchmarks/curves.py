"""How well the end of a training is forecast: `python -m benchmarks curves --data FOLDER`.

Each row trains a small model, and keeps its curve: at each evaluation the share of the learning rates, and the chrF++
and the loss on validation pairs. Finished rows are kept, as by `reproduce`. The table forecasts the end of each curve
from its beginning, and of the curves of plain training in `stages`; growth and interval widths come from the curves of
other texts. The last line has the constants of `glossa/train/evaluation/curves.py`, from all curves.
"""

import argparse
import math
import random
from collections.abc import Iterable
from pathlib import Path

import numpy

from glossa.base.run_folder import RunFolder
from glossa.train.evaluation.curves import LEAST_WIDTH, SHARE, Point, logit, predict
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train

from .numbers import PAIRS
from .reproduce import DOCS, add_result, read_commit, read_results
from .timing import machine, table
from .tuning import SIDES

# Texts, their language, and their folder in `PAIRS`; English is the other language.
TEXTS = {
    "Anki": ("anki", "fr"), "help": ("libreoffice-help", "de"), "help, French": ("libreoffice-help", "fr"),
    "help, Portuguese": ("libreoffice-help", "pt-BR"), "TICO-19": ("tico19", "pt-BR"),
    "help, Spanish": ("libreoffice-help", "es"),
}  # fmt: skip
SIZES = ((3_000, 6), (6_000, 4), (1_500, 20), (6_000, 8), (3_000, 25))  # pairs and passes
SMALL = {"vocab_size": 1500, "d_model": 96, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 256,
         "decoder_ffn_dim": 256}  # fmt: skip
HELD_OUT = 100
TIMES = (0.25, 0.5, 0.75)  # of a run
LEARNED = (0.25, 0.35, 0.5, 0.6, 0.75)  # times whose growth is fitted
INSIDE = 0.95  # share of the ends that intervals contain
# The texts of the rows of `stages`.
ELSEWHERE = {"anki": "Anki", "anki-20k": "Anki", "anki-10k": "Anki", "help": "help", "multi30k": "Multi30k"}
LEAST_POINTS = 5  # of a curve that is used
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
    curves = curves_in(read_results(arguments.results))
    print(f"\n{table([row_of(time, curves) for time in TIMES])}\n")
    print(f"GROWTH = {growth_of(curves)}, WIDTH = {width_of(curves):.2f}")


def curve_of(run: RunFolder) -> str:
    """The curve of a run: share, chrF++ and loss of each evaluation."""
    entries = [each for each in run.history if SHARE in each and "eval_chrf" in each]
    return " ".join(f"{each[SHARE]:.4g}/{each['eval_chrf']:.4g}/{each['eval_loss']:.4g}" for each in entries)


def curves_in(results: Iterable[dict]) -> dict[str, list[Point]]:
    """The curves of new models, by their text, a colon, and what else tells them apart."""
    curves = {}
    for result in results:
        row, curve = result["row"], result["metrics"].get("curve", "")
        points = [Point(*map(float, point.split("/")[:2])) for point in curve.split()]
        if len(points) < LEAST_POINTS:
            continue
        text = row.partition(":")[0] if result["table"] == "curves" else ELSEWHERE[row.partition(",")[0]]
        curves[f"{text}: {row}, {result['seed']}"] = points
    return curves


def row_of(time: float, curves: dict[str, list[Point]]) -> dict[str, str]:
    """How well the ends of the curves are forecast at a part of the runs."""
    errors, widths, inside = [], [], 0
    for name, points in curves.items():
        others = {other: each for other, each in curves.items() if other.partition(":")[0] != name.partition(":")[0]}
        found = error_at(time, points, growth_of(others))
        if found is None:
            continue
        error, growth = found
        widths.append(2 * (LEAST_WIDTH + width_of(others) * growth))
        inside += error <= widths[-1] / 2
        errors.append(error)
    count = max(len(errors), 1)
    return {
        "part of the run": f"{time:.0%}",
        "curves": f"{len(errors)} of {len(curves)}",
        "mean error, chrF++": f"{sum(errors) / count:.2f}",
        "largest": f"{max(errors, default=0):.2f}",
        "inside of the interval": f"{inside / count:.0%}",
        "its mean width": f"{sum(widths) / count:.1f}",
    }


def growth_of(curves: dict[str, list[Point]]) -> tuple[float, float]:
    """`GROWTH` by least squares: how the logits of the last scores differ from those before them, at `LEARNED`."""
    features, growths = [], []
    for points in curves.values():
        for known in (points[: round(time * len(points))][-1] for time in LEARNED):
            level, factor = logit(known.score), math.log(1 / known.share)
            features.append((factor, factor * level))
            growths.append(logit(points[-1].score) - level)
    first, second = numpy.linalg.lstsq(numpy.array(features), numpy.array(growths), rcond=None)[0]
    return round(float(first), 3), round(float(second), 3)


def error_at(time: float, points: list[Point], growth: tuple[float, float]) -> tuple[float, float] | None:
    """The error of the forecast at a part of a run, and the logarithm of the factor by which the share still grows."""
    known = points[: round(time * len(points))]
    found = predict(known, growth=growth)
    return None if found is None else (abs(found.middle - points[-1].score), math.log(1 / known[-1].share))


def width_of(curves: dict[str, list[Point]]) -> float:
    """The smallest `WIDTH` with which intervals at all times contain `INSIDE` of the ends."""
    growth = growth_of(curves)
    found = [each for points in curves.values() for time in TIMES if (each := error_at(time, points, growth))]
    needed = sorted(max(error - LEAST_WIDTH, 0.0) / growth for error, growth in found)
    return needed[min(math.ceil(INSIDE * len(needed)), len(needed)) - 1] if needed else 0.0


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
    argv += ["--test_size", "0", "--trust_data", "true", "--num_beams", "1", "--max_new_tokens", "60"]
    argv += [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
    train(parse_settings(argv))
    return {"pairs": pairs, "passes": passes, "curve": curve_of(RunFolder(output))}
