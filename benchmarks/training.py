"""How fast Glossa trains beside others of equal size: real target tokens a second, in turn, on the same pairs."""

import multiprocessing
from functools import partial

import torch

from glossa.errors import GlossaError

from .contenders import Work, build_alone, count_trained
from .timing import alternate, matmul_peak, ratios, spread, times

PEAK = "matrix multiplication"


def measure_training(names: list[str], rounds: int, steps: int, options: dict) -> dict:
    """Windows of `steps` steps of each contender in `rounds` rounds, and the machine's peak measured in each round.

    `options` are those of [`build_alone`]. Returns `peak` (the spread of operations a second) and `contenders`: for
    each its parameters, and the spreads of its `speed`, of its `ratio` (how many times as fast the first of `names`
    is), and of its `share` of the peak; its padding, and its target tokens a step.
    """
    contenders = {name: _Elsewhere(name, options) for name in names}
    turns: dict = {name: partial(contender.train, steps) for name, contender in contenders.items()}
    turns[PEAK] = lambda: matmul_peak(torch.bfloat16 if options["bf16"] else torch.float32)
    try:
        parameters = {name: contender.receive() for name, contender in contenders.items()}
        measured = alternate(turns, rounds)
    finally:
        for contender in contenders.values():
            contender.close()
    peaks = measured.pop(PEAK)
    first = [work.speed for work in measured[names[0]]]
    return {
        "peak": spread(peaks),
        "contenders": {
            name: _summary(measured[name], peaks, first) | {"parameters": parameters[name]} for name in names
        },
    }


class _Elsewhere:
    """A contender in a process of its own, idle between its turns.

    In one process each would have threads of its own, and more threads than processors make OpenMP wait by another
    way, slow for all.
    """

    def __init__(self, name: str, options: dict):
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, name, options), daemon=True)
        self.process.start()
        theirs.close()

    def train(self, steps: int) -> Work:
        self.connection.send(steps)
        return self.receive()

    def receive(self):
        """What the other process sends; an error is raised here."""
        try:
            received = self.connection.recv()
        except EOFError as error:
            raise GlossaError(f"{self.name} ended before its work was done; the system may have ended it.") from error
        if isinstance(received, Exception):
            raise received
        return received

    def close(self) -> None:
        self.connection.close()
        self.process.join()


def _serve(connection, name: str, options: dict) -> None:
    """Send how many parameters the contender trains; then for each number of steps that comes the work done."""
    try:
        contender = build_alone(name, **options)
        connection.send(count_trained(contender.model))
        while True:
            connection.send(contender.train(connection.recv()))
    except EOFError:
        contender.close()
    except Exception as error:
        connection.send(error)


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
