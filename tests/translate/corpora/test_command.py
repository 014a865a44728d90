"""A program as a teacher: it is given lines, and its lines are counted. What it has finished stays."""

import sys

import pytest
from small_corpus import records

from glossa.base.errors import GlossaError
from glossa.cli import distill
from glossa.translate.corpora import distillation
from glossa.translate.corpora.command import CommandTranslator

LANGUAGES = ["--source_language", "en", "--target_language", "fr"]
UPPER = "import sys\nfor line in sys.stdin:\n    print(line.rstrip('\\n').upper() + ' !')\n"


@pytest.fixture
def teacher(tmp_path):
    """Writes a program and gives the command that runs it; the folder has a space, which needs quotes."""

    def write(code):
        script = tmp_path / "my teacher.py"
        script.write_text(code)
        return f"{sys.executable} '{script}'"

    return write


def texts_of(found):
    return [translation.text for (translation,) in found]


def test_a_text_is_a_line_and_no_shell_reads_the_command(teacher, tmp_path):
    translator = CommandTranslator(teacher(UPPER) + f" ; touch {tmp_path / 'created'}", 60)
    # A line end inside a text, of any kind, would shift all lines after it.
    assert texts_of(translator.translate(["a\nb", "c\u2028d", "é $HOME"])) == ["A B !", "C D !", "É $HOME !"]
    assert not (tmp_path / "created").exists()


def test_what_cannot_be_right_has_its_problem(teacher):
    code = "import sys\nfor line in sys.stdin:\n    print('' if line.startswith('a') else line.strip())\n"
    (empty,), (copied,) = CommandTranslator(teacher(code), 60).translate(
        ["a b c", "so many letters in one row of words"]
    )
    assert (empty.problem, copied.problem) == ("empty", "copied")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print(input())", r"was given 3 lines and wrote 1; it must write one for each"),
        ("import sys\nfor line in sys.stdin: print(line.strip() + '\\n')", r"was given 3 lines and wrote 6"),
        ("import sys\nsys.stdin.read()", r"was given 3 lines and wrote 0"),
        ("print(input(), flush=True)\nraise SystemExit(7)", r"ended with status 7 after 1 of 3 lines"),
        ("import time\ntime.sleep(600)", r"has not ended after 0\.5 seconds; --teacher_seconds"),
        (
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])",
            r"has not ended after 0\.5 seconds",
        ),
        (
            "import sys\nsys.stdin.read()\nsys.stdout.buffer.write(b'a\\n\\xff\\nb\\n')",
            r"bytes that are not UTF-8 in line 2",
        ),
    ],
    ids=["too few", "too many", "none", "dies", "hangs", "its child hangs", "bytes"],
)
def test_a_program_that_fails_is_named_with_what_it_did(teacher, code, message):
    seconds = 0.5 if "sleep" in code else 60
    with pytest.raises(GlossaError, match=message):
        CommandTranslator(teacher(code), seconds).translate(["a", "b", "c"])


@pytest.mark.parametrize(
    ("command", "message"),
    [("", "is empty"), ("python 'x", "Close its quotes"), ("/no/such/program -x", "does not start: No such file")],
)
def test_a_command_that_cannot_start(command, message):
    with pytest.raises(GlossaError, match=message):
        CommandTranslator(command, 60).translate(["a"])


def test_a_program_that_dies_loses_nothing(teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(distillation, "CHUNK", 2)
    (tmp_path / "text.txt").write_text("red\nblue\ngreen\npink\ngray\n")
    log = tmp_path / "log"
    note = "import sys\nlines = [line.strip() for line in sys.stdin]\n"
    note += f"open({str(log)!r}, 'a').write(' '.join(lines) + '|')\n"
    answer = "for line in lines: print(line + ' !')\n"
    output = tmp_path / "pairs.jsonl"
    argv = ["--text", str(tmp_path / "text.txt"), *LANGUAGES, "--output", str(output)]
    command = teacher(note + "if 'green' in lines: raise SystemExit(1)\n" + answer)
    with pytest.raises(GlossaError, match=r"ended with status 1 after 0 of 2 lines\. What is finished stays"):
        distill.main(["--teacher_command", command, *argv])
    assert not output.exists()
    assert teacher(note + answer) == command, "the program is corrected, and its command stays"
    # The limit of time decides no translation, so it may change.
    distill.main(["--teacher_command", command, "--teacher_seconds", "100", *argv])
    assert log.read_text() == "red blue|green pink|green pink|gray|"
    assert [(row["source"], row["target"]) for row in records(output)] == [
        (text, f"{text} !") for text in ("red", "blue", "green", "pink", "gray")
    ]
    assert {row["origin"] for row in records(output)} == {command}


def test_it_translates_the_sources_of_pairs(teacher, tmp_path):
    (tmp_path / "pairs.tsv").write_text("a k.\tx y\nb l.\tz\n")
    output = tmp_path / "out.jsonl"
    given = ["--data_path", str(tmp_path / "pairs.tsv"), *LANGUAGES, "--with_original", "--output", str(output)]
    distill.main(["--teacher_command", teacher(UPPER), *given])
    found = [(row["source"], row["target"]) for row in records(output)]
    assert found == [("a k.", "x y"), ("b l.", "z"), ("a k.", "A K. !"), ("b l.", "B L. !")]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], r"No teacher is given"),
        (["runs/a", "--teacher_command", "cat"], r"several are given; give one of them"),
        (["--teacher_command", "cat"], r"has no training pairs\. Give texts with --text"),
        (["--teacher_command", "cat", "--text", "a.txt", "--num_beams", "5"], r"--num_beams is for trained models"),
        (["--teacher_command", "cat", "--text", "a.txt", "--sample"], r"--sample is for trained models"),
        (["--teacher_command", "cat", "--text", "a.txt"], r"--text needs --source_language"),
        (["--teacher_command", "cat", "--data_path", "a.tsv"], r"The languages of the program are unknown"),
    ],
)
def test_options_that_do_not_fit(argv, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "a.tsv").write_text("a\tb\n")
    with pytest.raises(GlossaError, match=message):
        distill.main([*argv, "--output", "pairs.jsonl"])
