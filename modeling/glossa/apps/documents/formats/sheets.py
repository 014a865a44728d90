"""The cells of a workbook by their columns. A text that other cells have too is translated in a copy."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from ..places import Document, Edit
from .keys import Keys
from .tokens import Token, attribute_range, attributes
from .xml_positions import xml_tokens

_SPOKEN = re.compile(
    r"<(?:\w+:)?rPh\b[^<]*(?:<(?!/?(?:\w+:)?rPh\b)[^<]*)*</(?:\w+:)?rPh>"
)  # readings, which are no part of the text
_TEXT = re.compile(r"<(?:\w+:)?t\b[^<>]*(?<!/)>([^<]*)")


_MAIN = re.compile(
    r"xmlns:(\w+)=[\"']http://(?:schemas\.openxmlformats|purl\.oclc)\.org/[^\"']*spreadsheetml/[^\"']*main[\"']"
)


def sheet_prefix(text: str) -> str:
    """The prefix of the elements of a workbook with its colon, such as `x:`, or ""."""
    found = _MAIN.search(text[: text.find(">", text.find("<", text.find("?>") + 1)) + 1])
    return f"{found[1]}:" if found else ""


def sheet_tokens(text: str, name: str) -> list[Token]:
    """The tokens of a member of a workbook. Their names have no prefix."""
    prefix, tokens = sheet_prefix(text), xml_tokens(text, name)
    return [each._replace(name=each.name.removeprefix(prefix)) for each in tokens] if prefix else tokens


class Cell(NamedTuple):
    """A cell: its column, from 0, and the places of its content and of the index of its shared string, if any."""

    column: int
    start: int
    end: int
    shared: tuple[int, int] | None


@dataclass
class ChosenCells:
    """The cells of chosen columns.

    Attributes:
        cells: The cells of each worksheet.
        items: The characters of each shared text.
        own: The numbers of shared texts in chosen cells only.
        copies: Shared texts that other cells have too, and the numbers of their copies.
        count: The characters of the number of different shared texts, if the workbook says it.
        end: The character before which copies are written.
    """

    cells: dict[str, list[Cell]] = field(default_factory=dict)
    items: Sequence[tuple[int, int]] = ()
    own: frozenset[int] = frozenset()
    copies: dict[int, int] = field(default_factory=dict)
    count: tuple[int, int] | None = None
    end: int = 0

    def keep(self, document: Document, name: str, first: str) -> None:
        """Leave out the places of a member, whose first element is `first`, that are in other cells."""
        if first == "sst":
            self._keep_shared(document)
            return
        starts = [cell.start for cell in self.cells.get(name, ())]
        ends = [cell.end for cell in self.cells.get(name, ())]
        number = {start: bisect_right(starts, start) - 1 for start in (place.start for place in document.places)}
        document.places = [
            each for each in document.places if number[each.start] >= 0 and each.end <= ends[number[each.start]]
        ]
        for cell in self.cells.get(name, ()):
            new = self.copies.get(int(document.text[slice(*cell.shared)])) if cell.shared else None
            if cell.shared and new is not None:
                document.edits.append(Edit(*cell.shared, [str(new)]))

    def _keep_shared(self, document: Document) -> None:
        starts = [start for start, _ in self.items]
        kept = []
        for place in document.places:
            number = bisect_right(starts, place.start) - 1
            if number in self.own:
                kept.append(place)
            elif number in self.copies:
                kept.append(replace(place, copied=True))
        document.places = kept
        if self.copies:
            document.edits.append(Edit(self.end, self.end, [self.items[number] for number in self.copies]))
            if self.count:
                document.edits.append(Edit(*self.count, [str(len(self.items) + len(self.copies))]))


def choose_cells(members: Mapping[str, str], columns: Keys) -> ChosenCells:
    """The cells below the first row whose columns are chosen by its texts, or by number.

    Args:
        members: The texts of the members with shared texts and worksheets, by name.
        columns: The patterns.
    """
    found = ChosenCells()
    texts: list[str] = []
    sheets: dict[str, list[list[Cell]]] = {}
    for name, text in members.items():
        tokens = sheet_tokens(text, name)
        first = next((token.name.rpartition(":")[2] for token in tokens if token.kind in ("open", "empty")), "")
        if first == "sst":
            found.items = [(start, end) for _, start, end in _elements(tokens, "si")]
            texts = [_text(text[slice(*span)]) for span in found.items]
            root = next(token for token in tokens if token.name == "sst")
            found.count = attribute_range(text, root, "uniquecount")
            found.end = tokens[-1].start if root.kind == "open" else 0
        elif first == "worksheet":
            sheets[name] = _rows(text, tokens)
    chosen, others = set[int](), set[int]()
    for name, rows in sheets.items():
        text = members[name]
        titles = [""] * (1 + max((cell.column for row in rows for cell in row), default=-1))
        for cell in rows[0] if rows else ():
            titles[cell.column] = _value(text, cell, texts)
        wanted = set(columns.chosen_columns(titles))
        found.cells[name] = [cell for row in rows[1:] for cell in row if cell.column in wanted]
        for row in rows:
            for cell in row:
                if cell.shared:
                    number = int(text[slice(*cell.shared)])
                    (chosen if row is not rows[0] and cell.column in wanted else others).add(number)
    found.own = frozenset(chosen - others)
    both = sorted(number for number in chosen & others if number < len(texts))
    found.copies = {number: len(texts) + place for place, number in enumerate(both)}
    return found


def _elements(tokens: Sequence[Token], name: str) -> Iterator[tuple[Token, int, int]]:
    """The elements with a name: their opening tags, and their characters."""
    opened: Token | None = None
    for token in tokens:
        if token.name == name and token.kind == "empty":
            yield token, token.start, token.end
        elif token.name == name and token.kind == "open":
            opened = token
        elif token.name == name and token.kind == "close" and opened is not None:
            yield opened, opened.start, token.end
            opened = None


def _rows(text: str, tokens: Sequence[Token]) -> list[list[Cell]]:
    """The cells of each row that has some."""
    values = {token.start: inside for token, inside in pairwise(tokens) if token.name == "v" and inside.kind == "text"}
    starts = sorted(values)
    rows: dict[int, list[Cell]] = {}
    begun = [start for _, start, _ in _elements(tokens, "row")]
    for token, start, end in _elements(tokens, "c"):
        given = attributes(text, token)
        row = rows.setdefault(bisect_right(begun, start), [])
        letters = re.match("[A-Z]{1,3}", given.get("r", ""))
        column = _number(letters[0]) if letters else (row[-1].column + 1 if row else 0)
        shared = None
        if given.get("t") == "s" and (place := bisect_right(starts, start)) < len(starts) and starts[place] < end:
            value = values[starts[place]]
            shared = (value.start, value.end) if text[value.start : value.end].strip().isdecimal() else None
        row.append(Cell(column, start, end, shared))
    return [rows[number] for number in sorted(rows)]


def _number(letters: str) -> int:
    """The number, from 0, of the column with these letters."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _value(text: str, cell: Cell, texts: Sequence[str]) -> str:
    if cell.shared:
        number = int(text[slice(*cell.shared)])
        return texts[number] if number < len(texts) else ""
    return _text(text[cell.start : cell.end])


def _text(item: str) -> str:
    """The text of an item or a cell with its own text."""
    return html.unescape("".join(_TEXT.findall(_SPOKEN.sub("", item)))).strip()
