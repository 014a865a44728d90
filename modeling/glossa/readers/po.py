"""Parser for gettext PO catalogs: entries with the character offsets of each string."""

import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..base.errors import GlossaError

ESCAPE = re.compile(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.S)
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\\\": "\\"}
_PLURAL = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;\\\n]+)")
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_OBSOLETE = re.compile(r"[ \t]*#~[ \t]*(?=[m\"])")
_KEYWORD = re.compile(r"[ \t]*(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]*(?=\")")
_STRING = re.compile(r'[ \t]*"((?:[^"\\\r\n]|\\.)*+)"[ \t]*\r?(?:\n|\Z)')


@dataclass
class Field:
    """A keyword and its strings.

    Attributes:
        start: Offset of its line.
        strings: Start and end offset of the text within the quotes of each string.
        end: Offset after its last quote.
    """

    start: int
    strings: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0

    @property
    def span(self) -> tuple[int, int]:
        return self.strings[0][0] - 1, self.end

    @property
    def is_empty(self) -> bool:
        return all(start == end for start, end in self.strings)


@dataclass
class Entry:
    """An entry: its fields by keyword, the spans of its flag lines, and whether it is commented out."""

    fields: dict[str, Field] = field(default_factory=dict)
    flags: list[tuple[int, int]] = field(default_factory=list)
    is_obsolete: bool = False

    @property
    def translations(self) -> dict[int, Field]:
        """The translations by number of the plural form; -1 for an entry without plural forms."""
        return {
            int(re.sub(r"\D", "", name) or -1): each for name, each in self.fields.items() if name.startswith("msgstr")
        }

    @property
    def is_header(self) -> bool:
        source = self.fields.get("msgid")
        return source is not None and source.is_empty and "msgctxt" not in self.fields


def flags_of(line: str) -> list[str]:
    """The flags in a `#,` line, such as fuzzy."""
    return [flag.strip() for flag in line.strip(" \t\r\n#,~").split(",")]


def unescaped(escape: str) -> str:
    """The character for an escape sequence; unknown sequences are returned unchanged."""
    return _ESCAPES.get(escape, escape)


def field_text(text: str, own: Field | None) -> str:
    """The unescaped text of a field; "" without a field."""
    strings = [text[start:end] for start, end in own.strings] if own else []
    return ESCAPE.sub(lambda found: unescaped(found[0]), "".join(strings))


def plural_forms(header: str, name: str) -> tuple[int, int]:
    """The number of plural forms of a catalog, and the form for 1; zeros if its header does not define them.

    Raises `GlossaError` if the definition is invalid.
    """
    found = _PLURAL.search(header)
    if found is None:
        return 0, 0
    try:
        return int(found[1]), gettext.c2py(found[2])(1)
    except ValueError as error:
        raise GlossaError(f"{name}: its header has no valid Plural-Forms: {error}. Repair it.") from error


def entries(text: str, name: str) -> Iterator[Entry]:
    """The entries of a catalog. Raises `GlossaError` with the line number for an invalid one."""
    entry, current = Entry(), None
    for number, found in enumerate(_LINE.finditer(text.removesuffix("\n")), 1):
        position = found.start() + text.startswith("\ufeff", found.start())
        obsolete = _OBSOLETE.match(text, position, found.end())
        position = obsolete.end() if obsolete else position
        body = text[position : found.end()].strip()
        if not body or body.startswith("#"):
            current = None
            if body.startswith("#,"):
                if entry.fields:
                    yield entry
                    entry = Entry()
                entry.flags.append(found.span())
            continue
        if keyword := _KEYWORD.match(text, position):
            begins = keyword[1] == "msgctxt" or (keyword[1] == "msgid" and set(entry.fields) != {"msgctxt"})
            if entry.fields and (begins or keyword[1] in entry.fields):
                yield entry
                entry = Entry()
            entry.is_obsolete = obsolete is not None
            current = entry.fields.setdefault(keyword[1], Field(found.start()))
            position = keyword.end()
        string = _STRING.match(text, position)
        if string is not None and current is not None:
            current.strings.append(string.span(1))
            current.end = string.end(1) + 1
        elif not obsolete:
            reason = f"{body[:40]!r} is not a keyword with a quoted string"
            raise GlossaError(f"{name}, line {number}: not PO: {reason}. Repair it.")
    if entry.fields:
        yield entry
