"""What the filters find: noise put into Multi30k, precision and recall of each filter.

`python -m benchmarks noise --multi30k FOLDER` changes 20% of the English-German training pairs, in equal parts: the
target in French, of another pair, cut after a third, read in the wrong encoding or equal to the source, or HTML around
both sides. A filter's recall is the share of the noisy pairs of a kind that it drops (or repairs), asked alone; its
precision is the share of noisy pairs among those. FOLDER has train.en.gz, train.de.gz and train.fr.gz.

`--train` also trains recipe multi30k-en-de on the clean pairs, on the noisy ones, and on those that the filters leave.
"""

import argparse
import gzip
import random
from pathlib import Path

from glossa.data.arguments import DataArguments
from glossa.data.cleaning.cleaning import clean
from glossa.data.filters import gathered
from glossa.data.intake.sources import load_source
from glossa.errors import GlossaError
from glossa.run_folder import RunFolder
from glossa.sentences_glossa import clean_text

KINDS = ("French target", "misaligned", "truncated", "wrong encoding", "copied", "HTML")
SHARE = 0.2  # of the pairs
FILTERS = {
    "filter_language": True, "filter_script": True, "max_character_ratio": 2.0, "filter_digits": True,
    "max_punctuation": 0.4, "filter_html": True, "filter_copied": True, "near_duplicates": True, "repair_text": True,
    "filter_alignment": True,
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--multi30k", type=Path, required=True, metavar="FOLDER", help="Multi30k, not tokenized")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/noise"), help="folder of the files and runs")
    parser.add_argument("--seed", type=int, default=1, help="of the noise (default: 1)")
    parser.add_argument("--train", action="store_true", help="train on clean, noisy and filtered pairs")
    parser.set_defaults(settings=[])  # of the training runs


def read(folder: Path, language: str) -> list[str]:
    with gzip.open(folder / f"train.{language}.gz", "rt", encoding="utf-8") as file:
        return file.read().removesuffix("\n").split("\n")


def noisy(rows: list[tuple[str, str, str]], seed: int) -> list[tuple[str, str, str]]:
    """English, German and "" or the kind of noise, for each English, German and French sentence."""
    generator = random.Random(seed)
    chosen = generator.sample(range(len(rows)), round(SHARE * len(rows)))
    kinds = {row: KINDS[place % len(KINDS)] for place, row in enumerate(chosen)}
    others = [row for row in chosen if kinds[row] == "misaligned"]
    following = dict(zip(others, [*others[1:], *others[:1]], strict=True))
    found = []
    for row, (english, german, french) in enumerate(rows):
        kind = kinds.get(row, "")
        if kind == "wrong encoding" and (german.isascii() or not german.encode().decode("cp1252", "ignore")):
            kind = ""  # the wrong encoding changes nothing
        changed = {
            "French target": french,
            "misaligned": rows[following.get(row, row)][1],
            "truncated": german[: len(german) // 3].strip(),
            "wrong encoding": german.encode().decode("cp1252", "replace"),
            "copied": english,
            "HTML": f'<td class="de">{german}</td>',
        }
        source = f'<td class="en">{english}</td>' if kind == "HTML" else english
        found.append((source, changed.get(kind, german), kind))
    return found


def measure(path: Path, rows: list[tuple[str, str, str]], name: str, value: object) -> dict[str, float]:
    """Recall of one filter (or of all: "") by kind of noise, and its "precision" and the "clean" pairs it takes."""
    chosen = FILTERS if not name else {name: value}
    arguments = DataArguments(data_path=[str(path)], target_language="de", trust_data=["language"], **gathered(chosen))  # type: ignore
    kept, _ = clean(load_source(arguments), arguments)
    left = set(zip(kept["train"]["source"][:], kept["train"]["target"][:], strict=True))
    changed = [kind for source, target, kind in rows if (clean_text(source), clean_text(target)) not in left]
    totals = {kind: sum(own == kind for *_, own in rows) for kind in ("", *KINDS)}
    shares = {kind: changed.count(kind) / totals[kind] for kind in KINDS}
    clean_lost = changed.count("")
    precision = 1 - clean_lost / len(changed) if changed else float("nan")
    return shares | {"precision": precision, "clean": clean_lost / totals[""]}


def train_on(path: Path, arguments: argparse.Namespace, name: str, filters: dict) -> str:
    """Train the recipe, or take its finished run, and return a row of scores."""
    from glossa.plan.arguments import parse_settings
    from glossa.training.run import train

    folder = arguments.multi30k
    output = arguments.output_dir / f"{name}-{arguments.seed}"
    settings = ["multi30k-en-de", "--dataset", "files", "--target_language", "de", "--data_path", str(path)]
    for split, file in (("validation", "val"), ("test", "test_2016_flickr")):
        settings += [f"--{split}_path", *(str(folder / f"{file}.{side}.gz") for side in ("en", "de"))]
    settings += [text for setting, value in filters.items() for text in (f"--{setting}", str(value))]
    settings += ["--trust_data", "true", "--report_to", "none", "--bf16", "false", "--resume_from_checkpoint", "true"]
    train(parse_settings([*settings, "--output_dir", str(output), *arguments.settings]))
    finished = RunFolder(output)
    scores = [decoding["scores"]["single"]["bleu"]["score"] for decoding in finished.metrics["test"].values()]
    cells = [f"{finished.data_report['sizes']['train']:,}", *(f"{score:.2f}" for score in scores)]
    return f"| {' | '.join([name, *cells])} |"


def run(arguments: argparse.Namespace) -> None:
    columns = [read(arguments.multi30k, language) for language in ("en", "de", "fr")]
    if len({len(column) for column in columns}) > 1:
        raise GlossaError(f"The training files of {arguments.multi30k} are not aligned. Download them again.")
    rows = noisy(list(zip(*columns, strict=True)), arguments.seed)
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    path = arguments.output_dir / f"noisy-{arguments.seed}.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target, _ in rows), encoding="utf-8")
    header = ["filter", *KINDS, "precision", "of the clean pairs"]
    lines = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
    for name, value in {**FILTERS, "": None}.items():
        found = measure(path, rows, name, value)
        label = f"`{name}: {str(value).lower()}`" if name else "all of them"
        cells = [f"{share:.1%}" if share else "0" for share in found.values()]
        cells[-1] = f"{found['clean']:.2%}"
        lines.append(f"| {' | '.join([label, *cells])} |")
    noise = sum(bool(kind) for *_, kind in rows)
    print(f"\n{len(rows):,} pairs, {noise:,} of them noisy, seed {arguments.seed}\n\n" + "\n".join(lines))
    if arguments.train:
        original = arguments.output_dir / "clean.tsv"
        pairs = zip(*columns[:2], strict=True)
        original.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
        scores = [train_on(original, arguments, "clean", {}), train_on(path, arguments, "noisy", {})]
        scores.append(train_on(path, arguments, "filtered", FILTERS))
        head = "| pairs | training pairs | test BLEU, greedy | beam |\n| --- | --- | --- | --- |"
        print("\n".join(["", head, *scores]))
