"""What TMX and PO say of their units besides the texts: when each was approved, and in which context it holds."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..data.intake import po
from ..data.intake.formats import read_catalog, unit_elements
from ..data.paths import ending

_DATES = ("changedate", "creationdate")  # of TMX 1.4b, of a unit and of each of its sides
_REVISED = re.compile(r"^PO-Revision-Date:[ \t]*(\d{4}-\d\d-\d\d[ \t]+\d\d:\d\d[+-]\d{4})", re.M)


class Details(NamedTuple):
    """What a file says of a unit.

    Attributes:
        line: The number of the unit, as its row has it.
        date: In UTC, as [`Unit`] has it; "" if the file does not say it.
        context: The context of a PO entry.
    """

    line: int
    date: str = ""
    context: str | None = None


def read_details(file: Path) -> Iterator[Details]:
    """What a TMX or PO says of each of its units, in order; nothing for other files."""
    if ending(file) == ".tmx":
        for number, element in enumerate(unit_elements(file), 1):
            yield Details(number, max(_dates(element), default=""))
    elif ending(file) == ".po":
        yield from _catalog_details(read_catalog(file), str(file))


def _dates(element: Any) -> Iterator[str]:
    for node in (element, *element.iterchildren("{*}tuv")):
        for name in _DATES:
            yield _date(node.get(name, ""))


def _date(text: str) -> str:
    """A date as a memory has it; "" if it is not in the form of its standard. One without a zone is in UTC already."""
    try:
        date = datetime.fromisoformat(text)
        return written(date.astimezone(UTC) if date.tzinfo else date)
    except (ValueError, OverflowError):
        return ""


def written(date: datetime) -> str:
    """A date in UTC as a memory has it."""
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def _catalog_details(text: str, name: str) -> Iterator[Details]:
    number, date = 0, ""
    for entry in po.entries(text, name):
        if entry.is_header:
            revised = _REVISED.search(po.said(text, entry.fields.get("msgstr")))
            date = _date(" ".join(revised[1].split())) if revised else ""
            continue
        number += 1
        context = entry.fields.get("msgctxt")
        yield Details(number, date, po.said(text, context) if context else None)
