"""The tables of docs/results.md: `python -m benchmarks reproduce TABLE --multi30k FOLDER`.

Each row is a training run, made from a recipe and a few settings. Its scores, with commit, machine and time, go to a
file of results. Rows that are in this file with the same settings are not trained again, and a run that was cut short
is resumed. `--results FILE` with a new file repeats them on your machine. Prints the table, and writes it into
docs/results.md with `--write`.

FOLDER has Multi30k (Elliott et al. 2016, 2017) in files such as `train.en.gz`, and in its folder `tok` as the
literature scores it: lowercased, punctuation normalized, tokenized by Moses, in files such as
`train.lc.norm.tok.en.gz`. BLEU of this text is computed without further tokenization. The tables robustness and
languages take the text as it is. Rows on Anki need `--anki FILE`: `fra-eng.zip` of manythings.org/anki,
with `jpn-eng.zip` and `cmn-eng.zip` in the same folder for other languages. Rows on TICO-19 need `--tico19 FOLDER`,
with files such as `all.en-hi.tmx.zip`. The quickstart needs no file: its corpus is in the package.
"""

import argparse
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli.distill import main as distill
from glossa.cli.export import main as export
from glossa.cli.score import main as score
from glossa.readers.anki import CODES
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.catalog import NULL, read_recipe
from glossa.train.run import train

from .rows import AS_IT_IS, TABLES, TEACHERS
from .timing import machine, table

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "results.md"
FILES = {"data": "train", "validation": "val", "test": "test_2016_flickr"}  # of Multi30k, by the name of the setting
OPTIONS = {"anki": "--anki FILE", "multi30k": "--multi30k FOLDER", "tico19": "--tico19 FOLDER"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", choices=TABLES, help="the table to make")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="train these rows only (default: all)")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/reproduce"), help="folder of the runs")
    parser.add_argument("--anki", type=Path, metavar="FILE", help="fra-eng.zip; to train the tables of Anki")
    parser.add_argument("--tico19", type=Path, metavar="FOLDER", help="of all.en-hi.tmx.zip; to train on TICO-19")
    add_results_arguments(parser)


def add_results_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the benchmarks that keep their results."""
    parser.add_argument("--multi30k", type=Path, metavar="FOLDER", help="Multi30k; to train")
    parser.add_argument("--results", type=Path, default=DOCS / "results.json", metavar="FILE",
                        help="the finished rows (default: those of this repository)")  # fmt: skip
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="seeds of each row (default: 1)")
    parser.add_argument("--cpu_threads", type=int, help="threads of training (default: as `glossa train` chooses)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/results.md; train nothing")


def run(arguments: argparse.Namespace) -> None:
    rows = arguments.rows or list(TABLES[arguments.table])
    if unknown := [name for name in rows if name not in TABLES[arguments.table]]:
        raise GlossaError(f"--rows: there is no row {unknown[0]}. Rows: {', '.join(TABLES[arguments.table])}.")
    if not arguments.write:
        for seed in arguments.seeds:
            for name in rows:
                if not find_result(arguments, name, seed):
                    train_row(arguments, name, seed)
    lines = table_lines(arguments)
    print(f"\n{lines}")
    if arguments.write:
        write_table(PAGE, arguments.table, lines)


def settings_of(table_name: str, name: str) -> dict[str, Any]:
    """The recipe of a row with its changes, as text, and the names of its teachers."""
    recipe, changes = TABLES[table_name][name]
    teachers = {"teachers": " ".join(TEACHERS[name])} if name in TEACHERS else {}
    return read_recipe(recipe) | changes | teachers


def read_results(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def find_result(arguments: argparse.Namespace, name: str, seed: int) -> dict | None:
    """The result of a row, if it was trained with today's settings."""
    place = {"table": arguments.table, "row": name, "seed": seed, "settings": settings_of(arguments.table, name)}
    return next((result for result in read_results(arguments.results) if is_at(result, place)), None)


def is_at(result: dict, place: dict) -> bool:
    """Whether a result has the values and the settings of `place`."""
    values = {name: value for name, value in place.items() if name != "settings"}
    return values.items() <= result.items() and (
        without_defaults(result["settings"]) == without_defaults(place["settings"])
    )


def without_defaults(given: dict[str, Any]) -> dict[str, Any]:
    """The settings whose value is not the default, of their types, which rows of this file and results have as text.

    A recipe may begin to name a default, and stays the same.
    """
    known = catalog.settings()
    values = {
        name: None if value == NULL else known[name].read(value) if isinstance(value, str) and name in known else value
        for name, value in given.items()
    }
    return {name: value for name, value in values.items() if name not in known or value != known[name].default}


def train_row(arguments: argparse.Namespace, name: str, seed: int) -> None:
    """Train, or resume, one row with one seed, and add its result to the file."""
    place = {"table": arguments.table, "row": name, "seed": seed, "settings": settings_of(arguments.table, name)}
    commit = read_commit()
    output = train_model(arguments, name, seed)
    if arguments.table == "robustness":
        score([str(output), "--robustness"])
    metrics = RunFolder(output).metrics
    for split in ("validation", "test"):  # scores against the only reference, and what looks wrong
        metrics[split] = {
            decoding: found["scores"]["single"] | {key: found.get(key) for key in ("implausible", "length")}
            for decoding, found in metrics[split].items()
        }
    keep_result(arguments.results, place, commit, metrics)


def train_model(arguments: argparse.Namespace, name: str, seed: int) -> Path:
    """Train, or resume, the model of a row with one seed, after its teachers; returns its folder."""
    recipe, changes = TABLES[arguments.table][name]
    if start := changes.get("init_from"):
        changes = changes | {"init_from": str(train_model(arguments, start, seed))}
    output = arguments.output_dir / arguments.table / f"{name}-{seed}"
    # Every row says its precision, which the machine would choose otherwise.
    settings = [recipe, *row_data(arguments, name), "--bf16", "false"]
    settings += [word for setting, value in changes.items() for word in (f"--{setting}", value)]
    settings += ["--seed", str(seed), "--output_dir", str(output), "--resume_from_checkpoint", "true"]
    if arguments.cpu_threads:
        settings += ["--cpu_threads", str(arguments.cpu_threads)]
    if name in TEACHERS:
        teachers = [train_model(arguments, teacher, seed) for teacher in TEACHERS[name]]
        pairs = output.with_name(f"{output.name}.jsonl")
        # Multi30k's predefined splits have sentences in common, Anki's have none. The last of two settings counts.
        settings += translated_data(teachers, pairs, exclude="anki" in arguments.table)
    train(parse_settings(settings))
    return output


def row_data(arguments: argparse.Namespace, name: str) -> list[str]:
    """The settings of a row's data. Raises `GlossaError` if its files are not given."""
    recipe, changes = TABLES[arguments.table][name]
    corpus = corpus_of(arguments.table, name)
    if corpus == "quickstart":
        return ["--report_to", "none"]
    given = getattr(arguments, corpus)
    if given is None:
        raise GlossaError(f"Row {name} is not in {arguments.results}; give {OPTIONS[corpus]} to train it.")
    settings = read_recipe(recipe) | changes
    languages = str(settings.get("source_language", "en")), str(settings.get("target_language", "de"))
    other = languages[languages[0] == "en"]
    if corpus == "anki":
        return ["--data_path", str(given.with_name(f"{CODES[other]}-eng.zip")), "--report_to", "none"]
    if corpus == "tico19":
        file = str(given / f"all.en-{other}.tmx.zip")
        return ["--dataset", "files", "--data_path", file, "--report_to", "none"]
    return data_settings(given, *languages, arguments.table in AS_IT_IS)


def corpus_of(table_name: str, name: str) -> str:
    """The corpus of a row: quickstart, tico19, anki or multi30k."""
    if name.startswith("tico19"):
        return "tico19"
    recipe = TABLES[table_name][name][0]
    return recipe if recipe == "quickstart" else "anki" if recipe.startswith("anki") else "multi30k"


def translated_data(teachers: list[Path], pairs: Path, exclude: bool) -> list[str]:
    """The settings for the training pairs of the first teacher and their translations by all, in the file `pairs`.

    It is made if it does not exist. The held-out pairs come from the first teacher. With `exclude`, translations
    that happen to be held-out sentences are dropped.
    """
    if not pairs.exists():
        translate_pairs(teachers, pairs)
    validation, test = (str(RunFolder(teachers[0]).held_out_file(split)) for split in ("validation", "test"))
    settings = ["--dataset", "files", "--data_path", str(pairs), "--validation_path", validation, "--test_path", test]
    return [*settings, "--exclude", validation, test] if exclude else settings


def translate_pairs(teachers: list[Path], pairs: Path) -> None:
    """Write the training pairs of the first teacher and their translations by all to the file `pairs`.

    The teachers translate as 8-bit engines, which are saved next to them.
    """
    engines = [teacher.with_name(f"{teacher.name}-engine") for teacher in teachers]
    for teacher, engine in zip(teachers, engines, strict=True):
        if not engine.exists():
            export([str(teacher), "--to", "ctranslate2", "--quantization", "int8", "--output", str(engine)])
    search = ["--engine", "ctranslate2", "--num_beams", "5"]
    data = ["--with_original", "--data_path", str(teachers[0])]
    distill([*map(str, engines), *search, "--output", str(pairs), *data])


def keep_result(path: Path, place: dict, commit: str, metrics: dict) -> None:
    """Add a row with its `metrics` to the file, instead of an earlier one of the same `place`.

    Settings may differ between the two. `commit` is that at which the row was started or last resumed.
    """
    threads = {"threads": metrics["device"]}
    result = place | {"commit": commit, **machine()} | threads | {"metrics": metrics}
    add_result(path, result, place.keys() - {"settings"})


def add_result(path: Path, result: dict, keys: Iterable[str]) -> None:
    """Add a row to the file, instead of an earlier one with equal values of `keys`."""
    others = [row for row in read_results(path) if any(row.get(key) != result[key] for key in keys)]
    path.write_text(json.dumps([*others, result], indent=1) + "\n", encoding="utf-8")


def data_settings(folder: Path, source: str, target: str, cased: bool = False) -> list[str]:
    """The settings of `glossa train` for the files of `folder`: text as the literature scores it, or as it is."""
    settings = ["--dataset", "files", "--source_language", source, "--target_language", target, "--report_to", "none"]
    place = folder if cased else folder / "tok"
    ending = "" if cased else ".lc.norm.tok"
    for split, name in FILES.items():
        settings += [f"--{split}_path", *(str(place / f"{name}{ending}.{side}.gz") for side in (source, target))]
    return settings if cased else [*settings, "--bleu_tokenizer", "none"]


def table_lines(arguments: argparse.Namespace) -> str:
    """The table of all finished rows, in the order of [`TABLES`]."""
    seeds = sorted({result["seed"] for result in read_results(arguments.results)})
    found = [find_result(arguments, name, seed) for name in TABLES[arguments.table] for seed in seeds]
    results = [result for result in found if result]
    if not results:
        return "No row of this table is finished."
    if arguments.table == "robustness":
        return robustness_lines(results)
    scores = [decoding for result in results for decoding in result["metrics"]["test"].values()]
    signatures = [
        f"{label}: {_each('`' + score[name]['signature'] + '`' for score in scores)}."
        for name, label in (("bleu", "BLEU"), ("chrf", "chrF++"))
    ]
    return "\n".join([table([_row(result) for result in results]), "", machines(results), *signatures])


def robustness_lines(results: list[dict]) -> str:
    """For each change a row: the BLEU of the untouched text, then the share of it that each run keeps."""
    runs = {result["row"]: result["metrics"]["robustness"]["rows"] for result in results}
    changes = list(dict.fromkeys(row["change"] for rows in runs.values() for row in rows))
    lines = []
    for change in changes:
        cells = {"change": change}
        for run, rows in runs.items():
            found = next((row for row in rows if row["change"] == change), None)
            cells[run] = _kept(found) if found else ""
        lines.append(cells)
    lines.append({"change": "steps"} | {result["row"]: f"{result['metrics']['steps']:,}" for result in results})
    return "\n".join([table(lines), "", machines(results)])


def _kept(row: dict) -> str:
    if row["change"] == "as it is":
        return f"{row['bleu']:.2f} BLEU"
    copied = "" if row["copied"] is None else f"; {row['copied']:.1%} copied"
    return f"{row['kept']:.1%}{copied}"


def machines(results: list[dict]) -> str:
    """The machines, threads, precisions and versions of torch of the results."""
    found = []
    for result in results:
        precision = "bfloat16" if result["settings"].get("bf16") == "true" else "float32"
        found.append(f"{result['cpu']}, {result['threads']}, {precision}, torch {result['torch']}")
    return f"Machine: {_each(found)}."


def _each(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def _row(result: dict) -> dict[str, str]:
    metrics = result["metrics"]
    cells = {
        "run": result["row"],
        "seed": str(result["seed"]),
        "million parameters": f"{metrics['parameters'] / 1e6:.2f}",
        "steps": f"{metrics['steps']:,}",
        "minutes": f"{metrics['training_seconds'] / 60:.0f}",
    }
    for split in ("validation", "test"):
        for label, decoding in zip(("greedy", "beam"), metrics[split].values(), strict=True):
            scores = decoding["bleu"]
            cells[f"{split} BLEU, {label}"] = f"{scores['score']:.2f} [{scores['low']:.1f}, {scores['high']:.1f}]"
    cells["test chrF++, beam"] = f"{list(metrics['test'].values())[-1]['chrf']['score']:.2f}"
    return cells | {"commit": result["commit"]}


def write_table(page: Path, name: str, lines: str) -> None:
    """Replace the table between the comments `<!-- table: NAME -->` and `<!-- end -->` of `page`."""
    text = page.read_text(encoding="utf-8")
    pattern = rf"(<!-- table: {re.escape(name)} -->\n).*?(<!-- end -->)"
    if not re.search(pattern, text, flags=re.S):
        raise GlossaError(
            f"{page} has no comments <!-- table: {name} --> and <!-- end --> to write the table between."
        )
    text = re.sub(pattern, lambda found: f"{found[1]}{lines}\n{found[2]}", text, flags=re.S)
    page.write_text(text, encoding="utf-8")


def read_commit() -> str:
    """The commit of this repository; with "+" if any file except the results differs from it."""
    git = ["git", "-C", str(DOCS.parent)]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/results.json"],
        capture_output=True,
        text=True,
    )
    return commit.stdout.strip() + "+" * bool(changed.stdout.strip()) if commit.returncode == 0 else "unknown"
