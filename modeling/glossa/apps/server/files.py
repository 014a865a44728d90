"""Translate uploaded documents and texts with HTML tags, as `glossa translate` translates files."""

import asyncio
import secrets
from pathlib import Path

from ...base.errors import GlossaError
from ...translate.review import Problems
from ..documents.formats.opening import ending_of, endings
from ..documents.job import Work
from ..documents.places import Document
from .models import DEFAULT_OPTIONS, Models, RequestOptions, Step
from .queue import Queue, in_thread
from .readers import Readers
from .reading import packed_answers, unpacked_texts
from .refusals import Refused, too_many

MAX_RUNNING = 2  # documents at a time
MAX_SECONDS = 600  # for a document
MAX_SAVED = 100  # translated documents, of which the oldest are removed


class Files:
    """Translates documents, and saves the newest translations for download.

    Args:
        folder: Folder for translations, which no other server uses.
        queue: The queue for sentences.
        readers: The processes that read and write documents.
        models: The models and memories. Some memories hide their sentences from documents.
    """

    def __init__(self, folder: Path, queue: Queue, readers: Readers, models: Models):
        self.folder, self.queue, self.readers, self.models = folder, queue, readers, models
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
        for old in sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime)[: 1 - MAX_SAVED]:
            old.unlink()
            self.names.pop(old.name, None)
        # The name permits the download, so it must be hard to guess.
        ending = ending if ending[0] == "." else Path(ending).suffix  # strings.xml is a whole name
        new = self.folder / f"{secrets.token_urlsafe(16)}.{step.target}{ending}"
        new.write_bytes(found)
        given = "".join(filter(str.isprintable, name.replace("\\", "/").rpartition("/")[2]))
        self.names[new.name] = f"{given[: -len(ending)]}.{step.target}{ending}"
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
                return await self._translate_opened(content, ending, step, options, deadline)
        except TimeoutError:
            raise too_many("the document was not read in time.") from None

    async def _translate_opened(
        self, content: bytes, ending: str, step: Step, options: RequestOptions, deadline: float
    ) -> tuple[bytes, list[str]]:
        translator = await self.models.translator(step, options)
        work = Work(translator, translator.translate_segments, Problems(None), hides=self.models.memories.hides)
        document, translations = (content, ending, step.source, step.target), []
        for chunk in await self.readers.read(*document):
            lines, places = unpacked_texts(chunk)
            try:
                texts = await in_thread(work.plan, Document("", places, language=step.target), places)
            except GlossaError as error:
                raise Refused(str(error)) from error
            await self.queue.translate(translator, [each for text in texts for each in text.sentences], deadline)
            answers = await in_thread(work.answers, texts)
            for line, text, (best, _) in zip(lines, texts, answers, strict=True):
                work.count(text, best, line, Path())
            translations.append(packed_answers([answer for _, answer in answers]))
        packed = await self.readers.write(*document, translations)
        if work.problems.failures:
            first = work.problems.failures[0]
            raise Refused(f"Line {first['line']} cannot be translated: {first['problem']}")
        missing = [term for row in work.problems.implausible for term in row.get("missing", ())]
        return packed, list(dict.fromkeys(missing))

    def path(self, name: str) -> Path:
        """The file of a translated document. Raises `Refused` if it does not exist."""
        if name not in {path.name for path in self.folder.iterdir()}:
            raise Refused("There is no file of this name. Translate the document again.", 404)
        return self.folder / name
