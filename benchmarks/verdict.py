"""What a short run can become, by pairs and passes: `python -m benchmarks verdict --anki FILE`.

Each row trains on Anki's English-French pairs as `glossa train` chooses for their number, and is scored by greedy
search on 300 test pairs. Finished rows are kept, as by `reproduce`. Prints the table, and the lines that
`glossa/train/verdict.py` has from it.
"""

import argparse
from pathlib import Path

from datasets import Dataset

from glossa.base.run_folder import RunFolder
from glossa.train.data.arguments import DataArguments
from glossa.train.data.cleaning.splitting import sample_rows
from glossa.train.data.pairs import prepare_pairs
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.sizing import LESS_DROPOUT, SEEN, SHORT
from glossa.train.run import train

from .reproduce import DOCS, add_result, read_commit, read_results, write_table
from .timing import machine, table
from .tuning import SIDES

# From the fewest sentences to the most, so that the first rows are finished soon.
ROWS = sorted(
    [(pairs, passes) for pairs in (500, 2_000, 7_000, 20_000) for passes in (2, 8, 25)]
    + [(pairs, passes) for pairs in (500, 2_000) for passes in (60, 120)],
    key=lambda row: row[0] * row[1],
)
# Longer runs of docs/results.md: table, row, and pairs.
LONGER = (
    ("languages", "anki-zh-en", 20_116), ("languages", "multi30k-en-cs", 29_000),
    ("robustness", "multi30k", 29_000), ("multi30k", "glossa", 29_000), ("robustness", "anki", 165_000),
    ("anki", "five-passes", 165_000), ("anki", "recipe", 165_000),
)  # fmt: skip
HELD_OUT = 300
WANTED = 30  # passes that `glossa train` chooses for up to 60,000 pairs, unless these are few


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--anki", type=Path, metavar="FILE", help="fra-eng.zip; to train")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/verdict"), help="folder of the runs")
    parser.add_argument("--sentences", type=int, default=ROWS[-1][0] * ROWS[-1][1], metavar="N",
                        help="train only rows with at most N pairs over all passes (default: all)")  # fmt: skip
    parser.add_argument(
        "--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="the finished rows"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/quality.md; train nothing")


def run(arguments: argparse.Namespace) -> None:
    for pairs, passes in ROWS:
        place = {"table": "verdict", "row": f"{pairs:,} pairs, {passes} passes", "seed": 1}
        known = any(place.items() <= result.items() for result in read_results(arguments.results))
        if known or arguments.write or not arguments.anki or pairs * passes > arguments.sentences:
            continue
        commit = read_commit()
        metrics = measure(arguments, pairs, passes)
        add_result(arguments.results, place | {"commit": commit, **machine()} | {"metrics": metrics}, place)
    lines = table_lines(read_results(arguments.results))
    print(f"\n{lines}\n\nRUNS = {tuple(runs(read_results(arguments.results)))}")
    if arguments.write:
        write_table(DOCS / "quality.md", "verdict", lines)


def measure(arguments: argparse.Namespace, pairs: int, passes: int) -> dict:
    """Train a row; its scores, parameters, steps and seconds."""
    output = arguments.output_dir / f"{pairs}-{passes}"
    argv = ["--dataset", "files", "--source_language", "en", "--target_language", "fr", *SIDES]
    for option, file in split(arguments.anki, arguments.output_dir, pairs).items():
        argv += [f"--{option}_path", str(file)]
    argv += ["--num_train_epochs", str(passes), "--num_beams", "1", "--bf16", "false", "--output_dir", str(output)]
    argv += ["--eval_strategy", "no", "--save_strategy", "no", "--load_best_model_at_end", "false"]
    if passes <= SHORT * max(WANTED, SEEN / pairs):  # as with `hours`
        argv += ["--dropout", str(LESS_DROPOUT)]
    train(parse_settings(argv))
    found = RunFolder(output).metrics
    (scores,) = found["test"].values()
    return {"pairs": pairs, "passes": passes} | {
        "chrf": scores["scores"]["single"]["chrf"]["score"],
        "bleu": scores["scores"]["single"]["bleu"]["score"],
        "parameters": found["parameters"],
        "steps": found["steps"],
        "seconds": found["training_seconds"],
    }


def split(anki: Path, folder: Path, pairs: int) -> dict[str, Path]:
    """Write `pairs` training pairs, and held-out pairs that are the same for all rows; their files, by setting."""
    files = {"data": f"train-{pairs}", "validation": "validation", "test": "test"}
    paths = {option: folder / f"{name}.tsv" for option, name in files.items()}
    if not all(path.exists() for path in paths.values()):
        given = DataArguments(
            dataset="anki", data_path=[str(anki)], target_language="fr", validation_size=HELD_OUT, test_size=HELD_OUT
        )
        found, _ = prepare_pairs(given)
        folder.mkdir(parents=True, exist_ok=True)
        for count in {row[0] for row in ROWS}:
            write(sample_rows(found["train"], count, seed=1), folder / f"train-{count}.tsv")
        for name in ("validation", "test"):
            write(found[name], folder / f"{name}.tsv")
    return paths


def write(rows: Dataset, path: Path) -> None:
    """Write pairs as two columns with a tab between."""
    lines = [f"{source}\t{target}\n" for source, target in zip(rows["source"][:], rows["target"][:], strict=True)]
    path.write_text("".join(lines), encoding="utf-8")


def runs(results: list[dict]) -> list[tuple[int, float, float]]:
    """Pairs, passes and greedy chrF++ of the finished rows, and of the longer runs, as `RUNS` has them."""
    found = [result["metrics"] for result in results if result["table"] == "verdict"]
    known = [(metrics["pairs"], metrics["passes"], round(metrics["chrf"], 1)) for metrics in found]
    for name, row, pairs in LONGER:
        for metrics in (r["metrics"] for r in results if (r["table"], r["row"], r["seed"]) == (name, row, 1)):
            known.append((pairs, round(metrics["epochs"]), round(metrics["test"]["greedy"]["chrf"]["score"], 1)))
    return sorted(known)


def table_lines(results: list[dict]) -> str:
    """A row for each finished run, and the names of those that are missing."""
    found = [result for result in results if result["table"] == "verdict"]
    rows = [
        {
            "run": result["row"],
            "chrF++": f"{result['metrics']['chrf']:.1f}",
            "BLEU": f"{result['metrics']['bleu']:.1f}",
            "steps": f"{result['metrics']['steps']:,}",
            "minutes": f"{result['metrics']['seconds'] / 60:.1f}",
            "commit": result["commit"],
        }
        for result in found
    ]
    done = {(result["metrics"]["pairs"], result["metrics"]["passes"]) for result in found}
    missing = [f"{pairs:,} pairs, {passes} passes" for pairs, passes in ROWS if (pairs, passes) not in done]
    lines = [table(rows)] if rows else []
    return "\n\n".join([*lines, *([f"Missing: {'; '.join(missing)}."] if missing else [])])
