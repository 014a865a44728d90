"""What `translate` reads as lines: UTF-8 text. Other encodings and documents are recognized and refused.

Documents whose format the room `documents` knows do not come here, unless their name says something else.
"""

import re
from pathlib import Path

from ..data.intake.files import wide_encoding, wrong_encoding
from ..errors import GlossaError

START = 4096  # bytes that are looked at
# Documents by the end of their name.
ENDINGS = {
    "XLIFF": ".xliff .xlf .sdlxliff .mqxliff",
    "HTML": ".html .htm .xhtml",
    "subtitle": ".srt .vtt .sbv .ass .ssa",
    "Markdown": ".md .markdown .mdx .rst",
    "JSON": ".json .jsonl .ipynb .arb",
    "PO": ".po .pot",
    "TMX": ".tmx .tbx",
    "XML": ".xml .resx .dita .fb2",
    "spreadsheet": ".xlsx .xls .ods .csv .tsv",
    "Word or presentation": ".docx .doc .odt .rtf .pptx .ppt .odp",
    "PDF or book": ".pdf .epub .mobi .tex",
    "packed": ".zip .gz .bz2 .xz .zst .7z .tar",
    "YAML or properties": ".yaml .yml .properties .strings",
}
KINDS = {ending: kind for kind, endings in ENDINGS.items() for ending in endings.split()}
# The kinds that have a `--format`.
TRANSLATED = {"XLIFF": "xliff", "HTML": "html", "Markdown": "markdown", "JSON": "json", "PO": "po", "TMX": "tmx"}
TRANSLATED |= {"subtitle": "srt"}
# Documents by their first bytes.
STARTS = {
    "XLIFF": rb"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<xliff\b",
    "TMX": rb"(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE tmx[^>]*>\s*)?<tmx\b",
    "HTML": rb"(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html|head|body)\b",
    "XML": rb"<\?xml\b",
    "subtitle": rb"WEBVTT\b|\[Script Info\]|\d+\r?\n\d\d:\d\d:\d\d[,.]\d{3} -->",
    "JSON": rb"\{\s*[\"}]|\[\s*[\[{\"]",
    "PO": rb"(?:#[^\n]*\n|\s)*msgid \"",
    "Word or presentation": rb"\{\\rtf|\xd0\xcf\x11\xe0",
    "PDF or book": rb"%PDF-",
    "packed": rb"PK\x03\x04|\x1f\x8b|BZh\d|\xfd7zXZ",
}


def name_document(name: str, start: bytes) -> str:
    """The kind of document that a file is by its `name` ("" for standard input) and first bytes; "" for lines."""
    if kind := KINDS.get(Path(name).suffix.lower(), ""):
        return kind
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return next((kind for kind, begins in STARTS.items() if re.match(begins, text, re.I | re.S)), "")


def check_input(name: str, start: bytes, lines: bool) -> str:
    """Raise `GlossaError` if a file is UTF-16, or a document and `lines` is not set; returns the kind of document."""
    if guess := wide_encoding(start):
        if name:
            raise wrong_encoding(Path(name), 1, "this looks like UTF-16", guess)
        raise GlossaError(
            f"Standard input looks like UTF-16. Only UTF-8 is read; convert it: iconv -f {guess} -t UTF-8 | glossa ..."
        )
    kind = name_document(name, start)
    if kind and name and not lines:
        known = f"Give --format {TRANSLATED[kind]} to keep it, a" if kind in TRANSLATED else "Give a"
        raise GlossaError(
            f"{name} is a {kind} file, whose structure would be lost: every line is translated as text. {known} file "
            "with a sentence or paragraph on each line, or --format lines to translate it nevertheless."
        )
    return kind
