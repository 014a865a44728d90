"""When training first reached each mark of quality; evaluations take no time. Needs numpy only."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np


class Clock:
    """Says when an evaluation is due, and notes when a mark of BLEU was first reached.

    Args:
        marks: BLEU scores, in percent.
        limit: Seconds of training after which it ends.
        every: Seconds of training between two evaluations.
        clocks: Seconds since any time, and CPU-seconds of this process; others for tests.
    """

    def __init__(
        self,
        marks: list[float],
        limit: float,
        every: float,
        clocks: tuple[Callable[[], float], Callable[[], float]] = (time.perf_counter, time.process_time),
    ):
        self.marks, self.limit, self.every, self.clocks = marks, limit, every, clocks
        self.started = self._read()
        self.due = every
        self.before_evaluation = self.started
        self.reached: dict[str, dict] = {}
        self.history: list[tuple[float, float]] = []

    def _read(self) -> np.ndarray:
        return np.array([clock() for clock in self.clocks])

    def is_due(self) -> bool:
        """Whether an evaluation is due. To be called at the end of a step, before the evaluation."""
        self.before_evaluation = self._read()
        return bool((self.before_evaluation - self.started)[0] >= self.due)

    def note(self, step: int, bleu: float) -> bool:
        """Note and print the result of an evaluation; returns whether training ends. To be called after it."""
        seconds, cpu_seconds = (round(value, 1) for value in (self.before_evaluation - self.started).tolist())
        self.history.append((seconds, round(bleu, 2)))
        print(f"{seconds / 60:.1f} minutes, {step} steps: BLEU {bleu:.2f}", flush=True)
        for mark in self.marks:
            if bleu >= mark and str(mark) not in self.reached:
                self.reached[str(mark)] = {"seconds": seconds, "cpu_seconds": cpu_seconds, "step": step}
        self.due = seconds + self.every
        self.started += self._read() - self.before_evaluation
        return len(self.reached) == len(self.marks) or seconds >= self.limit

    def report(self) -> dict[str, Any]:
        """The marks, with null for those that were not reached, and validation BLEU by seconds of training."""
        return {"marks": {str(mark): self.reached.get(str(mark)) for mark in self.marks}, "history": self.history}
