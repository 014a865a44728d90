"""Work that nobody waits for stops, and the collector pauses."""

import asyncio
import contextvars
import gc
import threading
from itertools import count

import pytest
from translating import Given

from glossa.apps.server.queue import in_thread
from glossa.base.collecting import collector_paused
from glossa.base.stopping import LEFT, Stopped, check_stopped, while_wanted


def left(function, *given):
    """Call a function whose result nobody waits for."""

    def call():
        event = threading.Event()
        event.set()
        LEFT.set(event)
        return function(*given)

    return contextvars.copy_context().run(call)


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


def test_the_collector_pauses_and_goes_on_as_before():
    with pytest.raises(ZeroDivisionError), collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        1 / 0  # noqa: B018
    assert gc.isenabled()
