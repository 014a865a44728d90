"""Archives of XML: Office Open XML, OpenDocument and EPUB."""

import copy
import html
import io
import posixpath
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from ....base.errors import GlossaError
from ..places import Document, Edit, Place
from .format import Format, LanguagePair, Opened
from .html import read_tokens
from .keys import COLUMNS, Keys
from .language import note_source, set_language, translated_language
from .runs import DRAWING, SHEET, WORD
from .sheets import choose_cells, sheet_tokens
from .strings import string_places
from .tagged import Rules, attribute_places, find_places
from .tokens import Token, attributes, escape_xml, text_parts
from .word import read_runs, with_comments
from .xml_positions import xml_tokens

# The members that may have texts or languages. Chapters of a book may have any name; its manifest lists them.
MEMBERS = {
    "docx": r"(?:word|docProps)/.*\.xml",
    "pptx": r"(?:ppt|docProps)/.*\.xml",
    "xlsx": r"(?:xl|docProps)/.*\.xml",
    **dict.fromkeys(("odt", "odp", "ods"), r"(?:Object [^/]+/)?(?:content|styles|meta)\.xml"),
    "epub": r"(?i:.*\.(?:xhtml|html?|ncx|opf))",
}
# In Office, members have any name; their first element says what they are. `drawing` is that of a diagram.
_DRAWN = {"chartSpace", "dataModel", "drawing"}
_OFFICE = {
    "docx": {"document", "hdr", "ftr", "footnotes", "endnotes", "comments", "glossaryDocument", "styles"},
    "pptx": {"sld", "notes", "cmLst"},
    "xlsx": {"sst", "comments", "ThreadedComments", "worksheet", "wsDr"},
}
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s++|<\?.*?\?>|<!--.*?-->)*+<(?:[\w.-]+:)?([\w.-]+)", re.S)
START = 4096  # bytes of a member that may come before its first element
CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")  # media types
LARGEST = 1 << 26  # bytes of all members with texts
_TOO_LARGE = f"it has texts of more than {LARGEST >> 20} MiB"
_TEXT = "text:span text:a text:bookmark text:bookmark-start text:bookmark-end text:reference-mark"
# Notes, changes and fields, whose content is written by programs (OpenDocument 1.3, part 3, sections 6.3 and 7).
_FIELDS = """note ruby-text change change-start change-end author-initials author-name bibliography-mark bookmark-ref
    chapter character-count conditional-text creation-date creation-time creator database-display database-name
    database-row-number database-row-select date editing-cycles editing-duration expression file-name
    hidden-paragraph hidden-text image-count initial-creator measure modification-date modification-time note-ref
    object-count page-count page-number page-variable-get paragraph-count print-date print-time printed-by
    reference-ref sender-city sender-company sender-country sender-email sender-fax sender-firstname sender-initials
    sender-lastname sender-phone-private sender-phone-work sender-position sender-postal-code
    sender-state-or-province sender-street sender-title sequence sequence-ref sheet-name subject table-count
    template-name time title user-defined user-field-get user-field-input variable-get variable-input variable-set
    word-count"""
OPEN_DOCUMENT = Rules(
    inline=frozenset(f"{_TEXT} text:soft-page-break text:ruby text:ruby-base text:meta draw:a".split()),
    opaque=frozenset(
        ["office:annotation", "office:annotation-end", "draw:frame", "draw:custom-shape", "draw:line", "draw:g",
         *(f"text:{name}" for name in _FIELDS.split())]
    ),
    breaks=frozenset({"text:line-break", "text:tab", "text:s"}),
    only=frozenset({"text:p", "text:h", "svg:title", "svg:desc"}),
    skipped=frozenset({"text:tracked-changes"}),
)  # fmt: skip
EMPTY = {"pptx": "ppt/presentation.xml", "xlsx": "xl/workbook.xml"}  # members of files without slides or texts
ABOUT = ("dc:title", "dc:description", "dc:subject", "cp:keywords", "meta:keyword")
# Descriptions of pictures, messages of cells, and tips of links.
_PICTURE = frozenset({"wp:docPr", "pic:cNvPr", "p:cNvPr", "xdr:cNvPr", "a:cNvPr", "wps:cNvPr"})
_CELL = frozenset({"dataValidation"})
_ATTRIBUTES = Rules(
    attributes=dict.fromkeys(("descr", "title"), _PICTURE)
    | dict.fromkeys(("prompt", "prompttitle", "error", "errortitle"), _CELL)
    | {"tooltip": frozenset({"hyperlink", "a:hlinkClick"}), "w:tooltip": frozenset({"w:hyperlink"})}
)
_MARGINS = ("oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter")  # of a sheet
_SECTION = re.compile(r"&amp;[LCR]")
_CODE = r'&(?:"[^"]*"|K[0-9A-F+-]{6,8}|\d+|.)'
_FORMULAS = ("f", "formula", "formula1", "formula2", "definedName", "calculatedColumnFormula", "xm:f")
_COMPARING = ("workbook", "worksheet", "table", "pivotCacheDefinition")
_NAMING = {"tableColumn": "name", "cacheField": "name", "filter": "val", "customFilter": "val", "cfRule": "text"}
_NUMBER = re.compile(r"[-+\d.,eE%]*")
_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
CONTENTS = Rules(only=frozenset({"text"}))


def open_package(
    kind: str, content: bytes, path: Path, languages: LanguagePair, columns: Keys | None = None
) -> Opened:
    """Open an archive. Of a workbook, only `columns` are translated, if given.

    Raises `GlossaError` if it is damaged or too large.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        names = chosen_members(archive, kind)
        members = [info for info in archive.infolist() if info.filename in names]
        if sum(info.file_size for info in members) > LARGEST:
            raise ValueError(_TOO_LARGE)
        texts = [_text(archive, info.filename) for info in members]
        compared = _compared(archive) if kind == "xlsx" else set()
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise GlossaError(
            f"{path}: not a {kind} file that can be read: {error}. Save it again, or divide it."
        ) from error
    if not members and EMPTY.get(kind) not in archive.namelist():
        raise GlossaError(f"{path}: not a {kind} file: it has no texts. Give --format if it has another format.")
    documents = [
        _read(text, f"{path}, {info.filename}", kind, info.filename, languages, compared)
        for text, info in zip(texts, members, strict=True)
    ]
    changed = [info.filename for info in members]
    old = dict(zip(changed, texts, strict=True))
    if columns is not None:
        cells = choose_cells(old, columns)
        for name, document in zip(changed, documents, strict=True):
            cells.keep(document, name, first_element(archive, name))
    return Opened(documents, lambda new: _packed(content, archive, dict(zip(changed, new, strict=True)), old))


FORMATS = tuple(Format(kind, (f".{kind}",), open=partial(open_package, kind), packed=True) for kind in MEMBERS)
FORMATS = tuple(replace(each, chosen_by=COLUMNS) if each.name == "xlsx" else each for each in FORMATS)


def _text(archive: zipfile.ZipFile, name: str) -> str:
    """The text of a member. Raises `ValueError` if it is too large or not UTF-8."""
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(_TOO_LARGE)
    return archive.read(name).decode("utf-8")


def chosen_members(archive: zipfile.ZipFile, kind: str) -> set[str]:
    """The names of the members with texts."""
    names = {info.filename for info in archive.infolist() if re.fullmatch(MEMBERS[kind], info.filename)}
    if kind in _OFFICE:
        wanted = _OFFICE[kind] | _DRAWN | {"coreProperties"}
        return {name for name in names if first_element(archive, name) in wanted}
    for manifest in [name for name in names if kind == "epub" and name.lower().endswith(".opf")]:
        text = _text(archive, manifest)
        for token in xml_tokens(text, manifest):
            given = attributes(text, token) if token.name.rpartition(":")[2] == "item" else {}
            if given.get("media-type") in CHAPTERS:
                path = posixpath.join(posixpath.dirname(manifest), unquote(given.get("href", "")))
                names.add(posixpath.normpath(path))
    return names


def first_element(archive: zipfile.ZipFile, name: str) -> str:
    """The name of the first element of a member without its prefix; "" if there is none."""
    with archive.open(name) as file:
        found = _FIRST.match(file.read(START))
    return found[1].decode("utf-8", "replace") if found else ""


def _read(
    text: str, name: str, kind: str, member: str, languages: LanguagePair, compared: Collection[str]
) -> Document:
    tokens, ending = xml_tokens(text, name), posixpath.splitext(member)[1].lower()
    first = next((token.name.rpartition(":")[2] for token in tokens if token.kind in ("open", "empty")), "")
    if first in ("coreProperties", "document-meta"):
        return _about(text, name, tokens, languages)
    if kind in _OFFICE:
        return _office(text, name, kind, first, languages, compared)
    if kind in ("odt", "odp", "ods"):
        return Document(text, find_places(text, tokens, OPEN_DOCUMENT))
    if ending == ".ncx":
        return Document(text, find_places(text, tokens, CONTENTS))
    if ending == ".opf":
        return _about(text, name, tokens, languages)
    return read_tokens(text, name, tokens, languages)


def _office(
    text: str, name: str, kind: str, first: str, languages: LanguagePair, compared: Collection[str]
) -> Document:
    """The paragraphs of a member and the texts in its attributes.

    Texts of cells that a workbook compares stay.
    """
    drawn = first in _DRAWN or kind == "pptx" or first == "wsDr"
    names = DRAWING if drawn else WORD if kind == "docx" else SHEET
    document, tokens = read_runs(text, name, names, languages, commented=(kind, first) == ("docx", "document"))
    for token, inside in pairwise(tokens):
        if token.kind in ("open", "empty"):
            document.places += attribute_places(text, token, _ATTRIBUTES)
        if token.kind == "open" and inside.kind == "text":
            document.places += _short_texts(text, token, inside)
    if compared:
        kept = [place for place in document.places if _source(place) not in compared]
        if stays := len(document.places) - len(kept):
            document.notes.append(f"{name}: {stays:,} texts stay, since formulas, lists, filters or tables name them.")
        document.places = kept
    document.places.sort(key=lambda place: place.start)
    return document


def _short_texts(text: str, token: Token, inside: Token) -> Iterator[Place]:
    """The texts of an element without runs: headers and footers of a sheet, and names in a chart."""
    if token.name in _MARGINS:
        begins = [inside.start, *(found.end() for found in _SECTION.finditer(text, inside.start, inside.end))]
        ends = [*(found.start() for found in _SECTION.finditer(text, inside.start, inside.end)), inside.end]
        for start, end in zip(begins, ends, strict=True):
            yield from string_places(text_parts(text, start, end), text, escape_xml, named=False, kept=_CODE)
    elif token.name in ("p:text", "text"):  # of a comment
        yield from string_places(text_parts(text, inside.start, inside.end), text, escape_xml, named=False)
    elif token.name == "c:v" and not _NUMBER.fullmatch(text, inside.start, inside.end):
        yield from string_places(text_parts(text, inside.start, inside.end), text, escape_xml)


def _source(place: Place) -> str:
    return "".join(part.text for part in place.parts).strip()


def _compared(archive: zipfile.ZipFile) -> set[str]:
    """The texts that a workbook compares cells with: in formulas, lists and filters, and as names of table columns."""
    found: set[str] = set()
    for name in archive.namelist():
        if not name.endswith(".xml") or first_element(archive, name) not in _COMPARING:
            continue
        text = _text(archive, name)
        for token, inside in pairwise(sheet_tokens(text, name)):
            if token.kind == "open" and token.name in _FORMULAS and inside.kind == "text":
                formula = html.unescape(text[inside.start : inside.end])
                literals = [literal.replace('""', '"') for literal in _LITERAL.findall(formula)]
                found.update(each for literal in literals for each in (literal, *literal.split(",")))
            elif token.kind in ("open", "empty") and token.name in _NAMING:
                found.add(attributes(text, token).get(_NAMING[token.name], ""))
    return {each.strip() for each in found} - {""}


def _about(text: str, name: str, tokens: Sequence[Token], languages: LanguagePair) -> Document:
    """The title and description of a document. Its language becomes the target language."""
    document = Document(text, [])
    for token, inside in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.kind == "open" and token.name == "package":
            set_language(document, token, languages, ("xml:lang",))
        elif token.kind == "open" and token.name in ABOUT and inside.kind == "text":  # escaped HTML, perhaps
            parts = text_parts(text, inside.start, inside.end)
            document.places += string_places(parts, text, escape_xml, named=False)
        elif token.kind == "open" and token.name == "dc:language" and inside.kind == "text":
            declared = text[inside.start : inside.end]
            note_source(document, name, declared.strip(), languages)
            if new := translated_language(declared.strip(), languages):
                document.edits.append(Edit(inside.start, inside.end, [new]))
    return document


def _packed(content: bytes, archive: zipfile.ZipFile, new: dict[str, str], old: dict[str, str]) -> bytes:
    """The archive with new texts in some members. Order and compression of members stay."""
    names = archive.namelist()
    changed = {name: text for name, text in new.items() if text != old[name]}
    main = next((name for name in changed if first_element(archive, name) == "document"), "")
    changed = with_comments(changed, main, lambda name: archive.read(name).decode("utf-8") if name in names else "")
    stream = io.BytesIO()
    starts = sorted([*(info.header_offset for info in archive.infolist()), archive.start_dir])
    with zipfile.ZipFile(stream, "w") as packed:
        for info in archive.infolist():
            if info.filename in changed:
                packed.writestr(info, changed[info.filename].encode("utf-8"), info.compress_type)
            else:
                _copy(content[info.header_offset : starts[bisect_right(starts, info.header_offset)]], info, packed)
        for name in (name for name in changed if name not in names):
            packed.writestr(zipfile.ZipInfo(name), changed[name].encode("utf-8"), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _copy(entry: bytes, info: zipfile.ZipInfo, packed: zipfile.ZipFile) -> None:
    """Copy a member from another archive without unpacking it."""
    if not entry.startswith(b"PK\x03\x04"):
        raise GlossaError(f"The member {info.filename} is damaged. Save the document again.")
    moved = copy.copy(info)
    moved.header_offset = packed.fp.tell()
    packed.fp.write(entry)
    packed.start_dir = packed.fp.tell()
    packed.filelist.append(moved)
    packed.NameToInfo[moved.filename] = moved
