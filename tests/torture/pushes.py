"""Pushes that are killed between any two lines and started again, to repositories that a person writes to meanwhile.

The repository ends with the person's files and those of the run, or with the person's alone if the push is refused.
"""

import logging
import random
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path

import huggingface_hub
from hub_server import BRANCH, Hub
from huggingface_hub import HfApi, constants
from huggingface_hub.utils import disable_progress_bars

from glossa.hub.changes import CARD, CODE, RECORD, SHARDS, WEIGHTS
from glossa.hub.push import push

from .forked import client, count_lines, ends, kill_at

FILES = ("glossa/hub/", "huggingface_hub/", "httpcore")
TOKEN = "hf_torture"
COMMON = (CARD, CODE, "config.json", "tokenizer.json", "metrics.json", "curves.png")
LAYOUTS = ((WEIGHTS,), (SHARDS, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"))
# What a person may write: files of their own, and those of a push.
PERSONAL = ("notes/plan.md", "train.py", "results.bin", "pytorch_model.bin", CARD, CARD, "config.json", WEIGHTS)


def torture(count: int, seed: int) -> dict:
    """Disturb `count` pushes; returns counts, and raises if a file is lost, or replaced or deleted unasked."""
    order, figures = random.Random(seed), {"pushes": 0, "kills": 0, "refused": 0, "meanwhile": 0}
    logging.disable()
    manager = Manager(ctx=get_context("fork"))  # a process of its own, since this one forks and must have no threads
    manager.start()
    site = manager.Site()
    constants.ENDPOINT, constants.HF_HUB_DISABLE_XET = site.url(), True
    disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:  # one without kills imports everything, and tells how long it is
        first = _run(Path(folder) / "run", order)
        _push(first, "someone/first")
        huggingface_hub.close_session()
        lines = count_lines(partial(_push, first, "someone/second"), FILES, Path(folder) / "lines")
    constants.HUGGINGFACE_CO_URL_TEMPLATE = constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}"
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            _disturb(site, Path(folder), f"someone/{number}", lines, order, figures)
    manager.shutdown()
    return figures | {"wrong": 0}


def _disturb(site: "Site", place: Path, name: str, lines: int, order: random.Random, figures: dict) -> None:
    """One push: killed, with files that a person writes between and during its starts, then left alone."""
    personal: dict[str, bytes] = {}  # what the person has written
    if order.random() < 0.7:
        site.add(name)
        if order.random() < 0.6:  # the push of an earlier run
            assert ends(partial(_push, _run(place / "earlier", order), name)), "a push to a new repository is refused"
        _write(site, name, personal, order)
    run = _run(place / "run", order)
    work = partial(_push, run, name)
    for _ in range(order.randint(1, 3)):
        if site.files(name) and order.random() < 0.4:
            site.plan(name, order.choice(PERSONAL), _content(order), order.randint(1, 8))
        figures["kills"] += kill_at(work, order.randint(1, lines), FILES)
        written = site.settle()
        figures["meanwhile"] += len(written)
        personal |= written
        if site.files(name) and order.random() < 0.3:
            _write(site, name, personal, order)
    new = {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    before = site.files(name)
    has_ended = ends(work)
    after = site.files(name)
    lost = [file for file, content in personal.items() if after.get(file) != content]
    assert not lost, f"{lost} of the person were lost"
    needs_permission = any(file in new and new[file] != personal[file] for file in personal if file != CARD)
    needs_permission |= SHARDS in new and WEIGHTS in personal
    assert has_ended is not needs_permission, f"refused: {not has_ended}, files of the person: {sorted(personal)}"
    figures["pushes"] += 1
    figures["refused"] += not has_ended
    if not has_ended:
        assert after == before, "a refused push has changed something"
        return
    after.pop(RECORD)
    assert after == {".gitattributes": b""} | new | personal, f"{sorted(after)} instead of {sorted(new | personal)}"


def _run(folder: Path, order: random.Random) -> Path:
    """A folder with the files of a run."""
    folder.mkdir()
    for file in (*COMMON, *order.choice(LAYOUTS)):
        content = order.randbytes(order.choice((20, 3000)))
        (folder / file).write_bytes(b"---\nlicense: mit\n---\n" + content.hex().encode() if file == CARD else content)
    return folder


def _write(site: "Site", name: str, personal: dict, order: random.Random) -> None:
    """Let a person write a file or two, or none."""
    for file in order.sample(PERSONAL, order.randint(0, 2)):
        personal[file] = _content(order)
        site.write(name, file, personal[file])


def _content(order: random.Random) -> bytes:
    return b"---\nlicense: mit\n---\n%d" % order.randrange(10**9)


def _push(folder: Path, name: str) -> None:
    """The work of a forked process."""
    huggingface_hub.set_client_factory(client)
    push(folder, name, api=HfApi(endpoint=constants.ENDPOINT, token=TOKEN))


class Site:
    """A Hub, to which a person writes by hand."""

    def __init__(self) -> None:
        self.hub, self.planned, self.written = Hub({TOKEN: "someone"}), [], {}
        self.hub.requests = Watched(self.requested)  # type: ignore[assignment]
        self.hub.__enter__()

    def url(self) -> str:
        return self.hub.url

    def add(self, name: str) -> None:
        self.hub.add(name, {".gitattributes": b""})

    def files(self, name: str) -> dict[str, bytes]:
        return dict(self.hub.files(name)) if ("models", name) in self.hub.repositories else {}

    def write(self, name: str, file: str, content: bytes) -> None:
        repository = self.hub.repositories["models", name]
        repository.commit(BRANCH, self.files(name) | {file: content}, "by hand", repository.branches[BRANCH])

    def plan(self, name: str, file: str, content: bytes, request: int) -> None:
        """Write when this many requests have come."""
        self.planned = [request, name, file, content]

    def requested(self) -> None:
        if self.planned:
            self.planned[0] -= 1
            if not self.planned[0]:
                _, name, file, content = self.planned
                self.write(name, file, content)
                self.planned, self.written = [], {file: content}

    def settle(self) -> dict[str, bytes]:
        """Wait for the end of all requests; returns what was written during them."""
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name:
                thread.join()
        written, self.planned, self.written = self.written, [], {}
        return written


class Watched(list):
    """The requests of a Hub."""

    def __init__(self, watch: Callable[[], None]):
        super().__init__()
        self.watch = watch

    def append(self, request: str) -> None:
        self.watch()


class Manager(BaseManager):
    """A process with a [`Site`]."""


Manager.register("Site", Site)
