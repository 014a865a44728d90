"""Records of long jobs: hashes of their input and output, and locks against other processes."""

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

# Parts of the messages for a full disk, from the system and from NumPy.
FULL = [*map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)), "requested and"]


@contextmanager
def lock_output(output: Path) -> Iterator[None]:
    """Lock `output` against other processes until the block or this process ends.

    Raises `GlossaError` if another process is writing `output`, if it exists, or if the disk is full.
    """
    with lock_path(output, "--output"):
        refuse_existing(output)  # another process may just have finished it
        with _full_disk_refused(output):
            yield


@contextmanager
def lock_path(path: Path, option: str) -> Iterator[None]:
    """Lock the file or folder of the setting `option` until the block or this process ends.

    Raises `GlossaError` if another process is using it.
    """
    lock = FileLock(f"{path}.locked")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise GlossaError(f"Another process is writing {path}. Wait for it, or give another {option}.") from error
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
        causes: list[BaseException] = [error]  # the cause of an error in another process is text
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        full = [word for word in FULL for cause in causes if word in str(cause)]
        if not full:
            raise
        raise GlossaError(
            f"The disk is full, so {output} cannot be written: {full[0]}. Finished work is kept. Free some space, and "
            "run the same command to continue."
        ) from error


def refuse_existing(output: Path) -> None:
    """Raise `GlossaError` if `output` exists or is a URL."""
    if found := re.match(r"(\w\w+):/", str(output)):
        raise GlossaError(
            f"--output is {output}, but jobs write to a folder that all machines see, not to {found[1]}://. Give a "
            "folder and copy the result, or mount the storage."
        )
    if output.exists():
        raise GlossaError(f"{output} exists. Give another --output, or remove it.")


def hash_bytes(chunks: Iterable[bytes]) -> str:
    """The XXH3 hash of the concatenated chunks, in hexadecimal."""
    digest = xxhash.xxh3_128()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def hash_file(path: Path) -> str:
    """The hash of the content of a file, as [`hash_bytes`]."""
    with open(path, "rb") as file:
        return hash_bytes(iter(lambda: file.read(1 << 20), b""))


def hash_texts(texts: Iterable[str | None]) -> str:
    """The hash of texts in order; None differs from an empty text."""
    return hash_bytes(
        "\x00\x01"[text is None].encode() + (text or "").encode("utf-8", "surrogatepass") for text in texts
    )


def check_same(saved: dict[str, Any], wanted: dict[str, Any], place: str, remedy: str) -> None:
    """Raise `GlossaError`, with the names of the values, if an interrupted job had other values."""
    changed = [name for name in {**wanted, **saved} if saved.get(name) != wanted.get(name)]
    if changed:
        raise GlossaError(
            f"{place} belongs to a job with different {', '.join(changed)}. Give the same settings and files to "
            f"continue it, or {remedy}."
        )


def begin_job(folder: Path, values: dict[str, Any]) -> None:
    """Create the folder of a job, and record the values that determine its result.

    Raises `GlossaError` if the folder belongs to a job with other values, or is a link.
    """
    if folder.is_symlink():
        raise GlossaError(f"{folder} is a link. Remove it, or give another --output.")
    manifest = folder / "job.json"
    wanted = json.loads(json.dumps(values))
    if manifest.exists():
        check_same(read_record(manifest), wanted, str(folder), "remove the folder")
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(manifest, json.dumps(wanted))


def read_record(path: Path, remedy: str = "Remove it and the job's other files.") -> dict:
    """Read a JSON file of a job. Raises `GlossaError`, with the remedy, if the file is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise GlossaError(f"{path} is damaged: {error}. {remedy}") from error
    if not isinstance(found, dict):
        raise GlossaError(f"{path} is damaged. {remedy}")
    return found
