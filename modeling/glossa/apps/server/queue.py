"""The queue for the sentences of all requests, which take turns by batches."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...base.stopping import LEFT
from ...translate.texts.text import Sentence
from ...translate.translator import Translator
from .refusals import MAX_REQUESTS, MAX_SECONDS, Refused, too_many

T = TypeVar("T")
logger = logging.getLogger(__name__)

# One thread translates a batch on all cores while another prepares the next one.
THREADS = 2
# Characters times beams of a batch, unless a sentence has more. With a model of nine million parameters on one core,
# it takes a fifth of a second, for which other requests wait: a running batch is not interrupted.
MAX_BATCH = 2_500
SENTENCE_COST = 20  # characters that each sentence costs in addition to its own
GLOSSARY_COST = 10  # searches with a glossary take this many times as long
MAX_WAITING = 200_000  # characters; further requests are refused


async def in_thread(function: Callable[..., T], *given: Any) -> T:
    """Run a function in another thread. It stops if its caller is canceled, who waits until the thread is free."""
    left = threading.Event()

    def run() -> T:
        LEFT.set(left)  # in the thread's own context
        return function(*given)

    work = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        left.set()
        await asyncio.wait([work])
        work.exception()  # nobody waits for it
        raise


@dataclass(eq=False)
class Job:
    """The sentences of a request for one translator.

    Attributes:
        translator: The translator.
        sentences: The sentences, in order.
        deliver: Called in the worker thread with each translated batch, or with an exception.
        incremental: Start with a batch of one sentence and double the number, so that a reader sees the first soon.
        virtual_time: The cost of its batches so far, plus the queue's virtual time at its arrival.
        taken: Number of sentences in its batches so far.
        running: A batch is being translated.
        canceled: The client no longer waits.
    """

    translator: Translator
    sentences: Sequence[Sentence]
    deliver: Callable[[Any], object]
    incremental: bool = False
    virtual_time: float = 0.0
    taken: int = 0
    running: bool = False
    canceled: bool = False
    weight: int = field(init=False)

    def __post_init__(self):
        terms = self.translator.terms
        self.weight = self.translator.search.beams * (GLOSSARY_COST if terms is not None and terms.glossary else 1)

    @property
    def waiting(self) -> int:
        """Characters of the sentences that wait."""
        return sum(len(sentence.source) for sentence in self.sentences[self.taken :])

    @property
    def finish_time(self) -> float:
        """The virtual time at which its next batch would be done. The job with the lowest is next."""
        rest = self.waiting + SENTENCE_COST * (len(self.sentences) - self.taken)
        return self.virtual_time + min(rest * self.weight, MAX_BATCH)

    def take(self, room: float, first: bool) -> list[Sentence]:
        """Take the next batch, which costs at most `room`. The `first` job of a batch gets at least one sentence."""
        most = max(self.taken, 1) if self.incremental else len(self.sentences)
        batch: list[Sentence] = []
        cost = 0
        for sentence in self.sentences[self.taken : self.taken + most]:
            own = (len(sentence.source) + SENTENCE_COST) * self.weight
            if cost + own > room and not (first and not batch):
                break
            batch.append(sentence)
            cost += own
        self.taken += len(batch)
        self.virtual_time += cost
        self.running = bool(batch)
        return batch


class Queue:
    """Translates the sentences of requests in batches.

    It uses weighted fair queueing (Demers, Keshav and Shenker 1989). Virtual time advances by the cost of
    a batch divided by the number of requests, a request starts at the virtual time of its arrival, and next is the
    request whose batch would be done first. So a short request does not wait for a long one, and many short ones do
    not delay a long one forever.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.now = 0.0
        self.change = threading.Condition()
        self.closed = False
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()

    async def batches(
        self,
        translator: Translator,
        sentences: Sequence[Sentence],
        deadline: float | None = None,
        incremental: bool = False,
    ) -> AsyncIterator[list[Sentence]]:
        """Translate the sentences that have no translation, and yield each batch when it is done.

        Args:
            translator: The translator. If its `on_error` is "stop", an error ends all requests of a batch.
            sentences: The sentences, in order.
            deadline: Time limit, as a time of the event loop. By default, each batch has its own limit.
            incremental: See [`Job`].

        Raises:
            Refused: If there are too many requests, too much text waits, or the time limit is exceeded.
        """
        loop = asyncio.get_running_loop()
        waiting = [sentence for sentence in sentences if not sentence.translations]
        if not waiting:
            return
        answers: asyncio.Queue[Any] = asyncio.Queue()

        def deliver(found: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(answers.put_nowait, found)

        job = Job(translator, waiting, deliver, incremental)
        self._add(job)
        try:
            given = 0
            while given < len(waiting):
                async with asyncio.timeout_at(loop.time() + MAX_SECONDS if deadline is None else deadline):
                    found = await answers.get()
                if isinstance(found, Exception):
                    raise found
                given += len(found)
                yield found
        except TimeoutError:
            raise too_many("the translation was not ready in time.") from None
        finally:
            job.canceled = True  # also if the client has disconnected

    async def translate(self, translator: Translator, sentences: Sequence[Sentence], deadline: float) -> None:
        """Translate all sentences. See [`Queue.batches`]."""
        async with aclosing(self.batches(translator, sentences, deadline)) as batches:  # type: ignore[type-var]
            async for _ in batches:
                pass

    def close(self) -> None:
        """Translate the waiting sentences, and stop the threads."""
        with self.change:
            self.closed = True
            self.change.notify_all()
        for thread in self.threads:
            thread.join()

    def _add(self, job: Job) -> None:
        with self.change:
            self._forget()
            if len(self.jobs) >= MAX_REQUESTS:
                raise too_many(f"{len(self.jobs)} requests are being answered.")
            if self.jobs and sum(other.waiting for other in self.jobs) + job.waiting > MAX_WAITING:
                raise too_many("too much text waits for translation.")
            job.virtual_time = self.now
            self.jobs.append(job)
            self.change.notify()

    def _forget(self) -> None:
        """Remove finished and canceled jobs, except running ones."""
        self.jobs = [job for job in self.jobs if job.running or not (job.canceled or job.taken == len(job.sentences))]

    def _work(self) -> None:
        while batch := self._next():
            found: Any = None
            try:
                translator = next(iter(batch)).translator
                translator.translate_segments([sentence for own in batch.values() for sentence in own])
            except Exception:
                logger.exception("Sentences could not be translated.")
                found = Refused("The text could not be translated. See the log of the server.", 500)
            for job, own in batch.items():
                job.deliver(found or own)
            with self.change:
                for job in batch:
                    job.running = False
                    job.canceled = job.canceled or found is not None
                self._forget()
                self.change.notify_all()

    def _next(self) -> dict[Job, list[Sentence]]:
        """Wait for the next batch. It is empty if the queue is closed and all work is done."""
        with self.change:
            while not (batch := self._take()):
                if self.closed and not self.jobs:
                    break
                self.change.wait()
        return batch

    def _take(self) -> dict[Job, list[Sentence]]:
        """Take a batch of the next job, and of other jobs with the same translator if there is room."""
        self._forget()
        ready = sorted((job for job in self.jobs if not job.running), key=lambda job: job.finish_time)
        batch: dict[Job, list[Sentence]] = {}
        room: float = MAX_BATCH
        for job in ready:
            first = next(iter(batch), job)
            if not job.translator.translates_as(first.translator):
                continue
            before = job.virtual_time
            if own := job.take(room, first=job is first):
                batch[job] = own
                room -= job.virtual_time - before
                self.now = max(self.now, before)
        if batch:
            self.now += (MAX_BATCH - room) / len(self.jobs)
        return batch
