"""A pool of processes that read and write documents, so that no document can stop the server."""

import asyncio
import importlib.util
import json
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .reading import OUT_OF_MEMORY, receive, send
from .refusals import Refused

logger = logging.getLogger(__name__)

PROCESSES = 2
SECONDS = 60  # of CPU time for a document
MEMORY = 2 << 30  # bytes of address space
# `glossa_command` first: then the package imports no torch.
PROGRAM = "import glossa_command; from glossa.apps.server.reading import main; main()"


@dataclass
class _Request:
    """A request that somebody waits for, and the process that works on it."""

    process: subprocess.Popen | None = None
    left: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def work_in(self, process: subprocess.Popen | None) -> None:
        """Say which process works on the request now, which ends at once if nobody waits."""
        with self.lock:
            self.process = process
            if process and self.left:
                process.kill()

    def leave(self) -> None:
        """Nobody waits any more: end the process that works on the request."""
        with self.lock:
            self.left = True
            if self.process:
                self.process.kill()


class Readers:
    """Processes that read and write documents, one at a time each.

    A process that a document has ended is replaced.

    Args:
        seconds: CPU time for a document.
        memory: Bytes of the address space of a process; Linux alone limits it.
    """

    def __init__(self, seconds: int = SECONDS, memory: int = MEMORY):
        self.limits = (seconds, memory)
        self._threads = ThreadPoolExecutor(PROCESSES, "reader")  # start when they are needed
        self._all: list[subprocess.Popen] = []
        self._idle: list[subprocess.Popen] = []

    async def read(self, content: bytes, ending: str, source: str, target: str) -> list[bytes]:
        """The chunks of texts of a document, for [`unpacked_texts`].

        Raises `Refused`, with the reason, if the document is broken or reading it exceeds the limits.
        """
        return await self._ask(ending, source, target, [content], write=False)

    async def write(self, content: bytes, ending: str, source: str, target: str, translations: list[bytes]) -> bytes:
        """The document with the translations of its chunks, of [`packed_answers`]. Raises as [`Readers.read`]."""
        return (await self._ask(ending, source, target, [content, *translations], write=True))[0]

    def close(self) -> None:
        """End the processes."""
        for process in self._all:
            process.kill()
        self._threads.shutdown()
        for process in self._all:
            process.communicate()

    async def _ask(self, ending: str, source: str, target: str, parts: list[bytes], write: bool) -> list[bytes]:
        head = json.dumps({"ending": ending, "source": source, "target": target, "write": write}).encode()
        request = _Request()
        try:
            work = self._threads.submit(self._answer, request, [head, *parts])
            error, *found = await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            request.leave()
            raise
        if error:
            raise Refused(error.decode())
        return found

    def _answer(self, request: _Request, parts: list[bytes]) -> list[bytes]:
        process = self._ready()
        request.work_in(process)
        try:
            assert process.stdin and process.stdout
            send(process.stdin, parts)
            found = receive(process.stdout)
        except (EOFError, OSError) as error:
            self._all.remove(process)
            status = process.wait()
            raise self._refusal(status) from error
        finally:
            request.work_in(None)
        self._idle.append(process)
        return found

    def _ready(self) -> subprocess.Popen:
        """A process without work. Those that the system has ended meanwhile say nothing about the next document."""
        while True:
            try:
                process = self._idle.pop()
            except IndexError:
                return self._start()
            if process.poll() is None:
                return process
            self._all.remove(process)
            logger.warning("A process without a document ended with status %d, and is replaced.", process.returncode)

    def _start(self) -> subprocess.Popen:
        if not self._all and (missing := _unlimited()):
            logger.warning("This system does not limit the %s of processes that read documents.", missing)
        command = [sys.executable, "-P", "-c", PROGRAM, *map(str, self.limits)]
        self._all.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return self._all[-1]

    def _refusal(self, status: int) -> Refused:
        logger.warning("A process that read a document ended with status %d, and is replaced.", status)
        if status < 0 or status == OUT_OF_MEMORY:
            seconds, memory = self.limits
            most = f"{seconds} seconds of CPU time or {memory >> 20:,} MiB of memory"
            return Refused(f"The document takes more than {most} to read. Divide it.")
        return Refused("The document could not be read. See the log of the server.", 500)


def _unlimited() -> str:
    """What the system does not limit."""
    if importlib.util.find_spec("resource") is None:
        return "CPU time and memory"
    return "" if sys.platform == "linux" else "memory"
