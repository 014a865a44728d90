"""Inputs of `translate` that are no lines of UTF-8 text."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from apps.documents.packed import pack
from translating import translated

from glossa.apps.documents.formats.opening import format_of
from glossa.base.errors import GlossaError
from glossa.cli.inputs import KINDS, check_input, name_document
from glossa.cli.translate import main
from glossa.model.pipeline_glossa import TranslationPipeline, fits
from glossa.translate.interface import Checks, Execution, Search
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

STILL = 40  # equal sizes of a file, a twentieth of a second apart
TRANSLATE = [sys.executable, "-m", "glossa_command", "translate"]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b'<?xml version="1.0"?>\n<xliff version="2.0">', "XLIFF"),
        (b'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">', "TMX"),
        (b"\xef\xbb\xbf<!DOCTYPE HTML><html>", "HTML"), (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi", "subtitle"),
        (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHi", "subtitle"), (b'{"a": "Hi"}\n', "JSON"),
        (b'# Comment\n\nmsgid ""\nmsgstr ""\n', "PO"), (b"PK\x03\x04\x14\x00", "packed"),
        (b"%PDF-1.7\n", "PDF or book"), (b"1\nHi there.\n", ""), (b"{name} is here.\n", ""),
        (b"[1] See the notes.\n", ""), (b"<b>Hi</b> there.\n", ""), (b"# Hi\n", ""), (b"", ""),
    ],
)  # fmt: skip
def test_documents_are_known_by_their_start(start, kind):
    assert name_document("", start) == kind
    assert name_document("a.txt", start) == kind


@pytest.mark.parametrize("ending", KINDS)
def test_documents_are_known_by_their_name(ending):
    name = f"a{ending}" if ending[0] == "." else ending
    assert name_document(name.upper(), b"Hi.\n") == KINDS[ending]
    with pytest.raises(GlossaError, match=rf"x/{name} is a .* file, whose structure would be lost.*--format lines"):
        check_input(f"x/{name}", b"Hi.\n", lines=False)
    assert check_input(f"x/{name}", b"Hi.\n", lines=True) == KINDS[ending]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused(tmp_path, encoding):
    """The files in UTF-16 of the cases `translate-inputs`, `encoding-utf16` and `encoding-utf16le-nobom`."""
    (tmp_path / "in.txt").write_text("We see.\nI see.\n", encoding=encoding)
    name = {"utf-16": "UTF-16", "utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}[encoding]
    files = ["--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt")]
    for lines in ([], ["--format", "lines"]):
        with pytest.raises(GlossaError, match=rf"in\.txt, line 1: wrong encoding.*iconv -f {name} -t UTF-8 in\.txt"):
            main(["some/model", *files, *lines])
    assert not (tmp_path / "out.txt").exists()


def test_a_document_is_refused_before_the_output_is_made(tmp_path):
    (tmp_path / "app.pdf").write_text("%PDF-1.7")
    (tmp_path / "app.txt").write_text("<html>Hi</html>")
    for name, match in (
        ("app.pdf", "is a PDF or book file"),
        ("app.txt", "is a HTML file.* Give --format html to keep"),
    ):
        files = ["--input", str(tmp_path / name), "--output", str(tmp_path / "out")]
        for workers in ([], ["--workers", "1"]):
            with pytest.raises(GlossaError, match=match):
                main(["some/model", *files, *workers])
    assert not (tmp_path / "out").exists()


def test_what_normalization_expands_is_counted_when_it_is_expanded(tiny_run, tmp_path):
    from tokenizers.normalizers import NFKC

    model, tokenizer = load_model(str(tiny_run)), load_tokenizer(str(tiny_run))
    tokenizer.backend_tokenizer.normalizer = NFKC()
    tokenizer.model_max_length = 64
    text = "\ufdfa" * 15  # one character of three bytes, which stands for 18
    assert len(tokenizer(text, verbose=False)["input_ids"]) > 64 > len(text.encode()) + 3
    assert not fits(tokenizer, 64, text)
    (found,) = Translator(
        model, tokenizer, checks=Checks("blank"), execution=Execution(split_sentences=False)
    ).translate([text])
    assert found[0].failed and "tokens; the model takes 64" in found[0].problem
    (found,) = Translator(model, tokenizer, Search(1), execution=Execution(split_sentences=True)).translate([text])
    assert not found[0].failed, "it is cut"
    assert TranslationPipeline(model, tokenizer)(text, split_sentences=True, num_beams=1)


def messages(model, source, tmp_path, caplog, engine):
    """What libraries log while a document is translated, and its translation."""
    libraries = logging.getLogger("transformers")
    libraries.addHandler(caplog.handler)
    try:
        main([model, "--input", str(source), "--output", str(tmp_path / "out.html"), "--engine", engine])
    finally:
        libraries.removeHandler(caplog.handler)
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_a_text_longer_than_the_model_brings_no_message_of_a_library(tiny_run, tmp_path, caplog, engine):
    """The case `transformers-warning`."""
    model = tmp_path / "model"
    shutil.copytree(tiny_run, model)
    settings = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 5}))
    (tmp_path / "a.html").write_text("<p>a <b>k</b> b, m a.</p>")
    assert messages(str(model), tmp_path / "a.html", tmp_path, caplog, engine) == []
    assert (tmp_path / "out.html").read_text().count("<b>") == 1


@pytest.mark.slow
class TestProcesses:
    def run(self, tiny_run, text, **environment):
        options = {"input": text, "capture_output": True, "env": os.environ | environment, "timeout": 120}
        return subprocess.run([*TRANSLATE, str(tiny_run), "--num_beams", "1"], **options)

    def test_text_is_utf8_in_any_console(self, tiny_run):
        """What has no letters is copied, so its bytes come back; a letter that is read wrongly is another source."""
        lines = ["é", "❤ 42 — 7 €", "..."]
        expected = Translator(load_model(str(tiny_run)), load_tokenizer(str(tiny_run)), Search(1)).best(lines)
        assert expected[1:] == lines[1:]
        for encoding in ("ascii", "cp1252"):
            done = self.run(tiny_run, "\n".join(lines).encode(), PYTHONIOENCODING=encoding, PYTHONUTF8="0")
            assert done.returncode == 0, done.stderr
            assert done.stdout == "".join(f"{text}\n" for text in expected).encode()

    def test_documents_on_standard_input_are_a_warning(self, tiny_run):
        done = self.run(tiny_run, b"WEBVTT\n")
        assert done.returncode == 0 and b"Standard input looks like a subtitle file" in done.stderr
        done = self.run(tiny_run, "We see.\n".encode("utf-16"))
        assert done.returncode == 1 and b"Standard input looks like UTF-16" in done.stderr

    def test_ctrl_c_keeps_what_is_translated(self, tiny_run, tmp_path):
        output = tmp_path / "out.txt"
        command = [*TRANSLATE, str(tiny_run), "--num_beams", "1", "--scores", "--output", str(output)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"a k.\n" * 4096 + b"b m.\n")  # one chunk is translated, the next one is being read
        process.stdin.flush()
        latest = time.monotonic() + 120
        sizes = [0] * STILL
        while not sizes[-1] or sizes[-1] != sizes[-STILL]:  # until the file has stopped growing: the chunk is written
            sizes.append(output.stat().st_size if output.exists() else 0)
            time.sleep(0.05)
            assert process.poll() is None and time.monotonic() < latest
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().endswith(b"Interrupted.\n")
        assert output.read_bytes().count(b"\n") == 4096


@pytest.mark.parametrize("ending", ["ftl", "adoc", "ini", "toml", "lrc", "stringsdict", "js", "php", "svg"])
def test_files_with_a_structure_are_no_lines(ending):
    """The case `unknown-format-as-lines`: each is translated as a document, or refused."""
    if ending in ("js", "php", "svg"):
        assert format_of(f"a.{ending}") is None
        with pytest.raises(GlossaError, match=f"a.{ending} is a .* file, whose structure would be lost"):
            check_input(f"a.{ending}", b"The cat sits.\n", lines=False)
    else:
        assert format_of(f"a.{ending}")


def test_a_presentation_is_no_text_in_utf16(tmp_path):
    """The case `zip-says-utf16`: it is translated; under another name it is packed, and not UTF-16."""
    slide = '<p:sld xmlns:p="p" xmlns:a="a"><a:t>The cat sits.</a:t></p:sld>'
    path = pack(tmp_path / "a.pptx", {"[Content_Types].xml": "", "ppt/slides/slide1.xml": slide})
    assert b"ppt/slides/slide1.xml" in translated(path)
    with pytest.raises(GlossaError, match=r"a\.bin is a packed file"):
        check_input("a.bin", path.read_bytes(), lines=False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("title = The house\nname = Ann\n", "structured"), ("[a]\nb = c\n", "structured"),
        ("<svg><text>Hi</text></svg>\n", "structured"), ("if (a) {\n  b();\n}\n", "structured"),
        ("We see a house.\nWho sees it?\n", ""), ("Note: this is a text.\nIt goes on.\nAnd on.\n", ""),
    ],
)  # fmt: skip
def test_unknown_endings_with_the_look_of_a_structured_file(text, kind):
    assert name_document("a.foo", text.encode()) == kind
    assert name_document("a.txt", text.encode()) == name_document("a.fr", text.encode()) == ""
