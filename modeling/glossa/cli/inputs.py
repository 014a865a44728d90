"""Checks of the input of `glossa translate` in lines mode, which is UTF-8 text.

Other encodings and documents are detected and refused. Documents in a supported format come here only if their name
has another ending.
"""

import re
from pathlib import Path

from ..apps.documents.formats import MODULES
from ..apps.documents.formats.opening import find_format, format_of
from ..base.errors import GlossaError
from ..base.languages import language_code
from ..readers.files import wide_encoding, wrong_encoding

START = 4096  # bytes at the start of a file for detection
# Kinds of documents by file ending. Supported formats have the name of their `--format`.
ENDINGS = {
    "HTML": ".xhtml",
    "subtitle": ".sbv",
    "text with markup": ".rst .tex .org .textile .wiki",
    "JSON": ".jsonl .json5",
    "TBX": ".tbx",
    "XML": ".xml .dita .fb2 .svg .plist .xsd .xsl",
    "spreadsheet": ".xls",
    "Word or presentation": ".doc .rtf .ppt",
    "PDF or book": ".pdf .mobi",
    "packed": ".zip .gz .bz2 .xz .zst .7z .tar",
    "program": ".js .mjs .cjs .jsx .tsx .vue .svelte .php .py .rb .java .kt .swift .go .rs .c .h .cpp .cs .dart .sh"
    " .ps1 .sql .css .scss .less .r .lua .pl",
    "settings": ".cfg .conf .env .desktop .reg .plist .gradle .lock",
}
KINDS = {ending: kind for kind, endings in ENDINGS.items() for ending in endings.split()}
# The `--format` of kinds that have another name.
TRANSLATED = {"XLIFF": "xliff", "HTML": "html", "JSON": "json", "PO": "po", "TMX": "tmx", "subtitle": "srt"}
TRANSLATED |= {"XHTML": "html", "INI": "ini"}
# Endings of text files. A file with another ending is not text if it looks structured. Language codes are text too.
TEXTS = ("", ".txt", ".text", ".raw", ".tok", ".bpe", ".src", ".tgt", ".ref", ".hyp", ".list", ".lines", ".log")
_STRUCTURED = re.compile(  # a line of a program or of settings
    r"""[\w.$"'-]+\s*(?:=|:=|=>|:\s)\s*\S|\[[^\]]+\]\s*$|[{}()\[\];,]+$|.*[;{]$|</?[A-Za-z!?][^>]*>|@\w+|//|/\*|\#\w+|\w+\(.*\)"""
)
# Kinds of documents by their first bytes.
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
    """Detect the kind of document from `name` ("" for standard input) and first bytes; "" for lines of text."""
    ending = Path(name).suffix.lower()
    # Without a name, no module of a format is imported, which takes as long as translating some sentences.
    if name and (kind := format_of(name) or KINDS.get(ending, "")):
        return kind
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if kind := next((kind for kind, begins in STARTS.items() if re.match(begins, text, re.I | re.S)), ""):
        return kind
    return "" if ending in TEXTS or language_code(ending[1:]) else _looks_structured(text)


def _looks_structured(start: bytes) -> str:
    """Return "structured" if at least half of the first lines look like a program or settings."""
    lines = [line.strip() for line in start.decode("utf-8", "replace").splitlines() if line.strip()][:20]
    return "structured" if 2 * sum(bool(_STRUCTURED.match(line)) for line in lines) >= max(len(lines), 1) else ""


def check_input(name: str, start: bytes, lines: bool) -> str:
    """Return the kind of document. Raises `GlossaError` for UTF-16, and for a document unless `lines` is set."""
    kind = name_document(name, start)
    if (guess := wide_encoding(start)) and not (kind == "packed" or (kind in MODULES and find_format(kind).packed)):
        if name:
            raise wrong_encoding(Path(name), 1, "this looks like UTF-16", guess)
        raise GlossaError(
            f"Standard input looks like UTF-16. Only UTF-8 is read; convert it: iconv -f {guess} -t UTF-8 | glossa ..."
        )
    if kind and name and not lines:
        wanted = kind if kind in MODULES else TRANSLATED.get(kind)
        known = f"Give --format {wanted} to keep it, a" if wanted else "Give a"
        raise GlossaError(
            f"{name} is a {kind} file, whose structure would be lost: every line is translated as text. {known} file "
            "with a sentence or paragraph on each line, or --format lines to translate it as text."
        )
    return kind
