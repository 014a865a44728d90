"""What stages give at equal time: `python -m benchmarks stages --data FOLDER --corpus anki --hours 1 --seeds 1 2 3`.

Each row is one `glossa train --hours N --stages ...`, with no other setting that differs, in a process of its own with
one thread. Only the hours bound the epochs (`--num_train_epochs 1000`), so that plain training uses them up too. Start
it on one core (`taskset -c 1`): then equal hours are equal CPU-seconds, in which translating, scoring and set-up are
counted. The table has the CPU-seconds as measured.

FOLDER has `anki/fra-eng.zip`, `libreoffice-help/en-de.tsv.gz` and `multi30k`. The corpora are 30,000, 20,000 or 10,000
pairs of Anki, English to French, with the French sides of the other pairs as monolingual text; LibreOffice's help,
English to German, held out by pages; and Multi30k, English to German, without monolingual text. Validation pairs
choose; test pairs are scored once, when a run ends. p-values are those of a paired bootstrap against the plain
training of the same hours and seed, if its run is in --output_dir. Finished rows are kept, as by `reproduce`, and a
stopped run is resumed.
"""

import argparse
import logging
import os
import random
import resource
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from glossa.base.metrics import paired_bootstrap
from glossa.base.run_folder import RunFolder
from glossa.train.evaluation.scoring import score_translators
from glossa.train.plan import catalog
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.train.stages.chain import train_in_stages
from glossa.train.stages.state import State
from glossa.translate.build import build_translator

from .curves import curve_of
from .numbers import PAIRS
from .processes import in_process
from .reproduce import DOCS, add_result, data_settings, read_commit, read_results, write_table
from .timing import machine, table
from .tuning import SIDES, split

PLAIN = "plain"
STAGES = {  # by row
    PLAIN: "plain", "both": "both", "both, diversify": "both,diversify", "both, back": "both,back",
    "all": "both,diversify,back",
}  # fmt: skip
LANGUAGES = {
    "anki": ("en", "fr"), "anki-20k": ("en", "fr"), "anki-10k": ("en", "fr"), "help": ("en", "de"),
    "multi30k": ("en", "de"),
}  # fmt: skip
DRAWN = {
    "anki": 30_000,
    "anki-20k": 20_000,
    "anki-10k": 10_000,
}  # pairs of Anki; the target sides of the others are monolingual text
HELD_OUT = 1000
Files = dict[str, Path]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="of the corpora; to train")
    parser.add_argument("--corpus", nargs="+", choices=LANGUAGES, default=[*LANGUAGES], help="default: all")
    parser.add_argument("--hours", type=float, default=1.0, help="of each row (default: 1)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--rows", nargs="+", choices=STAGES, metavar="ROW", default=[*STAGES], help="default: all")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/stages"), help="folder of the runs")
    parser.add_argument(
        "--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="the finished rows"
    )
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page; train nothing")


def run(arguments: argparse.Namespace) -> None:
    os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"  # for the processes of the rows
    for corpus in () if arguments.write or not arguments.data else arguments.corpus:
        options = corpus_options(corpus, arguments.data, arguments.output_dir / corpus)
        for seed in arguments.seeds:
            for name in arguments.rows:
                place = {"table": "stages", "row": row_name(corpus, name, arguments.hours), "seed": seed}
                known = any(place.items() <= result.items() for result in read_results(arguments.results))
                if known or (corpus, name) not in cells():
                    continue
                commit = read_commit()
                found = measure(arguments, corpus, name, seed, options)
                add_result(arguments.results, place | {"commit": commit, **machine()} | {"metrics": found}, place)
    lines = table_lines(read_results(arguments.results))
    print(f"\n{lines}")
    if arguments.write:
        write_table(Path(arguments.write), "stages", lines)


def row_name(corpus: str, name: str, hours: float) -> str:
    return f"{corpus}, {hours:g} h: {name}"


def corpus_options(corpus: str, data: Path, folder: Path) -> list[str]:
    """Options of `glossa train` for the pairs of a corpus, whose files are written into `folder`."""
    if corpus == "multi30k":
        return data_settings(data / "multi30k", *LANGUAGES[corpus], cased=True)
    if corpus == "help":
        files = split(data / "libreoffice-help" / "en-de.tsv.gz", folder, None)
    else:
        files = draw(sorted(set(PAIRS["anki"](data / "anki", "fr"))), folder, DRAWN[corpus])
    languages = zip(("--source_language", "--target_language"), LANGUAGES[corpus], strict=True)
    options = [*SIDES, *(word for pair in languages for word in pair)]
    for name, part in {"data_path": "train", "validation_path": "validation", "test_path": "test"}.items():
        options += [f"--{name}", str(files[part])]
    return [*options, *(["--monolingual", str(files["monolingual"])] if "monolingual" in files else [])]


def draw(pairs: list[tuple[str, str]], folder: Path, drawn: int, held_out: int = HELD_OUT) -> Files:
    """Write training, validation and test pairs, which share no side, and the unused target sides into `folder`."""
    random.Random(1).shuffle(pairs)
    parts: dict[str, list[tuple[str, str]]] = {"test": [], "validation": [], "train": []}
    sides: dict[str, set[str]] = {name: set() for name in parts}
    for pair in pairs:
        near = [name for name, known in sides.items() if not known.isdisjoint(pair)]
        wanted = next(
            (name for name, size in (("test", held_out), ("validation", held_out)) if len(parts[name]) < size), "train"
        )
        name = wanted if not near else near[0] if len(near) == 1 else ""
        if name and len(parts[name]) < (drawn if name == "train" else held_out):
            parts[name].append(pair)
            sides[name].update(pair)
    used = {target for known in parts.values() for _, target in known}
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.tsv" for name in parts} | {"monolingual": folder / "monolingual.txt"}
    for name, own in parts.items():
        files[name].write_text("".join(f"{source}\t{target}\n" for source, target in own), encoding="utf-8")
    texts = dict.fromkeys(target for _, target in pairs if target not in used)
    files["monolingual"].write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return files


def measure(arguments: argparse.Namespace, corpus: str, name: str, seed: int, options: list[str]) -> dict[str, Any]:
    """Train a row; its scores and its time."""
    output = folder_of(arguments, corpus, name, seed)
    argv = [*options, "--seed", str(seed), "--hours", str(arguments.hours), "--stages", STAGES[name]]
    argv += ["--cpu_threads", "1", "--bf16", "false", "--report_to", "none", "--num_train_epochs", "1000"]
    argv += ["--output_dir", str(output), "--resume_from_checkpoint", "true"]
    if "back" not in STAGES[name] and "--monolingual" in argv:
        place = argv.index("--monolingual")
        del argv[place : place + 2]
    spent = in_process(train_row, row_name(corpus, name, arguments.hours), {"argv": argv, "output": str(output)})
    folder = RunFolder(output)
    metrics = folder.metrics
    found = {split: best(metrics[split]) for split in ("validation", "test")}
    scores = {
        split: {metric: each["scores"]["single"][metric]["score"] for metric in ("bleu", "chrf")}
        for split, each in found.items()
    }
    words = sum(len(source.split()) for source in dict.fromkeys(folder.load_held_out("test")["source"]))
    plain = folder_of(arguments, corpus, PLAIN, seed)
    return spent | scores | {
        "words_per_second": words / max(found["test"]["seconds"], 1e-9),
        "stages": [] if name == PLAIN else stages_of(folder),
        "curve": curve_of(folder) if name == PLAIN else "",
        "p_value": None if name == PLAIN or not RunFolder(plain).is_complete() else compare(plain, output),
    }  # fmt: skip


def folder_of(arguments: argparse.Namespace, corpus: str, name: str, seed: int) -> Path:
    return arguments.output_dir / corpus / f"{name.replace(', ', '-')}-{arguments.hours:g}-{seed}"


def stages_of(folder: RunFolder) -> list[dict[str, Any]]:
    """The records of the stages, without their files."""
    state = State.read(folder)
    assert state is not None
    return [{key: value for key, value in record.items() if key != "files"} for record in state.done]


def best(results: dict[str, dict]) -> dict[str, Any]:
    """The result with the most beams."""
    return max(results.values(), key=lambda found: found["num_beams"])


def train_row(argv: list[str], output: str) -> dict[str, float]:
    """Train in this process; its CPU-seconds and seconds, with those before a run was stopped."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    began, state = time.monotonic(), State.read(RunFolder(output))
    before = 0.0 if state is None else state.finished_seconds + state.unfinished
    given = catalog.parse(argv)
    if given.values["stages"] == "plain":
        train(parse_settings(given))
    else:
        train_in_stages(given, lambda given: train(parse_settings(given)))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    steps = RunFolder(output).metrics["training_seconds"]  # with those of a plain run that was stopped
    cpu = before + sum(each.ru_utime + each.ru_stime for each in used)
    seconds = before + time.monotonic() - began
    was_resumed = steps > seconds  # a plain run, whose sessions before are known by their steps alone
    return {"cpu_seconds": steps if was_resumed else cpu, "seconds": max(seconds, steps)}


def compare(plain: Path, output: Path) -> float:
    """The p-value of the difference in BLEU to the plain run, on test pairs."""
    pairs = RunFolder(plain).load_held_out("test")
    both = [
        next(iter(score_translators([build_translator([str(folder)], "torch")], pairs, n_bootstrap=0).values()))
        for folder in (plain, output)
    ]
    references = [texts[:1] for texts in both[0]["references"]]
    return paired_bootstrap(both[0]["translations"], both[1]["translations"], references)["bleu"]["p_value"]


def table_lines(results: Iterable[dict]) -> str:
    """A row for each corpus, time and chain: means over the seeds, with the lowest and the highest gain over plain."""
    results = [result for result in results if result["table"] == "stages"]
    if not results:
        return "No row is finished."
    rows = []
    for name in sorted({result["row"] for result in results}, key=_order):
        own = [result["metrics"] for result in results if result["row"] == name]
        plain = f"{name.partition(': ')[0]}: {PLAIN}"
        seeds = {result["seed"]: result["metrics"] for result in results if result["row"] == plain}
        gains = [
            result["metrics"]["validation"]["chrf"] - seeds[result["seed"]]["validation"]["chrf"]
            for result in results
            if result["row"] == name != plain and result["seed"] in seeds
        ]
        spread = f" [{min(gains):+.1f}, {max(gains):+.1f}]" if len(gains) > 1 else ""
        rows.append(
            {
                "corpus, hours: stages": name,
                "seeds": str(len(own)),
                "CPU-seconds": f"{_mean(own, 'cpu_seconds'):,.0f}",
                "validation chrF++": f"{_mean(own, 'validation', 'chrf'):.1f}",
                "over plain": f"{sum(gains) / len(gains):+.2f}{spread}" if gains else "",
                "validation BLEU": f"{_mean(own, 'validation', 'bleu'):.1f}",
                "test BLEU": f"{_mean(own, 'test', 'bleu'):.1f}",
                "test chrF++": f"{_mean(own, 'test', 'chrf'):.1f}",
                "p": ", ".join(f"{each['p_value']:.3f}" for each in own if each["p_value"] is not None),
                "words/s": f"{_mean(own, 'words_per_second'):,.0f}",
                "commit": ", ".join(dict.fromkeys(each["commit"] for each in results if each["row"] == name)),
            }
        )
    here = dict.fromkeys(f"{result['cpu']}, torch {result['torch']}" for result in results)
    busy = max(result["load_average"] for result in results)
    known = {result["row"] for result in results}
    missing = [
        f'--corpus {corpus} --rows "{name}"' for corpus, name in cells() if row_name(corpus, name, 1) not in known
    ]
    lacking = f"\n\nNot measured yet, with one hour: {'; '.join(missing)}." if missing else ""
    machine = f"Machine: {'; '.join(here)}; one thread, load averages of other jobs up to {busy:.1f}."
    return f"{table(rows)}\n\n{machine}{lacking}"


def cells() -> Iterator[tuple[str, str]]:
    """The corpora and the rows that each can have."""
    for corpus in LANGUAGES:
        yield from ((corpus, name) for name in STAGES if corpus in DRAWN or "back" not in STAGES[name])


def _order(row: str) -> tuple[str, int]:
    place, _, name = row.partition(": ")
    return place, [*STAGES].index(name)


def _mean(own: list[dict], *names: str) -> float:
    values: list[Any] = own
    for name in names:
        values = [value[name] for value in values]
    return sum(values) / len(values)
