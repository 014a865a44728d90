"""What TMX and PO say about a unit in addition to its pair: the date of its approval, its context, its singular."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...base.paths import ending
from ...readers import po
from ...readers.formats import read_catalog, unit_elements

_DATES = ("changedate", "creationdate")  # of TMX 1.4b, of a unit and of each of its sides
_REVISED = re.compile(r"^PO-Revision-Date:[ \t]*(\d{4}-\d\d-\d\d[ \t]+\d\d:\d\d[+-]\d{4})", re.M)


class Details(NamedTuple):
    """What a file says of a unit.

    Attributes:
        line: The number of the unit, as its row has it.
        date: In UTC, as [`Unit`] has it; "" if the file does not say it.
        context: The context of a PO entry.
        plural: The text for several of a PO entry with plural forms, whose last one is its pair.
        singular: Its text for one, and the translation of this.
    """

    line: int
    date: str = ""
    context: str | None = None
    plural: str = ""
    singular: tuple[str, str] = ("", "")


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
    number, date, singular = 0, "", 0
    for entry in po.entries(text, name):
        if entry.is_header:
            header = po.field_text(text, entry.fields.get("msgstr"))
            _, singular = po.plural_forms(header, name)
            revised = _REVISED.search(header)
            date = _date(" ".join(revised[1].split())) if revised else ""
            continue
        number += 1
        context = entry.fields.get("msgctxt")
        own = Details(number, date, po.field_text(text, context) if context else None)
        plural, forms = entry.fields.get("msgid_plural"), entry.translations
        if plural is not None and len(forms) > 1 and singular in forms:
            pair = po.field_text(text, entry.fields.get("msgid")), po.field_text(text, forms[singular])
            own = own._replace(plural=po.field_text(text, plural), singular=pair)
        yield own
