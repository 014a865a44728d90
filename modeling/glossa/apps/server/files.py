"""Translate uploaded documents and texts with HTML tags, as `glossa translate` translates files."""

import asyncio
import gc
import io
import secrets
import tempfile
import zipfile
from pathlib import Path

from ...base.errors import GlossaError
from ...translate.review import Problems
from ..documents.formats import LINES
from ..documents.formats.format import LanguagePair, Opened
from ..documents.formats.opening import ending_of, endings, format_of, open_document
from ..documents.job import CHARACTERS, Work
from ..documents.places import Document, line_numbers
from .models import DEFAULT_OPTIONS, Models, RequestOptions, Step
from .queue import Queue, in_thread
from .refusals import MAX_FILE, Refused, too_many

MAX_RUNNING = 2  # documents at a time
MAX_SECONDS = 600  # for a document
MAX_SAVED = 100  # translated documents, of which the oldest are removed
# Members of a packed document that may be XML. Unpacked, they may be as large as an unpacked document.
XML = (".xml", ".xhtml", ".html", ".htm", ".ncx", ".opf", ".rels")
MAX_UNPACKED = 5 * MAX_FILE


class Files:
    """Translates documents, and saves the newest translations for download.

    Args:
        folder: Folder for translations, which no other server uses.
        queue: The queue for sentences.
        models: The models and memories. Some memories hide their sentences from documents.
    """

    def __init__(self, folder: Path, queue: Queue, models: Models):
        self.folder, self.queue, self.models = folder, queue, models
        self.running = 0
        self.names: dict[str, str] = {}  # names of translated documents for their users

    @staticmethod
    def endings() -> list[str]:
        """The supported file extensions."""
        return sorted(endings())

    async def translate_file(
        self, content: bytes, name: str, step: Step, options: RequestOptions = DEFAULT_OPTIONS
    ) -> tuple[str, list[str]]:
        """Translate a document with the model of `step`. Returns its name for download, and the missing terms.

        Raises `Refused` if the document is broken, its format unknown, or the server busy.
        """
        ending = ending_of(name) or Path(name).suffix.lower()
        if ending not in self.endings():
            raise Refused(f"file is {ending or 'a name without ending'}; it may be {', '.join(self.endings())}.")
        if self.running >= MAX_RUNNING:
            raise too_many(f"{self.running} documents are being translated.")
        self.running += 1
        deadline = asyncio.get_running_loop().time() + MAX_SECONDS
        try:
            found, missing = await self._translate_content(content, ending, step, options, deadline)
        finally:
            self.running -= 1
            if not self.running:
                gc.unfreeze()
        for old in sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime)[: 1 - MAX_SAVED]:
            old.unlink()
            self.names.pop(old.name, None)
        # The name permits the download, so it must be hard to guess.
        new = self.folder / f"{secrets.token_urlsafe(16)}.{step.target}{ending}"
        new.write_bytes(found)
        given = "".join(filter(str.isprintable, name.replace("\\", "/").rpartition("/")[2]))
        self.names[new.name] = f"{Path(given).stem}.{step.target}{ending}"
        return new.name, missing

    async def translate_html(
        self, text: str, step: Step, options: RequestOptions, deadline: float
    ) -> tuple[str, list[str]]:
        """Translate a text with HTML tags. Returns the translation and the missing terms."""
        content, missing = await self._translate_content(text.encode("utf-8"), ".html", step, options, deadline)
        return content.decode("utf-8"), missing

    async def _translate_content(
        self, content: bytes, ending: str, step: Step, options: RequestOptions, deadline: float
    ) -> tuple[bytes, list[str]]:
        """Translate a document. No thread is blocked while its sentences wait in the queue."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._translate_opened(content, Path(f"document{ending}"), step, options, deadline)
        except TimeoutError:
            raise too_many("the document was not read in time.") from None

    async def _translate_opened(
        self, content: bytes, path: Path, step: Step, options: RequestOptions, deadline: float
    ) -> tuple[bytes, list[str]]:
        translator = await self.models.translator(step, options)
        work = Work(translator, translator.translate_segments, Problems(None), hides=self.models.memories.hides)
        done = []
        try:
            opened = await in_thread(self._open, content, path, step)
            gc.freeze()  # a look at hundreds of thousands of texts would hold all requests for seconds
            for document in opened.documents:
                check_texts(document)
                steps = work.steps(document, path)
                while isinstance(found := await in_thread(next, steps), list):
                    sentences = [sentence for text in found for sentence in text.sentences]
                    await self.queue.translate(translator, sentences, deadline)
                done.append(found)
            packed = await in_thread(opened.pack, done)
        except GlossaError as error:
            raise Refused(str(error).replace(str(path), "The document")) from error
        if work.problems.failures:
            first = work.problems.failures[0]
            raise Refused(f"Line {first['line']} cannot be translated: {first['problem']}")
        missing = [term for row in work.problems.implausible for term in row.get("missing", ())]
        return packed, list(dict.fromkeys(missing))

    def _open(self, content: bytes, path: Path, step: Step) -> Opened:
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as folder:
            source = Path(folder, path)
            source.write_bytes(content)
            kind = format_of(source.name) or LINES
            check_unpacked(content)
            try:
                return open_document(source, kind, LanguagePair(step.source, step.target))
            except GlossaError as error:
                raise GlossaError(str(error).replace(str(source), str(path))) from error

    def path(self, name: str) -> Path:
        """The file of a translated document. Raises `Refused` if it does not exist."""
        if name not in {path.name for path in self.folder.iterdir()}:
            raise Refused("There is no file of this name. Translate the document again.", 404)
        return self.folder / name


def check_texts(document: Document) -> None:
    """Raise `Refused` if a text is so long that nothing could stop the server while it is divided into sentences."""
    for place in document.places:
        if place.length > CHARACTERS:
            line, most = line_numbers(document.text)(place.start), f"at most {CHARACTERS:,} are allowed"
            raise Refused(f"Line {line} has a text of {place.length:,} characters; {most}. Divide it.")


def check_unpacked(content: bytes) -> None:
    """Raise `Refused` if a packed document would be too large unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile:
        return  # not packed, or broken, which is reported when it is opened
    texts = [member for member in members if member.filename.lower().endswith(XML)]
    for what, some, most in (("The texts of the document", texts, MAX_FILE), ("The document", members, MAX_UNPACKED)):
        size = sum(member.file_size for member in some)  # zipfile unpacks at most this
        if size > most:
            raise Refused(f"{what} unpacked would be {size:,} bytes; at most {most:,} are allowed. Divide it.")
