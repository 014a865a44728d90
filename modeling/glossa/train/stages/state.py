"""How far a training in stages is."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...base.checkpoints import read_file
from ...base.errors import GlossaError
from ...base.jobs.whole_files import write_whole
from ...base.run_folder import RunFolder


@dataclass
class State:
    """The finished stages, and the time that they and an unfinished one took.

    Attributes:
        file: Where it is kept.
        stages: The names of the stages before the last training.
        monolingual: The files of monolingual text.
        done: A record of each finished stage, in order: `stage`, `seconds`, `pairs`, the `score` (chrF++ on the
            validation pairs, None without), whether it was `dropped`, and the `files` of its pairs.
        unfinished: Seconds of the unfinished stage in earlier sessions.
        clock: Returns seconds.
    """

    file: Path
    stages: list[str]
    monolingual: list[str]
    done: list[dict[str, Any]] = field(default_factory=list)
    unfinished: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.begin()

    @classmethod
    def read(cls, run: RunFolder) -> "State | None":
        """The state in the folder of a run; None if it has none. Raises `GlossaError` if it is damaged."""
        if not run.state.is_file():
            return None
        found = read_file(run.state, json.loads, dict)
        try:
            return cls(run.state, found["stages"], found["monolingual"], found["done"], float(found["unfinished"]))
        except (KeyError, TypeError, ValueError) as error:
            raise GlossaError(f"{run.state} is damaged: {error!r}. Restore it, or give another folder.") from error

    def check(self, names: Sequence[str], monolingual: Sequence[str]) -> None:
        """Raise `GlossaError` if the stages are to be continued as others."""
        for name, was, now in (("stages", self.stages, names), ("monolingual", self.monolingual, monolingual)):
            if was != [*now]:
                raise GlossaError(
                    f"{name} was {','.join(was) or 'empty'} in {self.file.parent} and is {','.join(now) or 'empty'}. "
                    "Give the same, or another --output_dir."
                )

    @property
    def stage_seconds(self) -> float:
        """Seconds of the unfinished stage."""
        return self.clock() - self.began

    @property
    def seconds(self) -> float:
        """Seconds of all finished stages and of the unfinished one."""
        return self.finished_seconds + self.stage_seconds

    @property
    def finished_seconds(self) -> float:
        """Seconds of all finished stages."""
        return sum(record["seconds"] for record in self.done)

    def begin(self) -> None:
        """Begin the next stage, which may have begun in an earlier session."""
        self.began = self.clock() - self.unfinished

    def finish(self, stage: str, seconds: float, **found: Any) -> None:
        """Record a finished stage."""
        self.done.append({"stage": stage, "seconds": round(seconds, 1)} | found)
        self.unfinished = 0.0
        self.write()
        self.begin()

    def write(self, unfinished: float = 0.0) -> None:
        """Write the state, with the seconds of the unfinished stage."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: getattr(self, name) for name in ("stages", "monolingual", "done")}
        write_whole(self.file, json.dumps(kept | {"unfinished": round(unfinished, 1)}, indent=1) + "\n")
