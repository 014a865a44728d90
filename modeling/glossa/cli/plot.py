"""Draw the attention of a model, or the curves of runs.

`glossa plot attention MODEL --source "..." [--target "..."] --output attention.png` draws every head of a layer
against the tokens and prints the word alignment (Pharaoh format, source-target). `--layer all` draws all layers in one
grid, a row for each.
`glossa plot curves RUN [RUN ...] --output curves.png` overlays loss and BLEU of several runs.
"""

import argparse
from pathlib import Path

from ..errors import GlossaError
from ..inference.languages import Languages
from ..inference.loading import check_name, load_model, load_tokenizer
from . import new_parser

ALL = "all"


def parse(argv: list[str]) -> argparse.Namespace:
    parser = new_parser("plot", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    attention = commands.add_parser(
        "attention", help="heat maps of one sentence pair, and its word alignment", allow_abbrev=False
    )
    attention.add_argument("model", help="folder of a run, or Hub name")
    attention.add_argument("--source", required=True, help="the source sentence")
    attention.add_argument("--target_language", metavar="CODE", help="for a model of several target languages")
    attention.add_argument("--target", help="the target sentence (default: the model's translation)")
    attention.add_argument("--part", choices=("encoder", "decoder", "cross"), default="cross", help="default: cross")
    meaning = "from 0, or from the end: -1 (default) is the last; all: every layer"
    attention.add_argument("--layer", type=layer_number, default=-1, metavar="N|all", help=meaning)
    attention.add_argument("--head", type=int, help="one head, from 0 (default: all of the layer)")
    attention.add_argument("--output", default="attention.png", help=".png, .svg or .pdf (default: attention.png)")
    curves = commands.add_parser("curves", help="loss and BLEU of one or more runs in one picture", allow_abbrev=False)
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
    from ..plots import draw_all_attention, draw_attention

    tokenizer = load_tokenizer(arguments.model)
    Languages.choose(tokenizer, arguments.model, arguments.target_language)
    model = load_model(arguments.model)
    maps = attention_maps(model, tokenizer, arguments.source, arguments.target)
    weights = getattr(maps, arguments.part)  # [layers, heads, rows, columns]
    head = 0 if arguments.head is None else choose("head", arguments.head, weights.shape[1])
    if arguments.head is not None:
        weights = weights[:, head : head + 1]
    rows = maps.source if arguments.part == "encoder" else maps.target
    columns = maps.target_inputs if arguments.part == "decoder" else maps.source
    if arguments.layer == ALL:
        draw_all_attention(weights, rows, columns, arguments.part, Path(arguments.output), head)
    else:
        layer = choose("layer", arguments.layer, len(weights))
        title = f"{arguments.part}, layer {layer}"
        draw_attention(weights[layer], rows, columns, title, Path(arguments.output), head)
    print(align_words(maps))


def layer_number(text: str) -> int | str:
    if text == ALL:
        return text
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor {ALL}") from error


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
