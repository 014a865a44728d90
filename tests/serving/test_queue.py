"""The queue alone: what is translated together, in which order, and what happens to those who leave."""

import asyncio
import threading

import pytest

from glossa.inference.engines.engine import Translation
from glossa.serving import queue as module
from glossa.serving.queue import Queue
from glossa.serving.refusals import Refused


class Held:
    """A translator that waits until it may go on, and keeps the texts of its calls."""

    def __init__(self):
        self.calls, self.go = [], threading.Event()

    def translate(self, texts):
        self.calls.append(texts)
        assert self.go.wait(60)
        if "bad" in texts:
            raise RuntimeError("a fault")
        return [[Translation(text.upper())] for text in texts]


@pytest.fixture
def queue(monkeypatch):
    monkeypatch.setattr(module, "THREADS", 1)  # so that everything after the first call waits
    queue = Queue()
    yield queue
    queue.close()


def asked(queue, *requests, seconds=60, leave=()):
    """The answers to `requests`, pairs of translator and texts, which come one after the other."""

    async def run():
        deadline = asyncio.get_running_loop().time() + seconds
        tasks = []
        for translator, texts in requests:
            tasks.append(asyncio.create_task(queue.translate(translator, texts, deadline)))
            await asyncio.sleep(0)
            while len(tasks) == 1 and not translator.calls:
                await asyncio.sleep(0.01)  # the thread has taken the first one
        for number in leave:
            tasks[number].cancel()
        await asyncio.sleep(0)
        if seconds > 1:
            for translator, _ in requests:
                translator.go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(run())
    for translator, _ in requests:
        translator.go.set()
    return [
        [best.text for best, *_ in one] if isinstance(one, list) else one if isinstance(one, Refused) else type(one)
        for one in found
    ]


def test_what_waits_is_translated_together(queue):
    one, other = Held(), Held()
    found = asked(queue, (one, ["a"]), (one, ["b", "c"]), (other, ["d"]), (one, ["e"]))
    assert found == [["A"], ["B", "C"], ["D"], ["E"]]
    assert one.calls == [["a"], ["b", "c", "e"]] and other.calls == [["d"]]


def test_a_batch_is_bounded(queue, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 4)
    one = Held()
    asked(queue, (one, ["a"]), (one, ["bbb"]), (one, ["cc"]), (one, ["d"]))
    assert one.calls == [["a"], ["bbb", "d"], ["cc"]]


def test_who_left_is_not_translated(queue):
    one = Held()
    assert asked(queue, (one, ["a"]), (one, ["b"]), (one, ["c"]), leave=[1]) == [["A"], asyncio.CancelledError, ["C"]]
    assert one.calls == [["a"], ["c"]]


def test_a_fault_ends_one_batch(queue, caplog):
    one = Held()
    found = asked(queue, (one, ["bad"]), (one, ["b"]))
    assert found[0].status == 500 and "log of the server" in str(found[0])
    assert found[1] == ["B"] and "a fault" in caplog.text


def test_too_much_text_is_refused_with_a_time(queue, monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    one = Held()
    found = asked(queue, (one, ["a"]), (one, ["bb"]), (one, ["cc"]), (one, ["d"]))
    assert found[0] == ["A"] and found[1] == ["BB"] and found[3] == ["D"]
    assert found[2].status == 429 and found[2].headers == {"Retry-After": "1"}


def test_who_waits_too_long_is_refused(queue):
    found = asked(queue, (Held(), ["a"]), seconds=0.05)
    assert found[0].status == 429 and "not ready in time" in str(found[0])


def test_closing_translates_what_waits(monkeypatch):
    queue, one = Queue(), Held()
    one.go.set()
    assert asked(queue, (one, ["a"]), (one, ["b"])) == [["A"], ["B"]]
    queue.close()
    assert not any(thread.is_alive() for thread in queue.threads)
