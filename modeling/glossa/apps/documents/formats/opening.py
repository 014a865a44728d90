"""Open documents: find the format of a file, and read its texts."""

import importlib
import re
from functools import cache
from pathlib import Path

from ....base.errors import GlossaError
from . import LINES, MODULES
from .format import UNKNOWN, Format, LanguagePair, Opened
from .keys import Keys

START = 256  # bytes by which a format is recognized


@cache
def find_format(name: str) -> Format:
    """The format of this name in `MODULES`."""
    module = importlib.import_module(f".{MODULES[name]}", __package__)
    return next(each for each in module.FORMATS if each.name == name)


@cache
def endings() -> dict[str, str]:
    """The name of the format of each known ending of file names."""
    return {ending: name for name in MODULES for ending in find_format(name).endings}


def ending_of(name: str) -> str:
    """The longest known ending of a file name, or "".

    An ending without a dot, such as strings.xml, is the whole name or follows `_`.
    """
    last = "_" + re.split(r"[/\\]", name.lower())[-1]
    found = (ending for ending in endings() if last.endswith(ending if ending[0] == "." else f"_{ending}"))
    return max(found, key=len, default="")


def format_of(name: str, given: str | None = None) -> str | None:
    """The format `given`, or the format of a file name; None for lines of text and for unknown endings."""
    chosen = given or endings().get(ending_of(name))
    return None if chosen == LINES else chosen


def format_of_file(path: Path) -> str | None:
    """The format of a file by its name and its first bytes; None if it is unknown."""
    name = endings().get(ending_of(path.name))
    recognizes = find_format(name).recognizes if name else None
    if recognizes is None:
        return name
    with open(path, "rb") as file:
        return name if recognizes(file.read(START)) else None


def open_document(path: Path, kind: str, languages: LanguagePair = UNKNOWN, keys: Keys | None = None) -> Opened:
    """Open a file of the format `kind`; `keys` choose the values of JSON and YAML that are translated.

    Raises `GlossaError`, with the line, if the file is broken.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise GlossaError(f"{path}: {error.strerror}.") from error
    found = find_format(kind)
    opened = found.open(content, path, languages) if found.open else _read(found, content, path, languages, keys)
    for document in opened.documents:
        document.language = languages.target or ""
    return opened


def _read(found: Format, content: bytes, path: Path, languages: LanguagePair, keys: Keys | None) -> Opened:
    text, encoding, note = found.encoding.decode(content, path, languages.source)
    document = found.read(text, str(path), languages, *([keys] if found.takes_keys else []))
    document.notes += [note] if note else []
    return Opened([document], lambda texts: found.encoding.encode(texts[0], path, encoding))
