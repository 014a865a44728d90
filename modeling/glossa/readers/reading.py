"""Readers of local files, one per format.

A reader yields a row `(source, target, line, problem)` for every line of a file, or row of Parquet: the two texts, the
1-based number, and "" or the reason why the line is not a pair. The reason is one of `SET_ASIDE`, possibly followed by
a colon and details, or describes what is malformed. In a row with a problem, the source is the raw text.
"""

import csv
import json
import logging
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path

from ..base.errors import GlossaError
from ..base.paths import PACKED, ending
from .columns import CONTINUED, HEADER, Columns, Row, is_header, keyed_pair
from .files import NOT_UTF8, aligned_members, lines, member_ending, wrong_encoding
from .formats import Record, excel_records, is_json_array, read_json_array, read_po, read_xml
from .parquet import read_parquet

logger = logging.getLogger(__name__)

FORMATS = (
    ".tsv .tab .txt (tab-separated), .csv, .jsonl .json, .tmx .xlf .xliff .po, also .gz .xz .zst; .parquet, .xlsx and "
    ".zip"
)
OF_THE_TARGET = " of the target file"  # suffix for a problem in the second of two files
SEPARATORS = ",;\t|"
SAMPLED = 100  # lines from which the separator and the quoting of a table are detected
# A quoted field in tab-separated lines; it may span lines, but has no tab.
_QUOTED = re.compile(r'(?:(?<=[\t\n])|\A)"((?:[^"\t]|"")*)"(?=[\t\n]|\Z)')
_WRAPPED = re.compile(r'".*"')
_NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?', re.I)
PREAMBLE = 10  # maximum number of records before a header, such as a title and a date
QUOTED_LINES = 10  # maximum lines of a quoted field; a quote that stays open for longer is a stray one


def read_rows(paths: tuple[Path, ...], columns: Columns, limit: int | None) -> Iterator[Row]:
    """Rows of a file of pairs or of two line-aligned text files; at most `limit` rows, not counting headers.

    Raises `GlossaError` if a file is unusable as a whole: damaged, not UTF-8, not aligned.
    """
    total = set_aside_rows = 0
    undecodable: dict[Path, list[int]] = {path: [] for path in paths}
    for row in read_aligned(*paths) if len(paths) == 2 else _read_table(paths[0], columns):
        yield row
        total += 1
        if row[3]:
            set_aside_rows += row[3] in (HEADER, CONTINUED)
            if row[3].startswith(NOT_UTF8):
                undecodable[paths[-1 if row[3].endswith(OF_THE_TARGET) else 0]].append(row[2])
        if total - set_aside_rows == limit:
            break
    # A few damaged lines are noise. Many indicate another encoding, so that the remaining lines are wrong too.
    for path, numbers in undecodable.items():
        if len(numbers) > total / 100 and (len(numbers) >= 10 or len(numbers) >= total / 2):
            # Windows-1252 has all characters of Latin-1, and typographic quotation marks and dashes.
            raise wrong_encoding(path, numbers[0], f"{len(numbers)} of {total} lines are not UTF-8", "WINDOWS-1252")


def read_aligned(source_path: Path, target_path: Path, *members: str) -> Iterator[Row]:
    """Rows of two text files, or of two `members` of a .zip."""
    first, second = members or (None, None)
    names = [", ".join(map(str, filter(None, side))) for side in ((source_path, first), (target_path, second))]
    pairs = enumerate(zip_longest(lines(source_path, first), lines(target_path, second)), 1)
    for number, (source, target) in pairs:
        if source is None or target is None:
            longer = number + sum(1 for _ in pairs)
            counts = (number - 1, longer) if source is None else (longer, number - 1)
            raise GlossaError(
                f"{names[0]} has {counts[0]} lines and {names[1]} has {counts[1]}, so they are not aligned. Line n of "
                "one must be the translation of line n of the other. Find the missing line."
            )
        yield source[0], target[0], number, source[1] or (target[1] and target[1] + OF_THE_TARGET)


def _read_table(path: Path, columns: Columns) -> Iterator[Row]:
    suffix = ending(path)
    if suffix == ".zip" and not columns.lines and not aligned_members(path):
        suffix = member_ending(path)
    if columns.lines:
        yield from _read_text(path)
    elif suffix == ".json" and is_json_array(path):
        yield from read_json_array(path, columns)
    elif suffix in (".jsonl", ".json"):
        yield from _read_json_lines(path, columns)
    elif suffix == ".parquet" and path.suffix.lower() not in PACKED:
        yield from read_parquet(path, columns)
    elif suffix == ".xlsx" and path.suffix.lower() not in PACKED:
        yield from _read_columns(path, columns, excel_records(path))
    elif suffix in (".tmx", ".xlf", ".xliff"):
        yield from read_xml(path, columns)
    elif suffix == ".po":
        yield from read_po(path, columns)
    elif suffix == ".zip":
        members = aligned_members(path)
        found = columns.find(list(members))
        if not found:
            raise columns.missing(str(path), f"its languages are {list(members)}")
        yield from read_aligned(path, path, *(members[language] for language in found))
    elif suffix == ".csv":
        yield from _read_columns(path, columns, _csv_records(path))
    elif suffix in (".tsv", ".tab", ".txt"):
        yield from _read_columns(path, columns, _tab_records(path))
    else:
        raise GlossaError(
            f"{path}: unknown format {''.join(path.suffixes) or 'of a name without extension'!r}; allowed are "
            f"{FORMATS}. Give two line-aligned text files with any extension as two paths, source then target."
        )


def _read_text(path: Path) -> Iterator[Row]:
    for number, (text, problem) in enumerate(lines(path), 1):
        if "\t" in text.strip() and not problem:
            problem = "a tab in the text, as in a table; a file of pairs must be named .tsv"
        yield text, text, number, problem


def _tab_records(path: Path) -> Iterator[Record]:
    """Records of tab-separated lines. Quotation marks are text, unless the first lines come from a spreadsheet."""
    stream = lines(path)
    sample = list(islice(stream, SAMPLED))
    stream = chain(sample, stream)
    usable = [text for text, problem in sample if not problem]
    if width := _quoted_width(usable):
        logger.info("%s: reading fields as quoted by a spreadsheet", path)
        yield from _quoted_records(stream, "\t", width)
        return
    literal = 0  # the first line with a field in quotation marks
    for number, (text, problem) in enumerate(stream, 1):
        fields = text.split("\t") if text.strip() else []
        if not literal and '"' in text and any(map(_WRAPPED.fullmatch, fields)):
            literal = number
        yield number, fields, text, problem
    if literal:
        logger.warning(
            "%s, line %d: the quotation marks around a field are read as text. If a spreadsheet added them, save the "
            "table as .csv.", path, literal,
        )  # fmt: skip


def _quoted_width(texts: list[str]) -> int:
    """The number of fields of tab-separated lines with CSV quoting, as from a spreadsheet; 0 for other lines.

    All lines must have the same number of fields. At least one field must have doubled quotes or several lines, which
    plain text in quotation marks does not have.
    """
    for end in range(len(texts), max(len(texts) - QUOTED_LINES, 0), -1):
        try:
            records = list(csv.reader((f"{text}\n" for text in texts[:end]), delimiter="\t", strict=True))
        except csv.Error as error:
            if str(error) == "unexpected end of data":
                continue  # the last record continues after the sample
            return 0
        fields = [field[1] for field in _QUOTED.finditer("\n".join(texts[:end]))]
        lines_of = max((field.count("\n") + 1 for field in fields), default=0)
        widths = {len(record) for record in records if record}
        shown = any('""' in field or "\n" in field for field in fields) and lines_of <= QUOTED_LINES
        return widths.pop() if shown and len(widths) == 1 else 0
    return 0


def _csv_records(path: Path) -> Iterator[Record]:
    """Records of a .csv. The first line may set the separator, such as `sep=;` for Excel."""
    stream = lines(path)
    sample = list(islice(stream, SAMPLED))
    named = _NAMED_SEPARATOR.fullmatch(sample[0][0]) if sample else None
    usable = [text for text, problem in sample if not problem]
    if named:
        yield 1, [], sample[0][0], HEADER
        separator, usable = named[1], usable[1:]
        width, stream = _width(usable, separator), chain(sample[1:], stream)
    else:
        separator, width = _separator(usable)
        stream = chain(sample, stream)
    yield from _quoted_records(stream, separator, width, 1 if named else 0)


def _quoted_records(
    stream: Iterator[tuple[str, str]], separator: str, width: int, number: int = 0
) -> Iterator[Record]:
    """Records of CSV lines that follow the line with this `number`.

    An unclosed quote makes only its own line malformed; reading continues with the next line. A record of several
    lines is followed by a `CONTINUED` record for each further line.
    """
    ahead, taken = deque[tuple[str, str]](), list[tuple[str, str]]()

    def lines_of_a_record():
        while len(taken) < QUOTED_LINES and (line := ahead.popleft() if ahead else next(stream, None)):
            taken.append(line)
            yield line[0] + "\n"

    reader = _csv_reader(lines_of_a_record(), separator)
    while True:
        taken.clear()
        fields, problem = _next_record(reader)
        if not taken:
            return
        problem = taken[0][1] or problem
        whole = len(taken) == 1 or (len(fields) == width and not any(problem for _, problem in taken))
        if problem or not whole:
            problem = problem or "not CSV: a quote is opened and not closed"
            ahead.extendleft(reversed(taken[1:]))
            del taken[1:]
            reader = _csv_reader(lines_of_a_record(), separator)
        number += 1
        raw = "\n".join(text for text, _ in taken)
        yield number, fields if raw.strip() else [], raw, problem
        for text, _ in taken[1:]:
            number += 1
            yield number, [], text, CONTINUED


def _csv_reader(texts: Iterable[str], separator: str):
    return csv.reader(texts, delimiter=separator, strict=True)


def _next_record(reader) -> tuple[list[str], str]:
    """The fields of the next record, and its problem or ""; no fields at the end."""
    try:
        return next(reader, []), ""
    except csv.Error as error:
        reason = "a quote is opened and not closed" if str(error) == "unexpected end of data" else str(error)
        return [], f"not CSV: {reason}"


def _width(sample: list[str], separator: str) -> int:
    """The most common number of columns."""
    records = [_next_record(_csv_reader([text], separator))[0] for text in sample if text.strip()]
    widths = Counter(len(fields) for fields in records if len(fields) > 1)
    return widths.most_common(1)[0][0] if widths else 1


def _separator(sample: list[str]) -> tuple[str, int]:
    """The separator of CSV lines for which most lines have the same number of columns, and this number.

    On a tie, it is the separator less often followed by a space, as commas are in sentences.
    """
    best, found = (0, 0), (",", 1)
    for separator in SEPARATORS:
        records = [_next_record(_csv_reader([text], separator))[0] for text in sample if text.strip()]
        widths = Counter(len(fields) for fields in records if len(fields) > 1)
        if widths:
            width, agreeing = widths.most_common(1)[0]
            spaces = sum(field.startswith(" ") for fields in records for field in fields[1:])
            if (agreeing, -spaces) > best:
                best, found = (agreeing, -spaces), (separator, width)
    return found


def _read_columns(path: Path, columns: Columns, records: Iterator[Record]) -> Iterator[Row]:
    widths: tuple[int, ...]
    source, target, widths = (1, 0, (2, 3)) if columns.swapped else (0, 1, (2, 3))
    started = False
    ahead = list(islice(records, PREAMBLE))
    before = _before_header(ahead, columns)
    for number, _, raw, _ in ahead[:before]:
        yield (raw, "", number, HEADER) if raw.strip() else ("", "", number, "")
    for number, fields, raw, problem in chain(ahead[before:], records):
        if not problem and fields and not started:
            started = True
            header = [field.strip() for field in fields]
            found = columns.unique(f"{path}, line {number}", header)
            if found:
                source, target, widths = header.index(found[0]), header.index(found[1]), (len(header),)
                yield raw, "", number, HEADER
                continue
            if columns.numbers:
                source, target = columns.numbers
                if max(source, target) >= len(fields):
                    raise columns.missing(f"{path}, line {number}", f"the file has columns 1 to {len(fields)}")
                widths = (len(fields),)
                if is_header(header, columns):
                    yield raw, "", number, HEADER
                    continue
            elif columns.required or is_header(header, columns):
                raise columns.missing(f"{path}, line {number}", f"the file has {header}")
            logger.info(
                "%s has no header; column %d is the source, column %d the target", path, source + 1, target + 1
            )
        if not problem and fields and len(fields) not in widths:
            allowed = " or ".join(map(str, widths))
            problem = f"{len(fields)} column{'s' * (len(fields) > 1)}, where {allowed} are expected"
            if ending(path) not in (".csv", ".xlsx") and len(fields) == 1:
                problem = f"no tab: {problem}"
        if problem:
            yield raw, "", number, problem
        elif not fields:
            yield "", "", number, ""
        else:
            yield fields[source], fields[target], number, ""


def _before_header(records: list[Record], columns: Columns) -> int:
    """The number of records before the one that names the columns; 0 if there is no such record."""
    for number, (_, fields, _, problem) in enumerate(records):
        if not problem and columns.find([field.strip() for field in fields]):
            return number
    return 0


def _read_json_lines(path: Path, columns: Columns) -> Iterator[Row]:
    for number, (raw, problem) in enumerate(lines(path), 1):
        if not raw.strip():
            yield "", "", number, ""
            continue
        record = None
        if not problem:
            record, problem = _json_object(raw)
        if problem:
            yield raw, "", number, problem
            continue
        source, target, problem = keyed_pair(record, columns)
        yield raw if problem else source, target, number, problem


def _json_object(text: str) -> tuple[dict, str]:
    """The object in a line of JSON, or what is wrong with the line."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return {}, f"not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return {}, "JSON is nested too deeply"
    except ValueError as error:  # a number with too many digits
        return {}, f"JSON cannot be read: {error}"
    if not isinstance(value, dict):
        return {}, f"not a JSON object but {type(value).__name__}; one object per line is expected"
    return value, ""
