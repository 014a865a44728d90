"""Which blend of a tuned model with its start is best, and what is said of it."""

from collections.abc import Mapping, Sequence
from typing import Any

NAMES = ("share", "bleu", "chrf", "loss", "token_accuracy", "watch_bleu", "watch_chrf", "watch_loss")
COLUMNS = {"bleu": "BLEU", "chrf": "chrF++", "watch_bleu": "watched: BLEU", "watch_chrf": "chrF++"}


def choose(points: Sequence[Mapping[str, float]], metric: str, greater: bool, most: float) -> float:
    """The best share by `metric` on the validation pairs of those that lose at most `most` BLEU on the watched pairs.

    Args:
        points: The scores of each share, by `NAMES`, the start first. Without watched pairs none is excluded.
        metric: bleu, chrf, loss or token_accuracy. Of equal shares, the largest is the best.
        greater: Whether a greater value of the metric is better.
        most: BLEU that the watched pairs may lose.
    """
    sign, least = 1 if greater else -1, points[0].get("watch_bleu", 0.0) - most
    allowed = [point for point in points if point.get("watch_bleu", least) >= least]
    return max((sign * point[metric], point["share"]) for point in allowed)[1]


def test_lines(found: Mapping[str, Any]) -> list[str]:
    """What was gained and lost on pairs that chose nothing, in a line for each test; nothing without tests.

    `found` is the entry `blend` in the metrics of a run.
    """
    lines = []
    for name, metrics in found["tests"].items():
        scores = [metrics["bleu"][time] for time in ("before", "after")]
        before, after = (f"{score['score']:.2f} [{score['low']:.1f}, {score['high']:.1f}]" for score in scores)
        change, chance = scores[1]["score"] - scores[0]["score"], metrics["bleu"]["p_value"]
        lines.append(f"{name} test: BLEU {before} before, {after} now ({change:+.2f}, p-value {chance:.3f})")
    return lines


def last_line(found: Mapping[str, Any], start: str, most: float) -> str:
    """What to know if the start's weights are kept; "" if they are not. `most` is the setting `watch_loss`."""
    if found["share"]:
        return ""
    metric, first, last = found["metric"], found["points"][0], found["points"][-1]
    scores = f"{COLUMNS.get(metric, metric)} {last[metric]:.2f} on its validation pairs, the start {first[metric]:.2f}"
    kept = f"The weights of {start} are saved, unchanged."
    if "watch_bleu" not in first:
        return f"The tuned model is worse than its start ({scores}). {kept}"
    return (
        f"No blend is better than the start and loses at most {most:g} BLEU on the watched pairs (watch_loss). All of "
        f"the tuned weights have {scores}. {kept} Give --replay, or a greater --watch_loss."
    )


def blend_cells(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows of the card's table of shares; None if only the ends were measured.

    `found` is the entry `blend` in the metrics of a run, or empty.
    """
    points = found.get("points", [])
    if len(points) < 3:
        return None
    rows = [
        [f"{point['share']:.0%}{', kept' * (point['share'] == found['share'])}"]
        + [f"{point[name]:.2f}" for name in COLUMNS]
        for point in points
    ]
    return ["share of the tuned weights", *COLUMNS.values()], rows
