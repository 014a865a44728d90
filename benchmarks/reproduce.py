"""The tables of docs/results.md: `python -m benchmarks reproduce TABLE --multi30k FOLDER`.

Each row is a training run, made from a recipe and a few settings. Finished runs are not repeated, and a run that was
cut short is resumed. Prints a Markdown table of the finished runs.

FOLDER has Multi30k (Elliott et al. 2016, 2017) as the literature scores it: lowercased, punctuation normalized,
tokenized by Moses, in files such as `train.lc.norm.tok.en.gz`. BLEU is computed on this text without further
tokenization.
"""

import argparse
from pathlib import Path

from glossa.run_folder import RunFolder
from glossa.training.arguments import parse_settings
from glossa.training.run import train

SHORT = "--num_train_epochs 12"
ADAMW = "--muon_learning_rate null"
# Tables of rows: a name, the recipe and the settings that differ from it.
TABLES: dict[str, dict[str, tuple[str, str]]] = {
    # Each means alone, in short runs, against the recipe.
    "means": {
        "adamw": ("multi30k-en-de", f"{SHORT} {ADAMW}"),
        "muon": ("multi30k-en-de", SHORT),
        "r-drop": ("multi30k-en-de", f"{SHORT} --r_drop_alpha 5"),
        "ema": ("multi30k-en-de", f"{SHORT} --ema_decay 0.999"),
        "bpe-dropout": ("multi30k-en-de", f"{SHORT} --bpe_dropout 0.1"),
        "vocabulary-1k": ("multi30k-en-de", f"{SHORT} --vocab_size 1000"),
        "vocabulary-2k": ("multi30k-en-de", f"{SHORT} --vocab_size 2000"),
        "vocabulary-10k": ("multi30k-en-de", f"{SHORT} --vocab_size 10000"),
        "dropout-0.2": ("multi30k-en-de", f"{SHORT} --dropout 0.2"),
    },
    # Latent attention and experts at the parameters or at the operations of the recipe, in six passes.
    "architectures": {
        "dense": ("multi30k-en-de", "--num_train_epochs 6"),
        "latent-attention": (
            "multi30k-en-de",
            "--num_train_epochs 6 --num_key_value_heads null --kv_lora_rank 64 --qk_rope_head_dim 16",
        ),
        "experts-equal-operations": (
            "multi30k-en-de",
            "--num_train_epochs 6 --num_local_experts 4 --num_experts_per_tok 1",
        ),
        "experts-equal-parameters": (
            "multi30k-en-de",
            "--num_train_epochs 6 --num_local_experts 4 --num_experts_per_tok 1 --encoder_ffn_dim 64 "
            "--decoder_ffn_dim 64",
        ),
    },
    "multi30k": {
        "published-recipe": ("multi30k-en-de-tiny", ""),
        "glossa": ("multi30k-en-de", ""),
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", choices=TABLES, help="the table to make")
    parser.add_argument("--multi30k", type=Path, required=True, metavar="FOLDER", help="Multi30k, tokenized")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/reproduce"), help="folder of the runs")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="train these rows only (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="seeds of each row (default: 1)")


def data_settings(folder: Path, source: str, target: str) -> list[str]:
    """The settings of `glossa train` for the files of `folder`."""
    files = {"data": "train", "validation": "val", "test": "test_2016_flickr"}
    settings = ["--dataset", "files", "--source_language", source, "--target_language", target]
    for setting, name in files.items():
        settings += [
            f"--{setting}_path",
            *(str(folder / f"{name}.lc.norm.tok.{side}.gz") for side in (source, target)),
        ]
    return [*settings, "--bleu_tokenizer", "none", "--report_to", "none"]


def train_row(name: str, arguments: argparse.Namespace, seed: int) -> None:
    """Train, or resume, one row with one seed."""
    recipe, changes = TABLES[arguments.table][name]
    output = run_folder(name, arguments, seed)
    settings = [recipe, *data_settings(arguments.multi30k, "en", "de"), *changes.split(), "--seed", str(seed)]
    train(parse_settings([*settings, "--output_dir", str(output), "--resume_from_checkpoint", "true"]))


def run_folder(name: str, arguments: argparse.Namespace, seed: int) -> Path:
    return arguments.output_dir / arguments.table / f"{name}-{seed}"


def row(name: str, seed: int, metrics: dict) -> str:
    """One line of the table."""
    cells = [name, str(seed), f"{metrics['parameters'] / 1e6:.2f}", f"{metrics['steps']:,}"]
    cells.append(f"{metrics['training_seconds'] / 60:.0f}")
    for split in ("validation", "test"):
        for scores in (decoding["scores"]["single"]["bleu"] for decoding in metrics[split].values()):
            cells.append(f"{scores['score']:.2f} [{scores['low']:.1f}, {scores['high']:.1f}]")
    return f"| {' | '.join(cells)} |"


def run(arguments: argparse.Namespace) -> None:
    names = arguments.rows or list(TABLES[arguments.table])
    for seed in arguments.seeds:
        for name in names:
            train_row(name, arguments, seed)
    columns = ["run", "seed", "million parameters", "steps", "minutes"]
    columns += [f"{split} BLEU, {decoding}" for split in ("validation", "test") for decoding in ("greedy", "beam 5")]
    lines = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for name in TABLES[arguments.table]:
        for folder in sorted(run_folder(name, arguments, 0).parent.glob(f"{name}-[0-9]*")):
            if metrics := RunFolder(folder).metrics:
                lines.append(row(name, int(folder.name.rpartition("-")[2]), metrics))
    print("\n" + "\n".join(lines))
