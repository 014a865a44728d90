"""The formats of documents: what their names end with, and how their bytes are texts and become bytes again."""

import codecs
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ....base.errors import GlossaError
from ....readers.files import wide_encoding, wrong_encoding
from ..places import Document
from .keys import KEYED, Keys

# The ends of names of each format. Its module in this folder has the same name, unless `MODULES` says another one.
ENDINGS = {
    "html": ".html .htm",
    "markdown": ".md .markdown .mdx",
    "srt": ".srt",
    "vtt": ".vtt",
    "po": ".po .pot",
    "json": ".json .arb",
    "yaml": ".yaml .yml",
    "properties": ".properties",
    "xliff": ".xliff .xlf",
    "tmx": ".tmx",
    "android": "strings.xml arrays.xml plurals.xml",
    "resx": ".resx .resw",
    "strings": ".strings",
    "stringsdict": ".stringsdict",
    "xcstrings": ".xcstrings",
    "ts": ".ts",
    "fluent": ".ftl",
    "table": ".csv .tsv",
    "ini": ".ini",
    "toml": ".toml",
    "asciidoc": ".adoc .asciidoc",
    "ipynb": ".ipynb",
    "lrc": ".lrc",
    "ass": ".ass .ssa",
    "docx": ".docx",
    "pptx": ".pptx",
    "xlsx": ".xlsx",
    "odt": ".odt",
    "odp": ".odp",
    "ods": ".ods",
    "epub": ".epub",
    "paragraphs": "",
}
MODULES = {
    **dict.fromkeys(("srt", "vtt"), "subtitles"),
    **dict.fromkeys(("docx", "pptx", "xlsx", "odt", "odp", "ods", "epub"), "packages"),
    "paragraphs": "plain",
    "ipynb": "notebook",
    "lrc": "lyrics",
    "ass": "substation",
    "strings": "apple_strings",
    "ts": "qt",
}
FORMATS = (*ENDINGS, "lines")
PACKED = ("docx", "pptx", "xlsx", "odt", "odp", "ods", "epub")
WIDE = ("resx", "strings", "ini", "table", "lrc", "ass", "srt")  # which are often UTF-16, with a byte order mark
_BY_ENDING = {ending: name for name, endings in ENDINGS.items() for ending in endings.split()}
# Where a document says its encoding.
_XML = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")
_DECLARED = {
    "html": re.compile(rb"<meta[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I),
    "po": re.compile(rb"Content-Type:[^\n]*?charset=([\w.:-]+)", re.I),
    **dict.fromkeys(("xliff", "tmx", "android", "resx", "stringsdict", "ts"), _XML),
}
# What browsers take for HTML that does not say its encoding, by its language (HTML standard, 13.2.3.2); for all other
# languages windows-1252.
_FALLBACKS = {
    **dict.fromkeys(("ba", "be", "bg", "kk", "ky", "mk", "ru", "sah", "sr", "tg", "tt", "uk"), "windows-1251"),
    **dict.fromkeys(("cs", "sk"), "windows-1250"), **dict.fromkeys(("hr", "hu", "pl", "sl"), "iso-8859-2"),
    **dict.fromkeys(("et", "lt", "lv"), "windows-1257"), **dict.fromkeys(("az", "ku", "tr"), "windows-1254"),
    "ar": "windows-1256", "fa": "windows-1256", "el": "iso-8859-7", "he": "windows-1255", "vi": "windows-1258",
    "ja": "shift_jis", "ko": "euc-kr", "th": "cp874", "zh": "gb18030",
}  # fmt: skip
# What Python calls an encoding, and no document has.
_NO_ENCODINGS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape")


class Opened(NamedTuple):
    """A file that is open for translation.

    Attributes:
        documents: Its texts; a packed file has several.
        pack: The bytes of the file with these texts in the place of its own.
    """

    documents: list[Document]
    pack: Callable[[list[str]], bytes]


@dataclass(frozen=True)
class Languages:
    """Codes of the languages that a document is translated from and into, if known."""

    source: str | None = None
    target: str | None = None


UNKNOWN = Languages()


def format_of(name: str, given: str | None = None) -> str | None:
    """The format of a file, by `given` or by its name; None if it is a text of lines, or of no format known here."""
    chosen = given or _BY_ENDING.get(ending_of(name))
    return None if chosen == "lines" else chosen


def ending_of(name: str) -> str:
    """The longest known end of a name, in lower case; "" if there is none.

    That of Android's files is the whole name, or stands after `_`: their other names have no hyphens or spaces.
    """
    last = "_" + re.split(r"[/\\]", name.lower())[-1]
    found = (ending for ending in _BY_ENDING if last.endswith(ending if ending[0] == "." else f"_{ending}"))
    return max(found, key=len, default="")


def is_program(path: Path, kind: str) -> bool:
    """Whether a file with the name of a document of Qt is a program in TypeScript."""
    if kind != "ts" or not path.is_file():
        return False
    with open(path, "rb") as file:
        return not file.read(256).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<")


def open_document(path: Path, kind: str, languages: Languages = UNKNOWN, keys: Keys | None = None) -> Opened:
    """The texts of a file; of JSON and YAML those that `keys` choose.

    Raises `GlossaError` with the line if it is broken.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise GlossaError(f"{path}: {error.strerror}.") from error
    module = importlib.import_module(f".{MODULES.get(kind, kind)}", __package__)
    if kind in PACKED:
        return _into(languages, module.open_package(content, path, kind, languages))
    encoding = _encoding(content, path, kind, languages)
    text = _decoded(content, path, kind, encoding)
    if kind == "ipynb":
        cells, places = module.read_cells(text, str(path), languages)
        return _into(
            languages,
            Opened(cells, lambda texts: _encoded(module.written(text, cells, places, texts), path, kind, encoding)),
        )
    chosen = (keys,) if kind in KEYED else ()
    document = module.read(text, str(path), languages, *chosen)
    if kind == "html" and encoding != "utf-8" and not _DECLARED["html"].search(content, 0, 4096):
        document.notes.append(f"{path} does not say its encoding; it is read as {encoding}, as browsers do.")
    return _into(languages, Opened([document], lambda texts: _encoded(texts[0], path, kind, encoding)))


def _into(languages: Languages, opened: Opened) -> Opened:
    for document in opened.documents:
        document.language = languages.target or ""
    return opened


def _encoding(content: bytes, path: Path, kind: str, languages: Languages) -> str:
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if kind in WIDE and content.startswith(mark) and wide_encoding(content) == "UTF-16":
            return name
    if guess := wide_encoding(content):
        raise wrong_encoding(path, 1, f"this looks like {guess[:6]}", guess)
    if content.startswith(codecs.BOM_UTF8) or kind not in _DECLARED:
        if kind == "properties":
            return "ascii" if content.isascii() else "utf-8" if _is_utf8(content) else "latin-1"
        return "utf-8"
    found = _DECLARED[kind].search(content, 0, 4096)
    if found is None and kind == "html":
        return _undeclared(content, languages.source)
    name = found[1].decode("ascii") if found else "utf-8"
    if name == "CHARSET":  # a template that nobody has filled in
        return "utf-8"
    try:
        known = codecs.lookup(name).name
        "a".encode(known)
        if known in _NO_ENCODINGS:
            raise LookupError(known)
        return "utf-8" if known == "ascii" else known
    except (LookupError, UnicodeError) as error:
        raise GlossaError(
            f"{path} says that its encoding is {name}, which is not known. Convert it to UTF-8: iconv -f ... -t UTF-8."
        ) from error


def _undeclared(content: bytes, language: str | None) -> str:
    """The encoding of HTML that does not say one: UTF-8 if it is, or what browsers take for a language."""
    name = _FALLBACKS.get((language or "").partition("-")[0].lower(), "windows-1252")
    broken = not content.decode("utf-8", "ignore").isascii()  # some of it is UTF-8
    return "utf-8" if broken or _is_utf8(content) or not _is(content, name) else name


def _is_utf8(content: bytes) -> bool:
    return _is(content, "utf-8")


def _is(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(content: bytes, path: Path, kind: str, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if encoding == "utf-8":
            byte = f"byte 0x{content[error.start]:02x} is not UTF-8"
            raise wrong_encoding(path, line, byte, "WINDOWS-1252") from error
        raise GlossaError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not {encoding}, the encoding that the file "
            "says it has. Correct what it says, or convert it."
        ) from error


def _encoded(text: str, path: Path, kind: str, encoding: str) -> bytes:
    if kind == "properties":
        return b"".join(_property(character, encoding) for character in text)
    try:
        return text.encode(
            encoding, "xmlcharrefreplace" if kind == "html" or _DECLARED.get(kind) is _XML else "strict"
        )
    except UnicodeEncodeError as error:
        raise GlossaError(
            f"{path} says that its encoding is {encoding}, which has no {text[error.start]!r} of the translation. "
            "Convert the file to UTF-8, and let it say so."
        ) from error


def _property(character: str, encoding: str) -> bytes:
    """A character of a properties file, as an escape if the encoding lacks it."""
    try:
        return character.encode(encoding)
    except UnicodeEncodeError:
        units = character.encode("utf-16-be")
        return b"".join(b"\\u%04x" % int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
