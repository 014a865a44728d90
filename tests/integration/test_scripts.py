"""The scripts answer bad input with a message of one line and exit status 1."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_models import QUIET, command_line

from glossa.base.errors import GlossaError
from glossa.cli.translate import Problems, find_problems
from glossa.translate.interface import Search, Translation
from glossa.translate.loading import load_model, load_tokenizer
from glossa.translate.translator import Translator

SCRIPTS = Path(__file__).parents[2] / "scripts"
PAIRS = [f"{word} {other}.\t{other} {word}!" for word in "abcdefghij" for other in "klmnopqrst"]


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Run a script in this process and return its exit code (None for success)."""

    def call(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        try:
            runpy.run_path(str(SCRIPTS / script), run_name="__main__")
        except SystemExit as end:
            return end.code
        return None

    monkeypatch.chdir(tmp_path)
    return call


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.tsv"
    path.write_text("\n".join(PAIRS) + "\n", encoding="utf-8")
    return path


def write(path, content):
    path.write_bytes(content)
    return path


BAD = {
    "missing": (None, [], ["bad.tsv"]),
    "encoding": ("été\tsummer\n".encode("latin-1") * 50, [], ["bad.tsv", "line", "UTF-8", "iconv"]),
    "one pair": (b"yes\toui\n", ["--validation_size", "1", "--test_size", "1"], ["1 pair"]),
    "strict": (b"yes\toui\nno tab here\nno\tnon\n", ["--strict"], ["bad.tsv, line 2", "strict"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_data(call, tmp_path, kind):
    content, options, words = BAD[kind]
    if content is not None:
        write(tmp_path / "bad.tsv", content)
    data = ["--dataset", "files", "--data_path", tmp_path / "bad.tsv"]
    message = call("train.py", *data, "--output_dir", tmp_path / "run", *options)
    assert message.startswith("error: ")
    assert all(word in message for word in words), message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--vocab_size", "5000"], ["vocab_size is 5000", "supports only"]),
        (["--vocab_size", "100"], ["vocab_size is 100", "at least 260"]),
        (["--vocab_size", "265", "--num_key_value_heads", "3"], ["num_key_value_heads is 3", "divide"]),
        (["--init_from", "nowhere/at/all"], ["nowhere/at/all"]),
    ],
)
def test_bad_settings(call, good, tmp_path, arguments, words):
    run = ["--validation_size", "5", "--test_size", "5", "--output_dir", tmp_path / "run"]
    message = call("train.py", "--dataset", "files", "--data_path", good, *run, *arguments)
    assert message.startswith("error: ")
    assert all(word in message for word in words), message


def test_a_finished_run_is_not_overwritten(call, good, tmp_path):
    (tmp_path / "run").mkdir()
    weights = write(tmp_path / "run" / "model.safetensors", b"precious")
    message = call("train.py", "--dataset", "files", "--data_path", good, "--output_dir", tmp_path / "run")
    assert "already holds a run" in message
    assert weights.read_bytes() == b"precious"


def test_debug_shows_the_traceback(call, tmp_path):
    with pytest.raises(GlossaError, match=r"missing\.tsv"):
        call("train.py", "--dataset", "files", "--data_path", tmp_path / "missing.tsv", "--debug")


@pytest.mark.slow
def test_a_full_disk_while_saving_a_run(tmp_path, tiny_settings):
    """The shell limits files to 200 kB; the weights of this model are larger."""
    arguments = tiny_settings(tmp_path / "run", d_model=64, **QUIET)
    program = [sys.executable, str(SCRIPTS / "train.py"), *arguments]
    limited = ["bash", "-c", 'ulimit -f 200 && exec "$@"', "bash", *program]
    result = subprocess.run(limited, capture_output=True, text=True, timeout=300)
    assert result.returncode == 1
    assert result.stderr.rstrip().splitlines()[-1].startswith("error: The disk is full")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("script", ["translate.py", "score.py"])
def test_a_folder_without_a_model(call, tmp_path, script):
    assert "is not a model folder" in call(script, tmp_path)
    assert "There is no folder" in call(script, tmp_path / "nothing")
    assert "is a file" in call(script, write(tmp_path / "file", b"x"))


def test_help_of_every_script(call, capsys):
    for script in sorted(SCRIPTS.glob("*.py")):
        assert call(script.name, "--help") == 0
        assert len(capsys.readouterr().out) > 300


class TestWithAModel:
    def test_translate_a_file(self, call, tiny_run, tmp_path):
        write(tmp_path / "in.txt", b"a k.\r\n\n  \nb l.\n")
        assert call("translate.py", tiny_run, "--input", "in.txt", "--output", "out.txt", "--num_beams", 1) is None
        lines = (tmp_path / "out.txt").read_text(encoding="utf-8").split("\n")
        translator = Translator(load_model(tiny_run), load_tokenizer(tiny_run), Search(1))
        assert lines == [translator.best(["a k."])[0], "", "", translator.best(["b l."])[0], ""]

    def test_n_best_with_scores(self, call, tiny_run, tmp_path, capsys):
        write(tmp_path / "in.txt", b"a k.\n\n")
        options = ["--num_beams", 3, "--num_return_sequences", 3, "--scores"]
        assert call("translate.py", tiny_run, "--input", "in.txt", *options) is None
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        assert len(rows) == 6
        assert all(float(score) <= 0 for score, _ in rows)

    def test_lines_that_cannot_be_translated(self, call, tiny_run, tmp_path):
        lines = [b"a k.", b"b \xe9.", b"word " * 5000, b"b l."]
        write(tmp_path / "in.txt", b"\n".join(lines) + b"\n")
        options = ["--input", "in.txt", "--num_beams", 1, "--no_split_sentences"]
        files = ["--output", "out.txt", "--report", "report.jsonl"]
        message = call("translate.py", tiny_run, *options, *files)
        assert "2 of 4 lines could not be translated; the others were. Line 2: not UTF-8 (byte 0xe9" in message
        blank = (tmp_path / "out.txt").read_bytes().split(b"\n")
        translator = Translator(load_model(tiny_run), load_tokenizer(tiny_run), Search(1))
        first, last = (text.encode() for text in translator.best(["a k.", "b l."]))
        assert blank == [first, b"", b"", last, b""]
        rows = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text(encoding="utf-8").splitlines()]
        failed = [row for row in rows if not row["translated"]]
        assert [row["line"] for row in failed] == [2, 3] and failed[1]["source"] == "word " * 5000
        assert call("translate.py", tiny_run, *options, *files, "--on_error", "copy") == message
        assert (tmp_path / "out.txt").read_bytes().split(b"\n") == [first, *lines[1:3], last, b""]
        message = call("translate.py", tiny_run, *options, *files, "--on_error", "stop")
        assert "Line 2: not UTF-8 (byte 0xe9 at column 3)" in message
        assert (tmp_path / "out.txt").read_bytes().split(b"\n") == [first, b""]

    def test_the_report_is_worst_first_or_in_order_with_all_lines(self, tmp_path, capsys):
        texts = {1: ("a", -1.0, ""), 2: ("b", -2.6, "improbable"), 3: ("c", -9.0, "improbable"), 4: ("", 0.0, "empty")}
        written = {}
        for every in (False, True):
            with (tmp_path / "report").open("w+") as report:
                problems = Problems(report, every)
                for line, (text, score, problem) in texts.items():
                    translation = Translation(text, score, problem, tokens=2 if text else 0)
                    problems.add(1, find_problems(line, "x", translation, every))
                problems.finish()
                report.seek(0)
                written[every] = [json.loads(row) for row in report]
        assert [row["line"] for row in written[False]] == [4, 3, 2]
        assert [row["line"] for row in written[True]] == [1, 2, 3, 4]
        assert written[True][2] == {
            "line": 3, "problem": "improbable", "translated": True, "score": -9.0, "token_score": -4.5, "source": "x",
            "translation": "c",
        }  # fmt: skip
        message = "2 of 4 translations look improbable: line 3, 2\n1 of 4 translations look empty: line 4\n"
        assert capsys.readouterr().err == message * 2

    def test_all_lines_are_reported_with_their_scores(self, call, tiny_run, tmp_path):
        write(tmp_path / "in.txt", b"a k.\n42\n\nb m.\n")
        files = "--input", "in.txt", "--output", "out.txt"
        assert "--report_all needs a file" in call("translate.py", tiny_run, *files, "--report_all")
        options = *files, "--num_beams", 1, "--report", "report.jsonl"
        assert call("translate.py", tiny_run, *options, "--report_all") is None
        rows = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [row["line"] for row in rows] == [1, 2, 3, 4]
        assert all(bool(row["translation"] and row["line"] != 2) == ("score" in row) for row in rows)
        assert [row["translation"] for row in rows] == (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
        assert rows[1]["translation"] == "42"

    def test_a_full_disk(self, call, tiny_run, tmp_path):
        write(tmp_path / "in.txt", b"a k.\n" * 20)
        message = call("translate.py", tiny_run, "--input", "in.txt", "--output", "/dev/full", "--num_beams", 1)
        assert message.startswith("error: The disk is full")

    def test_score_of_a_split_and_of_other_pairs(self, call, tiny_run, tmp_path, capsys, good):
        assert call("score.py", tiny_run, "--n_bootstrap", 10, "--num_beams", 1, "--output", "scores.json") is None
        table = capsys.readouterr().out
        assert "BLEU" in table and "greedy" in table and "tok:13a" in table
        assert (tmp_path / "scores.json").exists()
        assert call("score.py", tiny_run, "--n_bootstrap", 10, "--num_beams", 1, "--data_path", good) is None

    def test_score_reads_the_columns_of_the_run(self, call, tiny_run, tmp_path):
        def sources(run, *options):
            options = ("--n_bootstrap", 0, "--num_beams", 1, "--output", "scores.json", *options)
            assert call("score.py", run, "--data_path", tmp_path / "three.tsv", *options) is None
            return json.loads((tmp_path / "scores.json").read_text())["results"]["greedy"]["sources"]

        (tmp_path / "three.tsv").write_text("1\ta k.\tx\n2\tb l.\ty\n")
        chosen = {"source_column": "2", "target_column": "3"}
        assert sources(tiny_run, *command_line(chosen)) == [
            "a k.", "b l."
        ]  # fmt: skip
        shutil.copytree(tiny_run, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoint-*"))
        with (tmp_path / "run" / "recipe.yaml").open("a") as recipe:
            recipe.writelines(f'{name}: "{value}"\n' for name, value in chosen.items())
        assert sources(tmp_path / "run") == ["a k.", "b l."]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--force", "--num_beams", 5], "--num_beams is for translations, but --force makes none"),
            (["--output", "no/scores.json"], "no/scores.json"),
            (["--baseline", "nowhere"], "There is no folder nowhere"),
            (["--source_language", "de"], "--source_language de is for pairs of --data_path"),
            (["--target_language", "de"], "--target_language de is for pairs of --data_path"),
            (["--source_column", "2", "--target_column", "3"], "--source_column is for pairs of --data_path"),
        ],
    )
    def test_options_of_score_that_are_refused(self, call, tiny_run, options, message):
        assert message in call("score.py", tiny_run, *options)

    def test_files_are_not_written_over(self, call, tiny_run, tmp_path):
        write(tmp_path / "in.txt", b"a k.\n")
        same = call("translate.py", tiny_run, "--input", "in.txt", "--output", tmp_path / "in.txt")
        assert "--output is the file of --input" in same
        assert (tmp_path / "in.txt").read_bytes() == b"a k.\n"
        files = ["--output", "out.txt", "--report", "out.txt"]
        assert "--report is the file of --output" in call("translate.py", tiny_run, "--input", "in.txt", *files)
        assert not (tmp_path / "out.txt").exists()
        nowhere = ["--output", "/dev/null", "--report", "/dev/null"]
        assert call("translate.py", tiny_run, "--input", "in.txt", *nowhere) is None

    def test_score_with_length_penalties(self, call, tiny_run, tmp_path):
        options = ["--n_bootstrap", 10, "--num_beams", 1, 2, "--length_penalty", 0, 1.5, "--output", "scores.json"]
        assert call("score.py", tiny_run, *options) is None
        results = json.loads((tmp_path / "scores.json").read_text())["results"]
        assert list(results) == ["greedy", "beam 2, length penalty 0", "beam 2, length penalty 1.5"]
        greedy = ["--num_beams", 1, "--length_penalty", 2]
        assert "is scored with greedy search. Give --num_beams 5" in call("score.py", tiny_run, *greedy)
        write(tmp_path / "in.txt", b"a k.\n")
        assert "is for a search with beams. Give --num_beams too" in call(
            "translate.py", tiny_run, "--input", "in.txt", *greedy
        )

    def test_translate_with_a_length_penalty(self, call, tiny_run, tmp_path):
        write(tmp_path / "in.txt", b"a k.\nb l.\n")
        options = ["--input", "in.txt", "--output", "out.txt", "--num_beams", 3, "--length_penalty", -5]
        assert call("translate.py", tiny_run, *options) is None
        model = load_model(tiny_run)
        model.generation_config.length_penalty = -5.0
        translator = Translator(model, load_tokenizer(tiny_run), Search(3))
        translations = translator.best(["a k.", "b l."])
        assert (tmp_path / "out.txt").read_text().splitlines() == translations
        model.generation_config.length_penalty = 1.0
        assert translations != translator.best(["a k.", "b l."])
