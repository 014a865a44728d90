"""Paths and URLs in settings. Imports no library, so that settings are checked quickly."""

import difflib
import glob
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from .errors import GlossaError

PACKED = (".gz", ".xz", ".zst")
TABLES = (
    ".tsv", ".tab", ".csv", ".jsonl", ".json", ".parquet", ".xlsx", ".tmx", ".xlf", ".xliff", ".po", ".zip",
)  # fmt: skip

MASK = "***"
_URL = re.compile(r"(?<!\w)\w++://[^\s'\"]+")
_SECRET = re.compile(r"token|key|sig|secret|pass|pwd|auth|cred|session|^code$|^st$", re.I)
OPUS = "opus:"  # before CORPUS/VERSION


def is_remote(path: str | Path) -> bool:
    """Whether an entry of `data_path` is downloaded: a URL, or a corpus of OPUS."""
    return str(path).startswith(("https://", "http://", OPUS))


def masked(text: str) -> str:
    """Replace the users, passwords and keys of the URLs in `text` with `MASK`."""
    return _URL.sub(lambda found: _masked_url(found[0]), text)


def _masked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # not a URL
        return url
    if not (parts.query or "@" in parts.netloc):
        return url
    host = parts.netloc.rpartition("@")[2]
    query = re.sub(r"([^&;=]+)=([^&;]*)", lambda found: _masked_value(found[1], found[2]), parts.query)
    return parts._replace(netloc=f"{MASK}@{host}" if "@" in parts.netloc else host, query=query).geturl()


def _masked_value(name: str, value: str) -> str:
    secret = _SECRET.search(name) or len(value) > 20
    return f"{name}={MASK if secret and value else value}"


def ending(path: str | Path) -> str:
    """The lowercase file extension without that of the compression: ".tsv" for "A.TSV.gz"."""
    path = Path(str(path).lower())
    return Path(path.stem if path.suffix in PACKED else path.name).suffix


def is_table(path: str | Path) -> bool:
    """Whether the file name is that of a table rather than plain text."""
    return ending(path) in TABLES


def file_groups(given: Sequence[str | Path]) -> list[tuple[Path, ...]]:
    """Expand the `given` paths to groups of files, in order. Each group is read independently.

    A folder, or a pattern such as `data/*.tsv`, expands to its files sorted by name. Two paths of plain text files
    form one group, source and target; every other file is its own group. Raises `GlossaError` if a file is missing or
    empty, or if a folder or pattern matches no files, files of several formats or files of an unknown format.
    """
    paths = [Path(path).expanduser() for path in given]
    if len(paths) == 2 and not any(path.is_dir() or _is_pattern(path) or is_table(path) for path in paths):
        for path in paths:
            _check(path)
        return [(paths[0], paths[1])]
    return [(file,) for path in paths for file in _files(path)]


def distinct_names(groups: Sequence[Sequence[str | Path]]) -> list[str]:
    """A short unique name for each group of files: its file names, with as many folders as needed."""
    paths = [[Path(path).parts for path in group] for group in groups]
    longest = max((len(parts) for group in paths for parts in group), default=0)
    names: list[str] = []
    for depth in range(1, longest + 1):
        names = [" + ".join(str(Path(*parts[-depth:])) for parts in group) for group in paths]
        if len(set(names)) == len({tuple(group) for group in paths}):
            break
    return names


def _is_pattern(path: Path) -> bool:
    return not path.exists() and glob.has_magic(str(path))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found, what = [entry for entry in path.iterdir() if not entry.name.startswith(".")], "folder"
    elif _is_pattern(path):
        found, what = [Path(name) for name in glob.glob(str(path), recursive=True)], "pattern"
    else:
        _check(path)
        return [path]
    found.sort()
    if not found:
        raise GlossaError(f"{path} is a {what} without files. Give one that contains files of pairs.")
    formats = {ending(file) if file.is_file() else "folder" for file in found}
    if len(formats) > 1 or not formats <= {*TABLES, ".txt"}:
        names = ", ".join(file.name for file in found[:10]) + (", ..." if len(found) > 10 else "")
        raise GlossaError(
            f"{path} is a {what} of {len(found)} entries that are not all of one known format: {names}. Supported "
            f"formats: {' '.join(TABLES)} .txt (also compressed). Give a pattern such as data/*.tsv, or file paths."
        )
    for file in found:
        _check(file)
    return found


def _check(path: Path) -> None:
    if not path.exists():
        names = [other.name for other in path.absolute().parent.glob("*")]
        near = difflib.get_close_matches(path.name, names, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise GlossaError(f"{path} does not exist.{hint} Give the path of a file of pairs.")
    if path.is_file() and path.stat().st_size == 0:
        raise GlossaError(f"{path} is empty (0 bytes). Give a file with at least one pair.")
