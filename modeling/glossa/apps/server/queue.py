"""One queue for the sentences of all requests: pieces of work, of which each request gets one in turn."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...translate.texts.text import Sentence
from ...translate.translator import Translator
from .refusals import MAX_REQUESTS, MAX_SECONDS, Refused, too_many

T = TypeVar("T")
logger = logging.getLogger(__name__)

# While a piece is translated on all cores, another thread prepares the next one.
THREADS = 2
# Characters times beams of a piece, unless a sentence has more: a fifth of a second with a model of nine million
# parameters on one core. An engine that has begun a piece ends it, so others wait for so long.
PIECE = 2_500
SENTENCE = 20  # characters that any sentence counts as, in addition to its own
TERMS = 10  # times as long as other searches take those for the terms of a glossary
MOST = 200_000  # characters that may wait; then requests are refused until there is room


async def in_thread(function: Callable[..., T], *given: Any) -> T:
    """The result of a function in another thread. A caller that is canceled waits until the thread is free."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *given))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


@dataclass(eq=False)
class Job:
    """The sentences of a request that wait for one translator.

    Attributes:
        translator: Translates them.
        sentences: The sentences, in their order.
        give: Called in the thread of the translation with each piece when it is translated, or with an exception.
        growing: Whether the first piece has one sentence, the next two, and so on, since somebody reads along.
        turn: What its pieces have cost so far, above the time of the queue when it came.
        begun: Sentences of the pieces so far.
        running: Whether a piece is being translated.
        left: Whether nobody waits for the answer any more.
    """

    translator: Translator
    sentences: Sequence[Sentence]
    give: Callable[[Any], object]
    growing: bool = False
    turn: float = 0.0
    begun: int = 0
    running: bool = False
    left: bool = False
    weight: int = field(init=False)

    def __post_init__(self):
        terms = self.translator.terms
        self.weight = self.translator.search.beams * (TERMS if terms is not None and terms.glossary else 1)

    @property
    def waiting(self) -> int:
        """Characters of the sentences that no piece has had yet."""
        return sum(len(sentence.source) for sentence in self.sentences[self.begun :])

    @property
    def due(self) -> float:
        """When its next piece would be done if all jobs had the same share; the job with the lowest is next."""
        rest = self.waiting + SENTENCE * (len(self.sentences) - self.begun)
        return self.turn + min(rest * self.weight, PIECE)

    def take(self, room: float, first: bool) -> list[Sentence]:
        """The next piece, of at most `room`; the `first` of several jobs gets a sentence in any case."""
        most = max(self.begun, 1) if self.growing else len(self.sentences)
        piece: list[Sentence] = []
        cost = 0
        for sentence in self.sentences[self.begun : self.begun + most]:
            own = (len(sentence.source) + SENTENCE) * self.weight
            if cost + own > room and not (first and not piece):
                break
            piece.append(sentence)
            cost += own
        self.begun += len(piece)
        self.turn += cost
        self.running = bool(piece)
        return piece


class Queue:
    """Translates the sentences of requests in pieces.

    The requests share the queue as in weighted fair queueing (Demers, Keshav and Shenker 1989): its time runs by the
    cost of a piece divided by the number of requests, a request begins at the time at which it comes, and next is the
    one whose piece would be done first. So a short one need not wait for a long one, nor a long one for ever more
    short ones.
    """

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.now = 0.0
        self.change = threading.Condition()
        self.closed = False
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()

    async def pieces(
        self,
        translator: Translator,
        sentences: Sequence[Sentence],
        deadline: float | None = None,
        growing: bool = False,
    ) -> AsyncIterator[list[Sentence]]:
        """Translate the sentences that are not translated yet, and give each piece of them when it is.

        Args:
            translator: Translates them. One whose `on_error` is "stop" would end the other requests of its piece.
            sentences: The sentences, in their order.
            deadline: Time of the event loop after which nobody waits for the rest; by default each piece has its own.
            growing: As in [`Job`].

        Raises:
            Refused: if there are too many requests, too much text waits, or the time is over.
        """
        loop = asyncio.get_running_loop()
        waiting = [sentence for sentence in sentences if not sentence.translations]
        if not waiting:
            return
        answers: asyncio.Queue[Any] = asyncio.Queue()

        def give(found: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(answers.put_nowait, found)

        job = Job(translator, waiting, give, growing)
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
            job.left = True  # also of a request whose client has gone

    async def translate(self, translator: Translator, sentences: Sequence[Sentence], deadline: float) -> None:
        """Translate all sentences, as [`Queue.pieces`]."""
        async with aclosing(self.pieces(translator, sentences, deadline)) as pieces:  # type: ignore[type-var]
            async for _ in pieces:
                pass

    def close(self) -> None:
        """Translate what waits, and end."""
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
            if self.jobs and sum(other.waiting for other in self.jobs) + job.waiting > MOST:
                raise too_many("too much text waits for translation.")
            job.turn = self.now
            self.jobs.append(job)
            self.change.notify()

    def _forget(self) -> None:
        """Remove the jobs that are done, and those that were left, unless a thread is still with them."""
        self.jobs = [job for job in self.jobs if job.running or not (job.left or job.begun == len(job.sentences))]

    def _work(self) -> None:
        while piece := self._next():
            found: Any = None
            try:
                translator = next(iter(piece)).translator
                translator.translate_segments([sentence for own in piece.values() for sentence in own])
            except Exception:
                logger.exception("Sentences could not be translated.")
                found = Refused("The text could not be translated; the log of the server says why.", 500)
            for job, own in piece.items():
                job.give(found or own)
            with self.change:
                for job in piece:
                    job.running = False
                    job.left = job.left or found is not None
                self._forget()
                self.change.notify_all()

    def _next(self) -> dict[Job, list[Sentence]]:
        """The next piece, when there is one; empty when everything is done and the queue is closed."""
        with self.change:
            while not (piece := self._take()):
                if self.closed and not self.jobs:
                    break
                self.change.wait()
        return piece

    def _take(self) -> dict[Job, list[Sentence]]:
        """The sentences of the next job, and of others that wait for the same translator if there is room."""
        self._forget()
        ready = sorted((job for job in self.jobs if not job.running), key=lambda job: job.due)
        piece: dict[Job, list[Sentence]] = {}
        room: float = PIECE
        for job in ready:
            first = next(iter(piece), job)
            if not job.translator.translates_as(first.translator):
                continue
            before = job.turn
            if own := job.take(room, first=job is first):
                piece[job] = own
                room -= job.turn - before
                self.now = max(self.now, before)
        if piece:
            self.now += (PIECE - room) / len(self.jobs)
        return piece
