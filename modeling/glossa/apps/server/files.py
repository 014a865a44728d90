"""Documents that are sent to the server, and texts with HTML tags: translated like files of `glossa translate`."""

import asyncio
import io
import secrets
import tempfile
import zipfile
from pathlib import Path

from ...base.errors import GlossaError
from ...translate.review import Problems
from ..documents.formats.opening import ENDINGS, Languages, Opened, ending_of, format_of, open_document
from ..documents.job import Work
from .models import PLAIN, Models, Step, Wishes
from .queue import Queue, in_thread
from .refusals import MAX_FILE, Refused, too_many

AT_ONCE = 2  # documents; more are refused
MAX_SECONDS = 600  # of a document
KEPT = 100  # translated documents; the oldest is removed
# Bytes to which a packed document may unpack: what can be XML, as a file that is not packed, and all of it.
XML = (".xml", ".xhtml", ".html", ".htm", ".ncx", ".opf", ".rels")
MAX_UNPACKED = 5 * MAX_FILE


class Files:
    """Translates documents, and keeps the newest translations in a folder until they are fetched.

    Args:
        folder: The folder, for this server alone.
        queue: Where sentences wait.
        models: The models, with the memories, whose sentences a document may not show.
    """

    def __init__(self, folder: Path, queue: Queue, models: Models):
        self.folder, self.queue, self.models = folder, queue, models
        self.running = 0
        self.names: dict[str, str] = {}  # of translated documents, for those who fetch them

    @staticmethod
    def endings() -> list[str]:
        """Endings of the names of documents that are translated."""
        return sorted({".txt", *(ending for endings in ENDINGS.values() for ending in endings.split())})

    async def translate_file(
        self, content: bytes, name: str, step: Step, wishes: Wishes = PLAIN
    ) -> tuple[str, list[str]]:
        """Translate a document with the model of `step`: the name under which it can be fetched, and missing terms.

        Raises `Refused` for a document that is broken or of no known format, and if others are being translated.
        """
        ending = ending_of(name) or Path(name).suffix.lower()
        if ending not in self.endings():
            raise Refused(f"file is {ending or 'a name without ending'}; it may be {', '.join(self.endings())}.")
        if self.running >= AT_ONCE:
            raise too_many(f"{self.running} documents are being translated.")
        self.running += 1
        deadline = asyncio.get_running_loop().time() + MAX_SECONDS
        try:
            found, missing = await self._translate_content(content, ending, step, wishes, deadline)
        finally:
            self.running -= 1
        for old in sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime)[: 1 - KEPT]:
            old.unlink()
            self.names.pop(old.name, None)
        # Who knows the name may fetch the file, so nobody can guess it.
        new = self.folder / f"{secrets.token_urlsafe(16)}.{step.target}{ending}"
        new.write_bytes(found)
        given = "".join(filter(str.isprintable, name.replace("\\", "/").rpartition("/")[2]))
        self.names[new.name] = f"{Path(given).stem}.{step.target}{ending}"
        return new.name, missing

    async def translate_html(self, text: str, step: Step, wishes: Wishes, deadline: float) -> tuple[str, list[str]]:
        """The translation of a text with HTML tags, which keep their places, and the terms that it lacks."""
        content, missing = await self._translate_content(text.encode("utf-8"), ".html", step, wishes, deadline)
        return content.decode("utf-8"), missing

    async def _translate_content(
        self, content: bytes, ending: str, step: Step, wishes: Wishes, deadline: float
    ) -> tuple[bytes, list[str]]:
        """A translated document, and missing terms. No thread is held while its sentences wait in the queue."""
        translator = await self.models.translator(step, wishes)
        work = Work(translator, translator.translate_segments, Problems(None), hides=self.models.memories.hides)
        path = Path(f"document{ending}")
        done = []
        try:
            opened = await in_thread(self._open, content, path, step)
            for document in opened.documents:
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
            kind = format_of(source.name) or "paragraphs"
            check_unpacked(content)
            try:
                return open_document(source, kind, Languages(step.source, step.target))
            except GlossaError as error:
                raise GlossaError(str(error).replace(str(source), str(path))) from error

    def path(self, name: str) -> Path:
        """The translated document of this name. Raises `Refused` if there is none."""
        if name not in {path.name for path in self.folder.iterdir()}:
            raise Refused("There is no file of this name. Translate the document again.", 404)
        return self.folder / name


def check_unpacked(content: bytes) -> None:
    """Raise `Refused` for a packed document that is too large when it is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile:
        return  # it is not packed, or whoever opens it says what is wrong
    texts = [member for member in members if member.filename.lower().endswith(XML)]
    for what, some, most in (("The texts of the document", texts, MAX_FILE), ("The document", members, MAX_UNPACKED)):
        size = sum(member.file_size for member in some)  # zipfile unpacks no more than this
        if size > most:
            raise Refused(f"{what} unpacked would be {size:,} bytes; at most {most:,} are allowed. Divide it.")
