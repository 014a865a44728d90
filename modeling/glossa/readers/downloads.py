"""Download of files given by URL or as a corpus of OPUS. Files are cached, and interrupted downloads continue."""

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
# Content-Length and Range must refer to the file itself, not to a compressed form of it.
HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"glossa-mt/{__version__}"}
MINUTE = timedelta(minutes=1)
OPUS_SERVER = "https://object.pouta.csc.fi"  # GLOSSA_OPUS_SERVER names a mirror


def local_paths(given: Sequence[str], languages: tuple[str, str]) -> list[str]:
    """Download the URLs and OPUS corpora in two `languages` among the `given` paths, and return local paths for all.

    Raises `GlossaError` if a download fails.
    """
    for path in given:
        if is_remote(path) and MASK in path:
            raise GlossaError(
                f"{path} comes from a recipe that Glossa wrote, with its password or key removed. Give the complete "
                "URL on the command line or in your own recipe."
            )
    return [str(download(_url(path, languages))) if is_remote(path) else path for path in given]


def place_of(url: str) -> Path:
    """The path of the local copy of a file, which may not exist yet."""
    name = Path(unquote(urlsplit(url).path)).name or "file"
    folder = hashlib.sha256(url.encode()).hexdigest()[:16]
    return Path(datasets.config.HF_CACHE_HOME, "glossa", "downloads", folder, name)


def download(url: str) -> Path:
    """Download a file to `glossa/downloads` in the Hugging Face cache, unless it is there; returns its path.

    The copy is stored with its checksum. If the copy was modified, it is downloaded again with a warning. If the file
    on the server has changed, a warning is logged and the copy is used, so that a run can continue with the same data.
    Raises `GlossaError` if the server has no such file, the connection fails or an archive arrives damaged.
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
                        "%s has changed on the server since it was downloaded. Still using %s. Remove that file to "
                        "download the new version.",
                        masked(url),
                        path,
                    )
                return path
            logger.warning("%s has changed since it was downloaded. Downloading it again.", path)
            path.unlink()
        logger.info("downloading %s", masked(url))
        try:
            fetch(url, partial, record)
        except unreachable as error:
            reason = masked((str(error).splitlines() or [type(error).__name__])[0])
            raise GlossaError(
                f"{masked(url)} could not be downloaded: {reason}. Check the URL and the connection, and run the "
                "command again to continue the download. Or download the file yourself and give its path."
            ) from error
        if path.suffix.lower() == ".zip" and not is_intact(partial):
            partial.unlink()
            raise GlossaError(
                f"{masked(url)}: the archive arrived damaged. Run again, or download it yourself and give its path."
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
        problem = "it has characters that are not allowed in a URL"
    if problem:
        raise GlossaError(
            f"{masked(url)!r} is not a valid URL: {problem}. Give one such as https://host/pairs.tsv, or a file path."
        )


class Record:
    """The record of a download, in a file next to it.

    `version` is the ETag or date of the file on the server, `validator` the same if it is strong (see [`_validator`]),
    and `size` the bytes of the file. For a complete file there are also `sha256` and `modified`, its modification time
    in nanoseconds.
    """

    def __init__(self, file: Path):
        self.file = file

    def read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # the file is missing or incomplete
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, **facts: Any) -> None:
        write_whole(self.file, json.dumps(self.read() | facts))

    def confirms(self, path: Path) -> bool:
        """Whether `path` matches the record. A record is added for a file that an older version downloaded."""
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
            if idle == RETRIES or getattr(error, "response", None) is not None:  # the server has responded
                raise
            logger.warning("%s: the connection was interrupted. Continuing the download.", masked(url))
            time.sleep(idle)


class EndedEarly(OSError):
    """The connection was closed before the end of a file."""


def _continue(url: str, partial: Path, record: Record) -> None:
    known = record.read()
    start = partial.stat().st_size if partial.exists() else 0
    if start and start == known.get("size"):
        return  # interrupted after the last byte, before the file was renamed
    if not known.get("validator"):
        start = 0
    headers = HEADERS | ({"Range": f"bytes={start}-", "If-Range": known["validator"]} if start else {})
    with http_stream_backoff("GET", url, headers=headers, timeout=TIMEOUT, retry_on_exceptions=()) as response:
        if start and response.status_code == 416:  # the file is shorter than the part downloaded so far
            partial.unlink()
            record.file.unlink(missing_ok=True)
            raise EndedEarly("the file on the server is shorter now, so it is downloaded again")
        hf_raise_for_status(response)
        if response.status_code == 200 or not _continues(response.headers, start, known):
            if response.status_code != 200:
                record.file.unlink(missing_ok=True)
                partial.unlink()
                raise EndedEarly("the file on the server has changed, so it is downloaded again")
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
            # Raw bytes, since some servers declare a .gz file as a compressed form of another file.
            for chunk in response.iter_raw(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    if size is not None and partial.stat().st_size != size:
        raise EndedEarly(f"received {partial.stat().st_size} of {size} bytes")


def _continues(headers: Mapping[str, str], start: int, known: dict[str, Any]) -> bool:
    """Whether a partial response begins at `start` and is of the known version."""
    begins = headers.get("Content-Range", "").removeprefix("bytes ").startswith(f"{start}-")
    return begins and _validator(headers) in (None, known["validator"])


def _version(headers: Mapping[str, str]) -> str | None:
    """The identifier of a version of a file."""
    return headers.get("ETag") or headers.get("Last-Modified")


def _validator(headers: Mapping[str, str]) -> str | None:
    """The value for `If-Range`: a strong ETag, or else a strong date (RFC 9110, sections 13.1.5 and 8.8.2.2)."""
    etag, changed = headers.get("ETag"), headers.get("Last-Modified")
    if etag and not etag.startswith("W/"):
        return etag
    try:
        age = parsedate_to_datetime(headers.get("Date", "")) - parsedate_to_datetime(changed or "")
    except (TypeError, ValueError):  # no header, or not a date
        return None
    return changed if age >= MINUTE else None  # a file that just changed may change again in the same second


def _has_changed(url: str, known: dict[str, Any]) -> bool:
    """Whether the server has another version of the file than the known one."""
    unreachable: tuple[type[Exception], ...] = (OSError, *http_errors())
    try:
        response = http_backoff("HEAD", url, headers=HEADERS, timeout=TIMEOUT, max_retries=0, retry_on_exceptions=())
        hf_raise_for_status(response)
    except unreachable as error:
        logger.info("%s: could not check whether it has changed: %s", masked(url), masked(str(error)))
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
    """The URL of an entry of `data_path`; for OPUS, of the archive in Moses format, which has sorted languages."""
    if not given.startswith(OPUS):
        return given
    name = re.fullmatch(r"([\w.+-]+)/([\w.+-]+)", given.removeprefix(OPUS))
    if not name:
        raise GlossaError(
            f"{given!r} is not a corpus of OPUS. Give opus:CORPUS/VERSION, such as opus:Books/v1 "
            "(https://opus.nlpl.eu)."
        )
    server = os.environ.get("GLOSSA_OPUS_SERVER", OPUS_SERVER).rstrip("/")
    return f"{server}/OPUS-{name[1]}/{name[2]}/moses/{'-'.join(sorted(languages))}.txt.zip"
