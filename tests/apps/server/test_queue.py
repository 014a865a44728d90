"""The queue alone: pieces of work, whose turn it is, and what happens to those who leave."""

import asyncio
import itertools
import threading

import pytest
from translating import Function, Given

from glossa.apps.server import queue as module
from glossa.apps.server.queue import SENTENCE_COST, Job, Queue, in_thread
from glossa.apps.server.refusals import Refused
from glossa.translate.texts.recall import Recall


class Held(Given):
    """Translates to upper case, waits until it may go on, and keeps the sentences of each piece."""

    def __init__(self, beams=1):
        engine = Function(str.upper)
        engine.num_beams = beams
        super().__init__(engine)
        self.pieces, self.go, self.begun = [], threading.Event(), threading.Event()

    def translate_segments(self, sentences, progress=False):
        self.pieces.append([sentence.source for sentence in sentences])
        self.begun.set()
        assert self.go.wait(60)
        if any(sentence.source == "bad" for sentence in sentences):
            raise RuntimeError("a fault")
        super().translate_segments(sentences)


@pytest.fixture
def queue(monkeypatch):
    monkeypatch.setattr(module, "THREADS", 1)  # so that everything after the first piece waits
    queue = Queue()
    yield queue
    queue.close()


def asked(queue, *requests, seconds=60, leave=()):
    """The answers to `requests`, pairs of translator and texts of one sentence, one after the other."""

    async def run():
        deadline = asyncio.get_running_loop().time() + seconds
        tasks, planned = [], []
        for translator, texts in requests:
            sentences = [sentence for text in translator.plan(texts) for sentence in text.sentences]
            planned.append(sentences)
            tasks.append(asyncio.create_task(queue.translate(translator, sentences, deadline)))
            await asyncio.sleep(0)
            while len(tasks) == 1 and not translator.begun.is_set():
                await asyncio.sleep(0.01)  # the thread has taken the first one
        for number in leave:
            tasks[number].cancel()
        await asyncio.sleep(0)
        if seconds > 1:
            for translator, _ in requests:
                translator.go.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return [
            [sentence.best.text for sentence in own] if answer is None else answer
            for answer, own in zip(found, planned, strict=True)
        ]

    found = asyncio.run(run())
    for translator, _ in requests:
        translator.go.set()
    return [one if isinstance(one, list | Refused) else type(one) for one in found]


def test_what_waits_is_translated_together(queue):
    one, other = Held(), Held()
    found = asked(queue, (one, ["a"]), (one, ["b", "c"]), (other, ["d"]), (one, ["e"]))
    assert found == [["A"], ["B", "C"], ["D"], ["E"]]
    assert sorted(map(sorted, one.pieces)) == [["a"], ["b", "c", "e"]] and other.pieces == [["d"]]


def test_what_differs_in_its_memory_only_is_translated_together(queue):
    one = Held()
    assert asked(queue, (one, ["a"]), (one.with_recall(Recall([])), ["b"]), (one, ["c"])) == [["A"], ["B"], ["C"]]
    assert one.pieces == [["a"], ["b", "c"]]


def test_a_long_request_is_cut_and_a_short_one_need_not_wait_for_its_end(queue, monkeypatch):
    monkeypatch.setattr(module, "MAX_BATCH", 2 * (SENTENCE_COST + 1))
    one = Held()
    found = asked(queue, (one, list("abcdefgh")), (one, ["x"]))
    assert found == [list("ABCDEFGH"), ["X"]]
    assert one.pieces[0] == ["a", "b"] and "x" in one.pieces[1]
    assert [text for piece in one.pieces for text in piece if text != "x"] == list("abcdefgh")
    assert all(len(piece) <= 2 for piece in one.pieces)


def test_long_requests_take_turns(queue, monkeypatch):
    monkeypatch.setattr(module, "MAX_BATCH", SENTENCE_COST + 1)
    one, other = Held(), Held()
    order = []
    for name, translator in (("one", one), ("other", other)):
        translate = translator.translate_segments
        monkeypatch.setattr(
            translator, "translate_segments", lambda own, n=name, t=translate: order.append(n) or t(own)
        )
    asked(queue, (one, list("abcd")), (other, list("efgh")))
    assert order[0] == "one" and sorted(order) == ["one"] * 4 + ["other"] * 4
    assert max(len(list(run)) for _, run in itertools.groupby(order)) <= 2


def test_a_sentence_does_not_wait_for_ever_more_shorter_ones(monkeypatch):
    """As many short ones come as a piece has room for."""
    monkeypatch.setattr(module, "MAX_BATCH", 10 * SENTENCE_COST)
    monkeypatch.setattr(module, "THREADS", 0)
    queue, translator = Queue(), Held()

    def job(source):
        (text,) = translator.plan([source])
        own = Job(translator, text.sentences, lambda found: None)
        queue._add(own)
        return own

    long = job("a" * 9 * SENTENCE_COST)
    for _ in range(50):
        for _ in range(5):
            job("b" * SENTENCE_COST)
        for done in queue._take():
            done.running = False
        if long.taken:
            break
    assert long.taken == 1


def test_a_sentence_with_many_beams_is_a_piece_of_its_own(queue, monkeypatch):
    monkeypatch.setattr(module, "MAX_BATCH", 4 * (SENTENCE_COST + 1))
    one = Held(beams=8)
    assert asked(queue, (one, ["a", "b"])) == [["A", "B"]]
    assert one.pieces == [["a"], ["b"]]


def test_who_left_is_not_translated(queue):
    one = Held()
    assert asked(queue, (one, ["a"]), (one, ["b"]), (one, ["c"]), leave=[1]) == [["A"], asyncio.CancelledError, ["C"]]
    assert one.pieces == [["a"], ["c"]]


def test_what_is_left_of_a_request_is_not_begun(queue, monkeypatch):
    monkeypatch.setattr(module, "MAX_BATCH", SENTENCE_COST + 1)
    one = Held()
    assert asked(queue, (one, ["a", "b", "c"]), leave=[0]) == [asyncio.CancelledError]
    assert one.pieces == [["a"]]


def test_a_fault_ends_one_piece(queue, caplog):
    one = Held()
    found = asked(queue, (one, ["bad"]), (one, ["b"]))
    assert found[0].status == 500 and "log of the server" in str(found[0])
    assert found[1] == ["B"] and "a fault" in caplog.text


def test_too_much_text_is_refused_with_a_time(queue, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    one = Held()
    found = asked(queue, (one, ["a"]), (one, ["bb"]), (one, ["cc"]), (one, ["d"]))
    assert found[0] == ["A"] and found[1] == ["BB"] and found[3] == ["D"]
    assert found[2].status == 429 and found[2].headers == {"Retry-After": "1"}


def test_a_place_is_free_when_its_thread_is(queue, monkeypatch):
    monkeypatch.setattr(module, "MAX_REQUESTS", 1)
    one = Held()
    found = asked(queue, (one, ["a"]), (one, ["b"]), leave=[0])
    assert found[0] is asyncio.CancelledError and found[1].status == 429


def test_who_waits_too_long_is_refused(queue):
    found = asked(queue, (Held(), ["a"]), seconds=0.05)
    assert found[0].status == 429 and "not ready in time" in str(found[0])


def test_closing_translates_what_waits():
    queue, one = Queue(), Held()
    one.go.set()
    assert asked(queue, (one, ["a"]), (one, ["b"])) == [["A"], ["B"]]
    queue.close()
    assert not any(thread.is_alive() for thread in queue.threads)


def test_who_is_canceled_waits_for_the_thread():
    free = threading.Event()

    async def run():
        task = asyncio.create_task(in_thread(free.wait, 60))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0.05)
        before = task.done()
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return before

    assert asyncio.run(run()) is False
