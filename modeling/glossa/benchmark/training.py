"""How fast Glossa trains beside others of equal size: real target tokens a second, in turn, on the same pairs."""

from functools import partial

import torch

from .contenders import Contender, Field, Work, count_trained
from .timing import alternate, matmul_peak, ratios, spread, times

PEAK = "matrix multiplication"


def measure_training(field: Field, names: list[str], rounds: int, steps: int) -> dict:
    """Windows of `steps` steps of each contender in `rounds` rounds, and the machine's peak measured in each round.

    Returns `peak` (the spread of operations a second) and `contenders`: for each its parameters, and the spreads of
    its `speed`, of its `ratio` (how many times as fast the first of `names` is), and of its `share` of the peak; its
    padding, and its target tokens a step.
    """
    contenders: dict[str, Contender] = {name: field.build(name) for name in names}
    turns: dict = {name: partial(contender.train, steps) for name, contender in contenders.items()}
    turns[PEAK] = lambda: matmul_peak(torch.bfloat16 if field.bf16 else torch.float32)
    try:
        measured = alternate(turns, rounds)
    finally:
        for contender in contenders.values():
            contender.close()
    peaks = measured.pop(PEAK)
    first = [work.speed for work in measured[names[0]]]
    return {
        "peak": spread(peaks),
        "contenders": {
            name: _summary(measured[name], peaks, first) | {"parameters": count_trained(contenders[name].model)}
            for name in names
        },
    }


def _summary(works: list[Work], peaks: list[float], first: list[float]) -> dict:
    speeds = [work.speed for work in works]
    return {
        "speed": spread(speeds),
        "ratio": ratios(first, speeds),
        "share": spread(work.flops / work.seconds / peak for work, peak in zip(works, peaks, strict=True)),
        "padding": 1 - sum(work.tokens for work in works) / sum(work.padded_tokens for work in works),
        "target_tokens_a_step": sum(work.target_tokens for work in works) / sum(work.steps for work in works),
        "rounds": [vars(work) for work in works],
    }


def training_rows(result: dict) -> list[dict[str, str]]:
    """What [`measure_training`] returned, a row for each contender; with its memory, where that was measured."""
    first = next(iter(result["contenders"]))
    rows = []
    for name, found in result["contenders"].items():
        row = {
            "training": name,
            "parameters": f"{found['parameters']:,}",
            "target tokens/s": f"{found['speed']['median']:,.0f}",
            f"{first} is faster": times(found["ratio"]),
            "tokens a step": f"{found['target_tokens_a_step']:,.0f}",
            "padding": f"{found['padding']:.1%}",
            "of peak": f"{found['share']['median']:.1%}",
        }
        if "memory" in found:
            row["peak memory"] = f"{found['memory']['median'] / 2**20:,.0f} MiB"
            row["of this"] = times(found["memory_ratio"])
        rows.append(row)
    return rows
