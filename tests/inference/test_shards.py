"""Large files in shards: how they are cut, what survives an interruption, and one output for any number of workers."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from glossa.cli.translate import main
from glossa.errors import GlossaError
from glossa.inference import shards
from glossa.inference.shards import Done, Shard, ShardJob, find_shards

ROOT = Path(__file__).parents[2]


def upper(lines, first, path, failing=None, log=None):
    """Translates into capitals; a line "!" is a problem."""
    if failing is not None and first >= failing:
        raise GlossaError(f"Line {first}")
    if log is not None:
        with open(log, "a") as file:
            print(first, file=file)
    path.write_bytes(b"".join(line.upper() for line in lines))
    problems = [{"line": first + index, "problem": "!"} for index, line in enumerate(lines) if line == b"!\n"]
    return Done(len(lines), sum(len(line.split()) for line in lines), problems=problems)


def load(**options):
    return partial(upper, **options)


@pytest.fixture
def two_lines(monkeypatch):
    monkeypatch.setattr(shards, "SHARD", 2)


def test_shards_hold_every_byte_once(tmp_path, two_lines):
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\nb\rb\n\n\xff\nlast")  # a carriage return and a byte that is not UTF-8 are within lines
    assert list(find_shards(path)) == [Shard(1, 2, 0, 6), Shard(3, 2, 6, 3), Shard(5, 1, 9, 4)]
    path.write_bytes(b"")
    assert list(find_shards(path)) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_a_job_writes_all_lines_in_order(tmp_path, two_lines, workers):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a b\nc\n\n!\nd e f\n")
    done = ShardJob(source, output, {}).run(load, workers)
    assert output.read_text() == "A B\nC\n\n!\nD E F\n"
    assert (done.lines, done.words, done.problems) == (5, 7, [{"line": 4, "problem": "!"}])
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.txt"]


def test_an_interrupted_job_translates_only_what_is_left(tmp_path, two_lines):
    source, output, log = tmp_path / "in.txt", tmp_path / "out.txt", tmp_path / "log"
    source.write_text("a\nb\nc\nd\ne\nf\n")
    with pytest.raises(GlossaError, match="Line 5"):
        ShardJob(source, output, {"beams": 4}).run(partial(load, failing=5), 1)
    assert not output.exists()
    with pytest.raises(GlossaError, match=r"out.txt.parts is of a job with another beams\. Give the same settings"):
        ShardJob(source, output, {"beams": 5})
    ShardJob(source, output, {"beams": 4}).run(partial(load, log=str(log)), 1)
    assert output.read_text() == "A\nB\nC\nD\nE\nF\n" and log.read_text() == "5\n"
    with pytest.raises(GlossaError, match=r"out.txt exists\. Give another --output"):
        ShardJob(source, output, {"beams": 4})


def test_another_source_is_refused(tmp_path, two_lines):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a\nb\nc\n")
    with pytest.raises(GlossaError, match="Line 1"):
        ShardJob(source, output, {}).run(partial(load, failing=1), 1)
    source.write_text("a\nb\n")
    with pytest.raises(GlossaError, match=r"another .*in\.txt: its size or time has changed"):
        ShardJob(source, output, {})


def killed(lines, first, path):
    os.kill(os.getpid(), signal.SIGKILL)


def load_killed():
    return killed


def test_a_killed_process_is_reported(tmp_path, two_lines):
    (tmp_path / "in.txt").write_text("a\n")
    with pytest.raises(GlossaError, match="A process was killed, perhaps for lack of memory"):
        ShardJob(tmp_path / "in.txt", tmp_path / "out.txt", {}).run(load_killed, 1)


def test_workers_need_files(tiny_run):
    with pytest.raises(GlossaError, match="give --input and --output"):
        main([str(tiny_run), "--workers", "1"])


@pytest.mark.slow
def test_the_command_gives_equal_files_for_any_number_of_workers(tiny_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shards, "SHARD", 40)
    source = tmp_path / "in.txt"
    source.write_bytes(
        b"".join(f"{a} {b}. {b} {a}.\n".encode() for a in "abcdefghij" for b in "klmnopqrst") + b"\xe9\n"
    )
    found = []
    for workers in (None, 1, 2):
        output, report = tmp_path / f"{workers}.txt", tmp_path / f"{workers}.jsonl"
        files = ["--input", str(source), "--output", str(output), "--report", str(report)]
        with pytest.raises(
            GlossaError, match=r"1 of 101 lines could not be translated; the others were\. Line 101: not"
        ):
            main(
                [str(tiny_run), *files, "--num_beams", "2", *([] if workers is None else ["--workers", str(workers)])]
            )
        rows = [json.loads(line) for line in report.read_text().splitlines()]
        assert rows[0]["line"] == 101 and not rows[0]["translated"]
        found.append((output.read_bytes(), rows))
    assert found[1] == found[2] and found[0][0].count(b"\n") == found[1][0].count(b"\n") == 101
    assert re.search(r"101 lines, 401 words: \d+ CPU-seconds in all", capsys.readouterr().err)


def test_a_report_that_cannot_be_written_stops_before_the_work(tiny_run, tmp_path):
    (tmp_path / "in.txt").write_text("a k.\n")
    files = ["--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out.txt")]
    with pytest.raises(GlossaError, match="No such file or directory"):
        main([str(tiny_run), *files, "--workers", "1", "--report", str(tmp_path / "nowhere" / "report.jsonl")])
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.slow
def test_a_killed_job_ends_with_the_same_file(tiny_run, tmp_path, monkeypatch):
    source, whole, output = tmp_path / "in.txt", tmp_path / "whole.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{a} {b}.\n" for a in "abcdefghij" for b in "klmnopqrst"))
    program = "import glossa_command  # as the command does\nfrom glossa.inference import shards; shards.SHARD = 10\n"
    program += (
        "if __name__ == '__main__':\n    from glossa.cli import run\n    from glossa.cli.translate import main\n"
    )
    (tmp_path / "job.py").write_text(program + "    run(main)\n")
    options = [str(tiny_run), "--workers", "2", "--input", str(source), "--output"]
    monkeypatch.setattr(shards, "SHARD", 10)
    main([*options, str(whole)])
    command = [sys.executable, str(tmp_path / "job.py"), *options]
    parts, kills = Path(f"{output}.parts"), 0
    while not output.exists():
        job = subprocess.Popen([*command, str(output)], cwd=ROOT, stderr=subprocess.DEVNULL)
        before = len(list(parts.glob("*.json")))
        # Killed after its first finished part; parts are never lost.
        while job.poll() is None and len(list(parts.glob("*.json"))) <= max(before, 1):
            time.sleep(0.01)
        if not kills:
            kills += job.poll() is None
            job.kill()
        job.wait()
        assert len(list(parts.glob("*.json"))) >= before or output.exists()
    assert kills == 1 and output.read_bytes() == whole.read_bytes()
