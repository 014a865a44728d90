"""Packed formats: Word, OpenDocument text, and EPUB, which are zipped XML."""

import io
import re
import zipfile
from pathlib import Path

from ...errors import GlossaError
from ..places import Document
from .html import RULES as HTML
from .opening import Opened
from .tagged import Rules, find_places
from .word import read_word, with_comments
from .xml_positions import xml_tokens

# The members that have texts.
MEMBERS = {
    "docx": r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments|glossary/document)\.xml",
    "odt": r"(?:content|styles)\.xml",
    "epub": r".*\.(?:xhtml|html?|ncx|opf)",
}
LARGEST = 1 << 29  # bytes that a member may have
_TEXT = "text:span text:a text:s text:bookmark text:bookmark-start text:bookmark-end text:reference-mark"
OPEN_DOCUMENT = Rules(
    inline=frozenset(f"{_TEXT} text:soft-page-break text:ruby text:ruby-base text:meta draw:a".split()),
    opaque=frozenset(
        [
            "text:note",
            "office:annotation",
            "office:annotation-end",
            "draw:frame",
            "draw:custom-shape",
            "draw:line",
            "draw:g",
            "text:ruby-text",
            "text:page-number",
            "text:page-count",
            "text:date",
            "text:time",
            "text:sequence",
            "text:change",
            "text:change-start",
            "text:change-end",
            "text:variable-set",
            "text:variable-get",
            "text:user-field-get",
            "text:note-ref",
            "text:bookmark-ref",
            "text:reference-ref",
        ]
    ),
    breaks=frozenset({"text:line-break", "text:tab"}),
    only=frozenset({"text:p", "text:h"}),
    skipped=frozenset({"text:tracked-changes"}),
)
PACKAGE = Rules(only=frozenset({"dc:title", "dc:description", "dc:subject"}))
CONTENTS = Rules(only=frozenset({"text"}))


def open_package(content: bytes, path: Path, kind: str) -> Opened:
    """The texts of a packed file. Raises `GlossaError` if it is damaged."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = [info for info in archive.infolist() if re.fullmatch(MEMBERS[kind], info.filename)]
        if any(info.file_size > LARGEST for info in members):
            raise GlossaError(f"{path} has a member of more than {LARGEST >> 20} MiB. Divide the document.")
        texts = [archive.read(info).decode("utf-8") for info in members]
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise GlossaError(f"{path}: not a {kind} file that can be read: {error}. Save it again.") from error
    if not members:
        raise GlossaError(
            f"{path}: not a {kind} file: it has no texts. Give --format if the name is another format's."
        )
    documents = [
        _read(text, f"{path}, {info.filename}", kind, info.filename) for text, info in zip(texts, members, strict=True)
    ]
    changed = [info.filename for info in members]
    return Opened(
        documents,
        lambda new: _packed(archive, dict(zip(changed, new, strict=True)), dict(zip(changed, texts, strict=True))),
    )


def _read(text: str, name: str, kind: str, member: str) -> Document:
    if kind == "docx":
        return read_word(text, name, commented=member == "word/document.xml")
    rules = OPEN_DOCUMENT
    if kind == "epub":
        rules = PACKAGE if member.endswith(".opf") else CONTENTS if member.endswith(".ncx") else HTML
    return Document(text, find_places(text, xml_tokens(text, name), rules))


def _packed(archive: zipfile.ZipFile, new: dict[str, str], old: dict[str, str]) -> bytes:
    """An archive with other texts in some of its members, all of them in their order and packed as before."""
    names = archive.namelist()
    changed = {name: text for name, text in new.items() if text != old[name]}
    changed = with_comments(changed, lambda name: archive.read(name).decode("utf-8") if name in names else "")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for info in archive.infolist():
            content = changed[info.filename].encode("utf-8") if info.filename in changed else archive.read(info)
            packed.writestr(info, content, info.compress_type)
        for name in changed.keys() - set(names):
            packed.writestr(zipfile.ZipInfo(name), changed[name].encode("utf-8"), zipfile.ZIP_DEFLATED)
    return stream.getvalue()
