"""The record of a long job: hashes of what it reads and writes, and a lock against other processes."""

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xxhash
from filelock import FileLock, Timeout

from ..errors import GlossaError
from .whole_files import write_whole

# What the errors of a full disk say: the system's, and NumPy's.
FULL = [*map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)), "requested and"]


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Keep other processes from writing `output`, until the end of the block or of this process.

    Raises `GlossaError` if another process is writing it, if it is finished, or if the disk is full.
    """
    with alone(output, "--output"):
        refuse_existing(output)  # the other one may just have ended
        with _full_disk_refused(output):
            yield


@contextmanager
def alone(path: Path, option: str) -> Iterator[None]:
    """Keep other processes from a file or folder that `option` names, until the end of the block or of this process.

    Raises `GlossaError` if another process is using it.
    """
    lock = FileLock(f"{path}.locked")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise GlossaError(f"Another process is writing {path}. Wait for its end, or give another {option}.") from error
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


@contextmanager
def _full_disk_refused(output: Path) -> Iterator[None]:
    try:
        yield
    except GlossaError:
        raise
    except Exception as error:
        causes: list[BaseException] = [error]  # that of an error in another process is text
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        full = [word for word in FULL for cause in causes if word in str(cause)]
        if not full:
            raise
        raise GlossaError(
            f"The disk is full, {output} cannot be written: {full[0]}. What is finished stays; free some space, and "
            "the same command continues."
        ) from error


def refuse_existing(output: Path) -> None:
    """Raise `GlossaError` if `output` is there, or is a URL."""
    if found := re.match(r"(\w\w+):/", str(output)):
        raise GlossaError(
            f"--output is {output}, but jobs write into folders that all machines see, not to {found[1]}://. Give a "
            "folder, and copy the result, or mount the store."
        )
    if output.exists():
        raise GlossaError(f"{output} exists. Give another --output, or remove it.")


def stamp(chunks: Iterable[bytes]) -> str:
    """A hash of bytes."""
    digest = xxhash.xxh3_128()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def stamp_file(path: Path) -> str:
    """A hash of the content of a file."""
    with open(path, "rb") as file:
        return stamp(iter(lambda: file.read(1 << 20), b""))


def stamp_texts(texts: Iterable[str | None]) -> str:
    """A hash of texts in their order."""
    return stamp("\x00\x01"[text is None].encode() + (text or "").encode("utf-8", "surrogatepass") for text in texts)


def check_same(saved: dict[str, Any], wanted: dict[str, Any], place: str, remedy: str) -> None:
    """Raise `GlossaError` if an interrupted job had other values, which are named."""
    changed = [name for name in {**wanted, **saved} if saved.get(name) != wanted.get(name)]
    if changed:
        raise GlossaError(
            f"{place} is of a job with different {', '.join(changed)}. Give the same settings and files to continue "
            f"it, or {remedy}."
        )


def begin(folder: Path, values: dict[str, Any]) -> None:
    """Create the folder of a job, and write the values that decide its result into it.

    Raises `GlossaError` if the folder is of a job with other values.
    """
    manifest = folder / "job.json"
    wanted = json.loads(json.dumps(values))
    if manifest.exists():
        check_same(read_record(manifest), wanted, str(folder), "remove the folder")
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(manifest, json.dumps(wanted))


def read_record(path: Path, remedy: str = "Remove it and the job's other files.") -> dict:
    """Read what a job wrote as JSON. Raises `GlossaError`, with the remedy, if the file is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise GlossaError(f"{path} is damaged: {error}. {remedy}") from error
    if not isinstance(found, dict):
        raise GlossaError(f"{path} is damaged. {remedy}")
    return found
