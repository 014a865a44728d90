"""Files that a recipe names by URL or as a corpus of OPUS: downloaded once, continued after an interruption."""

import hashlib
import json
import logging
import os
import re
import time
import zipfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import datasets
from filelock import FileLock
from huggingface_hub.utils import hf_raise_for_status, http_backoff, http_stream_backoff, tqdm

from .. import __version__
from ..base.errors import GlossaError, http_errors
from ..base.jobs.whole_files import write_whole
from ..base.paths import MASK, OPUS, is_remote, masked

logger = logging.getLogger(__name__)

TIMEOUT = 10  # seconds without a byte
RETRIES = 5  # without a new byte
CHUNK = 1 << 20
# The length and the ranges of an answer refer to the file itself, not to a packed form of it.
HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"glossa-mt/{__version__}"}
MINUTE = timedelta(minutes=1)
OPUS_SERVER = "https://object.pouta.csc.fi"  # GLOSSA_OPUS_SERVER names a mirror


def local_paths(given: Sequence[str], languages: tuple[str, str]) -> list[str]:
    """`given` paths, with the files that were downloaded instead of URLs and corpora of OPUS in two `languages`.

    Raises `GlossaError` if one cannot be downloaded.
    """
    for path in given:
        if is_remote(path) and MASK in path:
            raise GlossaError(
                f"{path} is the address of a recipe that Glossa wrote, without its password or key. Give the whole "
                "address, on the command line or in a recipe of your own."
            )
    return [str(download(_url(path, languages))) if is_remote(path) else path for path in given]


def place_of(url: str) -> Path:
    """Where the local copy of a file is, or will be."""
    name = Path(unquote(urlsplit(url).path)).name or "file"
    folder = hashlib.sha256(url.encode()).hexdigest()[:16]
    return Path(datasets.config.HF_CACHE_HOME, "glossa", "downloads", folder, name)


def download(url: str) -> Path:
    """The local copy of a file: in the Hugging Face cache, under `glossa/downloads`, by its URL.

    It is kept, with its checksum. If the copy was changed, it is downloaded again with a warning. If the file on the
    server has changed, a warning says so and the copy is used, so that a run that began with it can continue. Raises
    `GlossaError` if the server has no such file, the connection fails or an archive arrives damaged.
    """
    check_address(url)
    path = place_of(url)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, record = path.with_name(f"{path.name}.part"), Record(path.with_name(f"{path.name}.json"))
    unreachable: tuple[type[Exception], ...] = (OSError, *http_errors())
    with FileLock(path.with_name(f"{path.name}-lock")):
        if path.exists():
            if record.confirms(path):
                if _has_changed(url, record.read()):
                    logger.warning(
                        "%s has changed on the server since it was downloaded; %s is still used. Remove that file "
                        "to download the new version.",
                        masked(url),
                        path,
                    )
                return path
            logger.warning("%s is no longer what was downloaded; downloading it again.", path)
            path.unlink()
        logger.info("downloading %s", masked(url))
        try:
            fetch(url, partial, record)
        except unreachable as error:
            reason = masked((str(error).splitlines() or [type(error).__name__])[0])
            raise GlossaError(
                f"{masked(url)} could not be downloaded: {reason}. Check the address and the connection; "
                "the next start continues the download. Or fetch the file yourself and give its path."
            ) from error
        if path.suffix.lower() == ".zip" and not is_intact(partial):
            partial.unlink()
            raise GlossaError(
                f"{masked(url)}: the archive arrived damaged. Start again, or fetch it and give its path."
            )
        state = partial.stat()
        record.write(size=state.st_size, sha256=checksum(partial), modified=state.st_mtime_ns)
        os.replace(partial, path)
    return path


def check_address(url: str) -> None:
    """Raise `GlossaError` if a URL has no server, an invalid port or invalid characters."""
    try:
        parts = urlsplit(url)
        problem = None if (parts.hostname or "").encode("idna") and parts.port != 0 else "it names no server"
    except ValueError as error:  # of a name, a port or brackets
        problem = str(error)
    if problem is None and not url.isprintable():
        problem = "it has characters that an address cannot have"
    if problem:
        raise GlossaError(
            f"{masked(url)!r} is no address: {problem}. Give one such as https://host/pairs.tsv, or a file's path."
        )


class Record:
    """The record of a download, in a file next to it.

    `version` is the server's name of this version of the file (its ETag or date), `validator` the same if no other
    version can have it, and `size` its bytes; of a whole file there are also `sha256` and `modified`, the time in
    nanoseconds at which it was written.
    """

    def __init__(self, file: Path):
        self.file = file

    def read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # no file, or one that was cut short
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, **facts: Any) -> None:
        write_whole(self.file, json.dumps(self.read() | facts))

    def confirms(self, path: Path) -> bool:
        """Whether `path` is as recorded. A file that an older version downloaded without a record gets one."""
        known, state = self.read(), path.stat()
        if "sha256" not in known:
            self.write(size=state.st_size, sha256=checksum(path), modified=state.st_mtime_ns)
            return True
        if (known.get("size"), known.get("modified")) == (state.st_size, state.st_mtime_ns):
            return True
        same = known["sha256"] == checksum(path)
        if same:
            self.write(modified=state.st_mtime_ns)
        return same


def fetch(url: str, partial: Path, record: Record) -> None:
    """Download a file to `partial`, or the rest of it if the server still has the version in `record`.

    Raises the errors of the HTTP library, and `OSError` if the file ends early.
    """
    before, idle = -1, 0
    failed, *_ = http_errors()
    cuts: tuple[type[Exception], ...] = (EndedEarly, failed)
    while True:
        size = partial.stat().st_size if partial.exists() else 0
        idle = 0 if size > before else idle + 1
        before = max(before, size)
        try:
            return _continue(url, partial, record)
        except cuts as error:
            if idle == RETRIES or getattr(error, "response", None) is not None:  # the server has answered
                raise
            logger.warning("%s: the connection was cut; the download continues.", masked(url))
            time.sleep(idle)


class EndedEarly(OSError):
    """The connection was closed before the end of a file."""


def _continue(url: str, partial: Path, record: Record) -> None:
    known = record.read()
    start = partial.stat().st_size if partial.exists() else 0
    if start and start == known.get("size"):
        return  # the last start ended between the last byte and the new name
    if not known.get("validator"):
        start = 0
    headers = HEADERS | ({"Range": f"bytes={start}-", "If-Range": known["validator"]} if start else {})
    with http_stream_backoff("GET", url, headers=headers, timeout=TIMEOUT, retry_on_exceptions=()) as response:
        if start and response.status_code == 416:  # this version is shorter than the part already here
            partial.unlink()
            record.file.unlink(missing_ok=True)
            raise EndedEarly("the file on the server is shorter now; it is downloaded again")
        hf_raise_for_status(response)
        if response.status_code == 200 or not _continues(response.headers, start, known):
            if response.status_code != 200:
                record.file.unlink(missing_ok=True)
                partial.unlink()
                raise EndedEarly("the file on the server has changed; it is downloaded again")
            start = 0
        length = response.headers.get("Content-Length")
        size = start + int(length) if length else None
        if not start:
            partial.unlink(missing_ok=True)
            record.write(validator=_validator(response.headers), version=_version(response.headers), size=size)
        with (
            open(partial, "r+b" if start else "wb") as file,
            tqdm(
                desc=partial.stem[-40:], total=size, initial=start, unit="B", unit_scale=True, name="glossa.downloads"
            ) as bar,
        ):
            file.seek(start)
            # Some servers declare a .gz file as a packed form of another one: bytes are taken as they come.
            for chunk in response.iter_raw(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    if size is not None and partial.stat().st_size != size:
        raise EndedEarly(f"{partial.stat().st_size} of {size} bytes arrived")


def _continues(headers: Mapping[str, str], start: int, known: dict[str, Any]) -> bool:
    """Whether a part of a file begins at `start` and is of the version that is known."""
    begins = headers.get("Content-Range", "").removeprefix("bytes ").startswith(f"{start}-")
    return begins and _validator(headers) in (None, known["validator"])


def _version(headers: Mapping[str, str]) -> str | None:
    """What names the version of a file."""
    return headers.get("ETag") or headers.get("Last-Modified")


def _validator(headers: Mapping[str, str]) -> str | None:
    """What `If-Range` takes: a strong ETag, or else a date that is strong (RFC 9110, sections 13.1.5 and 8.8.2.2)."""
    etag, changed = headers.get("ETag"), headers.get("Last-Modified")
    if etag and not etag.startswith("W/"):
        return etag
    try:
        age = parsedate_to_datetime(headers.get("Date", "")) - parsedate_to_datetime(changed or "")
    except (TypeError, ValueError):  # no header, or not a date
        return None
    return changed if age >= MINUTE else None  # a file that has just changed may change again in the same second


def _has_changed(url: str, known: dict[str, Any]) -> bool:
    """Whether the server reports a different version of the file than the known one."""
    unreachable: tuple[type[Exception], ...] = (OSError, *http_errors())
    try:
        response = http_backoff("HEAD", url, headers=HEADERS, timeout=TIMEOUT, max_retries=0, retry_on_exceptions=())
        hf_raise_for_status(response)
    except unreachable as error:
        logger.info("%s: not known whether it has changed: %s", masked(url), masked(str(error)))
        return False
    version, length = _version(response.headers), response.headers.get("Content-Length")
    has_other_name = version and known.get("version") and version != known["version"]
    return bool(has_other_name) or length not in (None, "0", str(known["size"]))


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_intact(path: Path) -> bool:
    """Whether a .zip can be read to its end."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False


def _url(given: str, languages: tuple[str, str]) -> str:
    """The URL of an entry of `data_path`; of OPUS the archive in the Moses format, whose languages are sorted."""
    if not given.startswith(OPUS):
        return given
    name = re.fullmatch(r"([\w.+-]+)/([\w.+-]+)", given.removeprefix(OPUS))
    if not name:
        raise GlossaError(
            f"{given!r} is no corpus of OPUS; give opus:CORPUS/VERSION, such as opus:Books/v1 (https://opus.nlpl.eu)."
        )
    server = os.environ.get("GLOSSA_OPUS_SERVER", OPUS_SERVER).rstrip("/")
    return f"{server}/OPUS-{name[1]}/{name[2]}/moses/{'-'.join(sorted(languages))}.txt.zip"
