"""Large files in shards: how they are cut, what survives an interruption, and one output for any number of workers."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import xxhash
from filelock import FileLock
from refusals import refused

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import in_processes
from glossa.cli.translate import main
from glossa.translate.corpora import shards
from glossa.translate.corpora.shards import Done, Shard, ShardJob, find_shards

ROOT = Path(__file__).parents[3]
ONE = partial(in_processes, processes=1)


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


def interrupted(tmp_path, text, line, settings=None, models=()):
    """The source and the output of a job that has stopped at this line."""
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(text)
    refused(f"Line {line}", ShardJob(source, output, settings or {}, models).run, partial(load, failing=line), ONE)
    return source, output


def test_shards_hold_every_byte_once(tmp_path, two_lines):
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\nb\rb\n\n\xff\nlast")  # a carriage return and a byte that is not UTF-8 are within lines
    parts = b"a\nb\rb\n", b"\n\xff\n", b"last"
    places = (1, 2, 0, 6), (3, 2, 6, 3), (5, 1, 9, 4)
    stamps = [xxhash.xxh3_128_hexdigest(part) for part in parts]
    assert list(find_shards(path)) == [Shard(*place, found) for place, found in zip(places, stamps, strict=True)]
    path.write_bytes(b"")
    assert list(find_shards(path)) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_a_job_writes_all_lines_in_order(tmp_path, two_lines, workers):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a b\nc\n\n!\nd e f\n")
    done = ShardJob(source, output, {}).run(load, partial(in_processes, processes=workers))
    assert output.read_text() == "A B\nC\n\n!\nD E F\n"
    assert (done.lines, done.words, done.problems) == (5, 7, [{"line": 4, "problem": "!"}])
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.txt"]


def test_an_interrupted_job_translates_only_what_is_left(tmp_path, two_lines):
    log = tmp_path / "log"
    source, output = interrupted(tmp_path, "a\nb\nc\nd\ne\nf\n", 5, {"beams": 4})
    assert not output.exists()
    refused(r"out.txt.parts belongs to a job with different beams", ShardJob, source, output, {"beams": 5})
    ShardJob(source, output, {"beams": 4}).run(partial(load, log=str(log)), ONE)
    assert output.read_text() == "A\nB\nC\nD\nE\nF\n" and log.read_text() == "5\n"
    refused(r"out.txt exists\. Give another --output", ShardJob, source, output, {"beams": 4})


def test_another_source_is_refused(tmp_path, two_lines):
    source, output = interrupted(tmp_path, "a\nb\nc\n", 1)
    source.write_text("a\nb\n")
    refused(r"different content of .*in\.txt", ShardJob, source, output, {})


def test_the_same_content_at_another_time_is_the_same_source(tmp_path, two_lines):
    source, output = interrupted(tmp_path, "a\nb\nc\n", 3)
    source.write_text("a\nx\nc\n")  # of the same size
    refused(r"different content of .*in\.txt", ShardJob, source, output, {})
    source.write_text("a\nb\nc\n")
    os.utime(source, (1, 1))
    assert ShardJob(source, output, {}).run(load, ONE).lines == 3


def cut(lines, first, path, source):
    Path(source).write_text("a\nb\nc\n")  # while the first shard is being translated
    return upper(lines, first, path)


def load_cut(source):
    return partial(cut, source=source)


def test_a_source_that_is_cut_during_the_job_ends_it(tmp_path, two_lines):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a\nb\nc\nd\ne\n")
    with pytest.raises(GlossaError, match=r"in\.txt has changed while it was translated: lines 3 to 4 are others"):
        ShardJob(source, output, {}).run(partial(load_cut, str(source)), ONE)
    assert not output.exists()


@pytest.mark.parametrize("damage", [b"", b"A\n", b"A\nX\n"])
def test_a_damaged_part_is_translated_again(tmp_path, two_lines, caplog, damage):
    log = tmp_path / "log"
    source, output = interrupted(tmp_path, "a\nb\nc\nd\ne\n", 5)
    (tmp_path / "out.txt.parts" / "000000.txt").write_bytes(damage)
    (tmp_path / "out.txt.parts" / "000001.txt").unlink()
    assert ShardJob(source, output, {}).run(partial(load, log=str(log)), ONE).lines == 5
    assert output.read_text() == "A\nB\nC\nD\nE\n" and log.read_text() == "1\n3\n5\n"
    assert caplog.text.count("has changed since it was written") == 2


def test_an_exchanged_model_is_refused(tmp_path, two_lines):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"one")
    source, output = interrupted(tmp_path, "a\nb\nc\n", 3, models=[str(model)])
    (model / "metrics.json").write_text("{}")  # nothing that translates
    ShardJob(source, output, {}, [str(model)])
    (model / "model.safetensors").write_bytes(b"two")
    with pytest.raises(GlossaError, match=r"belongs to a job with different model .*model\. Give the same"):
        ShardJob(source, output, {}, [str(model)])
    # It may also change while a job runs.
    shutil.rmtree(tmp_path / "out.txt.parts")
    job = ShardJob(source, output, {}, [str(model)])
    (model / "model.safetensors").write_bytes(b"three")
    refused("A model has changed while", job.run, load, ONE)
    assert not output.exists()


def test_a_second_job_for_one_output_is_refused(tmp_path, two_lines):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a\nb\nc\n")
    with FileLock(f"{output}.locked"), pytest.raises(GlossaError, match=r"Another process is writing .*out\.txt"):
        ShardJob(source, output, {}).run(load, ONE)
    job = ShardJob(source, output, {})
    ShardJob(source, output, {}).run(load, ONE)
    with pytest.raises(GlossaError, match=r"out\.txt exists"):  # another one has finished it since
        job.run(load, ONE)


def test_a_damaged_record_of_a_job_is_one_line(tmp_path, two_lines):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a\n")
    ShardJob(source, output, {})
    for damage in ("{", "[]"):
        (tmp_path / "out.txt.parts" / "job.json").write_text(damage)
        refused(r"job\.json is damaged.*Remove it", ShardJob, source, output, {})


def test_workers_need_files(tiny_run):
    refused("Give --input and --output", main, [str(tiny_run), "--workers", "1"])


@pytest.mark.slow
def test_the_command_gives_equal_files_for_any_number_of_workers(tiny_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shards, "SHARD", 40)
    source = tmp_path / "in.txt"
    source.write_bytes(b"".join(f"{a} {b}. {b}.\n".encode() for a in "abcdefghij" for b in "klmnopqrst") + b"\xe9\n")
    found = []
    for workers in (None, 1, 2):
        output, report = tmp_path / f"{workers}.txt", tmp_path / f"{workers}.jsonl"
        files = ["--input", str(source), "--output", str(output), "--report", str(report)]
        with pytest.raises(
            GlossaError, match=r"1 of 101 lines could not be translated; the others were\. Line 101: not"
        ):
            main([str(tiny_run), *files, "--num_beams", "2", *(["--workers", str(workers)] if workers else [])])
        rows = [json.loads(line) for line in report.read_text().splitlines()]
        assert rows[0]["line"] == 101 and not rows[0]["translated"]
        found.append((output.read_bytes(), rows))
    assert found[1] == found[2] and found[0][0].count(b"\n") == found[1][0].count(b"\n") == 101
    assert re.search(r"101 lines, 301 words: \d+ CPU-seconds in all", capsys.readouterr().err)


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
    program = "import glossa_command  # as the command does\n"
    program += "from glossa.translate.corpora import shards; shards.SHARD = 10\n"
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
        assert job.wait() in (0, -signal.SIGKILL)
        assert len(list(parts.glob("*.json"))) >= before or output.exists()
    assert kills == 1 and output.read_bytes() == whole.read_bytes()
