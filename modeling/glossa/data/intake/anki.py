"""The sentence pairs of manythings.org/anki: downloaded once, verified at every use.

Each archive pairs English (the first column) with one other language.
"""

import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import datasets
from huggingface_hub.file_download import http_get

from ... import __version__
from ...errors import GlossaError, http_errors
from .downloads import checksum as sha256_of
from .downloads import is_intact

logger = logging.getLogger(__name__)

PUBLISHER = "https://www.manythings.org/anki/{code}-eng.zip"
MIRROR_2019 = "https://storage.googleapis.com/download.tensorflow.org/data/fra-eng.zip"
PAGE = "https://www.manythings.org/anki/"
REFUSALS = (401, 403, 406, 429)  # answers to programs
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
    """The language that is not English. Raises `GlossaError` if neither or both are English."""
    if (source == "en") == (target == "en"):
        raise GlossaError(
            f"source_language is {source!r} and target_language is {target!r}; every Anki archive has "
            "English ('en') on one side. Set one of the two to 'en', or use another data set."
        )
    return target if source == "en" else source


def download_anki(language: str, cache_dir: str | Path | None = None, urls: Sequence[str] | None = None) -> Path:
    """Path of the archive that pairs English with `language` (a two-letter code such as "fr").

    It is stored in `cache_dir` (default: `glossa/anki` in the Hugging Face cache) with its SHA-256 checksum, which is
    verified at every use. `urls` are tried in order (default: the publisher, then for French a mirror of the 2019
    edition). Raises `GlossaError` if the language has no archive or no URL yields an intact one.
    """
    if language not in CODES:
        raise GlossaError(f"No Anki archive is known for language {language!r}; allowed are {', '.join(CODES)}.")
    name = f"{CODES[language]}-eng.zip"
    folder = Path(cache_dir or Path(datasets.config.HF_CACHE_HOME, "glossa", "anki"))
    folder.mkdir(parents=True, exist_ok=True)
    path, checksum = folder / name, folder / f"{name}.sha256"
    if path.exists():
        if checksum.exists() and checksum.read_text().split()[:1] == [sha256_of(path)]:
            return path
        logger.warning("%s does not match its checksum %s; downloading it again.", path, checksum.name)
    if urls is None:
        urls = [PUBLISHER.format(code=CODES[language]), *([MIRROR_2019] if language == "fr" else [])]
    unreachable: tuple[type[Exception], ...] = (OSError, *http_errors())
    failures, refused = [], False
    for url in urls:
        if url == MIRROR_2019:
            logger.warning("Falling back to %s, the smaller 2019 edition of the Anki pairs.", url)
        # Retry damaged archives, but not URLs that answer with an error.
        for _ in range(2):
            try:
                temporary = _fetch(url, folder)
            except unreachable as error:
                failures.append(f"{url}: {error}".splitlines()[0])
                refused |= getattr(getattr(error, "response", None), "status_code", None) in REFUSALS
                break
            if is_intact(temporary):
                checksum.write_text(f"{sha256_of(temporary)}  {name}\n")
                os.replace(temporary, path)
                return path
            temporary.unlink()
            failures.append(f"{url}: the archive arrived damaged")
            logger.warning("%s", failures[-1])
    advice = "The site refuses programs; fetch" if refused else "Check the connection, or fetch"
    raise GlossaError(
        f"The Anki pairs for {language!r} could not be downloaded ({'; '.join(failures)}). {advice} {name} in a "
        f"browser from {PAGE} and give it: --dataset anki --data_path {name}."
    )


def _fetch(url: str, folder: Path) -> Path:
    """Download to a temporary file in `folder`, so that the final path never holds a partial archive."""
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
        try:
            http_get(url, file, headers={"User-Agent": f"glossa-mt/{__version__}"})  # type: ignore[arg-type]
        except BaseException:
            os.unlink(file.name)
            raise
    return Path(file.name)
