"""Files that would take a reader too long, too much memory, or down end in a translation or in one line."""

import json
import re
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest
from apps.documents import hostile_files
from apps.documents.packed import pack, write_packed
from refusals import refused
from translating import KNOWN, translated

from glossa.apps.documents.formats.opening import open_document
from glossa.base.errors import GlossaError

FILES = Path(__file__).parent / "files"
SECONDS = 10  # of the processor; what is right takes less than one
DEEP = 10_000

NESTED = {
    "a.html": "<div>" * DEEP + "Hi there" + "</div>" * DEEP,
    "b.html": "<b>" * DEEP + "Hi there" + "</b>" * DEEP,
    "c.html": "<p>Hi" + " <b " * DEEP,
    "d.html": "<code>" * DEEP + "<p>Hi there</p>",
    "a.xliff": f'<xliff version="1.2"><file><body><trans-unit id="a"><source>{"<g>" * DEEP}Hi{"</g>" * DEEP}</source>'
    "</trans-unit></body></file></xliff>",
    "a.json": "[" * DEEP + '"Hi there"' + "]" * DEEP,
    "b.json": '{"a": "' + "{n, plural, other {" * DEEP + "Hi" + "}}" * DEEP + '"}',
    "c.json": '{"a": "Hi' + " <b>" * DEEP + '"}',
    "a.yaml": "[" * DEEP + "Hi there" + "]" * DEEP,
    "b.yaml": "- " * DEEP + "Hi there",
    "a.md": ">" * DEEP + " Hi there",
    "b.md": "[" * DEEP + "Hi there" + "](a)" * DEEP,
    "c.md": "*" * DEEP + "Hi there" + "*" * DEEP,
    "d.md": "".join(" " * 2 * depth + "- Hi\n" for depth in range(300)),
    "e.md": "Hi " + "$" * DEEP,
    "f.md": ":::note " + "{" * DEEP + " Hi",
    "g.md": "![a](b) " * 2 * DEEP,
    "h.md": "*a* " * 25 * DEEP,
    "a.po": 'msgid "Hi"\n' + '"there "\n' * DEEP + 'msgstr ""\n',
    "a.properties": "a=" + "\\\n" * DEEP + "Hi there\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n" + "<i>" * DEEP + "Hi" + "\n" * DEEP,
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "-Hi\n" * DEEP,
    "a.tmx": '<!DOCTYPE tmx SYSTEM "a.dtd">' + "<tmx>" * DEEP,
}


@pytest.fixture(autouse=True)
def short_sentences(monkeypatch):
    """Sentences are cut as for a model, which reads some hundred tokens."""
    monkeypatch.setattr("translating.Characters.model_max_length", 400)


def in_order(pairs):
    """Links that take no time, as the model's would be there already."""
    return [numpy.eye(len(pair.source_words), len(pair.target_words)) for pair in pairs]


def attempt(path, seconds=SECONDS):
    """Translate a file: "translated", or "refused" with one line that names it."""
    started = time.process_time()
    try:
        translated(path, str.upper, languages=KNOWN, aligner=in_order)
        outcome = "translated"
    except GlossaError as error:
        assert "\n" not in str(error) and path.name in str(error)
        outcome = "refused"
    assert time.process_time() - started < seconds
    return outcome


@pytest.mark.parametrize("name", NESTED)
def test_deep_and_long_constructs(tmp_path, name):
    (tmp_path / name).write_text(NESTED[name])
    attempt(tmp_path / name)


def test_a_paragraph_with_too_many_marks_is_refused_with_its_line(tmp_path):
    (tmp_path / "a.md").write_text("Hi\n\n" + "*a* " * DEEP + "\n\n" + "*a* " * (DEEP + 1))
    refused(r"a\.md, line 5: a paragraph has 20,002 marks .*at most 20,000.* Divide it", translated, tmp_path / "a.md")


def test_files_that_end_anywhere(tmp_path):
    (tmp_path / "cut").mkdir()
    sources = [path for path in sorted(FILES.rglob("*.*")) if path.suffix != ".ftl" or find_spec("fluent")]
    for source in [*sources, *write_packed(tmp_path)]:
        content = source.read_bytes()
        for end in range(0, len(content), max(len(content) // 25, 1)):
            path = tmp_path / "cut" / source.name
            path.write_bytes(content[:end])
            attempt(path)


@pytest.mark.parametrize("encoding", ["hex", "rot13", "undefined", "klingon", "unicode_escape", "base64"])
def test_encodings_that_no_document_has(tmp_path, encoding):
    (tmp_path / "a.html").write_text(f'<meta charset="{encoding}"><p>Hi there</p>')
    refused(f"declares the encoding {encoding}, which is unknown", translated, tmp_path / "a.html")


def test_what_is_not_text_is_not_unpacked(tmp_path):
    """A picture of 200 MB, and one that is damaged, are copied as they are packed."""
    picture = {"word/media/a.png": bytes(200 << 20)}
    found = translated(hostile_files.word(tmp_path / "a.docx", "<w:r><w:t>Hi</w:t></w:r>", **picture), str.upper)
    assert len(found) < 1 << 20
    (tmp_path / "b.docx").write_bytes(found)
    with zipfile.ZipFile(tmp_path / "b.docx") as archive:
        assert archive.getinfo("word/media/a.png").file_size == 200 << 20
        assert b">HI<" in archive.read("word/document.xml")


@pytest.mark.parametrize("name", ["a.docx/word/document.xml", "a.epub/a.opf", "a.xlsx/xl/tables/table1.xml"])
def test_texts_that_unpack_to_too_much_are_refused(tmp_path, name):
    file, _, member = name.partition("/")
    first = re.sub(r"\d", "", Path(member).stem)
    pack(tmp_path / file, {member: f"<{first}>".encode() + b" " * (100 << 20)})
    refused(rf"{file}: not a \w+ file that can be read: it has texts of more than 64 MiB", translated, tmp_path / file)


def test_repeats_take_two_seconds_at_most(tmp_path):
    """The cases `hostile2/adoc-growth` and `hostile2/spaces-growth`."""
    hostile_files.repeats(tmp_path)
    assert {attempt(path, 2) for path in tmp_path.iterdir()} == {"translated"}


@pytest.mark.slow
@pytest.mark.parametrize("write", [hostile_files.growing, hostile_files.stretches, hostile_files.broken])
def test_hostile_files(tmp_path, write):
    """The cases `hostile/growth`, `hostile/spaces`, `hostile/marks` and `hostile/broken`."""
    write(tmp_path)
    outcomes = {path.name: attempt(path) for path in sorted(tmp_path.iterdir())}
    assert len(outcomes) > 4 and [name for name, how in outcomes.items() if how == "refused"] == (
        ["doctype.docx", "encoding.html"] if write is hostile_files.broken else []
    )


def test_a_paragraph_that_nothing_could_stop_is_refused(tmp_path):
    """The case `hostile2/leaver-goes-on` as Markdown: the parser cannot be interrupted in a paragraph."""
    for space in " \n":
        (tmp_path / "a.md").write_text("One.\n\n" + f"We find it.{space}" * 90_000)
        words = "a.md, line 3: a paragraph may have at most 1,000,000 characters"
        refused(words, open_document, tmp_path / "a.md", "markdown")


def test_a_page_that_is_read_in_pieces_is_whole(tmp_path):
    page = "".join(f"Le été {number} est là.\n\n" for number in range(20_000))  # its characters cross the pieces
    (tmp_path / "a.md").write_text(page, encoding="utf-8")
    (document,) = open_document(tmp_path / "a.md", "markdown").documents
    assert [page[place.start : place.end] for place in document.places] == page.split("\n\n")[:-1]


def test_the_beginning_of_a_long_string_tells_whether_it_is_a_text(tmp_path):
    long = {"text": "We find it. " * 50_000, "name": "abcDef" * 50_000}
    (tmp_path / "a.json").write_text(json.dumps(long))
    (document,) = open_document(tmp_path / "a.json", "json").documents
    assert [place.length for place in document.places] == [len(long["text"].strip())]
