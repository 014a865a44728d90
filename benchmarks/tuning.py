"""What fine-tuning gives: `python -m benchmarks tuning --pairs en-fr.tsv.gz --start RUN --marian RUN`.

A translator of general sentences is tuned on 2,000 pairs of a program's help, with all weights and with LoRA, as a
user types the command: with no setting but the start and the files. Compared are the start, a new model that is
trained on the 2,000 pairs alone, and MarianMT of the same size, tuned by `glossa train` and by hand with
transformers' Seq2SeqTrainer in as many steps. Further rows forget less: fewer passes, replay of the start's own
training pairs, blends of the tuned model with the start (`glossa blend`), and `--watch`, which replays and blends by
itself. All are scored on test pages of the help and on the test pairs of the start, which show what is forgotten.

--pairs has a page, a source and a target in each line, with tabs between; or it is a TMX of TICO-19 in a zip, whose
notes name the documents. Pages decide what is held out, and no sentence of a held-out pair is in training. --drawn
tunes on another number of pairs. --start is a run on other pairs of these languages, and --marian a folder
of MarianMT with the tokenizer of --start, trained on the pairs of --start. Finished rows are kept, as by `reproduce`.
"""

import argparse
import gzip
import hashlib
import random
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments, set_seed

from glossa.base.run_folder import RunFolder
from glossa.train.blending import blend_folders
from glossa.train.evaluation.scoring import score_translators
from glossa.train.plan.arguments import parse_settings
from glossa.train.run import train
from glossa.translate.build import build_translator
from glossa.translate.interface import Search
from glossa.translate.loading import load_model, load_tokenizer

from .reproduce import DOCS, add_result, read_commit, read_results, write_table
from .timing import machine, table

PAIRS = 2000
OWN = ("help, 2,000 pairs", "help, 500 pairs", "help, 10,000 pairs", "TICO-19, 2,000 pairs")
START, ALONE, TUNED, LORA = "the start", "the 2,000 pairs alone", "tuned", "tuned, LoRA"
MARIAN, MARIAN_TUNED = "MarianMT, the start", "MarianMT, `glossa train`"
BY_HAND = {  # with the default rate of the Trainer, and with a higher one
    f"MarianMT, Seq2SeqTrainer, rate {rate:g}": rate for rate in (5e-5, 5e-4)
}
WATCHED, FEWER = "tuned, `--watch START`", "tuned, 4 passes"
RATES = {f"{WATCHED}, rate {rate}": rate for rate in ("2e-4", "1e-3")}  # the default is 5e-4
SHORT = "tuned, 4 passes, with replay"  # about the steps of the tuned model without replay
REPLAYED = {f"tuned, {size:,} replayed in a pass": size for size in (2000, 10_000)}
OPTIONS: dict[str, list[str]] = {  # of `glossa train`, with START for the start
    TUNED: [], LORA: ["--lora_rank", "16"], WATCHED: ["--watch", "START"], FEWER: ["--num_train_epochs", "4"],
    SHORT: ["--replay", "START", "--num_train_epochs", "4", "--eval_strategy", "no"],
    **{name: ["--watch", "START", "--learning_rate", rate] for name, rate in RATES.items()},
    **{f"tuned, LoRA of rank {rank}": ["--lora_rank", str(rank)] for rank in (4, 64)},
    **{name: ["--replay", "START", "--replay_size", str(size)] for name, size in REPLAYED.items()},
}  # fmt: skip
BLENDS = {
    f"{name}, {share:.0%} of it": (name, share) for name in (TUNED, SHORT, *REPLAYED) for share in (0.7, 0.6, 0.5)
}
FORGETTING = tuple(name for name in OPTIONS if name not in (TUNED, LORA))
ROWS = (START, ALONE, TUNED, LORA, MARIAN, MARIAN_TUNED, *BY_HAND, *FORGETTING, *BLENDS)
SEEDLESS = (START, MARIAN)
SENTENCES = 64  # in a batch by hand: about the pairs of a step of `glossa train`
BEAMS = 4
SIDES = ["--source_column", "1", "--target_column", "2", "--report_to", "none"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pages and their pairs; to train")
    parser.add_argument("--drawn", type=int, default=PAIRS, metavar="N", help=f"pairs to tune on (default: {PAIRS})")
    parser.add_argument("--start", metavar="RUN", help="a Glossa run to start from; to train")
    parser.add_argument("--marian", metavar="RUN", help="a MarianMT to start from; to train its rows")
    parser.add_argument("--rows", nargs="+", choices=ROWS, metavar="ROW", default=ROWS, help="default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="default: 1 2 3")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/tuning"), help="folder of the runs")
    parser.add_argument(
        "--results", type=Path, default=DOCS / "results.json", metavar="FILE", help="the finished rows"
    )
    parser.add_argument("--write", metavar="PAGE", help="write the table into this page; train nothing")


def run(arguments: argparse.Namespace) -> None:
    if not arguments.write:
        corpus, shares = ("TICO-19", (20, 10)) if arguments.pairs.suffix == ".zip" else ("help", (4, 2))
        own = f"{corpus}, {arguments.drawn:,} pairs"
        arguments.output_dir /= own
        files = split(arguments.pairs, arguments.output_dir, arguments.drawn, shares=shares)
        for seed in arguments.seeds:
            for name in arguments.rows:
                place = {"table": "tuning", "own": own, "row": name, "seed": 0 if name in SEEDLESS else seed}
                known = read_results(arguments.results)
                if any(place.items() <= result.items() for result in known) or not _can_run(arguments, name):
                    continue
                commit = read_commit()
                result = place | {"commit": commit, **machine()} | {"metrics": measure(arguments, name, seed, files)}
                add_result(arguments.results, result, place)
    lines = table_lines(read_results(arguments.results))
    print(f"\n{lines}")
    if arguments.write:
        write_table(Path(arguments.write), "tuning", lines)


def _can_run(arguments: argparse.Namespace, name: str) -> bool:
    return bool(arguments.marian) or not name.startswith("MarianMT")


def split(
    pairs: Path, folder: Path, drawn: int | None = PAIRS, salt: str = "", shares: tuple[int, int] = (4, 2)
) -> dict[str, Path]:
    """Write training, validation and test pairs into `folder`; returns their files.

    Of a hundred pages, by a hash of `salt` and their name, `shares` are for tests and for validation. Held-out pairs
    that share a side with any pair of the training pages are left out. Of these, `drawn` are drawn, or all are taken.
    """
    parts: dict[str, dict[tuple[str, str], None]] = {"train": {}, "validation": {}, "test": {}}
    for page, source, target in read_pages(pairs):
        number = int(hashlib.sha256(f"{salt}{page}".encode()).hexdigest(), 16) % 100
        name = "test" if number < shares[0] else "validation" if number < sum(shares) else "train"
        parts[name][source, target] = None
    seen = {side for pair in parts["train"] for side in pair}
    chosen = {name: [pair for pair in found if seen.isdisjoint(pair)] for name, found in parts.items()}
    chosen["train"] = list(parts["train"])
    if drawn is not None:
        chosen["train"] = random.Random(1).sample(chosen["train"], min(drawn, len(chosen["train"])))
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.tsv" for name in chosen}
    for name, file in files.items():
        file.write_text("".join(f"{source}\t{target}\n" for source, target in chosen[name]), encoding="utf-8")
    return files


def read_pages(path: Path) -> Iterator[tuple[str, str, str]]:
    """Page, source and target of each pair of a table, or of TICO-19's TMX."""
    if path.suffix != ".zip":
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                page, source, target = line.rstrip("\n").split("\t")
                yield page, source, target
        return
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
        for unit in ElementTree.parse(file).iter("tu"):
            source, target = (" ".join("".join(segment.itertext()).split()) for segment in unit.iter("seg"))
            yield unit.findtext("prop", ""), source, target


def measure(arguments: argparse.Namespace, name: str, seed: int, files: dict[str, Path]) -> dict[str, Any]:
    """Train a row, if it is trained; its scores on both tests, and its steps, seconds and speed."""
    if name in SEEDLESS:
        return scores(arguments.start if name == START else arguments.marian, arguments, files)
    output = arguments.output_dir / f"{ROWS.index(name)}-{seed}"
    if name in BLENDS:
        tuned, share = BLENDS[name]
        place = arguments.output_dir / f"{ROWS.index(tuned)}-{seed}"
        trained = train_with_command(arguments, tuned, seed, files, place)
        shutil.rmtree(output, ignore_errors=True)
        blend_folders(arguments.start, str(place), share, output)
    elif name in BY_HAND:
        like = RunFolder(arguments.output_dir / f"{ROWS.index(MARIAN_TUNED)}-{seed}")
        trained = train_by_hand(like, arguments.marian, BY_HAND[name], seed, files, output)
    else:
        trained = train_with_command(arguments, name, seed, files, output)
    return trained | scores(output, arguments, files)


def train_with_command(
    arguments: argparse.Namespace, name: str, seed: int, files: dict[str, Path], output: Path
) -> dict[str, Any]:
    """A row by `glossa train`, with no setting but the start, the data and the seed."""
    languages = RunFolder(arguments.start).recipe
    argv = [f"--{side}_language={languages[f'{side}_language']}" for side in ("source", "target")] + SIDES
    for option, part in {"data": "train", "validation": "validation", "test": "test"}.items():
        argv += [f"--{option}_path", str(files[part])]
    argv += ["--seed", str(seed), "--output_dir", str(output), "--resume_from_checkpoint", "true"]
    if name != ALONE:
        argv += ["--init_from", arguments.marian if name == MARIAN_TUNED else arguments.start]
    argv += [arguments.start if word == "START" else word for word in OPTIONS.get(name, [])]
    train(parse_settings(argv))
    metrics, recipe = RunFolder(output).metrics, RunFolder(output).recipe
    named = ("learning_rate", "muon_learning_rate", "num_train_epochs", "bf16")
    return {
        "steps": metrics["steps"],
        "seconds": metrics["training_seconds"],
        "tokens_per_second": metrics["target_tokens_per_second"],
        "settings": {setting: recipe.get(setting) for setting in named},
    }


def train_by_hand(
    like: RunFolder, start: str, rate: float, seed: int, files: dict[str, Path], output: Path
) -> dict[str, Any]:
    """Tune MarianMT as transformers' documentation does, in the steps and the precision of the run `like`."""
    set_seed(seed)
    model, tokenizer = load_model(start, dtype=torch.float32), load_tokenizer(start)
    rows = [line.split("\t") for line in files["train"].read_text(encoding="utf-8").splitlines()]
    encoded = [dict(tokenizer(source, text_target=target, truncation=True)) for source, target in rows]
    trainer = Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            output_dir=str(output),
            max_steps=like.metrics["steps"],
            learning_rate=rate,
            per_device_train_batch_size=SENTENCES,
            label_smoothing_factor=0.1,
            bf16=like.recipe["bf16"],
            use_cpu=not torch.accelerator.is_available(),
            seed=seed,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=False,
        ),
        train_dataset=Dataset.from_list(encoded).select_columns(["input_ids", "attention_mask", "labels"]),
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
    )
    found = trainer.train().metrics
    trainer.accelerator.unwrap_model(trainer.model).to(torch.float32).save_pretrained(output)
    tokenizer.save_pretrained(output)
    passes = trainer.state.epoch or 0
    tokens = sum(len(row["labels"]) for row in encoded) * passes
    seconds = found["train_runtime"]
    return {"steps": trainer.state.global_step, "seconds": seconds, "tokens_per_second": tokens / seconds}


def scores(model: str | Path, arguments: argparse.Namespace, files: dict[str, Path]) -> dict[str, dict[str, float]]:
    """BLEU and chrF++ of a model on the test pages, and on the test pairs of the start."""
    lines = [line.split("\t") for line in files["test"].read_text(encoding="utf-8").splitlines()]
    tests = {
        "own": Dataset.from_dict({"source": [row[0] for row in lines], "target": [row[1] for row in lines]}),
        "general": RunFolder(arguments.start).load_held_out("test"),
    }
    translator = build_translator([str(model)], "auto", search=Search(BEAMS))
    found = {}
    for name, pairs in tests.items():
        (result,) = score_translators([translator], pairs, n_bootstrap=0).values()
        found[name] = {metric: result["scores"]["single"][metric]["score"] for metric in ("bleu", "chrf")}
    return found


def table_lines(results: list[dict]) -> str:
    """A row for each own text and system: means over its seeds, with the lowest and the highest BLEU."""
    results = [result for result in results if result["table"] == "tuning"]
    rows = [row for own in OWN for row in _rows([each for each in results if each["own"] == own], own)]
    here = dict.fromkeys(f"{result['cpu']}, torch {result['torch']}" for result in results)
    busy = max((result["load_average"] for result in results), default=0)
    machine = f"Machine: {'; '.join(here)}; one thread, load averages of other jobs up to {busy:.1f}."
    missing = [name for name in ROWS if not any(result["row"] == name for result in results)]
    lacking = f"\n\nNot measured yet, `--rows` measures them: {'; '.join(missing)}." if missing else ""
    return f"{table(rows)}\n\n{machine}{lacking}" if rows else "No row is finished."


def _rows(results: list[dict], text: str) -> list[dict[str, str]]:
    rows, base = [], {row["row"]: row["metrics"] for row in results if row["row"] in SEEDLESS}
    for name in ROWS:
        own = [result["metrics"] for result in results if result["row"] == name]
        if not own:
            continue
        start = base.get(MARIAN if name.startswith("MarianMT") else START)
        lost = "" if start is None or name in (*SEEDLESS, ALONE) else f"{_change(own, start, 'general'):+.1f}"
        whole = [result["metrics"] for result in results if result["row"] == TUNED]
        gain = f"{_change(own, start, 'own') / _change(whole, start, 'own'):.0%}" if lost and whole else ""
        rows.append(
            {
                "own text": text,
                "system": name,
                "seeds": str(len(own)) if name not in SEEDLESS else "",
                "own BLEU": _mean(own, "own", "bleu"),
                "own chrF++": _mean(own, "own", "chrf"),
                "general BLEU": _mean(own, "general", "bleu"),
                "general chrF++": _mean(own, "general", "chrf"),
                "change of general BLEU": lost,
                "gain on own text": gain if name in {*OPTIONS, *BLENDS} else "",
                "steps": _each(own, "steps"),
                "minutes": _each(own, "seconds", 1 / 60, 1),
                "tokens/s": _each(own, "tokens_per_second"),
            }
        )
    return rows


def _mean(own: list[dict], test: str, metric: str) -> str:
    values = [metrics[test][metric] for metrics in own]
    mean = f"{sum(values) / len(values):.1f}"
    return mean if len(values) == 1 or metric == "chrf" else f"{mean} [{min(values):.1f}, {max(values):.1f}]"


def _change(own: list[dict], start: dict, test: str) -> float:
    return sum(metrics[test]["bleu"] for metrics in own) / len(own) - start[test]["bleu"]


def _each(own: list[dict], name: str, factor: float = 1, digits: int = 0) -> str:
    values = [metrics[name] * factor for metrics in own if name in metrics]
    return f"{sum(values) / len(values):,.{digits}f}" if values else ""
