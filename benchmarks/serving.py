"""Throughput and latency of `glossa serve` with clients at the same time, and of its engine alone on the same texts.

Each client sends one sentence after the other, again if it was refused, and each answer must be the right one. With
--busy, one client sends short sentences while another one keeps the server busy. Server and clients share the cores of
the machine.
"""

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import aiohttp
import numpy
import psutil

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.translate.build import build_translator
from glossa.translate.interface import Checks

from .timing import machine, table

PORT = 5377
COLUMNS = ("clients", "sentences a second", "of the engine", "p50 ms", "p99 ms", "MiB, half and end")
RETRIES = 600  # of one request, in steps of a tenth of a second


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN", help="folder of a run, with its held-out test pairs")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64], help="default: 1 8 64")
    parser.add_argument("--sentences", type=int, default=2000, help="for each number of clients (default: 2000)")
    parser.add_argument("--busy", action="store_true", help="short sentences next to long texts, pages and documents")


def run(arguments: argparse.Namespace) -> None:
    texts = list(dict.fromkeys(RunFolder(arguments.model).load_held_out("test")["source"]))
    texts = (texts * (arguments.sentences // len(texts) + 1))[: arguments.sentences]
    if arguments.busy:
        return measure_busy(arguments.model, texts)
    translator = build_translator([arguments.model], "auto", checks=Checks("copy"))
    translator.best(texts[:100])  # the first sentences are compared with `generate` if the model is exported here
    started = time.perf_counter()
    expected = [found for start in range(0, len(texts), 64) for found in translator.best(texts[start : start + 64])]
    alone = len(texts) / (time.perf_counter() - started)
    first = {"clients": "engine alone, batches of 64", "sentences a second": f"{alone:,.0f}"}
    rows = [dict.fromkeys(COLUMNS, "") | first]
    for clients in arguments.clients:
        with Server(arguments.model) as server:
            found = asyncio.run(measure(server, texts, clients))
        if found.answers != expected:
            wrong = sum(one != other for one, other in zip(found.answers, expected, strict=True))
            raise GlossaError(f"{wrong:,} of {len(texts):,} answers differ from the engine's.")
        rows.append(found.row(clients, alone))
    here = machine()
    print(f"{table(rows)}\n\n{len(texts):,} sentences each; {here['cpu']}, {here['cores']} cores")


class Server:
    """A server in a process of its own, on a port of this benchmark."""

    def __init__(self, model: str):
        self.command = [sys.executable, "-m", "glossa_command", "serve", f"xx-yy={model}", "--port", str(PORT)]
        self.fields = {"source": "xx", "target": "yy", "format": "text"}
        self.memory: list[int] = []

    def __enter__(self) -> "Server":
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, env=os.environ)
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def note_memory(self) -> None:
        with contextlib.suppress(psutil.Error):
            self.memory.append(psutil.Process(self.process.pid).memory_info().rss)


class Found:
    """What the clients saw: answers, seconds of each request, and in all; memory of the server in bytes."""

    def __init__(self, answers: list[str], seconds: list[float], whole: float, memory: list[int]):
        self.answers, self.seconds, self.whole, self.memory = answers, seconds, whole, memory

    def row(self, clients: int, alone: float) -> dict[str, str]:
        rate = len(self.answers) / self.whole
        cells = {"clients": str(clients), "sentences a second": f"{rate:,.0f}", "of the engine": f"{rate / alone:.0%}"}
        for share in (50, 99):
            cells[f"p{share} ms"] = f"{1000 * float(numpy.percentile(self.seconds, share)):,.1f}"
        half = len(self.memory) // 2
        cells["MiB, half and end"] = f"{self.memory[half] >> 20:,}, {self.memory[-1] >> 20:,}"
        return cells


async def measure(server: Server, texts: list[str], clients: int) -> Found:
    """Send all texts from so many clients; each takes the next one when it has its answer."""
    answers: list[str] = [""] * len(texts)
    seconds: list[float] = []
    numbers = iter(range(len(texts)))
    limit = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{PORT}", connector=limit) as session:
        await ask(session, server, texts[0])  # the model is loaded
        started = time.perf_counter()

        async def client() -> None:
            for number in numbers:
                before = time.perf_counter()
                answers[number] = await ask(session, server, texts[number])
                seconds.append(time.perf_counter() - before)
                if number % 100 == 0:
                    server.note_memory()

        await asyncio.gather(*(client() for _ in range(clients)))
        return Found(answers, seconds, time.perf_counter() - started, server.memory)


def measure_busy(model: str, texts: list[str]) -> None:
    """Print the latency of short sentences next to each of `loads`."""
    rows = []
    for name, request in loads(texts).items():
        with Server(model) as server:
            seconds, memory = asyncio.run(short_next_to(server, texts, request))
        cells = {f"p{share} ms": f"{1000 * float(numpy.percentile(seconds, share)):,.1f}" for share in (50, 95)}
        rows.append({"next to": name, "short sentences": f"{len(seconds):,}", **cells, "MiB": f"{memory >> 20:,}"})
    here = machine()
    print(f"{table(rows)}\n\n{here['cpu']}, {here['cores']} cores")


def loads(texts: list[str]) -> dict[str, tuple[str, dict[str, str]] | None]:
    """What a second client sends again and again: the path of a request and its fields."""
    long = " ".join(texts)[:19_000]
    page = "".join(f"<p>{text} <b>{text}</b></p>" for text in texts)[:19_000]
    document = "".join(f"<p>{text} <b>{text}</b></p>" for text in texts * 10)[:256_000]
    return {
        "nothing": None,
        "a long text": ("/translate", {"q": long}),
        "an HTML page": ("/translate", {"q": page, "format": "html"}),
        "a document": ("/translate_file", {"file": document}),
        "a text of tags that do not end": ("/translate", {"q": "<a " * 6_000}),
        "a text without an end": ("/translate", {"q": "一个男人在街上睡觉" * 2_000}),
    }


async def short_next_to(
    server: Server, texts: list[str], request: tuple[str, dict[str, str]] | None, count: int = 200
) -> tuple[list[float], int]:
    """The seconds of `count` short sentences next to a load, and the memory of the server in bytes."""
    short = [text for text in texts if len(text) < 60] or texts
    seconds = []
    async with aiohttp.ClientSession(f"http://127.0.0.1:{PORT}") as session:
        for text in texts[:120]:  # the model is loaded, and if it is exported here, the first ones are compared
            await ask(session, server, text)
        busy = asyncio.create_task(keep_busy(session, server, *request)) if request else None
        await asyncio.sleep(1)
        for number in range(count):
            before = time.perf_counter()
            await ask(session, server, short[number % len(short)])
            seconds.append(time.perf_counter() - before)
        server.note_memory()
        if busy is not None:
            if busy.done():
                busy.result()
            busy.cancel()
    return seconds, server.memory[-1]


async def keep_busy(session: aiohttp.ClientSession, server: Server, path: str, fields: dict[str, str]) -> None:
    """Send a request again whenever it is answered."""
    while True:
        data = aiohttp.FormData(server.fields | {"format": "text"} | fields)
        if "file" in fields:
            data = aiohttp.FormData({"source": "xx", "target": "yy"})
            data.add_field("file", fields["file"].encode(), filename="page.html")
        async with session.post(path, data=data) as answer:
            text = await answer.text()
            if answer.status != 200:
                raise GlossaError(f"The server answers {answer.status}: {text}")


async def ask(session: aiohttp.ClientSession, server: Server, text: str) -> str:
    """The translation of a text, which is sent again until the server has started and has room for it."""
    for _ in range(RETRIES):
        with contextlib.suppress(aiohttp.ClientConnectionError):
            async with session.post("/translate", json=server.fields | {"q": text}) as answer:
                if answer.status == 200:
                    return (await answer.json())["translatedText"]
                if answer.status != 429:
                    raise GlossaError(f"The server answers {answer.status}: {await answer.text()}")
        await asyncio.sleep(0.1)
    raise GlossaError("The server does not answer.")
