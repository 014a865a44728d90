"""Files that a recipe names by URL or as a corpus of OPUS: downloaded once, continued where a download was cut."""

import hashlib
import logging
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import datasets
from filelock import FileLock
from huggingface_hub.file_download import http_get

from ..errors import GlossaError, http_errors
from .arguments import DataArguments
from .paths import OPUS, is_remote

logger = logging.getLogger(__name__)

OPUS_SERVER = "https://object.pouta.csc.fi"  # GLOSSA_OPUS_SERVER names a mirror


def local_paths(given: Sequence[str], arguments: DataArguments) -> list[str]:
    """`given` paths, with the files that were downloaded instead of URLs and corpora of OPUS.

    Raises `GlossaError` if one cannot be downloaded.
    """
    languages = (arguments.source_language, arguments.target_language)
    return [str(download(_url(path, languages))) if is_remote(path) else path for path in given]


def download(url: str) -> Path:
    """The local copy of a file: in the Hugging Face cache, under `glossa/downloads`, by its URL.

    It is kept without asking the server again. Raises `GlossaError` if the server has no such file, the connection
    fails or an archive arrives damaged.
    """
    name = Path(unquote(urlsplit(url).path)).name or "file"
    folder = Path(datasets.config.HF_CACHE_HOME, "glossa", "downloads", hashlib.sha256(url.encode()).hexdigest()[:16])
    folder.mkdir(parents=True, exist_ok=True)
    path, partial = folder / name, folder / f"{name}.part"
    unreachable: tuple[type[Exception], ...] = (OSError, *http_errors())
    with FileLock(folder / f"{name}-lock"):
        if path.exists():
            return path
        logger.info("downloading %s", url)
        try:
            with open(partial, "ab") as file:
                http_get(url, file, resume_size=file.tell())  # type: ignore[arg-type]
        except unreachable as error:
            raise GlossaError(
                f"{url} could not be downloaded: {str(error).splitlines()[0]}. Check the address and the connection; "
                "the next start continues the download. Or fetch the file yourself and give its path."
            ) from error
        if path.suffix.lower() == ".zip" and not is_intact(partial):
            partial.unlink()
            raise GlossaError(f"{url}: the archive arrived damaged. Start again, or fetch it and give its path.")
        os.replace(partial, path)
    return path


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
