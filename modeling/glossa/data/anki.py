"""The sentence pairs of manythings.org/anki: download once, verify at every use.

Each archive pairs English, in the first column, with one other language.
"""

import hashlib
import logging
import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import datasets
from huggingface_hub.file_download import http_get

from ..errors import GlossaError, http_errors

logger = logging.getLogger(__name__)

PUBLISHER = "https://www.manythings.org/anki/{code}-eng.zip"
MIRROR_2019 = "https://storage.googleapis.com/download.tensorflow.org/data/fra-eng.zip"
# The publisher turns away the default names of HTTP libraries.
USER_AGENT = "Mozilla/5.0 (compatible; Glossa/0.1)"
CODES = {
    "af": "afr", "ar": "ara", "az": "aze", "be": "bel", "bg": "bul", "bn": "ben", "ca": "cat", "cs": "ces",
    "da": "dan", "de": "deu", "el": "ell", "es": "spa", "et": "est", "eu": "eus", "fa": "pes", "fi": "fin",
    "fr": "fra", "gl": "glg", "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun", "hy": "hye", "id": "ind",
    "is": "isl", "it": "ita", "ja": "jpn", "ka": "kat", "ko": "kor", "lt": "lit", "lv": "lvs", "mk": "mkd",
    "mr": "mar", "ms": "zsm", "nb": "nob", "nl": "nld", "no": "nob", "pl": "pol", "pt": "por", "ro": "ron",
    "ru": "rus", "sk": "slk", "sl": "slv", "sr": "srp", "sv": "swe", "ta": "tam", "te": "tel", "th": "tha",
    "tl": "tgl", "tr": "tur", "uk": "ukr", "ur": "urd", "vi": "vie", "zh": "cmn",
}  # fmt: skip


def other_language(source: str, target: str) -> str:
    """The side that is not English. Raises `GlossaError` where neither or both are."""
    if (source == "en") == (target == "en"):
        raise GlossaError(
            f"source_language is {source!r} and target_language is {target!r}; every Anki archive has "
            "English ('en') on one side. Set one of the two to 'en', or use another data set."
        )
    return target if source == "en" else source


def download_anki(language: str, cache_dir: str | Path | None = None, urls: Sequence[str] | None = None) -> Path:
    """Path of the archive that pairs English with `language` (two letters, such as "fr").

    Kept in `cache_dir` (default: `glossa/anki` in the Hugging Face cache) beside its SHA-256, which is verified at
    every use. `urls` (default: the publisher, then for French a mirror of the 2019 edition) are tried in order.
    Raises `GlossaError` for a language without archive, or where no address yields an intact one.
    """
    if language not in CODES:
        raise GlossaError(f"No Anki archive is known for language {language!r}; allowed are {', '.join(CODES)}.")
    name = f"{CODES[language]}-eng.zip"
    folder = Path(cache_dir or Path(datasets.config.HF_CACHE_HOME, "glossa", "anki"))
    folder.mkdir(parents=True, exist_ok=True)
    path, checksum = folder / name, folder / f"{name}.sha256"
    if path.exists():
        if checksum.exists() and checksum.read_text().split()[:1] == [_sha256(path)]:
            return path
        logger.warning("%s does not match its checksum %s; downloading it again.", path, checksum.name)
    if urls is None:
        urls = [PUBLISHER.format(code=CODES[language]), *([MIRROR_2019] if language == "fr" else [])]
    unreachable: tuple[type[Exception], ...] = (OSError, *http_errors())
    failures = []
    for url in urls:
        if url == MIRROR_2019:
            logger.warning("Falling back to %s, the smaller 2019 edition of the Anki pairs.", url)
        # A damaged archive is worth a second try, an address that answers with an error is not.
        for _ in range(2):
            try:
                temporary = _fetch(url, folder)
            except unreachable as error:
                failures.append(f"{url}: {error}".splitlines()[0])
                break
            if _is_intact(temporary):
                checksum.write_text(f"{_sha256(temporary)}  {name}\n")
                os.replace(temporary, path)
                return path
            temporary.unlink()
            failures.append(f"{url}: the archive arrived damaged")
            logger.warning("%s", failures[-1])
    raise GlossaError(
        f"The Anki pairs for {language!r} could not be downloaded ({'; '.join(failures)}). Check the "
        f"connection, or fetch {name} in a browser from https://www.manythings.org/anki/ and give it as data_path."
    )


def _fetch(url: str, folder: Path) -> Path:
    """Downloads to a temporary file in `folder`, so that the final name never holds half an archive."""
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
        try:
            http_get(url, file, headers={"User-Agent": USER_AGENT})  # type: ignore[arg-type]
        except BaseException:
            os.unlink(file.name)
            raise
    return Path(file.name)


def _is_intact(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
