"""Documents are read and written in other processes, which nothing but themselves can hold or break."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests
from apps.documents.packed import write_packed
from running_server import ask, send

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.formats.opening import ending_of, format_of, open_document
from glossa.apps.documents.job import Work
from glossa.apps.server import readers as module
from glossa.apps.server.models import Step
from glossa.apps.server.readers import Readers
from glossa.apps.server.reading import unpacked_texts
from glossa.apps.server.refusals import Refused
from glossa.apps.server.service import Service
from glossa.translate.build import pseudo_translator
from glossa.translate.review import Problems

FILES = Path(__file__).parents[1] / "documents" / "files"
HOSTILE = Path(__file__).parents[4] / "shared" / "cases" / "hostile2"
LARGE = b"[%s]" % b",".join([b'"We find books."'] * 100_000)  # more than two seconds and 200 MB of memory


@pytest.fixture
def readers():
    with closing(Readers()) as found:
        yield found


def read(readers, content=b'["We find books."]', ending=".json"):
    return asyncio.run(readers.read(content, ending, "en", "fr"))


def texts(chunks):
    return [part.text for chunk in chunks for place in unpacked_texts(chunk)[1] for part in place.parts if part.text]


def test_the_processes_import_no_torch():
    code = (
        "import sys, glossa_command\nimport glossa.apps.server.reading\nfrom glossa.apps.documents.formats.opening "
        "import endings\nendings()\nassert not {'torch', 'transformers', 'fastapi'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=120)


def test_documents_are_as_the_command_writes_them(tmp_path, readers):
    """Every format of the tests, also with several documents in a file."""
    translator, step = pseudo_translator(), Step("", "en", "fr")

    async def find(step, options=None):
        return translator

    models = SimpleNamespace(translator=find, memories=SimpleNamespace(hides=lambda match: False))
    paths = [path for path in sorted(FILES.rglob("*")) if path.is_file()] + write_packed(tmp_path)

    async def served(service, path):
        name, _ = await service.files.translate_file(path.read_bytes(), path.name, step)
        return service.files.path(name).read_bytes()

    (tmp_path / "server").mkdir()
    service, compared = Service(models, folder=tmp_path / "server", readers=readers), 0
    for path in paths:
        opened = open_document(path, format_of(path.name) or "lines", LanguagePair("en", "fr"))
        work = Work(translator, translator.translate_segments, Problems(None))
        expected = opened.pack([work.translate(document, path, lambda count: None) for document in opened.documents])
        assert asyncio.run(served(service, path)) == expected, path.name
        compared += expected != path.read_bytes()
    service.queue.close()
    assert compared > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "words"),
    [((1, 2 << 30), "more than 1 seconds of CPU time or 2,048 MiB"), ((60, 350 << 20), "or 350 MiB of memory to")],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the system has other limits")
def test_a_document_that_needs_too_much_is_refused_and_its_process_replaced(limits, words, caplog):
    with closing(Readers(*limits)) as readers:
        assert texts(read(readers)) == ["We find books."]
        with pytest.raises(Refused, match=words) as refused:
            read(readers, LARGE)
        assert refused.value.status == 400 and "\n" not in str(refused.value)
        assert texts(read(readers)) == ["We find books."]
    assert "is replaced" in caplog.text


@pytest.mark.slow
def test_a_time_limit_is_for_each_document(readers, monkeypatch):
    """Ten documents of 0.3 seconds are read in one process with two seconds for each."""
    with closing(Readers(seconds=2)) as readers:
        for _ in range(10):
            read(readers, LARGE[:160_000] + b'"]')
        assert len(readers._all) == 1


def test_a_process_ends_if_its_request_does(readers):
    async def run():
        task = asyncio.create_task(readers.read(LARGE, ".json", "en", "fr"))
        while not readers._all:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert readers._all[0].wait(60) < 0
    assert texts(read(readers)) == ["We find books."]


def test_a_request_that_waits_for_a_process_can_end(readers):
    async def run():
        tasks = [asyncio.create_task(readers.read(LARGE, ".json", "en", "fr")) for _ in range(4)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    asyncio.run(run())
    assert texts(read(readers)) == ["We find books."]


def test_a_process_that_has_ended_or_fails(readers, monkeypatch, caplog):
    read(readers)
    (idle,) = readers._all
    idle.kill()
    idle.wait()
    assert texts(read(readers)) == ["We find books."] and idle not in readers._all
    assert "without a document ended with status -9" in caplog.text
    monkeypatch.setattr(module, "PROGRAM", "1 / 0")
    with closing(Readers()) as broken, pytest.raises(Refused, match="See the log") as refused:
        read(broken)
    assert refused.value.status == 500 and "ended with status 1" in caplog.text


def test_what_a_system_does_not_limit_is_said_once(monkeypatch, caplog):
    for platform, words in (("win32", ""), ("darwin", "limit the memory of"), ("linux", "")):
        with closing(Readers()) as readers, caplog.at_level(logging.WARNING):
            caplog.clear()
            monkeypatch.setattr(module.sys, "platform", platform)
            if platform == "win32":
                monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
                words = "limit the CPU time and memory of"
            read(readers)
            read(readers)
            monkeypatch.undo()
            assert caplog.text.count("does not limit") == bool(words) and words in caplog.text


@pytest.mark.slow
def test_the_server_answers_while_hostile_documents_are_sent(url):
    """Every input of the cases `hostile2`: the service answers within a second all the time."""
    if not HOSTILE.exists():
        pytest.skip("needs the cases of ../shared")
    inputs = [(path.name, path.read_bytes()) for path in sorted(HOSTILE.glob("*/*")) if ending_of(path.name)]
    inputs.append(("line.txt", b"We find your book. " * 500_000))  # as `leaver-goes-on/make.py` makes it
    answers, ended, slowest = [], threading.Event(), 0.0

    def attack():
        for name, content in inputs:
            answers.append(send(url, name, content))
        answers.append(ask(url, q="-" * 20_000))  # the case `hyphens`

    threads = [threading.Thread(target=attack) for _ in range(2)]
    for thread in threads:
        thread.start()
    waiter = threading.Thread(target=lambda: [*map(threading.Thread.join, threads), ended.set()])
    waiter.start()
    while not ended.wait(0.05):
        begun = time.monotonic()
        assert requests.get(f"{url}/health", timeout=60).ok
        slowest = max(slowest, time.monotonic() - begun)
    waiter.join()
    assert slowest < 1
    assert len(answers) == 2 * len(inputs) + 2 and len(inputs) > 10
    for answer in answers:
        assert answer.ok or (answer.status_code in (400, 429) and "\n" not in answer.json()["error"]), answer.text
