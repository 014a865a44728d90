"""Jobs: files and folders, interruption, memory, problems, and the command."""

import json
from pathlib import Path

import pytest
from refusals import refused
from translating import KNOWN, Function, Given

from glossa.apps.documents.job import DocumentJob
from glossa.base.errors import GlossaError
from glossa.cli.translate import main
from glossa.translate.memory.building import open_memory
from glossa.translate.texts.recall import Recall

FILES = Path(__file__).parent / "files"


class Interrupted(Exception):
    pass


def upper(text):
    return text.upper()


def run(source, target, function=upper, engine=None, report=None, memory=None, **options):
    engine = engine or Function(function)
    translator = Given(engine)
    translator.recall = Recall([open_memory(memory, KNOWN.source, KNOWN.target)]) if memory else None
    DocumentJob(Path(source), Path(target), languages=KNOWN, **options).run(translator, report)
    return engine


def test_a_file(tmp_path, capsys):
    run(FILES / "film.srt", tmp_path / "out.srt")
    assert "WHO CAME FROM THE NORTH." in (tmp_path / "out.srt").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out.srt"], "nothing else is left"
    assert "3 texts: 4 sentences." in capsys.readouterr().err


def test_a_folder(tmp_path, capsys):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.md").write_text("# One\n")
    (tmp_path / "in" / "deep" / "b.html").write_text("<p>Two</p>")
    (tmp_path / "in" / "c.txt").write_text("Three\n")
    (tmp_path / "in" / "d.png").write_bytes(b"\x89PNG")
    run(tmp_path / "in", tmp_path / "out")
    found = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*.*")}
    assert found == {"a.md": "# ONE\n", "b.html": "<p>TWO</p>", "c.txt": "THREE\n"}
    assert (tmp_path / "out" / "deep" / "b.html").is_file()
    shown = capsys.readouterr().err
    assert "3 texts in 3 files: 3 sentences." in shown and "1 files in" in shown and "are skipped" in shown
    refused("has no documents of a known format", run, tmp_path / "in", tmp_path / "other", format="epub")


def test_programs_in_typescript_are_left_out_of_a_folder_by_name(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    qt = '<?xml version="1.0"?><TS><context><message><source>One</source><translation/></message></context></TS>'
    (tmp_path / "in" / "app.ts").write_text(qt)
    (tmp_path / "in" / "main.ts").write_text("export const one = <T>(a: T) => a;\n")
    run(tmp_path / "in", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["app.ts"]
    assert "ONE</translation>" in (tmp_path / "out" / "app.ts").read_text()
    assert "are skipped: main.ts" in capsys.readouterr().err


def test_a_broken_file_does_not_stop_the_others_of_a_folder(tmp_path, capsys):
    """The case `folder-one-broken`."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text("<p>One</p>")
    (tmp_path / "in" / "b.json").write_text("{bad")
    (tmp_path / "in" / "c.png").write_bytes(b"x")
    refused(r"1 of 2 files were not translated; see above\.", run, tmp_path / "in", tmp_path / "out")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"a.html": "<p>ONE</p>"}
    shown = capsys.readouterr().err
    assert shown.count("b.json") == 1 and shown.count("are skipped: c.png") == 1
    (tmp_path / "in" / "a.html").unlink()
    refused(r"b\.json.*JSON", run, tmp_path / "in", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "out.md").write_text("mine")
    refused(r"out\.md exists", run, FILES / "page.md", tmp_path / "out.md")
    assert (tmp_path / "out.md").read_text() == "mine"


def test_an_interrupted_job_continues(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("glossa.apps.documents.places.CHUNK", 5)
    (tmp_path / "a.json").write_text(json.dumps([f"Text number {number} here." for number in range(20)]))

    class Stops(Function):
        def translate(self, sources, search):
            if len(self.asked) >= 10:
                raise Interrupted
            return super().translate(sources, search)

    with pytest.raises(Interrupted):
        run(tmp_path / "a.json", tmp_path / "b.json", engine=Stops(upper))
    assert not (tmp_path / "b.json").exists()
    state = tmp_path / "b.json.parts" / "segments.jsonl"
    assert len(state.read_text().splitlines()) == 10
    with open(state, "a") as file:
        file.write('{"source": "Text num')  # killed while it wrote
    with pytest.raises(GlossaError, match="belongs to a job with different num_beams"):
        run(tmp_path / "a.json", tmp_path / "b.json", settings={"num_beams": 4})
    second = run(tmp_path / "a.json", tmp_path / "b.json")
    assert len(second.asked) == 10, "only what was not translated"
    assert "Continuing: 10 sentences" in capsys.readouterr().err
    assert json.loads((tmp_path / "b.json").read_text())[19] == "TEXT NUMBER 19 HERE."
    assert not (tmp_path / "b.json.parts").exists()


@pytest.mark.parametrize("folder", [False, True])
def test_a_memory_gives_exact_translations(tmp_path, capsys, folder):
    memory = tmp_path / ("memory" if folder else "memory.tmx")
    file = memory / "a.tmx" if folder else memory
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Good day.</seg></tuv>'
        '<tuv xml:lang="fr"><seg>Bonjour.</seg></tuv></tu><tu><tuv xml:lang="en"><seg>Press {key}.</seg></tuv>'
        '<tuv xml:lang="fr"><seg>Appuyez sur {key}.</seg></tuv></tu></body></tmx>'
    )
    (tmp_path / "a.html").write_text("<p>Good <b>day</b>.</p><p>Good day. It rains.</p><p>Press {key}.</p>")
    asked = run(tmp_path / "a.html", tmp_path / "b.html", memory=memory).asked
    assert asked == ["It rains."]
    assert "3 of them from the memory" in capsys.readouterr().err
    found = (tmp_path / "b.html").read_text()
    assert "<p>Bonjour. IT RAINS.</p><p>Appuyez sur {key}.</p>" in found and "<b>" in found


def test_memories_that_do_not_fit(tmp_path):
    (tmp_path / "a.md").write_text("Hi there\n")
    refused(r"is not there\. Give a TMX file", run, tmp_path / "a.md", tmp_path / "b.md", memory=tmp_path / "none.tmx")
    (tmp_path / "m.tmx").write_text('<tmx version="1.4"><header/><body></body></tmx>')
    refused(r"has no pair of en and fr", run, tmp_path / "a.md", tmp_path / "b.md", memory=tmp_path / "m.tmx")


def test_texts_that_cannot_be_translated_stay(tmp_path):
    translator = Given(upper)
    translator.split_sentences, translator.tokenizer.model_max_length = False, 5
    (tmp_path / "a.html").write_text("<p>Hi <b>there</b>.</p>")
    report = tmp_path / "report.jsonl"
    with (
        open(report, "w") as file,
        pytest.raises(GlossaError, match=r"could not be translated; the others were\. Line 1"),
    ):
        DocumentJob(tmp_path / "a.html", tmp_path / "b.html", languages=KNOWN).run(translator, file)
    assert (tmp_path / "b.html").read_text() == "<p>Hi <b>there</b>.</p>"
    assert json.loads(report.read_text())["source"] == "Hi there."


def test_placeholders_without_a_certain_place_are_reported(tmp_path, capsys):
    (tmp_path / "a.json").write_text('{"a": "Open the {file} with care now."}')
    run(tmp_path / "a.json", tmp_path / "b.json", lambda text: "Öffnen.")
    assert json.loads((tmp_path / "b.json").read_text()) == {"a": "Öffnen {file}."}
    assert "1 of 1 translations look uncertain in placeholders: line 1" in capsys.readouterr().err


def test_subtitles_that_are_too_wide_are_reported(tmp_path, capsys):
    (tmp_path / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nThis sentence fits into one line of it.\n")
    long = "Dieser Satz passt in keiner Weise hinein, da er viel mehr Wörter hat, als zwei Zeilen fassen können."
    run(tmp_path / "a.srt", tmp_path / "b.srt", lambda text: long)
    assert "1 of 1 translations look too wide for a subtitle: line 3" in capsys.readouterr().err


class TestCommand:
    def test_options_of_lines_are_refused(self, tmp_path):
        (tmp_path / "a.md").write_text("Hi\n")
        given = ["some/model", "--input", str(tmp_path / "a.md")]
        for options, message in (
            ([], "is a document. Give --output for its translation"),
            (["--output", "b.md", "--scores"], "--scores is for lines of text. Give --report"),
            (["--output", "b.md", "--workers", "2"], "--workers is for lines of text"),
            (["--output", "b.md", "--num_return_sequences", "2", "--num_beams", "2"], "--num_return_sequences is for"),
        ):
            refused(message, main, [*given, *options])
        refused("--format is for documents, which must be files", main, ["some/model", "--format", "html"])

    def test_a_document(self, tiny_run, tmp_path, capsys):
        (tmp_path / "a.html").write_text("<p>a <b>k</b>.</p><pre>a k.</pre>")
        files = ["--input", str(tmp_path / "a.html"), "--output", str(tmp_path / "b.html")]
        main([str(tiny_run), *files, "--engine", "torch", "--num_beams", "1"])
        found = (tmp_path / "b.html").read_text()
        assert found.endswith("</p><pre>a k.</pre>") and found.count("<b>") == found.count("</b>") == 1
        assert "1 texts: 1 sentences." in capsys.readouterr().err

    def test_lines_stay_lines(self, tiny_run, tmp_path):
        (tmp_path / "a.txt").write_text("a k.\n\nb m.\n")
        for number, options in enumerate(([], ["--format", "lines"])):
            files = ["--input", str(tmp_path / "a.txt"), "--output", str(tmp_path / f"{number}.txt")]
            main([str(tiny_run), *files, "--engine", "torch", "--num_beams", "1", *options])
        lines = (tmp_path / "0.txt").read_text().split("\n")
        assert len(lines) == 4 and lines[1] == "" and (tmp_path / "1.txt").read_text() == "\n".join(lines)
