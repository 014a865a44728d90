"""What pretraining on texts gains if there are few pairs: `python -m benchmarks pretraining MULTI30K`.

MULTI30K is a folder with the English and French sentences of Multi30k (Elliott et al. 2016, 2017), line-aligned:
`train`, `val` and `test_2016_flickr`, each `.en.gz` and `.fr.gz`. One model learns to fill in spans of the training
texts of both languages, and then to translate from the first `--pairs` pairs; another of the same size learns from
these pairs alone. Prints a Markdown table of their scores on the test split. Finished runs are not repeated.
"""

import argparse
from pathlib import Path

from glossa.plan.arguments import parse_settings
from glossa.run_folder import RunFolder
from glossa.training.run import train

COMMON = """--dataset files --vocab_size 2000 --d_model 128 --encoder_layers 3 --decoder_layers 3 --encoder_ffn_dim 384
    --decoder_ffn_dim 384 --batch_tokens 1024 --gradient_accumulation_steps 1 --lr_scheduler_type linear
    --warmup_steps 300 --save_total_limit 1 --report_to none"""
PRETRAINING = """--objective span_corruption --batch_tokens 2048 --learning_rate 2e-3
    --dropout 0.1"""
TRANSLATION = """--learning_rate 2e-3 --dropout 0.3 --eval_strategy steps --save_strategy steps
    --eval_steps 200 --save_steps 200 --max_validation_samples 300 --max_new_tokens 50"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="the folder of Multi30k")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/pretraining-study"), help="folder of the runs")
    parser.add_argument("--passes", type=int, default=12, help="of pretraining over all texts (default: 12)")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs to translate from (default: 2000)")
    parser.add_argument("--epochs", type=int, default=40, help="over these pairs (default: 40)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="of the translators (default: 1 2)")
    parser.add_argument("--float32", action="store_true", help="not bf16, which CPUs without instructions emulate")


def train_once(output: Path, settings: str) -> dict:
    """The metrics of the run in `output`, which is trained first if it is not finished."""
    if not RunFolder(output).metrics:
        train(parse_settings([*COMMON.split(), *settings.split(), "--output_dir", str(output)]))
    return RunFolder(output).metrics


def row(name: str, seed: int, metrics: dict) -> str:
    cells = [name, str(seed), f"{metrics['steps']:,}", f"{metrics['training_seconds']:,.0f}"]
    for decoding in ("greedy", "beam 4"):
        scores = metrics["test"][decoding]["scores"]["single"]
        cells += [f"{s['score']:.2f} [{s['low']:.1f}, {s['high']:.1f}]" for s in (scores["bleu"], scores["chrf"])]
    return f"| {' | '.join(cells)} |"


def run(arguments: argparse.Namespace) -> None:
    sides = {
        f"--{split}_path": " ".join(str(arguments.folder / f"{file}.{language}.gz") for language in ("en", "fr"))
        for split, file in (("data", "train"), ("validation", "val"), ("test", "test_2016_flickr"))
    }
    data = " ".join(f"{name} {paths}" for name, paths in sides.items())
    data += f" --bf16 {'false' if arguments.float32 else 'true'}"
    start = arguments.output_dir / "pretrained"
    first = train_once(start, f"{data} {PRETRAINING} --num_train_epochs {arguments.passes}")
    few = f"{data} --max_train_samples {arguments.pairs} --num_train_epochs {arguments.epochs} {TRANSLATION}"
    rows = []
    for seed in arguments.seeds:
        for name, origin in (("pretrained, then the pairs", f"--init_from {start}"), ("the pairs alone", "")):
            output = arguments.output_dir / f"{name.split(',')[0].replace(' ', '-')}-{seed}"
            rows.append(row(name, seed, train_once(output, f"{few} --seed {seed} {origin}")))
    columns = ["training", "seed", "steps", "seconds"]
    columns += [f"{decoding} {score}" for decoding in ("greedy", "beam 4") for score in ("BLEU", "chrF++")]
    print(f"\nPretraining: {first['steps']:,} steps in {first['training_seconds']:,.0f} s, validation loss ", end="")
    print(f"{first['validation']['loss']:.3f}. {first['parameters']:,} parameters, {first['device']}.\n")
    print("\n".join([f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns), *sorted(rows)]))
