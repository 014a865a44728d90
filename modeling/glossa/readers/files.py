"""Lines of local files, plain or compressed. Memory is bounded for any content."""

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow

from ..base.errors import GlossaError
from ..base.paths import PACKED, ending

MAX_LINE = 1 << 20  # bytes; the longest sentences of real corpora have a few thousand
MEMBERS = (".csv", ".jsonl", ".json", ".tmx", ".xlf", ".xliff", ".po")  # read from a .zip without text files
BOM = b"\xef\xbb\xbf"
NOT_UTF8 = "not UTF-8"
# Errors that the libraries raise for damaged files.
DAMAGE = (
    OSError, EOFError, ValueError, RuntimeError, MemoryError, OverflowError, struct.error, zlib.error, lzma.LZMAError,
    zipfile.BadZipFile, pyarrow.ArrowException,
)  # fmt: skip


def _open_zst(path: Path, mode: str) -> pyarrow.NativeFile:
    return pyarrow.CompressedInputStream(pyarrow.OSFile(str(path), mode), "zstd")


OPENERS: dict[str, Callable] = {".gz": gzip.open, ".xz": lzma.open, ".zst": _open_zst}


@contextmanager
def damage_refused(path: Path):
    """Convert library errors for a damaged file to `GlossaError`."""
    try:
        yield
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise GlossaError(
            f"{path} cannot be read: {reason}. It may be damaged or of another format than its name says. Download or "
            "compress it again."
        ) from error


@contextmanager
def open_binary(path: Path, member: str | None = None):
    """Open a file for reading bytes, decompressing .gz, .xz, .zst and .zip.

    Of a .zip, `member` is read; by default its single text file, or its single file of pairs in another format. Raises
    `GlossaError` if the file is damaged.
    """
    with damage_refused(path):
        suffix = path.suffix.lower()
        if suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_member(path, archive, member)) as file:
                yield io.BufferedReader(file)
        elif suffix in OPENERS:
            with OPENERS[suffix](path, "rb") as file:
                yield io.BufferedReader(file)  # its readline is several times faster
        else:
            with open(path, "rb") as file:
                yield file


def _member(path: Path, archive: zipfile.ZipFile, name: str | None) -> zipfile.ZipInfo:
    member = archive.getinfo(name) if name else _text_member(path, archive)
    if member.flag_bits & 1:
        raise GlossaError(f"{path} is protected by a password. Unpack it and give {member.filename!r}.")
    return member


def _text_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [item for item in archive.infolist() if not item.is_dir()]
    texts = [item for item in members if item.filename.lower().endswith((".txt", ".tsv"))]
    texts = [item for item in texts if not Path(item.filename).name.startswith(("_", "."))]
    others = [item for item in members if ending(item.filename) in MEMBERS]
    if not texts and others:
        if len(others) > 1:
            names = ", ".join(item.filename for item in others[:10])
            raise GlossaError(
                f"{path} contains {len(others)} files of pairs, {names}, but only one is allowed. Unpack the archive "
                "and give the file to read."
            )
        return others[0]
    if len(texts) != 1:
        raise GlossaError(
            f"{path} contains {len(texts)} text files among {[item.filename for item in members[:10]]}; exactly "
            "one .txt or .tsv apart from _about.txt is allowed. Unpack the archive and give the file to read."
        )
    return texts[0]


def member_ending(path: Path) -> str:
    """The extension of the file that is read from a .zip, such as ".tmx"."""
    with damage_refused(path), zipfile.ZipFile(path) as archive:
        return ending(_text_member(path, archive).filename)


def aligned_members(path: Path) -> dict[str, str]:
    """The two members, by language, of a .zip in the Moses format of OPUS, such as `X.en-fr.en`; otherwise empty.

    Raises `GlossaError` if the archive is damaged or has several such pairs.
    """
    with damage_refused(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    pairs: dict[str, dict[str, str]] = {}
    for name in names:
        stem, _, language = name.rpartition(".")
        languages = stem.rpartition("/")[2].rpartition(".")[2].rsplit("-", 2)[-2:]
        if language in languages and len(languages) == 2 and all(languages):
            pairs.setdefault(stem, {})[language] = name
    whole = [members for members in pairs.values() if len(members) == 2]
    if len(whole) > 1:
        names = sorted(name for pair in whole for name in pair.values())
        raise GlossaError(
            f"{path} contains {len(whole)} pairs of aligned files: {names[:10]}. Unpack the archive and give the "
            "paths of the two files to read."
        )
    return whole[0] if whole else {}


def lines(path: Path, member: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield `(text, problem)` for every line of a file, or of `member` of a .zip.

    The text excludes LF, CRLF and the byte order mark; other line separators are part of it. A line with a problem
    must not be used: it is not UTF-8, contains NUL or has `MAX_LINE` bytes or more. Raises `GlossaError` for a damaged
    file, for UTF-16 and for lines that end with CR alone.
    """
    with open_binary(path, member) as file:
        raw = iter(partial(file.readline, MAX_LINE), b"")
        first = next(raw, b"")
        _check_start(path, first)
        for line in chain([first.removeprefix(BOM)] if first else [], raw):
            if len(line) >= MAX_LINE - len(BOM) and not line.endswith(b"\n"):
                while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield line[:80].decode(errors="backslashreplace"), f"over {MAX_LINE} bytes in one line"
            else:
                yield _decode(line.removesuffix(b"\n").removesuffix(b"\r"))


def _decode(line: bytes) -> tuple[str, str]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        problem = f"{NOT_UTF8}: byte 0x{line[error.start]:02x} at column {column}"
        return line.decode(errors="backslashreplace"), problem
    return text, "a NUL character" if "\0" in text else ""


def _check_start(path: Path, line: bytes) -> None:
    if name := wide_encoding(line):
        raise wrong_encoding(path, 1, f"this looks like {name}", name)
    if not line.endswith(b"\n") and b"\r" in line.rstrip(b"\r"):
        raise GlossaError(
            f"{path}, line 1: lines end with CR alone, as on old Macs. Only LF and CRLF are supported. Convert it: "
            f"tr '\\r' '\\n' < {path.name} > lf-{path.name}"
        )


def wide_encoding(start: bytes) -> str:
    """The name for `iconv` of a UTF-16 or UTF-32 encoding, detected from the first bytes of a file; otherwise "".

    Without a byte order mark, the positions of zero bytes show the encoding.
    """
    start = start[:4096]
    for mark, name in ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16")):
        if start.startswith(mark):
            return name
    if start.startswith(b"\xfe\xff"):
        return "UTF-16"
    if start.count(0) <= max(1, len(start) // 8):
        return ""
    even, odd = start[::2].count(0), start[1::2].count(0)
    width = "32" if min(even, odd) > len(start) // 5 else "16"
    return f"UTF-{width}{'BE' if even > odd or start[:1] == bytes(1) else 'LE'}"


def wrong_encoding(path: Path, line: int, what: str, guess: str) -> GlossaError:
    packed = path.suffix.lower() in (*PACKED, ".zip")
    name, unpack = (path.stem, "unpack it and ") if packed else (path.name, "")
    return GlossaError(
        f"{path}, line {line}: wrong encoding: {what}. Only UTF-8 is supported. If the file is {guess}, {unpack}"
        f"convert it: iconv -f {guess} -t UTF-8 {name} > utf8-{name}"
    )
