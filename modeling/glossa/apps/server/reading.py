"""Reading and writing documents in a process of their own, which imports no torch: its work, and its messages.

A message is a line with the lengths of its parts as JSON, and the parts. A request has the document and, to write it,
the translations of each chunk of texts. An answer has the chunks of texts, or the translated document.
"""

import io
import json
import math
import os
import re
import signal
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ...base.errors import GlossaError
from ...translate.interface import UsedMatch
from ...translate.texts.tags import Part
from ..documents.formats import LINES
from ..documents.formats.format import LanguagePair
from ..documents.formats.opening import format_of, open_document
from ..documents.places import (
    CHARACTERS,
    Answer,
    Document,
    DocumentWriter,
    Place,
    Recalled,
    Usage,
    chunks,
    line_numbers,
)

MAX_FILE = 10 << 20  # bytes
# Members of a packed document that may be XML. Unpacked, they may be as large as an unpacked document.
XML = (".xml", ".xhtml", ".html", ".htm", ".ncx", ".opf", ".rels")
MAX_UNPACKED = 5 * MAX_FILE
# Advice that names an option of the command, which requests do not have: the end of a sentence, or a whole one.
_OPTION = re.compile(r", (?:or )?[^.,]* --[a-z]+[^.,]*|(?<=\.) [^.,]* --[a-z]+[^.,]*\.")
OUT_OF_MEMORY = 3  # the status of the process in this case


def send(stream: IO[bytes], parts: Sequence[bytes]) -> None:
    """Send a message."""
    stream.write(json.dumps([*map(len, parts)]).encode() + b"\n")
    stream.writelines(parts)
    stream.flush()


def receive(stream: IO[bytes]) -> list[bytes]:
    """Wait for a message. Raises `EOFError` if the other process has ended."""
    lengths = stream.readline()
    if not lengths.endswith(b"\n"):
        raise EOFError
    parts = [stream.read(length) for length in json.loads(lengths)]
    if [*map(len, parts)] != json.loads(lengths):
        raise EOFError
    return parts


def packed_texts(document: Document) -> list[bytes]:
    """The chunks of texts of a document, each with its line."""
    number = line_numbers(document.text)
    return [
        json.dumps(
            [
                (number(place.start), place.parts, (place.usage.label, place.usage.marked, place.usage.context))
                for place in chunk
            ]
        ).encode()
        for chunk in chunks(document.places)
    ]


def unpacked_texts(chunk: bytes) -> tuple[list[int], list[Place]]:
    """The lines and the texts of a chunk."""
    found = json.loads(chunk)
    places = [Place([Part(*part) for part in parts], usage=Usage(*usage)) for _, parts, usage in found]
    return [line for line, _, _ in found], places


def packed_answers(answers: Sequence[Answer]) -> bytes:
    """The translations of a chunk."""
    return json.dumps(answers).encode()


def unpacked_answers(packed: bytes) -> list[Answer]:
    """The translations of a chunk."""
    return [_answer(*given) for given in json.loads(packed)]


def _answer(pieces: list, changed: bool, approved: bool, doubtful: bool, recalled: list | None) -> Answer:
    found = None
    if recalled is not None:
        matches, copied, own, taken = recalled
        found = Recalled([UsedMatch(*match) for match in matches], copied, own, taken and UsedMatch(*taken))
    pieces = [piece if isinstance(piece, str) else Part(*piece) for piece in pieces]
    return Answer(pieces, changed, approved, doubtful, found)


def main() -> None:
    """Answer requests until there are no more. Arguments: the seconds and the bytes that a document may need."""
    # Readers may print, and Ctrl-C is for the server.
    answers, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds, memory = map(int, sys.argv[1:])
    try:
        while True:
            _limit(seconds, memory)
            head, content, *translations = receive(sys.stdin.buffer)
            try:
                send(answers, [b"", *_handle(json.loads(head), content, translations)])
            except GlossaError as error:
                send(answers, [str(error).encode()])
    except EOFError:
        return
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _limit(seconds: int, memory: int) -> None:
    """Let the system end this process if its memory or its next document exceed the limits."""
    try:
        import resource
    except ImportError:  # the server has said it
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _handle(head: dict[str, Any], content: bytes, translations: list[bytes]) -> list[bytes]:
    ending, languages = head["ending"], LanguagePair(head["source"], head["target"])
    path = Path(f"document{'' if ending.startswith('.') else '_'}{ending}")  # or a whole name, such as strings.xml
    check_unpacked(content)
    try:
        opened = open_document(path, format_of(path.name) or LINES, languages, content=content)
    except GlossaError as error:
        raise GlossaError(_OPTION.sub("", str(error).replace(str(path), "The document"))) from error
    if not head["write"]:
        for document in opened.documents:
            check_texts(document)
        return [chunk for document in opened.documents for chunk in packed_texts(document)]
    waiting, texts = iter(translations), []
    for document in opened.documents:
        writer = DocumentWriter(document)
        for places in chunks(document.places):
            for place, answer in zip(places, unpacked_answers(next(waiting)), strict=True):
                writer.write(place, answer)
        texts.append(writer.text())
    return [opened.pack(texts)]


def check_texts(document: Document) -> None:
    """Raise `GlossaError` if a text is so long that nothing could stop the server while it is divided."""
    for place in document.places:
        if place.length > CHARACTERS:
            line, most = line_numbers(document.text)(place.start), f"at most {CHARACTERS:,} are allowed"
            raise GlossaError(f"Line {line} has a text of {place.length:,} characters; {most}. Divide it.")


def check_unpacked(content: bytes) -> None:
    """Raise `GlossaError` if a packed document would be too large unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile:
        return  # not packed, or broken, which is reported when it is opened
    texts = [member for member in members if member.filename.lower().endswith(XML)]
    for what, some, most in (("The texts of the document", texts, MAX_FILE), ("The document", members, MAX_UNPACKED)):
        size = sum(member.file_size for member in some)  # zipfile unpacks at most this
        if size > most:
            raise GlossaError(f"{what} unpacked would be {size:,} bytes; at most {most:,} are allowed. Divide it.")
