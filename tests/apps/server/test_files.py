"""Documents and texts with tags."""

import asyncio
import json
import re
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
import requests
from running_server import ask, send
from starlette.requests import Request

from glossa.apps.documents.places import CHARACTERS, Place, chunks
from glossa.apps.server import readers
from glossa.apps.server.models import DEFAULT_OPTIONS
from glossa.apps.server.refusals import Refused
from glossa.apps.server.requests import cancel_on_disconnect
from glossa.translate.texts.tags import Part


def test_a_document_is_translated_and_fetched(url, expected):
    content = json.dumps({"title": "a k.", "other": ["b l.", 3]}, indent=1)
    answer = send(url, "strings.json", content)
    address = answer.json()["translatedFileUrl"]
    assert address.startswith(f"{url}/download_file/") and address.endswith(".fr.json")
    found = requests.get(address, timeout=60)
    first, second = expected.best(["a k.", "b l."])
    first, second = (text.replace("!", ".") for text in (first, second))  # texts of a program end as they do
    assert json.loads(found.content) == {"title": first, "other": [second, 3]}
    assert found.headers["content-disposition"].startswith("attachment")


def test_a_fetched_document_has_its_name(url):
    """The case `server-download-name`."""
    for name in ("my book.txt", "C:\\docs\\my book.txt", "../my book.txt"):
        address = send(url, name, b"a k.").json()["translatedFileUrl"]
        assert 'filename="my book.fr.txt"' in requests.get(address, timeout=60).headers["content-disposition"].replace(
            "filename*=utf-8''my%20book.fr.txt", 'filename="my book.fr.txt"'
        )
    for name, content, ending in (
        ("strings.xml", b'<resources><string name="a">a k.</string></resources>', "strings.fr.xml"),
        ("a.html.erb", b"<p>a k.</p>", "a.fr.html.erb"),
    ):
        address = send(url, name, content).json()["translatedFileUrl"]
        named = requests.get(address, timeout=60).headers["content-disposition"]
        assert named == f'attachment; filename="{ending}"'


def test_tags_stay_in_texts_with_html(url, expected):
    texts = ["<p>a k.</p>", "<!-- a --><b>b l.</b>"]
    found = ask(url, q=texts, format="html").json()
    first, second = expected.best(["a k.", "b l."])
    assert found == {"translatedText": [f"<p>{first}</p>", f"<!-- a --><b>{second}</b>"]}
    assert ask(url, q=texts, format="html", alternatives=2).json()["alternatives"] == [[], []]


def test_a_server_without_a_library_names_it(url, service, monkeypatch):
    template = 'msgid ""\nmsgstr "Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\nmsgid "a k."\nmsgstr ""\n'
    assert send(url, "a.pot", template).ok
    gone = "import sys; sys.modules['babel'] = sys.modules['babel.messages.plurals'] = None; "
    monkeypatch.setattr(readers, "PROGRAM", gone + readers.PROGRAM)
    with closing(readers.Readers()) as without:
        monkeypatch.setattr(service.files, "readers", without)
        answer = send(url, "a.pot", template)
    assert answer.status_code == 400 and "The package babel is missing" in answer.json()["error"]


def test_the_extra_of_the_server_has_the_libraries_of_all_documents():
    root = Path(__file__).parents[3]
    asked = re.compile(r'require\("([\w.]+)", "documents"(?:, "([\w.-]+)")?')
    files = (root / "modeling" / "glossa" / "apps" / "documents" / "formats").glob("*.py")
    wanted = {found[2] or found[1] for file in files for found in asked.finditer(file.read_text())}
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("documents", "serve"):
        assert wanted <= {each.partition(">")[0] for each in extras[extra]}, extra
    assert {"babel", "tree-sitter"} <= wanted


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.exe", b"x", "file is .exe; it may be"), ("a", b"x", "a name without ending"),
        ("a.json", b"{", "The document"), ("a.json", b"{", "(char 1). Repair it."),
        ("a.csv", b"a,b\n", "source and target. Name them in the first line."),
        ("a.xcstrings", b"{}", "it has no strings and sourceLanguage."),
        ("a.html", b"\xff\xfe<", "UTF-16"), ("a.docx", b"PK", "The document"),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_read(url, name, content, words):
    answer = send(url, name, content)
    assert answer.status_code == 400 and words in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"] and "--" not in answer.json()["error"]


def test_what_is_no_file(url):
    fields = {"source": "en", "target": "fr", "file": "x"}
    answer = requests.post(f"{url}/translate_file", data=fields, timeout=60)
    assert answer.status_code == 400 and "missing file parameter" in answer.json()["error"]
    for name in ("nothing.txt", "..%2Fjob.json"):
        assert requests.get(f"{url}/download_file/{name}", timeout=60).status_code == 404


def test_the_newest_documents_are_kept(url, service, monkeypatch):
    monkeypatch.setattr("glossa.apps.server.files.MAX_SAVED", 2)
    addresses = [send(url, "a.txt", f"{letter} k.").json()["translatedFileUrl"] for letter in "abc"]
    assert [requests.get(address, timeout=60).status_code for address in addresses] == [404, 200, 200]


def test_too_many_documents_are_refused(url, service, monkeypatch):
    monkeypatch.setattr(service.files, "running", 2)
    answer = send(url, "a.txt", b"a k.")
    assert answer.status_code == 429 and answer.headers["retry-after"] == "1"


def test_the_log_says_that_a_client_has_left():
    async def leave():
        async def receive():
            return {"type": "http.disconnect"}

        await cancel_on_disconnect(Request({"type": "http"}, receive), asyncio.Event().wait())

    with pytest.raises(Refused) as left:
        asyncio.run(leave())
    assert left.value.status == 499


def test_a_canceled_request_ends(service):
    """The queue forgets what nobody waits for."""

    async def run():
        step = service.step("en", "fr")
        task = asyncio.create_task(
            service.files.translate_html("<p>a k.</p>", step, DEFAULT_OPTIONS, service.deadline())
        )
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_texts_that_would_hold_the_server_are_refused(url):
    """The case `hostile2/leaver-goes-on`: nothing stops the server while it divides a text into sentences."""
    answer = send(url, "a.txt", "One.\n" + "We find it. " * 10_000)
    assert answer.status_code == 400
    assert answer.json()["error"] == "Line 2 has a text of 119,999 characters; at most 100,000 are allowed. Divide it."


def test_texts_are_planned_a_few_at_a_time():
    places = [Place([Part("text", 0, length, "a" * length)]) for length in (CHARACTERS - 10, 20, 1)]
    assert [len(chunk) for chunk in chunks(places)] == [1, 2]
