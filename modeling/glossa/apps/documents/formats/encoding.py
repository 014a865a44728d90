"""Encodings of documents."""

import codecs
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ....base.errors import GlossaError
from ....readers.files import wide_encoding, wrong_encoding

logger = logging.getLogger(__name__)
START = 4096  # bytes in which a document declares its encoding
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_REFUSED = ("idna", "punycode", "raw-unicode-escape", "unicode-escape")  # codecs of Python, not encodings of files


class Decoded(NamedTuple):
    """The text of a file, its encoding, and a note about the encoding for people, or ""."""

    text: str
    encoding: str
    note: str


@dataclass(frozen=True)
class Encoding:
    """The encoding of a format: UTF-8, unless the attributes allow another one.

    Attributes:
        utf_16: Whether UTF-16 with a byte order mark is read too.
        declaration: Matches the declaration of an encoding in a document; its first group is the name.
        undeclared: Returns the encoding of a document without a declaration, given its bytes and source language.
        missing: The error handler of `str.encode` for characters that the encoding lacks.
    """

    utf_16: bool = False
    declaration: re.Pattern[bytes] | None = None
    undeclared: Callable[[bytes, str | None], str] = lambda content, language: "utf-8"
    missing: str = "strict"

    def decode(self, content: bytes, path: Path, language: str | None = None) -> Decoded:
        """Decode a file. Raises `GlossaError` if it has another encoding, or declares an unknown one."""
        encoding, note = self._declared(content, path), ""
        if encoding is None:
            encoding = self.undeclared(content, language)
            if self.declaration is not None and encoding != "utf-8":
                note = f"{path} declares no encoding; it is read as {encoding}, as browsers do."
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            byte = f"byte 0x{content[error.start]:02x} is not"
            if encoding == "utf-8":
                raise wrong_encoding(path, line, f"{byte} UTF-8", "WINDOWS-1252") from error
            raise GlossaError(
                f"{path}, line {line}: {byte} {encoding}, the encoding that the file declares. Correct the "
                "declaration, or convert the file."
            ) from error
        return Decoded(text, encoding, note)

    def encode(self, text: str, path: Path, encoding: str) -> bytes:
        """Encode a translated document: in UTF-8, which it then declares, if its encoding lacks a character."""
        try:
            return text.encode(encoding, self.missing)
        except UnicodeEncodeError as error:
            declaration = self.declaration.pattern.decode() if self.declaration else "(?!)()"
            flags = self.declaration.flags & re.I if self.declaration else 0
            found = re.compile(declaration, flags).search(text)
            if found is None:
                raise GlossaError(
                    f"{path} is in {encoding}, which lacks {text[error.start]!r} of the translation. Convert the file "
                    "to UTF-8."
                ) from error
            logger.warning("%s: %s lacks %r; it becomes UTF-8.", path, encoding, text[error.start])
            return f"{text[: found.start(1)]}UTF-8{text[found.end(1) :]}".encode()

    def _declared(self, content: bytes, path: Path) -> str | None:
        """The encoding by a byte order mark or a declaration, if there is one."""
        guess = wide_encoding(content)
        for mark, name in _MARKS:
            if self.utf_16 and content.startswith(mark) and guess == "UTF-16":
                return name
        if guess:
            raise wrong_encoding(path, 1, f"this looks like {guess[:6]}", guess)
        if self.declaration is None:
            return None
        if content.startswith(codecs.BOM_UTF8):
            return "utf-8"
        found = self.declaration.search(content, 0, START)
        return _known(found[1].decode("ascii"), path) if found else None


def _known(name: str, path: Path) -> str:
    """Python's name of a declared encoding."""
    if name == "CHARSET":  # in a template of gettext
        return "utf-8"
    try:
        known = codecs.lookup(name).name
        "a".encode(known)
        if known in _REFUSED:
            raise LookupError(known)
    except (LookupError, UnicodeError) as error:
        raise GlossaError(
            f"{path} declares the encoding {name}, which is unknown. Convert it to UTF-8: iconv -f ... -t UTF-8."
        ) from error
    return "utf-8" if known == "ascii" else known


def is_decodable(content: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding."""
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


UTF_8 = Encoding()
UTF_16 = Encoding(utf_16=True)
XML = Encoding(
    declaration=re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)"),
    missing="xmlcharrefreplace",
)
