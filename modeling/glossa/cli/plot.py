"""Draw what a model attends to, or the curves of runs.

`glossa plot attention MODEL --source "..." [--target "..."] --output attention.png` draws every head of a layer
against the tokens and prints the word alignment (Pharaoh format, source-target).
`glossa plot curves RUN [RUN ...] --output curves.png` overlays loss and BLEU of several runs.
"""

import argparse
from pathlib import Path

from ..errors import GlossaError
from ..inference.loading import check_name, load_model, load_tokenizer


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="glossa plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    attention = commands.add_parser("attention", help="heat maps of one sentence pair, and its word alignment")
    attention.add_argument("model", help="folder of a run, or Hub name")
    attention.add_argument("--source", required=True, help="the source sentence")
    attention.add_argument("--target", help="the target sentence (default: the model's translation)")
    attention.add_argument("--part", choices=("encoder", "decoder", "cross"), default="cross", help="default: cross")
    attention.add_argument("--layer", type=int, default=-1, help="from 0, or from the end: -1 (default) is the last")
    attention.add_argument("--head", type=int, help="one head, from 0 (default: all of the layer)")
    attention.add_argument("--output", default="attention.png", help=".png, .svg or .pdf (default: attention.png)")
    curves = commands.add_parser("curves", help="loss and BLEU of one or more runs in one picture")
    curves.add_argument("runs", nargs="+", help="folders of finished runs")
    curves.add_argument("--output", default="curves.png", help=".png, .svg or .pdf (default: curves.png)")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    if arguments.command == "attention":
        plot_attention(arguments)
    else:
        plot_curves(arguments.runs, Path(arguments.output))


def plot_attention(arguments: argparse.Namespace) -> None:
    check_name(arguments.model)
    from ..evaluation.attention import align_words, attention_maps
    from ..plots import draw_attention

    model, tokenizer = load_model(arguments.model), load_tokenizer(arguments.model)
    maps = attention_maps(model, tokenizer, arguments.source, arguments.target)
    weights = getattr(maps, arguments.part)  # [layers, heads, rows, columns]
    layer = choose("layer", arguments.layer, len(weights))
    heads = weights[layer]
    if arguments.head is not None:
        head = choose("head", arguments.head, len(heads))
        heads = heads[head : head + 1]
    rows = maps.source if arguments.part == "encoder" else maps.target
    columns = maps.target_inputs if arguments.part == "decoder" else maps.source
    draw_attention(heads, rows, columns, f"{arguments.part}, layer {layer}", Path(arguments.output))
    print(align_words(maps))


def choose(name: str, value: int, count: int) -> int:
    if not -count <= value < count:
        raise GlossaError(f"--{name} is {value}; the model has {count}, so it must be from {-count} to {count - 1}.")
    return value % count


def plot_curves(runs: list[str], file: Path) -> None:
    from ..plots import draw_curves
    from ..run_folder import RunFolder

    histories = {run: RunFolder(run).history for run in runs}
    for run, history in histories.items():
        if not history:
            raise GlossaError(f"{run} is not the folder of a finished run: it has no training log.")
    draw_curves(histories, file)
