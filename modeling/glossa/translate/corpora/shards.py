"""Large files: their lines in shards, which several processes translate, and which survive an interruption."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from ...base.errors import GlossaError
from ...base.jobs.records import begin_job, hash_bytes, lock_output, refuse_existing
from ...base.jobs.stage import Runner, Stage, Work
from ..loading import stamp_models

SHARD = 20_000  # lines; it decides which sentences share a batch, so it does not depend on the number of processes


@dataclass(frozen=True)
class Shard:
    """Consecutive lines of a file.

    Attributes:
        first: Number of its first line, from 1.
        lines: Their number.
        start: Position of its first byte.
        size: Bytes.
        stamp: A stamp of its content.
    """

    first: int
    lines: int
    start: int
    size: int
    stamp: str


@dataclass
class Done:
    """Counts, costs and problems of one or several translated shards.

    Attributes:
        lines: Lines translated.
        words: Words of the source, separated by white space.
        cpu_seconds: CPU time of the processes, without their start.
        problems: A row for each line with a problem, as in a report.
        terms: How many terms were used and not, as [`glossa.translate.search.terms.count`].
    """

    lines: int = 0
    words: int = 0
    cpu_seconds: float = 0.0
    problems: list[dict] = field(default_factory=list)
    terms: dict[str, int] = field(default_factory=dict)

    def add(self, other: "Done") -> None:
        self.lines += other.lines
        self.words += other.words
        self.cpu_seconds += other.cpu_seconds
        self.problems += other.problems
        self.add_terms(other.terms)

    def add_terms(self, terms: Mapping[str, int]) -> None:
        self.terms = dict(Counter(self.terms) + Counter(terms))


Translate = Callable[[list[bytes], int, Path], Done]


class ShardJob:
    """Translates a file shard by shard into `OUTPUT.parts`, and then writes the output.

    The output is the same, byte for byte, for any number of processes and interruptions: every shard is translated
    as a whole, by one process with one thread.

    Args:
        source: The file to translate.
        output: The file to write.
        settings: Values of plain types; a job continues only with those it began with.
        models: The models that translate; likewise, by the content of their files.

    Raises:
        GlossaError: if the output exists already, the source cannot be read, or an interrupted job had another source,
            other settings or other models.
    """

    def __init__(self, source: Path, output: Path, settings: dict[str, Any], models: Sequence[str] = ()):
        self.source, self.output, self.models = source, output, models
        self.folder = Path(f"{output}.parts")
        refuse_existing(output)
        try:
            self.shards = list(find_shards(source))
            self.stamps = stamp_models(models)
            content = hash_bytes([repr(self.shards).encode()])
            begin_job(self.folder, settings | self.stamps | {f"content of {source}": content})
        except OSError as error:
            raise GlossaError(f"{error.filename}: {error.strerror}.") from error

    def run(self, load: Callable[[], Translate], place: Runner) -> Done:
        """Translate all shards that are left, at a `place`, and write the output.

        `load` is called once in each process. What it returns translates the lines of a shard, given the number of
        the first one, into a file. Raises `GlossaError` if a process is killed, another one runs the same job, or
        source or models change meanwhile.
        """
        shards = {f"{number:06d}": shard for number, shard in enumerate(self.shards)}
        stage = Stage("translating", self.folder, partial(_translator, load, self.source), shards)
        with lock_output(self.output):
            stage.run(place, lambda shard: shard.lines, "lines")
            done = self._merge(stage)
        shutil.rmtree(self.folder, ignore_errors=True)
        return done

    def _merge(self, stage: Stage) -> Done:
        """Write the output from all parts, each as its record says."""
        if stamp_models(self.models) != self.stamps:
            raise GlossaError(
                f"A model has changed while {self.source} was translated. Remove {self.folder} and begin again."
            )
        total = Done()
        for name, shard in stage.items.items():
            done = Done(**stage.result(name))
            if done.lines != shard.lines:
                raise GlossaError(f"{self.folder / name}.json has changed. Remove it; the command makes it again.")
            total.add(done)
        new = self.folder / "output"
        stage.join(".txt", new)
        new.replace(self.output)
        return total


def find_shards(path: Path) -> Iterator[Shard]:
    """The shards of a file, in order; raises `OSError` if it cannot be read."""
    first, start = 1, 0
    with open(path, "rb") as file:
        while lines := list(islice(file, SHARD)):
            size = sum(map(len, lines))
            yield Shard(first, len(lines), start, size, hash_bytes(lines))
            first, start = first + len(lines), start + size


def _translator(load: Callable[[], Translate], source: Path) -> Work:
    return partial(_translate, load(), source)


def _translate(translate: Translate, source: Path, shard: Shard, stem: Path) -> dict:
    """Translate one shard."""
    started = time.process_time()
    with open(source, "rb") as file:
        file.seek(shard.start)
        content = file.read(shard.size)
    if hash_bytes([content]) != shard.stamp:
        raise GlossaError(
            f"{source} has changed while it was translated: lines {shard.first:,} to "
            f"{shard.first + shard.lines - 1:,} are others. Remove {stem.parent} and begin again."
        )
    done = translate(list(BytesIO(content)), shard.first, stem.with_suffix(".txt"))
    done.cpu_seconds = round(time.process_time() - started, 3)
    return asdict(done)
