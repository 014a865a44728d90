"""Downloads that are killed between any two lines, from servers of every kind, whose file changes between the starts.

What a download ends with is a version of the server's file, never a part or a mixture, and it always ends.
"""

import email.utils
import hashlib
import json
import logging
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import datasets
import huggingface_hub

from glossa.data.intake import downloads

from .forked import client, count_lines, ends, kill_at

FILES = ("intake/downloads.py",)
SIZE = 60_000  # bytes of a file, at most
SETUPS = {
    # What names the version; "new" is one date for all, later than that of any answer.
    "validator": ("etag", "etag", "date", "date", "weak", "new", None),
    "ranges": (True, True, False),
    "conditional": (True, True, False),  # whether If-Range counts
    "length": (True, False),  # else the answer is chunked
    "redirects": (False, True),
}


def torture(count: int, seed: int) -> dict:
    """Disturb `count` downloads; returns counts, and raises if a file is lost or mixed, or a change goes unnoticed."""
    order, figures = random.Random(seed), {"downloads": 0, "kills": 0, "continued": 0}
    logging.getLogger("glossa").setLevel("ERROR")
    with tempfile.TemporaryDirectory() as name, _site(Path(name)) as (site, url):
        for number in range(count):
            _disturb(site, f"{url}/{number}/pairs.tsv", order, figures)
    return figures | {"wrong": 0}


def _disturb(site: Path, url: str, order: random.Random, figures: dict) -> None:
    """One download: killed and cut, with other files on the server between its starts, then left alone."""
    home = site / url.split("/")[-2]
    setup = {name: order.choice(values) for name, values in SETUPS.items()}
    versions = [_new_version(order)]
    _serve(site, setup, versions)
    lines = count_lines(partial(_download, site / "reference" / home.name, url), FILES, site / "lines")
    for _ in range(order.randint(1, 4)):
        kind = order.choice(("same", "same", "other", "former", "meanwhile"))
        if kind != "same":
            versions.append(order.choice(versions) if kind == "former" else _new_version(order))
        _serve(site, setup, versions[-2 if kind == "meanwhile" else -1 :], order.random())
        # Many kills come near the end, between the last byte and the new name.
        line = order.choice((order.randint(1, lines), lines - order.randint(0, 25)))
        figures["kills"] += kill_at(partial(_download, home, url), line, FILES)
    finish = partial(_finish, site, setup, versions, partial(_download, home, url), order)
    assert ends(finish), f"{setup}: a download that was killed before does not end"
    figures["continued"] += any(json.loads((site / "starts.json").read_text()))
    figures["downloads"] += 1


def _finish(site: Path, setup: dict, versions: list[bytes], download: partial, order: random.Random) -> None:
    """The work of a forked process: end a download, and look at the file; then change it here and on the server."""
    _serve(site, setup, versions[-1:])
    path, _ = download()
    content = path.read_bytes()
    (site / "starts.json").write_text(json.dumps(_starts(site)))
    assert content in versions, f"{setup}: {len(content)} bytes are no version of {list(map(len, versions))}"
    left = [file.name for file in path.parent.iterdir() if file.suffix in (".part", ".new")]
    assert not left, f"{setup}: {left} were left"

    damaged = bytearray(content)
    damaged[order.randrange(len(content))] ^= 1
    path.write_bytes(order.choice((bytes(damaged), content[:-1], b"")))
    os.utime(path, ns=(1, 1))
    _serve(site, setup, [content])
    assert "is no longer what was downloaded" in download()[1] and path.read_bytes() == content, setup
    warnings = download()[1]
    assert not warnings, f"{setup}: {warnings} though nothing has changed"

    _serve(site, setup, [new := _new_version(order)])
    is_known = setup["validator"] not in (None, "new") or (setup["length"] and len(new) != len(content))
    assert ("has changed on the server" in download()[1]) or not is_known, f"{setup}: a change went unnoticed"
    assert path.read_bytes() == content, f"{setup}: a copy was replaced unasked"


def _new_version(order: random.Random) -> bytes:
    return order.randbytes(order.choice((SIZE, order.randint(1, SIZE))))


def _download(home: Path, url: str) -> tuple[Path, str]:
    """The work of a forked process; returns the file and all warnings."""
    huggingface_hub.set_client_factory(client)
    datasets.config.HF_CACHE_HOME = home
    downloads.CHUNK = 8192
    time.sleep = lambda seconds: None
    warnings: list[str] = []
    downloads.logger.warning = lambda text, *values: warnings.append(text % values)
    return downloads.download(url), "\n".join(warnings)


def _serve(site: Path, setup: dict, versions: list[bytes], cuts: float = 0.0) -> None:
    """What the server gives from now on: the `versions`, one a request, the last one for ever.

    `cuts` is how many of the answers end early.
    """
    for number, content in enumerate(versions):
        (site / f"version{number}").write_bytes(content)
    (site / "starts").unlink(missing_ok=True)
    (site / "setup.json").write_text(json.dumps(setup | {"versions": len(versions), "cuts": cuts}))


def _starts(site: Path) -> list[int]:
    """The first byte of each answer since [`_serve`]."""
    file = site / "starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@contextmanager
def _site(folder: Path) -> Iterator[tuple[Path, str]]:
    """A server in a process of its own, since this one forks and must have no threads; its folder and address."""
    server = Server(("127.0.0.1", 0), type("Handler", (Handler,), {"folder": folder, "chance": random.Random(1)}))
    server.parent = os.getpid()
    pid = os.fork()
    if not pid:
        try:
            server.serve_forever()
        finally:
            os._exit(1)
    server.server_close()
    try:
        yield folder, f"http://127.0.0.1:{server.server_port}"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Server(ThreadingHTTPServer):
    """Ends with the process that it was forked from."""

    parent = 0

    def service_actions(self) -> None:
        if os.getppid() != self.parent:
            os._exit(0)

    def handle_error(self, request: object, address: object) -> None:
        pass  # it was killed


class Handler(BaseHTTPRequestHandler):
    """Answers with a version of the file as the set-up in `folder` says."""

    protocol_version = "HTTP/1.1"
    folder: Path
    chance: random.Random
    lock = threading.Lock()

    def do_GET(self) -> None:
        setup = json.loads((self.folder / "setup.json").read_text())
        if setup["redirects"] and "moved" not in self.path:
            return self._answer(302, {"Location": f"/moved{self.path}"})
        with self.lock:
            number = len(_starts(self.folder))
            start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if setup["ranges"] else 0
            body = (self.folder / f"version{min(number, setup['versions'] - 1)}").read_bytes()
            headers = _validators(setup["validator"], body)
            if setup["conditional"] and self.headers.get("If-Range") not in (None, *headers.values()):
                start = 0
            with open(self.folder / "starts", "a") as file:
                file.write(f"{start}\n")
        if start and start >= len(body):
            return self._answer(416, {"Content-Range": f"bytes */{len(body)}"})
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        keep = self.chance.randrange(len(body)) if self.chance.random() < setup["cuts"] else None
        return self._answer(206 if start else 200, headers, body[start:], setup["length"], keep)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(
        self, status: int, headers: dict, body: bytes = b"", length: bool = True, keep: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length:
            self.send_header("Content-Length", str(len(body)))
            data = body
        else:
            self.send_header("Transfer-Encoding", "chunked")
            data = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:9000], body[9000:]) if part)
            data += b"0\r\n\r\n"
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[:keep])
        self.close_connection = keep is not None

    def log_message(self, *arguments: object) -> None:
        pass


def _validators(kind: str | None, body: bytes) -> dict[str, str]:
    digest = hashlib.md5(body).hexdigest()
    if kind in ("date", "new"):
        changed = int(digest[:6], 16) if kind == "date" else 4_102_444_800
        return {"Last-Modified": email.utils.formatdate(changed, usegmt=True)}
    return {} if kind is None else {"ETag": f'"{digest}"' if kind == "etag" else f'W/"{digest}"'}
