"""Readers of local files, one for each format.

A reader yields `(source, target, line, problem)`: the two texts, the 1-based line number (row number for Parquet), and
the reason why the row is malformed, or "". The source of a malformed row is its raw text.
"""

import csv
import gzip
import json
import logging
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

import pyarrow
import pyarrow.parquet

from ..errors import GlossaError

logger = logging.getLogger(__name__)

Row = tuple[str, str, int, str]
NOT_UTF8 = "not UTF-8"
TABLES = (".tsv", ".csv", ".jsonl", ".json", ".parquet", ".zip")
FORMATS = ".tsv .tab .txt (tab-separated), .csv, .jsonl .json (one object per line), .parquet, all also .gz, and .zip"


@dataclass(frozen=True)
class Columns:
    """The columns that hold the two sides.

    Attributes:
        names: Pairs of column names, tried in order. A pair of equal names reads one column as both sides.
        required: A table without these columns is an error; otherwise its first two columns are read.
        swapped: In a table without a header, the target is the first column.
        lines: The file has no columns; every line is a text, read as both sides.
    """

    names: tuple[tuple[str, str], ...]
    required: bool = False
    swapped: bool = False
    lines: bool = False

    def find(self, present) -> tuple[str, str] | None:
        return next((pair for pair in self.names if set(pair) <= set(present)), None)

    def missing(self, place: str, present: str) -> GlossaError:
        """The error for a table at `place` without these columns; `present` describes the columns it has."""
        first, second = self.names[0]
        if first == second:
            wanted, advice = f"column {first!r}", "Set text_column to one of these."
        else:
            wanted, advice = f"columns {self.names[0]}", "Set source_column and target_column to two of these."
        return GlossaError(f"{place}: no {wanted}; {present}. {advice}")


def is_table(path: str | Path) -> bool:
    """Whether the file name is that of a table, not of plain text."""
    return str(path).lower().removesuffix(".gz").endswith((*TABLES, ".tab"))


def read_rows(paths: tuple[Path, ...], columns: Columns, limit: int | None) -> Iterator[Row]:
    """Rows of one file of pairs, or of two line-aligned text files; at most `limit` rows.

    Raises `GlossaError` if a file is unusable as a whole: damaged, not UTF-8, not aligned.
    """
    rows = _read_aligned(*paths) if len(paths) == 2 else _read_table(paths[0], columns)
    total = undecodable = first = 0
    for row in islice(rows, limit):
        total += 1
        if row[3].startswith(NOT_UTF8):
            undecodable += 1
            first = first or row[2]
        yield row
    # A few damaged lines are noise; many mean another encoding, in which the remaining lines are wrong too.
    if undecodable >= 10 and undecodable > total / 100:
        _wrong_encoding(paths[0], first, f"{undecodable} of {total} lines are not UTF-8", "ISO-8859-1")


def _wrong_encoding(path: Path, line: int, what: str, guess: str):
    raise GlossaError(
        f"{path}, line {line}: wrong encoding: {what}. Only UTF-8 is read. If the file is {guess}, convert it: "
        f"iconv -f {guess} -t UTF-8 {path.name} > utf8-{path.name}"
    )


@contextmanager
def open_binary(path: Path):
    """Open a file for reading bytes, unpacking .gz and .zip. Raises `GlossaError` if an archive is damaged."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_text_member(path, archive)) as file:
                yield file
        else:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                yield file
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, pyarrow.ArrowInvalid) as error:
        raise GlossaError(
            f"{path} cannot be read: {error}. It may be damaged or not be what its name "
            "says; download or pack it again."
        ) from error


def _text_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [item for item in archive.infolist() if not item.is_dir()]
    texts = [item for item in members if item.filename.endswith((".txt", ".tsv"))]
    texts = [item for item in texts if not Path(item.filename).name.startswith(("_", "."))]
    if len(texts) != 1:
        raise GlossaError(
            f"{path} holds {len(texts)} text files among {[item.filename for item in members]}; exactly "
            "one .txt or .tsv beside _about.txt is allowed. Unpack the archive and give the file you mean."
        )
    if texts[0].flag_bits & 1:
        raise GlossaError(f"{path} is protected by a password; unpack it and give {texts[0].filename}.")
    return texts[0]


def _lines(path: Path) -> Iterator[bytes]:
    """Lines without LF or CRLF and without byte order mark. Other line separators are part of the text."""
    with open_binary(path) as file:
        for number, line in enumerate(file):
            if number == 0:
                if line.startswith((b"\xff\xfe", b"\xfe\xff")) or line[:4096].count(0) > len(line[:4096]) // 8:
                    _wrong_encoding(path, 1, "this looks like UTF-16", "UTF-16")
                line = line.removeprefix(b"\xef\xbb\xbf")
            yield line.removesuffix(b"\n").removesuffix(b"\r")


def _decode(line: bytes) -> tuple[str, str]:
    try:
        return line.decode(), ""
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        return (
            line.decode(errors="backslashreplace"),
            f"{NOT_UTF8}: byte 0x{line[error.start]:02x} at column {column}",
        )


def _read_aligned(source_path: Path, target_path: Path) -> Iterator[Row]:
    pairs = enumerate(zip_longest(_lines(source_path), _lines(target_path)), 1)
    for number, (source, target) in pairs:
        if source is None or target is None:
            longer = number + sum(1 for _ in pairs)
            counts = (number - 1, longer) if source is None else (longer, number - 1)
            raise GlossaError(
                f"{source_path} has {counts[0]} lines and {target_path} has {counts[1]}: they cannot be aligned. "
                "Line n of one must translate line n of the other; find the line that is missing."
            )
        source, problem = _decode(source)
        target, target_problem = _decode(target)
        yield source, target, number, problem or (target_problem and f"{target_problem} of the target file")


def _read_table(path: Path, columns: Columns) -> Iterator[Row]:
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if columns.lines:
        yield from _read_text(path)
    elif suffix in (".jsonl", ".json"):
        yield from _read_json_lines(path, columns)
    elif suffix == ".parquet":
        yield from _read_parquet(path, columns)
    elif suffix == ".csv":
        yield from _read_columns(path, columns, _csv_records(path))
    elif suffix in (".tsv", ".tab", ".txt", ".zip"):
        yield from _read_columns(path, columns, _tab_records(path))
    else:
        raise GlossaError(
            f"{path}: no format is known for {suffix or 'a name without ending'!r}; allowed are {FORMATS}. "
            "Two line-aligned text files of any ending are given as two paths, source then target."
        )


def _read_text(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), 1):
        text, problem = _decode(line)
        if "\t" in text.strip() and not problem:
            problem = "a tab within the text, as in a table; a file of pairs must be named .tsv"
        yield text, text, number, problem


def _tab_records(path: Path) -> Iterator[tuple[int, list[str], str, str]]:
    """`(line, fields, raw text, problem)` of each line."""
    for number, line in enumerate(_lines(path), 1):
        text, problem = _decode(line)
        yield number, text.split("\t") if text.strip() else [], text, problem


def _csv_records(path: Path) -> Iterator[tuple[int, list[str], str, str]]:
    read, problems = [], []

    def physical_lines():
        for line in _lines(path):
            text, problem = _decode(line)
            read.append(text)
            problems.append(problem)
            yield text + "\n"

    reader = csv.reader(physical_lines(), strict=True)
    while True:
        start = reader.line_num + 1
        read.clear()
        problems.clear()
        try:
            fields, problem = next(reader), ""
        except StopIteration:
            return
        except csv.Error as error:
            fields, problem = [], f"not CSV: {error}"
        yield start, fields, "\n".join(read), next(filter(None, problems), problem)


def _read_columns(path: Path, columns: Columns, records) -> Iterator[Row]:
    widths: tuple[int, ...]
    source, target, widths = (1, 0, (2, 3)) if columns.swapped else (0, 1, (2, 3))
    for index, (number, fields, raw, problem) in enumerate(records):
        if index == 0:
            header = [field.strip() for field in fields]
            if not columns.required and not columns.find(header):
                header = [name.lower() for name in header]
            found = columns.find(header)
            if found:
                source, target, widths = header.index(found[0]), header.index(found[1]), (len(header),)
                continue
            if columns.required:
                raise columns.missing(f"{path}, line 1", f"the file has {header}")
            logger.info(
                "%s has no header; column %d is the source, column %d the target", path, source + 1, target + 1
            )
        if not problem and fields and len(fields) not in widths:
            allowed = " or ".join(map(str, widths))
            problem = f"{len(fields)} column{'s' * (len(fields) > 1)}, where {allowed} are expected"
            if path.suffix != ".csv" and len(fields) == 1:
                problem = f"no tab: {problem}"
        if problem:
            yield raw, "", number, problem
        elif not fields:
            yield "", "", number, ""
        else:
            yield fields[source], fields[target], number, ""


def pair_of(record: dict, source: str, target: str) -> tuple[str, str, str]:
    """Source, target and problem of a record with the sides under the keys `source` and `target`."""
    for key in (source, target):
        text = record[key]
        if not isinstance(text, str):
            kind = "null" if text is None else f"{type(text).__name__}, not text"
            return str(record), "", f"value of {key!r} is {kind}"
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            return ascii(text), "", f"value of {key!r} holds half a surrogate pair"
    return record[source], record[target], ""


def _read_json_lines(path: Path, columns: Columns) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), 1):
        raw, problem = _decode(line)
        if not raw.strip():
            yield "", "", number, ""
            continue
        try:
            record = None if problem else json.loads(raw)
        except json.JSONDecodeError as error:
            problem = f"not JSON: {error.msg} at column {error.colno}"
        if not problem and not isinstance(record, dict):
            problem = f"not a JSON object but {type(record).__name__}; one object per line is expected"
        if problem:
            yield raw, "", number, problem
            continue
        if isinstance(record.get("translation"), dict) and not columns.required:
            record = record["translation"]
        found = columns.find(record)
        if not found:
            missing = [key for key in dict.fromkeys(columns.names[0]) if key not in record]
            yield raw, "", number, f"no key {' or '.join(map(repr, missing))}; the keys are {list(record)}"
            continue
        source, target, problem = pair_of(record, *found)
        yield raw if problem else source, target, number, problem


def _read_parquet(path: Path, columns: Columns) -> Iterator[Row]:
    with open_binary(path) as stream:
        file = pyarrow.parquet.ParquetFile(stream)
        schema = file.schema_arrow
        nested = "translation" in schema.names and not columns.required
        present = [item.name for item in schema.field("translation").type] if nested else schema.names
        found = columns.find(present)
        if not found:
            raise columns.missing(str(path), f"the file has {present}")
        number = 0
        for batch in file.iter_batches(columns=["translation"] if nested else sorted(set(found))):
            for record in batch.to_pylist():
                number += 1
                record = record["translation"] if nested else record
                source, target, problem = pair_of(record or dict.fromkeys(found), *found)
                yield source, target, number, problem
