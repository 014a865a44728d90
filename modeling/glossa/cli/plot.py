"""Draw the attention of a model, or the curves of runs.

`glossa plot attention MODEL --source "..." [--target "..."] --output attention.png` draws the attention weights of
each head of a layer, and prints the word alignment (Pharaoh format, source-target). `--layer all` draws a grid with a
row for each layer.

`glossa plot curves RUN [RUN ...] --output curves.png` draws loss and BLEU of several runs.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import GlossaError
from ..translate.languages import Languages
from ..translate.loading import check_name, load_model, load_tokenizer
from . import new_parser
from .options import add_options, argument, option
from .shared_options import ModelOptions, TargetOptions

ALL = "all"


def layer_number(text: str) -> int | str:
    if text == ALL:
        return text
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor {ALL}") from error


@dataclass(frozen=True)
class AttentionOptions(ModelOptions, TargetOptions):
    """The options of `glossa plot attention`."""

    source: str = option("the source sentence", required=True)
    target: str | None = option("the target sentence (default: the model's translation)")
    part: str = option("default: cross", default="cross", choices=("encoder", "decoder", "cross"))
    layer: int | str = option(
        "from 0, or from the end: -1 (default) is the last; all: every layer",
        default=-1,
        type=layer_number,
        metavar="N|all",
    )
    head: int | None = option("one head, from 0 (default: all of the layer)", type=int)
    output: str = option(".png, .svg or .pdf (default: attention.png)", default="attention.png")


@dataclass(frozen=True)
class CurvesOptions:
    """The options of `glossa plot curves`."""

    runs: list[str] = argument("folders of finished runs")
    output: str = option(".png, .svg or .pdf (default: curves.png)", default="curves.png")


PLOTS = {
    "attention": (AttentionOptions, "heat maps of one sentence pair, and its word alignment"),
    "curves": (CurvesOptions, "loss and BLEU of one or more runs in one picture"),
}


def parse(argv: list[str]) -> AttentionOptions | CurvesOptions:
    parser = new_parser("plot", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (kind, meaning) in PLOTS.items():
        add_options(commands.add_parser(name, help=meaning, allow_abbrev=False), kind)
    given = vars(parser.parse_args(argv))
    return PLOTS[given.pop("command")][0](**given)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    if isinstance(arguments, AttentionOptions):
        plot_attention(arguments)
    else:
        plot_curves(arguments.runs, Path(arguments.output))


def plot_attention(arguments: AttentionOptions) -> None:
    check_name(arguments.model)
    from ..base.plots import draw_all_attention, draw_attention
    from ..translate.attention import align_words, attention_maps

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
        layer = choose("layer", int(arguments.layer), len(weights))
        title = f"{arguments.part}, layer {layer}"
        draw_attention(weights[layer], rows, columns, title, Path(arguments.output), head)
    print(align_words(maps))


def choose(name: str, value: int, count: int) -> int:
    if not -count <= value < count:
        raise GlossaError(f"--{name} is {value}; the model has {count}, so it must be from {-count} to {count - 1}.")
    return value % count


def plot_curves(runs: list[str], file: Path) -> None:
    from ..base.plots import draw_curves
    from ..base.run_folder import RunFolder

    histories = {run: RunFolder(run).history for run in runs}
    for run, history in histories.items():
        if not history:
            raise GlossaError(f"{run} is not the folder of a finished run: it has no training log.")
    draw_curves(histories, file)
