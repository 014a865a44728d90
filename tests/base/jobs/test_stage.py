"""Stages of items: what is done once, what is done again, and where."""

import json
import os
import signal
from functools import partial

import psutil
import pytest

from glossa.base.errors import GlossaError
from glossa.base.jobs.pool import in_processes
from glossa.base.jobs.stage import Stage

POOL = partial(in_processes, processes=2, modules=("glossa_command", "glossa.base.jobs.stage"))


def square(number, stem):
    if number < 0:
        raise GlossaError(f"{number} has no root.")
    stem.with_suffix(".txt").write_text(f"{number * number}\n")
    return {"square": number * number}


def load():
    return square


def killed(number, stem):
    os.kill(os.getpid(), signal.SIGKILL)


def load_killed():
    return killed


def here(log, load, items):
    work = load()
    for item in items:
        log.append(item[0])
        yield work(item)


def stage(folder, *numbers):
    return Stage("squares", folder, load, {f"n{number}": number for number in numbers})


@pytest.mark.parametrize("place", [partial(here, []), POOL], ids=["here", "pool"])
def test_every_item_is_known_in_its_order(tmp_path, place):
    assert stage(tmp_path, 3, 1, 2).run(place) == {"n3": {"square": 9}, "n1": {"square": 1}, "n2": {"square": 4}}
    assert (tmp_path / "n3.txt").read_text() == "9\n"


def test_only_what_is_left_is_done(tmp_path):
    log = []
    with pytest.raises(GlossaError, match="-1 has no root"):
        stage(tmp_path, 1, -1, 2).run(partial(here, log))
    assert log == ["n1", "n-1"]
    log.clear()
    stage(tmp_path, 1, 2).run(partial(here, log))
    assert log == ["n2"]
    log.clear()
    (tmp_path / "n1.txt").write_text("2\n")  # not what was written
    (tmp_path / "n2.json").unlink()  # killed before its record
    stage(tmp_path, 1, 2).run(partial(here, log))
    assert log == ["n1", "n2"] and (tmp_path / "n1.txt").read_text() == "1\n"


def test_a_record_is_written_after_its_files(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("glossa.base.jobs.stage.hash_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stage(tmp_path, 5).run(partial(here, []))
    assert (tmp_path / "n5.txt").exists() and not stage(tmp_path, 5).is_done("n5")


def test_a_damaged_record_is_one_line(tmp_path):
    stage(tmp_path, 5).run(partial(here, []))
    (tmp_path / "n5.json").write_text("{")
    with pytest.raises(GlossaError, match=r"n5\.json is damaged"):
        stage(tmp_path, 5).run(partial(here, []))


def test_names_that_begin_alike_keep_their_own_files(tmp_path):
    stage(tmp_path, 1, 11).run(partial(here, []))
    assert set(json.loads((tmp_path / "n1.json").read_text())["files"]) == {"n1.txt"}


def test_errors_of_processes(tmp_path):
    with pytest.raises(GlossaError, match="-1 has no root"):
        stage(tmp_path, -1).run(POOL)
    with pytest.raises(
        GlossaError, match=r"A process was killed, possibly because it ran out of memory\. Finished work is kept"
    ):
        Stage("killed", tmp_path, load_killed, {"one": 1}).run(partial(in_processes, processes=1))


def load_encoding():
    return threads_of_encoding


def threads_of_encoding(texts):
    from tokenizers import Tokenizer, models

    before = psutil.Process().num_threads()
    Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?")).encode_batch(texts)
    return psutil.Process().num_threads() - before


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core has one thread anyway")
def test_a_process_tokenizes_with_one_thread():
    assert list(in_processes(load_encoding, [["a"] * 1000], processes=1)) == [1]
