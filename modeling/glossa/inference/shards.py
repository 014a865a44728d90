"""Large files: their lines in shards, which several processes translate, and which survive an interruption."""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from io import BytesIO
from multiprocessing import get_context, parent_process
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import torch
from tqdm.auto import tqdm

from ..errors import GlossaError

SHARD = 20_000  # lines; it decides which sentences share a batch, so it does not depend on the number of processes


@dataclass(frozen=True)
class Shard:
    """Consecutive lines of a file.

    Attributes:
        first: Number of its first line, from 1.
        lines: Their number.
        start: Position of its first byte.
        size: Bytes.
    """

    first: int
    lines: int
    start: int
    size: int


@dataclass
class Done:
    """What was done with one shard, or with several.

    Attributes:
        lines: Lines translated.
        words: Words of the source, separated by white space.
        cpu_seconds: CPU time of the processes, without their start.
        problems: A row for each line with a problem, as in a report.
    """

    lines: int = 0
    words: int = 0
    cpu_seconds: float = 0.0
    problems: list[dict] = field(default_factory=list)


Translate = Callable[[list[bytes], int, Path], Done]


class ShardJob:
    """Translates a file shard by shard into `OUTPUT.parts`, and then writes the output.

    The output is the same, byte for byte, for any number of processes and interruptions: every shard is translated
    as a whole, by one process with one thread.

    Args:
        source: The file to translate.
        output: The file to write.
        settings: Of plain types; a job continues only with those it began with.

    Raises:
        GlossaError: if the output exists already, the source cannot be read, or an interrupted job had another source
            or other settings.
    """

    def __init__(self, source: Path, output: Path, settings: dict[str, Any]):
        self.source, self.output = source, output
        self.folder = Path(f"{output}.parts")
        manifest = self.folder / "job.json"
        if output.exists():
            raise GlossaError(f"{output} exists. Give another --output, or remove it.")
        try:
            stamp = [source.stat().st_size, source.stat().st_mtime_ns]
            wanted = json.loads(json.dumps({"source": stamp, "settings": settings}))
            if manifest.exists():
                saved = json.loads(manifest.read_text(encoding="utf-8"))
                self._check(saved, wanted)
                self.shards = [Shard(*values) for values in saved["shards"]]
                return
            self.shards = list(find_shards(source))
            self.folder.mkdir(parents=True, exist_ok=True)
            shards = [list(asdict(shard).values()) for shard in self.shards]
            _write(manifest, json.dumps(wanted | {"shards": shards}))
        except OSError as error:
            raise GlossaError(f"{error.filename}: {error.strerror}.") from error

    def _check(self, saved: dict, wanted: dict) -> None:
        if saved["source"] != wanted["source"]:
            raise GlossaError(
                f"{self.folder} is of a job with another {self.source}: its size or time has changed. Remove the "
                "folder to translate the file from its beginning."
            )
        changed = [name for name, value in wanted["settings"].items() if saved["settings"].get(name) != value]
        if changed:
            raise GlossaError(
                f"{self.folder} is of a job with another {', '.join(changed)}. Give the same settings to continue it, "
                "or remove the folder."
            )

    def run(self, load: Callable[[], Translate], workers: int) -> Done:
        """Translate all shards that are left, in `workers` processes, and write the output.

        `load` is called once in each process. What it returns translates the lines of a shard, given the number of
        the first one, into a file. Raises `GlossaError` if a process is killed.
        """
        left = [index for index in range(len(self.shards)) if not self._record(index).exists()]
        finished = sum(self.shards[index].lines for index in set(range(len(self.shards))) - set(left))
        if left:
            with tqdm(total=sum(shard.lines for shard in self.shards), initial=finished, unit=" lines") as bar:
                self._run(left, load, min(workers, len(left)), bar)
        return self._merge()

    def _run(self, left: list[int], load: Callable[[], Translate], workers: int, bar: tqdm) -> None:
        os.environ["OMP_NUM_THREADS"] = "1"  # for the processes; other numbers of threads may round differently
        with ProcessPoolExecutor(workers, worker_context("glossa"), _start, (load,)) as pool:
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

    def _merge(self) -> Done:
        total = Done()
        new = self.folder / "output"
        with open(new, "wb") as file:
            for index in range(len(self.shards)):
                done = Done(**json.loads(self._record(index).read_text(encoding="utf-8")))
                total.lines += done.lines
                total.words += done.words
                total.cpu_seconds += done.cpu_seconds
                total.problems += done.problems
                with open(self._part(index), "rb") as part:
                    shutil.copyfileobj(part, file)
        new.replace(self.output)
        shutil.rmtree(self.folder)
        return total


def worker_context(module: str) -> BaseContext:
    """The `multiprocessing` context that starts processes soonest.

    On Linux they are forked from a server process, which has imported `module` once: importing takes each of them
    seconds of CPU time. Other systems cannot fork safely once libraries have been loaded, so their processes import it
    themselves. The server has the environment variables of the time when the first process was started.
    """
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


def find_shards(path: Path) -> Iterator[Shard]:
    """The shards of a file, in order; raises `OSError` if it cannot be read."""
    first, lines, start, position = 1, 0, 0, 0
    with open(path, "rb") as file:
        for line in file:
            lines += 1
            position += len(line)
            if lines == SHARD:
                yield Shard(first, lines, start, position - start)
                first, lines, start = first + lines, 0, position
    if lines:
        yield Shard(first, lines, start, position - start)


_loaded: Translate | None = None  # of this process


def _start(load: Callable[[], Translate]) -> None:
    """Prepare a process of the pool: it ends with its parent and with Ctrl-C, and has one thread."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
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
        lines = list(BytesIO(file.read(shard.size)))
    new = part.with_suffix(".new")
    done = _loaded(lines, shard.first, new)
    done.cpu_seconds = round(time.process_time() - started, 3)
    new.replace(part)
    _write(record, json.dumps(asdict(done)))
    return done.lines


def _write(path: Path, text: str) -> None:
    """Write a file that is either whole or not there."""
    new = path.with_suffix(".part")
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
