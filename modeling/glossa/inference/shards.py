"""Large files: their lines in shards, which several processes translate, and which survive an interruption."""

import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from io import BytesIO
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from ..data.whole_files import synchronize, write_whole
from ..errors import GlossaError
from .records import (
    check_same,
    locked,
    read_record,
    refuse_existing,
    stamp,
    stamp_file,
    stamp_models,
)

logger = logging.getLogger(__name__)

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
    """What was done with one shard, or with several.

    Attributes:
        lines: Lines translated.
        words: Words of the source, separated by white space.
        cpu_seconds: CPU time of the processes, without their start.
        problems: A row for each line with a problem, as in a report.
        stamp: A stamp of the content of the part that was written.
        terms: How many terms were used and not, as [`glossa.inference.terms.count`].
    """

    lines: int = 0
    words: int = 0
    cpu_seconds: float = 0.0
    problems: list[dict] = field(default_factory=list)
    stamp: str = ""
    terms: dict[str, int] = field(default_factory=dict)

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
        manifest = self.folder / "job.json"
        refuse_existing(output)
        try:
            self.shards = list(find_shards(source))
            self.stamps = stamp_models(models)
            shards = [list(asdict(shard).values()) for shard in self.shards]
            wanted = json.loads(json.dumps({"settings": settings, "shards": shards, "models": self.stamps}))
            if manifest.exists():
                self._check(read_record(manifest), wanted)
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(manifest, json.dumps(wanted))
        except OSError as error:
            raise GlossaError(f"{error.filename}: {error.strerror}.") from error

    def _check(self, saved: dict, wanted: dict) -> None:
        if saved.get("shards") != wanted["shards"]:
            raise GlossaError(
                f"{self.folder} is of a job with another {self.source}: its content has changed. Remove the folder to "
                "translate the file from its beginning."
            )
        old, new = (state.get("settings", {}) | state.get("models", {}) for state in (saved, wanted))
        check_same(old, new, str(self.folder), "remove the folder")

    def run(self, load: Callable[[], Translate], workers: int, modules: Sequence[str] = ("glossa",)) -> Done:
        """Translate all shards that are left, in `workers` processes, and write the output.

        `load` is called once in each process, and needs `modules` (see [`worker_context`]). What it returns
        translates the lines of a shard, given the number of the first one, into a file. Raises `GlossaError` if a
        process is killed, another one runs the same job, or source or models change meanwhile.
        """
        with locked(self.output):
            done = self._translate(load, workers, worker_context(*modules))
        shutil.rmtree(self.folder, ignore_errors=True)
        return done

    def _translate(self, load: Callable[[], Translate], workers: int, context: BaseContext) -> Done:
        left = [index for index in range(len(self.shards)) if not self._is_whole(index)]
        finished = sum(self.shards[index].lines for index in set(range(len(self.shards))) - set(left))
        if left:
            with tqdm(total=sum(shard.lines for shard in self.shards), initial=finished, unit=" lines") as bar:
                self._run(left, load, min(workers, len(left)), context, bar)
        return self._merge()

    def _run(
        self, left: list[int], load: Callable[[], Translate], workers: int, context: BaseContext, bar: tqdm
    ) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"  # for the processes; other numbers of threads may round differently
        with ProcessPoolExecutor(workers, context, _start, (load,)) as pool:
            jobs = [
                pool.submit(_translate, self.source, self.shards[index], self._part(index), self._record(index))
                for index in left
            ]
            try:
                for job in as_completed(jobs):
                    bar.update(job.result())
            except BrokenProcessPool as error:
                raise GlossaError(
                    f"A process was killed, perhaps for lack of memory. Finished parts are in {self.folder}; the same "
                    "command continues. Give fewer --workers if memory was short."
                ) from error
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _part(self, index: int) -> Path:
        return self.folder / f"{index:06d}.txt"

    def _record(self, index: int) -> Path:
        """Written after the part, which is whole if this file is there."""
        return self.folder / f"{index:06d}.json"

    def _is_whole(self, index: int) -> bool:
        """Whether the part of a shard is there as its record says; a damaged one is translated again."""
        if not self._record(index).exists():
            return False
        done = Done(**read_record(self._record(index)))
        part = self._part(index)
        whole = done.lines == self.shards[index].lines and part.is_file() and stamp_file(part) == done.stamp
        if not whole:
            logger.warning("%s is not what was written there; its lines are translated again.", part)
            self._record(index).unlink()
        return whole

    def _merge(self) -> Done:
        """Write the output from all parts, each as its record says."""
        if stamp_models(self.models) != self.stamps:
            raise GlossaError(
                f"A model has changed while {self.source} was translated. Remove {self.folder} and begin again."
            )
        total = Done()
        new = self.folder / "output"
        with open(new, "wb") as file:
            for index, shard in enumerate(self.shards):
                done = Done(**read_record(self._record(index)))
                content = self._part(index).read_bytes()
                if stamp([content]) != done.stamp or done.lines != shard.lines:
                    raise GlossaError(f"{self._part(index)} has changed. The same command translates its lines again.")
                total.lines += done.lines
                total.words += done.words
                total.cpu_seconds += done.cpu_seconds
                total.problems += done.problems
                total.add_terms(done.terms)
                file.write(content)
            synchronize(file)
        new.replace(self.output)
        return total


def worker_context(*modules: str) -> BaseContext:
    """The `multiprocessing` context that starts processes soonest.

    On Linux they are forked from a server process, which has imported `modules` once: importing takes each of them
    seconds of CPU time. Other systems cannot fork safely once libraries have been loaded, so their processes import it
    themselves. The server has the environment variables of the time when the first process was started.
    """
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def find_shards(path: Path) -> Iterator[Shard]:
    """The shards of a file, in order; raises `OSError` if it cannot be read."""
    first, start = 1, 0
    with open(path, "rb") as file:
        while lines := list(islice(file, SHARD)):
            size = sum(map(len, lines))
            yield Shard(first, len(lines), start, size, stamp(lines))
            first, start = first + len(lines), start + size


_loaded: Translate | None = None  # of this process


def _start(load: Callable[[], Translate]) -> None:
    """Prepare a process of the pool: it ends with its parent and with Ctrl-C, and has one thread."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    global _loaded
    _loaded = load()


def _end_with_parent() -> None:
    parent: Any = parent_process()
    parent.join()
    signal.raise_signal(signal.SIGTERM)


def _translate(source: Path, shard: Shard, part: Path, record: Path) -> int:
    """Translate one shard; returns its number of lines."""
    assert _loaded is not None
    started = time.process_time()
    with open(source, "rb") as file:
        file.seek(shard.start)
        content = file.read(shard.size)
    if stamp([content]) != shard.stamp:
        raise GlossaError(
            f"{source} has changed while it was translated: lines {shard.first:,} to "
            f"{shard.first + shard.lines - 1:,} are others. Remove {part.parent} and begin again."
        )
    new = part.with_suffix(".new")
    done = _loaded(list(BytesIO(content)), shard.first, new)
    done.cpu_seconds = round(time.process_time() - started, 3)
    with open(new, "r+b") as file:
        synchronize(file)
    done.stamp = stamp_file(new)
    new.replace(part)
    write_whole(record, json.dumps(asdict(done)))
    return done.lines
