"""Documents that are sent to the server, and texts with HTML tags: translated like files of `glossa translate`."""

import asyncio
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..documents.formats.opening import ENDINGS, Languages, format_of, open_document
from ..documents.job import LazyAligner, Work
from ..errors import GlossaError
from ..inference.engines.engine import Translation
from ..inference.review import Problems
from ..inference.texts.segment import Texts
from ..inference.translator import Translator
from ..segments_glossa import Segment
from .models import PLAIN, Step, Wishes
from .queue import BATCH, Queue
from .refusals import Refused, too_many

if TYPE_CHECKING:
    from ..inference.texts.alignment import Aligner

AT_ONCE = 2  # documents; more are refused
MAX_SECONDS = 600  # of a document
KEPT = 100  # translated documents; the oldest is removed


@dataclass
class Queued:
    """The translator of a document: its sentences wait in the queue with the texts of other requests."""

    translator: Translator
    queue: Queue
    loop: asyncio.AbstractEventLoop
    deadline: float

    def segments(self, text: str) -> list[Segment]:
        return self.translator.segments(text)

    def translate(self, texts: list[str]) -> list[list[Translation]]:
        found: list[list[Translation]] = []
        for part in _parts(texts):
            waiting = self.queue.translate(self.translator, part, self.deadline)
            found += asyncio.run_coroutine_threadsafe(waiting, self.loop).result()
        return found


def _parts(texts: list[str]) -> list[list[str]]:
    """The texts in parts that leave room for other requests in a batch."""
    parts: list[list[str]] = []
    size = BATCH
    for text in texts:
        if size + len(text) > BATCH // 2:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    return parts


class Files:
    """Translates documents, and keeps the newest translations in a folder until they are fetched.

    Args:
        folder: The folder, for this server alone.
        queue: Where sentences wait.
        translator: Gives the translator of a step, as [`Models.translator`].
    """

    def __init__(self, folder: Path, queue: Queue, translator: Callable):
        self.folder, self.queue, self.translator = folder, queue, translator
        self.running = 0
        self.aligners: dict[Step, Aligner] = {}

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
        ending = Path(name).suffix.lower()
        if ending not in self.endings():
            raise Refused(f"file is {ending or 'a name without ending'}; it may be {', '.join(self.endings())}.")
        if self.running >= AT_ONCE:
            raise too_many(f"{self.running} documents are being translated.")
        self.running += 1
        try:
            found, missing = await self._translate_content(content, ending, step, wishes)
        finally:
            self.running -= 1
        for old in sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime)[: 1 - KEPT]:
            old.unlink()
        # Who knows the name may fetch the file, so nobody can guess it.
        new = self.folder / f"{secrets.token_urlsafe(16)}.{step.target}{ending}"
        new.write_bytes(found)
        return new.name, missing

    async def translate_html(
        self, texts: list[str], step: Step, wishes: Wishes = PLAIN
    ) -> list[tuple[str, list[str]]]:
        """The translation of texts with HTML tags, which keep their places, and the terms that it lacks."""
        found = [await self._translate_content(text.encode("utf-8"), ".html", step, wishes) for text in texts]
        return [(content.decode("utf-8"), missing) for content, missing in found]

    async def _translate_content(
        self, content: bytes, ending: str, step: Step, wishes: Wishes
    ) -> tuple[bytes, list[str]]:
        loop = asyncio.get_running_loop()
        translator = Queued(await self.translator(step, wishes), self.queue, loop, loop.time() + MAX_SECONDS)
        return await asyncio.to_thread(self._run, content, ending, step, translator)

    def _run(self, content: bytes, ending: str, step: Step, translator: Any) -> tuple[bytes, list[str]]:
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as folder:
            source = Path(folder, f"document{ending}")
            source.write_bytes(content)
            texts = Texts(translator, self.aligners.setdefault(step, LazyAligner([step.model], step.target)))
            work = Work(Problems(None))
            try:
                kind = format_of(source.name) or "paragraphs"
                opened = open_document(source, kind, Languages(step.source, step.target))
                done = [work.translate(document, texts, source, lambda _: None) for document in opened.documents]
            except GlossaError as error:
                raise Refused(str(error).replace(str(source), "The document")) from error
            if work.problems.failures:
                first = work.problems.failures[0]
                raise Refused(f"Line {first['line']} cannot be translated: {first['problem']}")
            missing = [term for row in work.problems.implausible for term in row.get("missing", ())]
            return opened.pack(done), list(dict.fromkeys(missing))

    def path(self, name: str) -> Path:
        """The translated document of this name. Raises `Refused` if there is none."""
        if name not in {path.name for path in self.folder.iterdir()}:
            raise Refused("There is no file of this name. Translate the document again.", 404)
        return self.folder / name
