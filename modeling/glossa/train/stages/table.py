"""Which stages are best for so many pairs and hours, as far as it was measured, and the plan of a training."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .names import BACK, DIVERSIFY, LAST, MEANINGS

# The hours of a training in stages, as shares. By the end of a stage so much of the hours may be over: what a stage
# leaves goes to the next ones. A third of the training in both directions is advised by Ding et al. 2021; the teachers
# of further pairs need a little more. Greedy translations of 30,000 pairs in both directions take a tenth of an hour.
FIRST, TRANSLATING = 0.4, 0.2
ENDING = 0.05  # for set-up, scoring and saving of each training, which no training's own hours have


class Measured(NamedTuple):
    """A cell of the table: the stages that were best, as in the setting, and the row that says so.

    `gain` is in chrF++ on validation pairs, over plain training in the same CPU-seconds.
    """

    pairs: int
    hours: float
    stages: str
    row: str
    gain: float = 0.0

    def __str__(self) -> str:
        return f"{self.row}, {self.gain:+.1f} chrF++" if self.gain else self.row


# Only from rows of `python -m benchmarks stages` in docs/results.json. A stage is adopted if it gains at least 0.5
# chrF++ on validation over plain training in the same CPU-seconds, in the mean of the seeds.
MEASURED = (
    Measured(10_000, 0.5, "plain", "anki-10k, 0.5 h: plain"),
    Measured(10_000, 1, "both,back", "anki-10k, 1 h: both, back", 2.1),
    Measured(30_000, 0.25, "plain", "anki, 0.25 h: plain"),
    Measured(30_000, 1, "plain", "anki, 1 h: plain"),
)
NEAR = 2  # a cell counts for half to twice its pairs, and from half of its hours for each pair


def best(pairs: int, hours: float | None, table: Sequence[Measured] = MEASURED) -> Measured | None:
    """The nearest cell for so many training pairs and hours; None if nothing near was measured.

    It is the nearest by the hours for each pair: stages gain when plain training has seen its pairs often enough.
    """
    if hours is None:
        return None
    near = [
        (max(share, 1 / share), cell)
        for cell in table
        for share in [hours / pairs / (cell.hours / cell.pairs)]
        if 1 / NEAR <= pairs / cell.pairs <= NEAR and share >= 1 / NEAR
    ]
    return min(near)[1] if near else None


class Part(NamedTuple):
    """A stage of the plan: its number from 1, its name, and the part of the hours that is over by its end."""

    number: int
    name: str
    end: float


def parts(names: Sequence[str]) -> Iterator[Part]:
    """The plan: the stages `names`, and the last training.

    `diversify` counts twice of the time for translations, since it translates in both directions.
    """
    jobs = {name: 2 if name == DIVERSIFY else 1 for name in names[1:]}
    over = 0
    yield Part(1, names[0], FIRST)
    for number, (name, count) in enumerate(jobs.items(), 2):
        over += count
        yield Part(number, name, FIRST + TRANSLATING * over / sum(jobs.values()))
    yield Part(len(names) + 1, LAST, 1.0)


def plan_lines(names: Sequence[str], hours: float | None, monolingual: Sequence[str]) -> Iterator[str]:
    """The plan in lines, for `--explain`: stage, hours, and where the choice comes from."""
    row = next((str(cell) for cell in MEASURED if cell.stages == ",".join(names)), "not measured")
    begin = 0.0
    for part in parts(names):
        of = f" ({monolingual[0]})" if part.name == BACK else ""
        share = None if hours is None else hours * (part.end - begin)
        yield f"  {part.number} {part.name:10} {_shown(share):14} {MEANINGS[part.name]}{of}; {row}"
        begin = part.end


def _shown(hours: float | None) -> str:
    return "all steps" if hours is None else f"{hours:.2g} hours"
