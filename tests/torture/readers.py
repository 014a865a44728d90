"""Damaged files of every format: each is read with every line accounted for, or refused in one line."""

import csv
import gzip
import io
import json
import lzma
import random
import tempfile
import zipfile
from pathlib import Path

import pyarrow
import pyarrow.parquet

from glossa.base.errors import GlossaError
from glossa.base.paths import ending
from glossa.readers.reading import Columns, read_rows

WORDS = [
    "Go", "chat", "été", "Straße", "дом", "猫", "\u202f!", "“yes”", "a,b", "x;y", '"', "''", "\u2028",
    "e\u0301", "🙂", "",
]  # fmt: skip
PIECES = [
    b'"', b'""', b'","', b"\t", b",", b";", b"\n", b"\r", b"\r\n", b"\n\n", b"\0", b"\\", b"{", b"[" * 3000, b"}",
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1a", b"PK\x03\x04", b"\x1f\x8b", b"9" * 5000,
    b"null", b"NaN", b'{"en": 1}', b"x" * 70_000, '"é"'.encode("latin-1"), "жé".encode("utf-16"),
]  # fmt: skip
NAMES = (
    "a.tsv", "a.txt", "a.csv", "a.jsonl", "a.json", "a.parquet", "a.zip", "a.en", "A.TSV.GZ", "a.csv.xz", "a.jsonl.gz",
)  # fmt: skip
NAMED = Columns((("en", "fr"), ("source", "target")))
SWAPPED = Columns((("en", "fr"),), swapped=True)
REQUIRED, ONE = Columns((("en", "fr"),), required=True), Columns((("en", "en"),), required=True)
LINES = Columns((), lines=True)
FAULTS = 5  # that are shown


def torture(count: int, seed: int) -> dict:
    """Read `count` damaged files; see `python -m torture`."""
    figures = {"inputs": 0, "read": 0, "refused": 0, "uncaught": 0, "rows_unaccounted": 0}
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            figures["inputs"] += 1
            outcome, fault = _attempt(random.Random(f"{seed} {number}"), Path(folder))
            figures[outcome] += 1
            if fault:
                faults.append(f"seed {seed}, input {number}: {fault}")
    assert not faults, "\n".join([f"{len(faults)} faults: {figures}", *faults[:FAULTS]])
    return figures


def _attempt(chance: random.Random, folder: Path) -> tuple[str, str]:
    """The outcome of one damaged file (or two aligned ones), and what was wrong with it."""
    name = chance.choice(NAMES)
    columns = LINES if name == "a.en" else chance.choice((NAMED, NAMED, SWAPPED, REQUIRED, ONE, LINES))
    paths = [folder / name]
    paths[0].write_bytes(_file(chance, name))
    if chance.random() < 0.1 and not columns.lines:
        paths.append(folder / chance.choice(("b.fr", "b.fr.gz", "b.txt")))
        paths[1].write_bytes(_file(chance, paths[1].name))
    try:
        rows = list(read_rows(tuple(paths), columns, None))
        pyarrow.table({"source": [row[0] for row in rows], "target": [row[1] for row in rows]})
    except GlossaError as error:
        return "refused", f"{paths}: a message of several lines: {error}" if "\n" in str(error) else ""
    except Exception as error:
        return "uncaught", f"{paths}, {columns}: {type(error).__name__}: {error}"
    expected = _line_count(paths[0], is_text=columns.lines or len(paths) == 2)
    if [row[2] for row in rows] != list(range(1, expected + 1)):
        return "rows_unaccounted", f"{paths}, {columns}: {len(rows)} rows of {expected} lines"
    return "read", ""


def _line_count(path: Path, is_text: bool) -> int:
    """The lines of a file (rows of Parquet), counted by other means than the readers'."""
    content = path.read_bytes()
    if ending(path) == ".parquet" and not is_text:
        return pyarrow.parquet.ParquetFile(path).metadata.num_rows
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            content = archive.read(next(n for n in archive.namelist() if n.lower().endswith((".txt", ".tsv"))))
    elif path.suffix.lower() in (".gz", ".xz"):
        content = {".gz": gzip, ".xz": lzma}[path.suffix.lower()].decompress(content)
    return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def _file(chance: random.Random, name: str) -> bytes:
    """A file of the format that `name` says (or, rarely, another), damaged inside, outside, or not at all."""
    if chance.random() < 0.05:
        name = chance.choice(NAMES)
    if ending(name) == ".parquet":
        return _damaged(chance, _parquet(chance), 0.6)
    content = _damaged(chance, _text(chance, ending(name)), 0.8)
    suffix = Path(name).suffix.lower()
    if suffix == ".gz":
        return _damaged(chance, gzip.compress(content), 0.2)
    if suffix == ".xz":
        return _damaged(chance, lzma.compress(content), 0.2)
    if suffix == ".zip":
        return _damaged(chance, _zip(chance, content), 0.2)
    return content


def _pairs(chance: random.Random) -> list[list[str]]:
    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randrange(8)))

    return [[text(), text()] for _ in range(chance.choice((0, 1, 3, 30, 150)))]


def _text(chance: random.Random, kind: str) -> bytes:
    pairs = _pairs(chance)
    names = chance.choice((["en", "fr"], ["English", "French"], ["target", "source"], ["x", "y"]))
    if kind in (".jsonl", ".json"):
        records = [dict(zip(names, pair, strict=True)) for pair in pairs]
        records = [{"translation": record} for record in records] if chance.random() < 0.3 else records
        lines = [json.dumps(record, ensure_ascii=chance.random() < 0.5) for record in records]
    elif kind == ".csv":
        stream = io.StringIO()
        separator, quoting = chance.choice(",;\t|"), chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        pairs = [[side.replace(" ", "\n", 1) if chance.random() < 0.05 else side for side in pair] for pair in pairs]
        csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator="\n").writerows([names, *pairs])
        lines = stream.getvalue().split("\n")
    else:
        lines = ["\t".join(pair) for pair in ([names, *pairs] if chance.random() < 0.5 else pairs)]
    content = chance.choice(["\n"] * 6 + ["\r\n"] * 3 + ["\r"]).join(lines) + chance.choice(("", "\n"))
    return content.encode(chance.choice(["utf-8"] * 14 + ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"]), "replace")


def _parquet(chance: random.Random) -> bytes:
    pairs = _pairs(chance)
    sources = pyarrow.array([pair[0] for pair in pairs], pyarrow.string())
    kinds = [pyarrow.large_string(), pyarrow.binary(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())]
    column = sources.cast(chance.choice([pyarrow.string(), pyarrow.string(), *kinds]))
    if chance.random() < 0.2:
        column = chance.choice(
            [
                pyarrow.array(range(len(pairs))), pyarrow.array(pairs, pyarrow.list_(pyarrow.string())),
                pyarrow.array([None] * len(pairs), pyarrow.null()),
                _as_text(pyarrow.array([chance.choice(PIECES) for _ in pairs], pyarrow.binary())),
            ]
        )  # fmt: skip
    table = pyarrow.table([column, sources], names=chance.choice((["en", "fr"], ["en", "en"], ["source", "target"])))
    if chance.random() < 0.3:
        nested = table.rename_columns(["en", "fr"]).to_struct_array().combine_chunks()
        table = pyarrow.table({"translation": nested})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream, compression=chance.choice(("none", "snappy", "zstd")))
    return stream.getvalue()


def _as_text(column: pyarrow.Array) -> pyarrow.Array:
    """Bytes as strings, valid or not."""
    return pyarrow.Array.from_buffers(pyarrow.string(), len(column), column.buffers())


def _zip(chance: random.Random, content: bytes) -> bytes:
    stream = io.BytesIO()
    method = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(chance.choice(("fra.txt", "FRA.TSV", "../a.txt", "a\nb.txt", "é\x07.tsv")), content)
        if chance.random() < 0.3:
            archive.writestr("_about.txt", "About")
    return stream.getvalue()


def _damaged(chance: random.Random, content: bytes, share: float) -> bytes:
    """`content` with, in `share` of all cases, some bytes changed, inserted, cut, repeated or exchanged."""
    if chance.random() > share:
        return content
    for _ in range(chance.choice((1, 1, 2, 5))):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.choice((1, 1, 2, 10, 100, 5000)))
        piece = chance.choice([chance.choice(PIECES), chance.randbytes(end - start), b"", content[start:end] * 2])
        content = content[:start] + piece + content[chance.choice((start, end)) :]
    return content
