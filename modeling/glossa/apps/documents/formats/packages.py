"""Archives of XML: Office Open XML, OpenDocument and EPUB."""

import copy
import io
import posixpath
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from ....base.errors import GlossaError
from ..places import Document, Edit
from .format import Format, LanguagePair, Opened
from .html import read_tokens
from .language import note_source, set_language, translated_language
from .runs import DRAWING, SHEET, Names, run_places
from .strings import string_places
from .tagged import Rules, find_places
from .tokens import Token, attributes, escape_xml, text_parts
from .word import read_word, with_comments
from .xml_positions import xml_tokens

# The members with texts or languages. Chapters of a book may have any name; its manifest lists them.
MEMBERS = {
    "docx": r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments|glossary/document|styles)\.xml",
    "pptx": r"ppt/(?:slides/slide|notesSlides/notesSlide|charts/chart|diagrams/data)\d+\.xml",
    "xlsx": r"xl/(?:sharedStrings|comments\d*|(?:worksheets/sheet|charts/chart|drawings/drawing)\d+)\.xml",
    **dict.fromkeys(("odt", "odp", "ods"), r"(?:content|styles)\.xml"),
    "epub": r"(?i:.*\.(?:xhtml|html?|ncx|opf))",
}
CHAPTERS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")  # media types
LARGEST = 1 << 26  # bytes of all members with texts
_TOO_LARGE = f"it has texts of more than {LARGEST >> 20} MiB"
_TEXT = "text:span text:a text:s text:bookmark text:bookmark-start text:bookmark-end text:reference-mark"
OPEN_DOCUMENT = Rules(
    inline=frozenset(f"{_TEXT} text:soft-page-break text:ruby text:ruby-base text:meta draw:a".split()),
    opaque=frozenset(
        ["text:note", "office:annotation", "office:annotation-end", "draw:frame", "draw:custom-shape", "draw:line",
         "draw:g", "text:ruby-text", "text:page-number", "text:page-count", "text:date", "text:time", "text:sequence",
         "text:change", "text:change-start", "text:change-end", "text:variable-set", "text:variable-get",
         "text:user-field-get", "text:note-ref", "text:bookmark-ref", "text:reference-ref"]
    ),
    breaks=frozenset({"text:line-break", "text:tab"}),
    only=frozenset({"text:p", "text:h"}),
    skipped=frozenset({"text:tracked-changes"}),
)  # fmt: skip
EMPTY = {"pptx": "ppt/presentation.xml", "xlsx": "xl/workbook.xml"}  # members of files without slides or texts
ABOUT_BOOK = ("dc:title", "dc:description", "dc:subject")
CONTENTS = Rules(only=frozenset({"text"}))


def open_package(kind: str, content: bytes, path: Path, languages: LanguagePair) -> Opened:
    """Open an archive. Raises `GlossaError` if it is damaged or too large."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        names = chosen_members(archive, kind)
        members = [info for info in archive.infolist() if info.filename in names]
        if sum(info.file_size for info in members) > LARGEST:
            raise ValueError(_TOO_LARGE)
        texts = [_text(archive, info.filename) for info in members]
        columns = _columns(archive, kind)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise GlossaError(
            f"{path}: not a {kind} file that can be read: {error}. Save it again, or divide it."
        ) from error
    if not members and EMPTY.get(kind) not in archive.namelist():
        raise GlossaError(f"{path}: not a {kind} file: it has no texts. Give --format if it has another format.")
    documents = [
        _read(text, f"{path}, {info.filename}", kind, info.filename, languages, columns)
        for text, info in zip(texts, members, strict=True)
    ]
    changed = [info.filename for info in members]
    old = dict(zip(changed, texts, strict=True))
    return Opened(documents, lambda new: _packed(content, archive, dict(zip(changed, new, strict=True)), old))


FORMATS = tuple(Format(kind, (f".{kind}",), open=partial(open_package, kind), packed=True) for kind in MEMBERS)


def _text(archive: zipfile.ZipFile, name: str) -> str:
    """The text of a member. Raises `ValueError` if it is too large or not UTF-8."""
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(_TOO_LARGE)
    return archive.read(name).decode("utf-8")


def chosen_members(archive: zipfile.ZipFile, kind: str) -> set[str]:
    """The names of the members with texts."""
    names = {info.filename for info in archive.infolist() if re.fullmatch(MEMBERS[kind], info.filename)}
    for manifest in [name for name in names if kind == "epub" and name.lower().endswith(".opf")]:
        text = _text(archive, manifest)
        for token in xml_tokens(text, manifest):
            given = attributes(text, token) if token.name.rpartition(":")[2] == "item" else {}
            if given.get("media-type") in CHAPTERS:
                path = posixpath.join(posixpath.dirname(manifest), unquote(given.get("href", "")))
                names.add(posixpath.normpath(path))
    return names


def _read(text: str, name: str, kind: str, member: str, languages: LanguagePair, columns: Collection[str]) -> Document:
    if kind == "docx":
        return read_word(text, name, languages, commented=member == "word/document.xml")
    if kind in ("pptx", "xlsx"):
        drawn = kind == "pptx" or member.startswith(("xl/charts/", "xl/drawings/"))
        return _runs(text, name, DRAWING if drawn else SHEET, languages, columns)
    tokens, ending = xml_tokens(text, name), posixpath.splitext(member)[1].lower()
    if kind in ("odt", "odp", "ods"):
        return Document(text, find_places(text, tokens, OPEN_DOCUMENT))
    if ending == ".ncx":
        return Document(text, find_places(text, tokens, CONTENTS))
    if ending == ".opf":
        return _book(text, name, tokens, languages)
    return read_tokens(text, name, tokens, languages)


def _runs(text: str, name: str, names: Names, languages: LanguagePair, columns: Collection[str]) -> Document:
    """The paragraphs of slides, or the texts of cells except names of table columns."""
    places, tokens = run_places(text, name, names, languages)
    places = [place for place in places if "".join(part.text for part in place.parts).strip() not in columns]
    document = Document(text, places)
    for token in tokens if names is DRAWING else ():
        if token.kind in ("open", "empty") and token.name in ("a:rPr", "a:endParaRPr", "a:defRPr"):
            set_language(document, token, languages, ("lang",))
    return document


def _columns(archive: zipfile.ZipFile, kind: str) -> set[str]:
    """The names of table columns in a workbook. The cells above the columns must have the same texts."""
    found: set[str] = set()
    for name in archive.namelist() if kind == "xlsx" else ():
        if re.fullmatch(r"xl/tables/table\d+\.xml", name):
            text = _text(archive, name)
            tokens = [token for token in xml_tokens(text, name) if token.name == "tableColumn"]
            found.update(attributes(text, token).get("name", "").strip() for token in tokens)
    return found


def _book(text: str, name: str, tokens: Sequence[Token], languages: LanguagePair) -> Document:
    """The title and description of a book. Its language becomes the target language."""
    document = Document(text, [])
    for token, inside in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.kind == "open" and token.name == "package":
            set_language(document, token, languages, ("xml:lang",))
        elif token.kind == "open" and token.name in ABOUT_BOOK and inside.kind == "text":  # escaped HTML, perhaps
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
    changed = with_comments(changed, lambda name: archive.read(name).decode("utf-8") if name in names else "")
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
