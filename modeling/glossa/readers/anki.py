"""Sentence pairs of manythings.org/anki. Each archive pairs English (the first column) with another language."""

import logging
from pathlib import Path

from ..base.errors import GlossaError
from .downloads import download, place_of

logger = logging.getLogger(__name__)

PUBLISHER = "https://www.manythings.org/anki/{code}-eng.zip"
MIRROR_2019 = "https://storage.googleapis.com/download.tensorflow.org/data/fra-eng.zip"
PAGE = "https://www.manythings.org/anki/"
REFUSALS = (401, 403, 406, 429)  # status codes of a site that refuses programs
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
            f"source_language is {source!r} and target_language is {target!r}, but every Anki archive has "
            "English ('en') on one side. Set one of the two to 'en', or use another dataset."
        )
    return target if source == "en" else source


def download_anki(language: str) -> Path:
    """Download the archive that pairs English with `language`, a two-letter code such as "fr" (see [`download`]).

    For French, a mirror of the 2019 edition is used if the publisher's site fails. Raises `GlossaError` if there is no
    archive for the language or the download fails.
    """
    if language not in CODES:
        raise GlossaError(f"There is no Anki archive for language {language!r}; allowed are {', '.join(CODES)}.")
    urls = [PUBLISHER.format(code=CODES[language]), *([MIRROR_2019] if language == "fr" else [])]
    failures: list[str] = []
    refused = False
    for url in sorted(urls, key=lambda url: not place_of(url).exists()):
        if failures:
            logger.warning("Falling back to %s, the smaller 2019 edition of the Anki pairs.", url)
        try:
            return download(url)
        except GlossaError as error:
            failures.append(f"{url}: {error.__cause__ or 'the archive arrived damaged'}".splitlines()[0])
            refused |= getattr(getattr(error.__cause__, "response", None), "status_code", None) in REFUSALS
    name = f"{CODES[language]}-eng.zip"
    advice = "The site refuses programs. Download" if refused else "Check the connection, or download"
    raise GlossaError(
        f"The Anki pairs for {language!r} could not be downloaded ({'; '.join(failures)}). {advice} {name} in a "
        f"browser from {PAGE} and give it: --dataset anki --data_path {name}."
    )
