"""Plots of training curves and attention. The file name's suffix selects PNG, SVG or PDF."""

from pathlib import Path

import numpy
from matplotlib.figure import Figure  # pyplot would change the backend of the calling program
from matplotlib.patches import FancyBboxPatch

from .errors import GlossaError


def draw_curves(histories: dict[str, list[dict]], file: Path) -> None:
    """Plot training loss, validation loss (dashed) and validation BLEU by step, with one color per run.

    The training loss is the one without smoothing and dropout if it was logged, since these raise it a lot.
    """
    figure = Figure(figsize=(11, 4))
    figure.subplots_adjust(0.07, 0.13, 0.985, 0.91, wspace=0.17)  # a layout engine would draw everything twice
    loss_axes, bleu_axes = figure.subplots(1, 2)
    for number, (name, history) in enumerate(histories.items()):
        color = f"C{number}"
        training = "plain_loss" if any("plain_loss" in entry for entry in history) else "loss"
        for key, label, style in ((training, "training", "-"), ("eval_loss", "validation", "--")):
            steps, values = _points(history, key)
            loss_axes.plot(steps, values, style, color=color, label=f"{name}, {label}".lstrip(", "))
        bleu_axes.plot(*_points(history, "eval_bleu"), "o-", color=color, label=name)
    loss_axes.set(xlabel="step", ylabel="loss (nats per token)", title="Loss")
    bleu_axes.set(xlabel="step", ylabel="BLEU (greedy)", title="Validation BLEU")
    loss_axes.legend()
    if len(histories) > 1:
        bleu_axes.legend()
    for axes in (loss_axes, bleu_axes):
        axes.grid(alpha=0.3)
    _save(figure, file)


def draw_blends(points: list[dict], kept: float, file: Path) -> None:
    """Plot own against general quality of the blends of a tuned model with its start, one point a share.

    `points` have `share`, `bleu` and `watch_bleu`; `kept` is the share that is marked.
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    own, general = ([point[name] for point in points] for name in ("bleu", "watch_bleu"))
    axes.plot(general, own, "o-")
    for point, place in zip(points, zip(general, own, strict=True), strict=True):
        label = f"{point['share']:.0%}{' (kept)' * (point['share'] == kept)}"
        axes.annotate(label, place, xytext=(5, 5), textcoords="offset points")
    axes.set(xlabel="BLEU of the watched pairs (general)", ylabel="BLEU of the validation pairs (own)")
    axes.set(title="Share of the tuned weights")
    axes.grid(alpha=0.3)
    _save(figure, file)


def draw_page(source: str, target: str, file: Path) -> None:
    """Draw a preview of the translation page with the names of its languages, for a model card."""
    figure = Figure(figsize=(7, 2.2), facecolor="#f6f6f9")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 70), ylim=(0, 22))
    axes.axis("off")
    for left, name, words in ((2, source, "Type or paste text"), (36, target, "The translation, in your browser")):
        for bottom, height in ((15, 4.5), (2, 11.5)):
            box = FancyBboxPatch((left, bottom), 32, height, boxstyle="round,pad=0,rounding_size=1")
            box.set(facecolor="white", edgecolor="#d8d8e2")
            axes.add_patch(box)
        axes.text(left + 1.5, 17.2, name, va="center", size=11, color="#1d1d27")
        axes.text(left + 1.5, 11, words, va="center", size=11, color="#5b5b6b")
    _save(figure, file)


def draw_attention(weights, rows: list[str], columns: list[str], title: str, file: Path, first_head: int = 0) -> None:
    """Plot heat maps of `weights` [heads, rows, columns], one per head, with the tokens as labels.

    `first_head` is the number of the first head in `weights`.
    """
    wide = min(len(weights), 4)
    high = -(-len(weights) // wide)
    size = (max(3.0, 0.35 * len(columns)) * wide + 1, max(3.0, 0.3 * len(rows)) * high + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(high, wide, squeeze=False)
    for head, axes in enumerate(grid.flat):
        if head >= len(weights):
            axes.axis("off")
            continue
        image = _heat_map(axes, weights[head], rows, columns, f"head {first_head + head}")
    _finish_attention(figure, grid, image, title, file)


def draw_all_attention(
    weights, rows: list[str], columns: list[str], title: str, file: Path, first_head: int = 0
) -> None:
    """Plot heat maps of `weights` [layers, heads, rows, columns]: a row of the grid per layer, a column per head.

    Only the maps on the left and bottom edges have the tokens as labels. `first_head` is as in [`draw_attention`].
    """
    layers, heads = weights.shape[:2]
    size = (max(1.5, 0.16 * len(columns)) * heads + 1.5, max(1.5, 0.16 * len(rows)) * layers + 1)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(layers, heads, squeeze=False)
    for (layer, head), axes in numpy.ndenumerate(grid):
        title_of_map = f"layer {layer}, head {first_head + head}"
        image = _heat_map(axes, weights[layer, head], rows, columns, title_of_map, "x-small")
        axes.label_outer()
    _finish_attention(figure, grid, image, title, file)


def _heat_map(axes, weights, rows: list[str], columns: list[str], title: str, font: str = "medium"):
    image = axes.imshow(weights, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    # With `parse_math`, dollar signs in tokens would start formulas.
    axes.set_xticks(range(len(columns)), columns, rotation=90, parse_math=False, fontsize=font)
    axes.set_yticks(range(len(rows)), rows, parse_math=False, fontsize=font)
    axes.set_title(title, fontsize="small" if font == "medium" else font)
    return image


def _finish_attention(figure, grid, image, title: str, file: Path) -> None:
    figure.suptitle(title)
    figure.colorbar(image, ax=grid, shrink=0.6, label="weight")
    _save(figure, file)


def _points(history: list[dict], key: str) -> tuple[list[int], list[float]]:
    entries = [entry for entry in history if key in entry]
    return [entry["step"] for entry in entries], [entry[key] for entry in entries]


def _save(figure, file: Path) -> None:
    try:
        figure.savefig(file, dpi=120)
    except ValueError as error:  # the message lists the supported suffixes
        raise GlossaError(f"{file}: {error}.") from error
