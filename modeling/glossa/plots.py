"""Pictures of a run, of what a model looks at and of how costs grow.

The file's ending decides between PNG, SVG and PDF.
"""

from pathlib import Path

import matplotlib
import numpy

matplotlib.use("Agg")  # no display is needed to write a picture

from matplotlib import pyplot

from .errors import GlossaError


def draw_curves(histories: dict[str, list[dict]], file: Path) -> None:
    """Training and validation loss (dashed), and validation BLEU, against steps; one color a run."""
    figure, (loss_axes, bleu_axes) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for number, (name, history) in enumerate(histories.items()):
        color = f"C{number}"
        for key, label, style in (("loss", "training", "-"), ("eval_loss", "validation", "--")):
            steps, values = _points(history, key)
            loss_axes.plot(steps, values, style, color=color, label=f"{name}, {label}".lstrip(", "))
        bleu_axes.plot(*_points(history, "eval_bleu"), "o-", color=color, label=name)
    loss_axes.set(xlabel="step", ylabel="loss (nats a token)", title="Loss")
    bleu_axes.set(xlabel="step", ylabel="BLEU (greedy)", title="Validation BLEU")
    loss_axes.legend()
    if len(histories) > 1:
        bleu_axes.legend()
    for axes in (loss_axes, bleu_axes):
        axes.grid(alpha=0.3)
    _save(figure, file)


def draw_attention(weights, rows: list[str], columns: list[str], title: str, file: Path) -> None:
    """Heat maps of `weights` [heads, rows, columns], one a head, against the tokens."""
    wide = min(len(weights), 4)
    high = -(-len(weights) // wide)
    size = (max(3.0, 0.35 * len(columns)) * wide + 1, max(3.0, 0.3 * len(rows)) * high + 0.6)
    figure, grid = pyplot.subplots(high, wide, figsize=size, squeeze=False, layout="constrained")
    for head, axes in enumerate(grid.flat):
        if head >= len(weights):
            axes.axis("off")
            continue
        image = axes.imshow(weights[head], vmin=0, vmax=1, cmap="viridis", aspect="auto")
        # Tokens are text, not formulas: a dollar sign must stay one.
        axes.set_xticks(range(len(columns)), columns, rotation=90, parse_math=False)
        axes.set_yticks(range(len(rows)), rows, parse_math=False)
        axes.set_title(f"head {head}", fontsize="small")
    figure.suptitle(title)
    figure.colorbar(image, ax=grid, shrink=0.6, label="weight")
    _save(figure, file)


def draw_growth(curves: dict[str, dict], labels: dict[str, str], file: Path) -> None:
    """Time and peak memory against what grows, with the power law that fits (dashed); all axes are logarithmic.

    Args:
        curves: As `benchmarks.growth.measure_growth` returns them.
        labels: What grows, for each curve.
        file: To write to.
    """
    figure, grid = pyplot.subplots(
        2, len(curves), figsize=(2.5 * len(curves), 4.6), squeeze=False, layout="constrained"
    )
    figures = (("seconds", "time (s)", 1, "o-", "#10426b"), ("memory", "peak memory (MiB)", 2**20, "s-", "#a04000"))
    for column, (name, curve) in zip(grid.T, curves.items(), strict=True):
        sizes = numpy.array(curve["sizes"])
        for axes, (key, label, unit, style, color) in zip(column, figures, strict=True):
            values = numpy.array(curve[key]) / unit
            power = curve["exponents"][key]["all"]
            law = sizes**power * numpy.exp(numpy.mean(numpy.log(values) - power * numpy.log(sizes)))
            axes.loglog(sizes, values, style, color=color, label="measured")
            axes.loglog(sizes, law, "--", color="0.55", label=f"$n^{{{power:.2f}}}$")
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=60, fontsize="small")
            axes.set_xticks([], minor=True)
            axes.set(ylabel=label)
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")
        axes.set_xlabel(labels[name], fontsize="small")
    _save(figure, file)


def _points(history: list[dict], key: str) -> tuple[list[int], list[float]]:
    entries = [entry for entry in history if key in entry]
    return [entry["step"] for entry in entries], [entry[key] for entry in entries]


def _save(figure, file: Path) -> None:
    try:
        figure.savefig(file, dpi=120)
    except ValueError as error:  # matplotlib names the endings it knows
        raise GlossaError(f"{file}: {error}.") from error
    finally:
        pyplot.close(figure)
