"""The files that a setting names. This module imports no library, so that settings are checked quickly."""

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
_URL = re.compile(r"\w+://[^\s'\"]+")
_SECRET = re.compile(r"token|key|sig|secret|pass|pwd|auth|cred|session|^code$|^st$", re.I)
OPUS = "opus:"  # before CORPUS/VERSION


def is_remote(path: str | Path) -> bool:
    """Whether an entry of `data_path` is downloaded: a URL, or a corpus of OPUS."""
    return str(path).startswith(("https://", "http://", OPUS))


def masked(text: str) -> str:
    """`text`, in which the users, passwords and keys of URLs are replaced by `MASK`."""
    return _URL.sub(lambda found: _masked_url(found[0]), text)


def _masked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # it is no URL
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
    """The lower-case ending of a file name without the ending of its packing: ".tsv" of "A.TSV.gz"."""
    path = Path(str(path).lower())
    return Path(path.stem if path.suffix in PACKED else path.name).suffix


def is_table(path: str | Path) -> bool:
    """Whether the file name belongs to a table, not to plain text."""
    return ending(path) in TABLES


def file_groups(given: Sequence[str | Path]) -> list[tuple[Path, ...]]:
    """The files of `given` paths in their order, in groups that are read by themselves.

    A folder, or a pattern such as `data/*.tsv`, gives its files sorted by name. Two paths of plain text files are one
    group, source and target; every other file is a group. Raises `GlossaError` if a file does not exist or is empty,
    or if a folder or pattern gives no files, files of several formats or of one that is not known.
    """
    paths = [Path(path).expanduser() for path in given]
    if len(paths) == 2 and not any(path.is_dir() or _is_pattern(path) or is_table(path) for path in paths):
        for path in paths:
            _check(path)
        return [(paths[0], paths[1])]
    return [(file,) for path in paths for file in _files(path)]


def distinct_names(groups: Sequence[Sequence[str | Path]]) -> list[str]:
    """A short name of each group of files: the names of its files, with folders if others have the same names."""
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
        raise GlossaError(f"{path} is a {what} without files; give one that has files of pairs.")
    formats = {ending(file) if file.is_file() else "folder" for file in found}
    if len(formats) > 1 or not formats <= {*TABLES, ".txt"}:
        names = ", ".join(file.name for file in found[:10]) + (", ..." if len(found) > 10 else "")
        raise GlossaError(
            f"{path} is a {what} of {len(found)} entries that are not all of one known format: {names}. Allowed is "
            f"one of {' '.join(TABLES)} .txt (also packed). Give a pattern such as data/*.tsv, or the paths of the "
            "files."
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
        raise GlossaError(f"{path} is empty (0 bytes); give a file with at least one pair.")
