"""CSV and TSV with named columns: empty cells of the target column get a translation of the source column.

Or cells of columns that are chosen are translated in place.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ....base.errors import GlossaError
from ....readers.columns import Columns
from ....translate.texts.tags import Piece
from ..places import Document, Edit, Place, Written, as_string
from .encoding import UTF_16
from .format import Bilingual, Format, LanguagePair, TextPair
from .keys import Keys
from .strings import string_places
from .tokens import cut

_SEPARATORS = ",;\t|"


class Cell(NamedTuple):
    """The characters of a cell, including quotes around it."""

    start: int
    end: int
    quoted: bool


def read(text: str, name: str, languages: LanguagePair, chosen: Keys | None = None) -> Document:
    """The cells of the source column in rows without a translation, or all cells of the `chosen` columns.

    Raises `GlossaError`, with the line, for a row with too few cells, and if the columns do not name the languages.
    """
    separator = _separator(text)
    rows = list(_rows(text, separator))
    header = [_content(text, cell) for cell in rows[0][1]] if rows else []
    document = Document(text, [])
    if chosen is not None:
        columns = sorted(chosen.chosen_columns(header))
        for cell in (row[column] for _, row in rows[1:] for column in columns if column < len(row)):
            document.places += _places_in(document, cell, separator)
        return document
    for _, source, target in _sides(rows, header, name, languages):
        if not _content(text, target).strip():
            _fill(document, source, target, separator)
    return document


def read_pairs(text: str, name: str, languages: LanguagePair, chosen: Keys | None = None) -> Bilingual:
    """The cells of the source and target columns, in the order of `chosen` if it is given.

    Raises `GlossaError` like `read`.
    """
    rows = list(_rows(text, _separator(text)))
    header = [_content(text, cell) for cell in rows[0][1]] if rows else []
    sides = _sides(rows, header, name, languages, chosen)
    pairs = [TextPair(line, _content(text, own), _content(text, theirs)) for line, own, theirs in sides]
    return Bilingual(languages, pairs)


FORMATS = (Format("table", (".csv", ".tsv"), read, UTF_16, chosen_by="columns", pairs=read_pairs),)


def _sides(
    rows: Sequence[tuple[int, list[Cell]]],
    header: list[str],
    name: str,
    languages: LanguagePair,
    chosen: Keys | None = None,
) -> Iterator[tuple[int, Cell, Cell]]:
    """The line of each row, and its cells of the source and target columns."""
    columns = chosen.chosen_columns(header) if chosen else _columns(header, name, languages)
    if chosen:
        chosen.check()
    if len(columns) != 2:
        raise GlossaError(f"{name}: --columns has {len(columns)} columns. Give two: texts, then translations.")
    source, target = columns
    for line, row in rows[1:]:
        if len(row) <= max(source, target):
            raise GlossaError(f"{name}, line {line}: the row has {len(row)} cells, not {len(header)}. Repair it.")
        yield line, row[source], row[target]


def _columns(header: list[str], name: str, languages: LanguagePair) -> list[int]:
    """The columns of texts and translations, by the languages or as source and target."""
    names = [("source", "target")]
    if languages.source and languages.target:
        names.insert(0, (languages.source, languages.target))
    found = Columns(tuple(names)).unique(name, header)
    if found is None:
        wanted = " or ".join(f"{source} and {target}" for source, target in names)
        present = " ".join(", ".join(header).split())[:200] or "none"
        raise GlossaError(
            f"{name}, line 1: the columns are {present}; two of them must be named {wanted}. Name them in the first "
            "line, choose the columns with --columns, or give --format lines."
        )
    return [header.index(each) for each in found]


def _fill(document: Document, own: Cell, target: Cell, separator: str) -> None:
    """Translate a cell into another cell, in quotes unless no translation needs them."""
    places = _places(document, own, separator)
    for place in places:
        place.copied = True
    if places:
        quote = '"' if own.quoted or separator != "\t" else ""
        document.edits.append(Edit(target.start, target.end, [quote, _inside(own), quote]))
        document.places += places


def _places(document: Document, own: Cell, separator: str) -> list[Place]:
    """The texts of a cell, for a cell with quotes unless the separator is a tab and the cell has none."""
    escapes = re.compile('""') if own.quoted else None
    parts = cut(document.text, *_inside(own), escapes, lambda raw: '"', collapse=False)
    quoted = own.quoted or separator != "\t"
    escape = (lambda new: new.replace('"', '""')) if quoted else (lambda new: new.replace("\t", " "))
    return list(string_places(parts, document.text, escape, named=False))


def _places_in(document: Document, cell: Cell, separator: str) -> list[Place]:
    """The texts of a cell that their translations replace; the cell gets quotes if it needs them."""
    places = _places(document, cell, separator)
    if cell.quoted or separator == "\t" or not places:
        return places
    if len(places) > 1:
        _fill(document, cell, cell, separator)
        return []
    (place,) = places
    layout = partial(_write, document.text, cell, separator)
    return [replace(place, start=cell.start, end=cell.end, writing=replace(place.writing, layout=layout))]


def _write(text: str, cell: Cell, separator: str, place: Place, pieces: list[Piece]) -> list[Written]:
    before, after = (cell.start, place.parts[0].start), (place.parts[-1].end, cell.end)
    written = [before, *place.escaped(pieces), after]
    quote = '"' if set(as_string(written, text)) & {separator, '"', "\n"} else ""
    return [quote, *written, quote]


def _inside(cell: Cell) -> tuple[int, int]:
    return (cell.start + 1, cell.end - 1) if cell.quoted else (cell.start, cell.end)


def _separator(text: str) -> str:
    """The separator of the cells in the first line."""
    first = re.sub(r'"(?:[^"]|"")*"', "", text[:10_000]).partition("\n")[0]
    return max(_SEPARATORS, key=first.count)


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[Cell]]]:
    """The rows that are not blank, with the numbers of their lines."""
    cell = re.compile(rf'"(?:[^"]|"")*+"|[^{re.escape(separator)}\r\n]*')
    position, line = int(text.startswith("\ufeff")), 1
    while position < len(text):
        row, first = [], line
        while True:
            found = cell.match(text, position)
            row.append(Cell(*found.span(), found[0].startswith('"') and len(found[0]) > 1))
            line += found[0].count("\n")
            position = found.end()
            if not text.startswith(separator, position):
                break
            position += 1
        if row[1:] or text[row[0].start : row[0].end].strip():
            yield first, row
        rest = re.compile(r"[^\r\n]*\r?\n?").match(text, position)  # characters after a closing quote are left alone
        position, line = max(rest.end(), position + 1), line + 1


def _content(text: str, cell: Cell) -> str:
    raw = text[cell.start : cell.end]
    return raw[1:-1].replace('""', '"') if cell.quoted else raw.strip()
