"""Work that nobody waits for stops, and the collector pauses while documents are read."""

import asyncio
import contextvars
import gc
import threading
from itertools import count
from pathlib import Path

import pytest
from apps.documents.packed import write_packed
from translating import Given

from glossa.apps.documents.formats.opening import format_of, open_document
from glossa.apps.server.queue import in_thread
from glossa.base.collecting import collector_paused
from glossa.base.stopping import LEFT, Stopped, check_stopped, while_wanted

FILES = [path for path in (Path(__file__).parents[1] / "apps/documents/files").rglob("*") if path.suffix != ".tmx"]
FILES = sorted(path for path in FILES if path.is_file())


def left(function, *given):
    """Call a function whose result nobody waits for."""

    def call():
        event = threading.Event()
        event.set()
        LEFT.set(event)
        return function(*given)

    return contextvars.copy_context().run(call)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_reading_stops(path):
    kind = format_of(path.name) or "lines"
    assert open_document(path, kind).documents
    with pytest.raises(Stopped):
        left(open_document, path, kind)


def test_reading_of_packed_and_plain_documents_stops(tmp_path):
    (tmp_path / "a.txt").write_text("A cat")
    (tmp_path / "a.csv").write_text("source,target\nA cat,\n")
    for path in (*write_packed(tmp_path), tmp_path / "a.txt", tmp_path / "a.csv"):
        with pytest.raises(Stopped):
            left(open_document, path, format_of(path.name) or "lines")


def test_planning_and_joining_stop():
    translator = Given(str.upper)
    with pytest.raises(Stopped):
        left(translator.plan, ["A cat"])
    texts = translator.translated("A cat")
    with pytest.raises(Stopped):
        left(translator.join_tagged, texts)


def test_a_thread_stops_when_its_caller_is_canceled():
    begun, ended = threading.Event(), threading.Event()

    def work():
        try:
            for number in while_wanted(count()):
                if number == 10:
                    begun.set()
        finally:
            ended.set()

    async def run():
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        return await in_thread(lambda: list(while_wanted([1, 2])))  # others go on

    assert asyncio.run(run()) == [1, 2]
    check_stopped()


def test_the_collector_pauses_until_the_last_block_ends():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collector_paused():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with pytest.raises(ZeroDivisionError), collector_paused():
        thread.start()
        inside.wait()
        assert not gc.isenabled()
        1 / 0  # noqa: B018
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
