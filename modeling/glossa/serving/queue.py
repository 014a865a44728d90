"""One queue for the texts of all requests: what waits together is translated together."""

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..inference.engines.engine import Translation
from ..inference.translator import Translator
from .refusals import Refused, too_many

logger = logging.getLogger(__name__)

# While a batch is translated on all cores, another thread prepares the texts of the next one.
THREADS = 2
BATCH = 10_000  # characters of texts that are translated together, unless one request has more
MOST = 200_000  # characters that may wait; then requests are refused until there is room


@dataclass(eq=False)
class Job:
    """The texts of a request that wait for one translator.

    Attributes:
        translator: Translates them.
        texts: The texts.
        answer: Called in the thread of the translation with the translations of each text, or with an exception.
        left: Whether nobody waits for the answer any more.
    """

    translator: Translator
    texts: list[str]
    answer: Callable[[Any], object]
    left: bool = False
    size: int = field(init=False)

    def __post_init__(self):
        self.size = sum(map(len, self.texts))


class Queue:
    """Translates the texts of requests in the order in which they come, those of one translator in batches."""

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.characters = 0  # that wait
        self.change = threading.Condition()
        self.closed = False
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()

    async def translate(self, translator: Translator, texts: list[str], deadline: float) -> list[list[Translation]]:
        """The translations of each text, best first.

        Args:
            translator: Translates them. One whose `on_error` is "stop" would end the other requests of its batch.
            texts: The texts.
            deadline: Time of the event loop after which nobody waits for the answer.

        Raises:
            Refused: if too much text waits, or the time is over.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future = loop.create_future()

        def answer(found: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(_settle, future, found)

        job = Job(translator, texts, answer)
        with self.change:
            if self.jobs and self.characters + job.size > MOST:
                raise too_many("too much text waits for translation.")
            self.jobs.append(job)
            self.characters += job.size
            self.change.notify()
        try:
            async with asyncio.timeout_at(deadline):
                return await future
        except TimeoutError:
            raise too_many("the translation was not ready in time.") from None
        finally:
            job.left = True  # also of a request whose client has gone

    def close(self) -> None:
        """Translate what waits, and end."""
        with self.change:
            self.closed = True
            self.change.notify_all()
        for thread in self.threads:
            thread.join()

    def _work(self) -> None:
        while batch := self._next():
            try:
                found = iter(batch[0].translator.translate([text for job in batch for text in job.texts]))
            except Exception:
                logger.exception("A batch could not be translated.")
                for job in batch:
                    job.answer(Refused("The text could not be translated; the log of the server says why.", 500))
            else:
                for job in batch:
                    job.answer([next(found) for _ in job.texts])

    def _next(self) -> list[Job]:
        """The next batch, when there is one; empty when everything is done and the queue is closed."""
        with self.change:
            while not (batch := self._take()) and not self.closed:
                self.change.wait()
        return batch

    def _take(self) -> list[Job]:
        """Remove the first waiting job, and others of its translator, as many as make a batch."""
        batch: list[Job] = []
        others: deque[Job] = deque()
        size = 0
        for job in self.jobs:
            if job.left:
                continue
            if not batch or (job.translator is batch[0].translator and size + job.size <= BATCH):
                batch.append(job)
                size += job.size
            else:
                others.append(job)
        self.jobs = others
        self.characters = sum(job.size for job in others)
        return batch


def _settle(future: asyncio.Future, answer: Any) -> None:
    if future.done():  # canceled
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
