"""Jobs of `translate --workers` and `distill` whose files are exchanged, or which are killed, between their starts.

However often that happens, the output is that of a job which nobody disturbed, or the job is refused. The processes
are forked from this one, which has imported everything.
"""

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from glossa.inference.corpora import distillation, shards
from glossa.inference.corpora.distillation import Chunk, Job, chunks_of
from glossa.inference.corpora.shards import Done, ShardJob
from glossa.inference.engines.stamps import stamp_models
from glossa.jobs.pool import in_this_process
from glossa.jobs.records import stamp_file

from .forked import ends, kill_after

LINES, SHARD = 40, 4
WORK = 0.002  # seconds for each line, so that kills come in its middle


def torture(count: int, seed: int) -> dict:
    """Disturb `count` jobs; returns counts, and raises if a line is lost, mixed or written twice."""
    order, figures = random.Random(seed), {"jobs": 0, "kills": 0, "refused": 0, "repaired": 0, "wrong": 0}
    before = shards.SHARD, distillation.CHUNK
    shards.SHARD = distillation.CHUNK = SHARD
    try:
        for _ in range(count):
            with tempfile.TemporaryDirectory() as folder:
                _disturb(Path(folder), order, figures)
    finally:
        shards.SHARD, distillation.CHUNK = before
    return figures


def _disturb(folder: Path, order: random.Random, figures: dict) -> None:
    """One job: killed, then one of its files exchanged, then continued."""
    source, model, output = folder / "in.txt", folder / "model", folder / "out"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"old")
    source.write_text("".join(f"line {number}\n" for number in range(LINES)))
    start: Callable = order.choice([_translate, _distill])
    job = partial(start, source, model, output)
    expected = source.read_bytes().upper().replace(b"LINE", b"OLD")
    for _ in range(order.randint(1, 3)):
        figures["kills"] += kill_after(job, order.uniform(0, 0.15))
    figures["jobs"] += 1
    if not output.exists():
        change, is_refused = order.choice(list(_changes(source, model, output)))
        before = _snapshot(folder)
        began = any(path.name == "job.json" for path in before)
        change()
        if ends(job):
            if is_refused and began:
                figures["wrong"] += 1
                raise AssertionError(f"{start.__name__}: {change} went unnoticed")
            figures["repaired"] += not is_refused
            if is_refused:  # the job had not begun, so the changed files are its own
                return
        else:
            figures["refused"] += 1
            assert not output.exists(), f"{start.__name__}: a refused job wrote its output"
            _restore(folder, before)
            assert ends(job), f"{start.__name__} does not go on"
    written = _written(start, output)
    assert written == expected, f"{start.__name__}: {written[:200]!r}"


def _changes(source: Path, model: Path, output: Path) -> Iterator[tuple[Callable[[], object], bool]]:
    """What may happen between two starts, and whether the job must be refused then."""
    lines = source.read_bytes().splitlines(keepends=True)
    yield partial(source.write_bytes, b"".join(lines[:-3])), True
    yield partial(source.write_bytes, b"".join(reversed(lines))), True
    yield partial(source.write_bytes, b"".join(lines).replace(b"5", b"7")), True
    yield partial((model / "model.safetensors").write_bytes, b"new"), True
    yield partial(os.utime, source, (1, 1)), False
    for part in [path for ending in ("txt", "jsonl") for path in Path(f"{output}.parts").glob(f"*.{ending}")]:
        yield partial(part.write_bytes, b""), False
        yield partial(part.write_bytes, part.read_bytes().replace(b"1", b"2")), False


def _translated(line: bytes, model: Path) -> bytes:
    time.sleep(WORK)
    return line.upper().replace(b"LINE", (model / "model.safetensors").read_bytes().upper())


def _translate(source: Path, model: Path, output: Path) -> None:
    job = ShardJob(source, output, {}, [str(model)])
    job.run(partial(partial, _shard, model), in_this_process)


def _shard(model: Path, lines: list[bytes], first: int, path: Path) -> Done:
    path.write_bytes(b"".join(_translated(line, model) for line in lines))
    return Done(len(lines))


def _distill(source: Path, model: Path, output: Path) -> None:
    rows = [(line, None) for line in source.read_text().splitlines(keepends=True)]
    job = Job(output, {"data": stamp_file(source)} | stamp_models([str(model)]))
    job.run(partial(partial, _chunk, model), chunks_of(rows, 1, False), in_this_process)


def _chunk(model: Path, chunk: Chunk, stem: Path) -> dict:
    rows = [{"source": line, "target": _translated(line.encode(), model).decode()} for line, _ in chunk.rows]
    stem.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"texts": len(rows)}


def _written(start: Callable, output: Path) -> bytes:
    """The translations in the output of a job, of which `distill` writes JSON lines."""
    content = output.read_bytes()
    if start is _translate:
        return content
    return "".join(json.loads(row)["target"] for row in content.splitlines()).encode()


def _snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _restore(folder: Path, files: dict[Path, bytes]) -> None:
    for path in list(folder.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
