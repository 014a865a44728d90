"""Small Word, OpenDocument and EPUB files for tests."""

import io
import zipfile

WORD = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:document xmlns:w="w"><w:body>'
    '<w:p><w:pPr><w:jc w:val="left"/></w:pPr><w:bookmarkStart w:id="0"/><w:r><w:t>Hello </w:t></w:r>'
    "<w:r><w:rPr><w:b/></w:rPr><w:t>big</w:t></w:r>"
    '<w:r w:rsidR="1"><w:t xml:space="preserve"> world</w:t></w:r>'
    '<w:r><w:br/><w:t xml:space="preserve">again </w:t></w:r>'
    '<w:hyperlink r:id="r1"><w:r><w:t>here</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t></w:r></w:p>'
    "<w:p><w:r><w:t>42</w:t></w:r></w:p>"
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:rPr><w:i/></w:rPr><w:t>Cell &amp; more</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    "</w:body></w:document>"
)
OPEN = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content xmlns:office="o" xmlns:text="t"><office:body>'
    '<text:h text:outline-level="1">Title</text:h><text:p>Hello <text:span text:style-name="b">big</text:span> world'
    "<text:note><text:note-body><text:p>A note here</text:p></text:note-body></text:note>.</text:p>"
    "<text:p>42</text:p></office:body></office:document-content>"
)
CHAPTER = (
    '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Book</title></head>'
    "<body><p>Hello <i>big</i> world.</p><br/></body></html>"
)
MEMBERS = {
    "a.docx": {"[Content_Types].xml": "<Types/>", "word/document.xml": WORD, "word/styles.xml": "<w:styles/>"},
    "a.odt": {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": OPEN, "meta.xml": "<m>a</m>"},
    "a.epub": {
        "mimetype": "application/epub+zip", "OEBPS/a.xhtml": CHAPTER,
        "content.opf": '<package xmlns:dc="d"><dc:title>Book</dc:title><dc:creator>Ann</dc:creator></package>',
        "toc.ncx": "<ncx><navLabel><text>Start</text></navLabel></ncx>",
    },
}  # fmt: skip


def pack(path, members):
    """Write a packed file; returns its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(member, text, zipfile.ZIP_STORED if member == "mimetype" else None)
    return path


def write_packed(folder):
    """Write the files into a folder; returns their paths."""
    return [pack(folder / name, members) for name, members in MEMBERS.items()]


def members(packed, errors="strict"):
    """The members of a packed file as texts, from its path or content."""
    with zipfile.ZipFile(io.BytesIO(packed) if isinstance(packed, bytes) else packed) as archive:
        return {name: archive.read(name).decode(errors=errors) for name in archive.namelist()}
